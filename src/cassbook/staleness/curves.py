"""What a probe's history says: P(consistent) over t and k with intervals, and a prediction compared with it.

Reads are kept *counted*: columns `COUNTED`, one row per wait, pair of coordinators, number of versions behind, and
t to a few hundredths of itself. Pairs of coordinators count alike, however many reads each happened to have.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from cassbook.core.errors import InputError
from cassbook.core.estimate import FEWEST, binomial_bounds
from cassbook.core.proportion import grouped_worth
from cassbook.core.types import Floats

#: P(consistent) at times (ms by the client's clock), of reads through coordinator `reader` after writes through
#: `writer`.
Predictor = Callable[[Floats, int, int], Floats]

#: asked_t_ms: the wait asked for; t_ms: what it was; writer, reader: coordinators; reads: how many.
COUNTED = ["asked_t_ms", "t_ms", "writer", "reader", "versions_behind", "reads"]
#: Where consistency counts as reached: the study's curves end near it.
REACHED = 0.999
#: What settings are compared within.
CASE = ["n", "setup", "threads"]
_FINEST_MS, _PER_OCTAVE = 0.05, 128
#: A wait that differs from the time asked for by no more than this part of it is taken for that time.
_AT_T = 0.02


def counted(judged: pd.DataFrame) -> pd.DataFrame:
    """Count reads by `COUNTED`.

    Parameters
    ----------
    judged : DataFrame
        From `checker.judge`, of reads with asked_t_ms, writer and reader.

    Raises
    ------
    InputError
        If no read began after an acknowledged write.
    """
    known = judged[judged["t_ms"].notna()]
    if known.empty:
        raise InputError("measured: no read began after an acknowledged write")
    table = known.assign(t_ms=_rounded(known["t_ms"].to_numpy(float)))
    return table.groupby(COUNTED[:-1]).size().rename("reads").reset_index()


def slim(counted: pd.DataFrame) -> pd.DataFrame:
    """Columns of counted reads in fewer bytes."""
    kinds = {"asked_t_ms": "float32", "t_ms": "float32", "writer": "int8", "reader": "int8", "versions_behind": "int16"}
    return counted.astype(kinds | {"reads": "int32"})


def _rounded(t_ms: Floats) -> Floats:
    """Round times to 0.05 ms, later ones to 1 / 128 of a power of two."""
    step = np.maximum(_FINEST_MS, np.exp2(np.floor(np.log2(np.maximum(t_ms, _FINEST_MS)))) / _PER_OCTAVE)
    return np.asarray(np.round(np.round(t_ms / step) * step, 4))


def over_t(counted: pd.DataFrame, within: int = 1, predictor: Predictor | None = None) -> pd.DataFrame:
    """P(one of the last k versions) by the wait that was asked for.

    Parameters
    ----------
    counted : DataFrame
        Columns `COUNTED`.
    within : int
        k; 1 for the last version.
    predictor : callable, optional
        Asked for each read's own t and coordinators.

    Returns
    -------
    DataFrame
        One row per wait, in order: asked_t_ms, t_ms (mean of what it was), reads, p, low, high (95 %, binomial, of as
        many reads as pairs that count alike leave, Kish 1965, or as pairs that differ are worth; and of no more than
        cluster starts that differ are worth, where `counted` has a column start), noise (standard error, from the
        counts of each pair, half a read added to either side), and predicted.
    """
    return _by_wait(counted, within, predictor).drop(columns="worth")


def stale_near(counted: pd.DataFrame, t_ms: float) -> pd.DataFrame:
    """Return the wait at t, or the two on either side of it: what was counted there, and what it is worth.

    A wait within 2 % of t counts as t. Before the first wait it is the first, behind the last one the last.

    Returns
    -------
    DataFrame
        asked_t_ms, t_ms, stale, reads, worth (independent reads that would say as much), p, low, high (see `over_t`).
    """
    waits = _by_wait(counted, 1, None)
    missed = counted["reads"].where(counted["versions_behind"] > 0, 0).groupby(counted["asked_t_ms"]).sum()
    waits.insert(2, "stale", missed.reindex(waits["asked_t_ms"]).to_numpy())
    at = waits["t_ms"].to_numpy()
    nearest = int(np.argmin(np.abs(at - t_ms)))
    if abs(at[nearest] - t_ms) <= _AT_T * t_ms:
        return waits.iloc[[nearest]]
    after = int(np.searchsorted(at, t_ms))
    return waits.iloc[sorted({max(0, after - 1), min(after, len(waits) - 1)})]


def _by_wait(counted: pd.DataFrame, within: int, predictor: Predictor | None) -> pd.DataFrame:
    """Return `over_t`, with how many independent reads would say as much."""
    keys = ["asked_t_ms", "writer", "reader"]
    weighted = counted.assign(good=counted["reads"] * (counted["versions_behind"] < within))
    weighted["weighted_t"] = weighted["t_ms"] * weighted["reads"]
    sums = ["reads", "good", "weighted_t"]
    if predictor:
        weighted["weighted_p"] = weighted["reads"] * _predicted(weighted, predictor)
        sums.append("weighted_p")
    pairs = weighted.groupby(keys)[sums].sum()
    n = pairs["reads"]
    smoothed = (pairs["good"] + 0.5) / (n + 1)
    each = pd.DataFrame({
        "t_ms": pairs["weighted_t"] / n, "reads": n, "p": pairs["good"] / n, "variance": smoothed * (1 - smoothed) / n,
    })  # fmt: skip
    if predictor:
        each["predicted"] = pairs["weighted_p"] / n
    waits = each.groupby("asked_t_ms")
    curve = waits.mean().assign(reads=waits["reads"].sum())
    curve["noise"] = np.sqrt(waits["variance"].sum()) / waits.size()
    alike = waits.size() ** 2 / (1 / each["reads"]).groupby("asked_t_ms").sum()
    apart = curve["p"] * (1 - curve["p"]) / curve["noise"] ** 2
    curve["worth"] = np.minimum(np.maximum(alike, apart), _worth_of_starts(weighted, curve))
    curve["low"], curve["high"] = binomial_bounds(curve["p"], curve["worth"])
    return curve.drop(columns="variance").reset_index()


def _worth_of_starts(weighted: pd.DataFrame, curve: pd.DataFrame) -> Floats:
    """Return how many independent reads cluster starts are worth that differ as they do, wait by wait.

    Reads of one start share its luck. Infinite where all reads count or none, and where starts are not known or too
    few to say.
    """
    worth = np.full(len(curve), np.inf)
    if "start" not in weighted or weighted["start"].nunique() < FEWEST:
        return worth
    pairs = weighted.groupby(["asked_t_ms", "start", "writer", "reader"])[["reads", "good"]].sum()
    shares = (pairs["good"] / pairs["reads"]).groupby(["asked_t_ms", "start"]).mean()  # pairs count alike
    of_waits = {wait: of_starts.to_numpy() for wait, of_starts in shares.groupby("asked_t_ms")}
    for place, (wait, p, reads) in enumerate(zip(curve.index, curve["p"], curve["reads"], strict=True)):
        of_starts = of_waits[wait]
        if 0 < p < 1 and len(of_starts) >= FEWEST:
            residuals = (of_starts - of_starts.mean()) * reads / len(of_starts)
            worth[place] = grouped_worth(residuals, float(p), float(reads))
    return worth


def _predicted(counted: pd.DataFrame, predictor: Predictor) -> Floats:
    p = np.empty(len(counted))
    pairs = counted[["writer", "reader"]].to_numpy()
    for writer, reader in np.unique(pairs, axis=0):
        rows = (pairs == (writer, reader)).all(axis=1)
        p[rows] = predictor(counted["t_ms"].to_numpy(float)[rows], int(writer), int(reader))
    return p


def over_k(counted: pd.DataFrame, asked_t_ms: float, most: int = 10) -> pd.DataFrame:
    """P(one of the last k versions) at one wait, k from 1: columns k and those of `over_t`."""
    of_wait = counted[counted["asked_t_ms"] == asked_t_ms]
    if of_wait.empty:
        raise InputError(f"measured: no read waited {asked_t_ms:g} ms; there are {sorted(set(counted['asked_t_ms']))}")
    parts = [over_t(of_wait, within=k).assign(k=k) for k in range(1, most + 1)]
    return pd.concat(parts, ignore_index=True)


def reached_ms(table: pd.DataFrame, p: float = REACHED) -> float:
    """Wait (of `over_t`) from which on the part of consistent reads is at least p, in ms; NaN if it never is."""
    below = np.flatnonzero((table["p"] < p).to_numpy())
    after = int(below[-1]) + 1 if below.size else 0
    return float(table["t_ms"].iloc[after]) if after < len(table) else float("nan")


def upto_reached(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of `over_t` from t = 0 to the first at which 99.9 % is reached for good; all if it never is."""
    below = np.flatnonzero((table["p"] < REACHED).to_numpy())
    return table.iloc[: (int(below[-1]) + 2 if below.size else 1)]


def rmse(table: pd.DataFrame) -> float:
    """Root of the mean square difference of column predicted and p, over `upto_reached`; each wait counts alike."""
    reached = upto_reached(table)
    return float(np.sqrt(np.mean(np.square(reached["p"] - reached["predicted"]))))


def noise(table: pd.DataFrame) -> float:
    """Root mean square that the `rmse` of a perfect prediction would be, from so many reads."""
    return float(np.sqrt(np.mean(np.square(upto_reached(table)["noise"]))))


def unbeaten(table: pd.DataFrame) -> pd.Series:
    """Return which settings no other setting of the same case beats in both latency and freshness.

    Parameters
    ----------
    table : DataFrame
        Columns `CASE`, latency_ms, and t_999_ms: the wait until 99.9 % of reads are consistent, NaN where that was not
        reached.

    Returns
    -------
    Series of bool
    """
    kept = pd.Series(False, table.index)
    fresh_ms = table["t_999_ms"].fillna(np.inf)
    for _, group in table.groupby(CASE):
        for place in group.index:
            latency, fresh = group["latency_ms"], fresh_ms[group.index]
            as_good = (latency <= latency[place]) & (fresh <= fresh[place])
            kept[place] = not (as_good & ((latency < latency[place]) | (fresh < fresh[place]))).any()
    return kept
