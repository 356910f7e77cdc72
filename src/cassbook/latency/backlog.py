"""Whether a cluster carries a rate: what is due and not answered must not grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

#: A backlog that grows by less than this part of what arrives counts as one that does not grow.
TOLERANCE = 0.01
_BATCHES = 10
_SIGNIFICANT = 0.05
_PER_BATCH = 20


@dataclass(frozen=True, slots=True)
class Backlog:
    """How the backlog went over a trial.

    Attributes
    ----------
    growth_share : float
        By how much it grew in a second, as a share of the arrivals in a second.
    p_value : float
        Of no growth at all, one-sided, by the means of ten parts of the trial.
    answered_per_s : float
        Requests answered in the trial's second half, which is what the cluster carries where there is a backlog.
    """

    growth_share: float
    p_value: float
    answered_per_s: float

    @property
    def grows(self) -> bool:
        """Whether there is a trend: significant, and more than `TOLERANCE`."""
        return self.growth_share > TOLERANCE and self.p_value < _SIGNIFICANT


def backlog(due_s: np.ndarray, answered_s: np.ndarray, n_unsent: int, from_s: float, to_s: float) -> Backlog:
    """Look at the backlog from `from_s` to `to_s`.

    `due_s`: when each request that was sent was due, in seconds. `answered_s`: when each was answered or failed.
    `n_unsent`: requests that were due by `to_s` and never sent, which are taken to be its last.
    """
    due_s, answered_s = np.sort(due_s), np.sort(answered_s)
    grid = np.linspace(from_s, to_s, _BATCHES * _PER_BATCH, endpoint=False)
    arrived = np.searchsorted(due_s, grid, "right").astype(float)
    length_s = to_s - from_s
    if n_unsent:
        last_s = due_s[-1] if len(due_s) else from_s
        unsent_from = max(min(last_s, to_s), from_s)
        arrived += n_unsent * np.clip((grid - unsent_from) / max(to_s - unsent_from, 1e-9), 0, 1)
    waiting = (arrived - np.searchsorted(answered_s, grid, "right")).reshape(_BATCHES, _PER_BATCH).mean(axis=1)
    middles = from_s + (np.arange(_BATCHES) + 0.5) * length_s / _BATCHES
    trend = stats.linregress(middles, waiting, alternative="greater")
    due_per_s = (np.count_nonzero((due_s >= from_s) & (due_s < to_s)) + n_unsent) / length_s
    half = from_s + length_s / 2
    answered = np.count_nonzero((answered_s >= half) & (answered_s < to_s)) / (to_s - half)
    growth = trend.slope / due_per_s if due_per_s else 0.0
    return Backlog(float(growth), float(trend.pvalue), float(answered))
