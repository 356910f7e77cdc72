"""What a way of choosing the setting costs: estimates, fixed settings and rules of thumb, on measured mixes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pandas as pd

from cassbook.core.consistency import STRONG_SETTINGS, WIDER_SETTINGS
from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.latency import mixing, models, uncertainty, validation
from cassbook.latency.mixing import WORKLOAD
from cassbook.latency.model_selection import SERIES
from cassbook.latency.regression import MODEL_NAMES
from cassbook.latency.summaries import mixed_cells

#: A rule of thumb turns to a setting that is cheap to write at below this share of reads.
WRITE_HEAVY = 0.25
#: The rule of thumb that follows it, by name.
RULE = "1R-3W, at < 25 % reads 3R-1W"
#: Chooses by what the other cluster starts measured of the very mixes it is asked about.
OTHER_STARTS = "the mixes themselves, other starts"

#: (read_share, threads) to the name of a setting; index as `mixing.WORKLOAD`.
Choices = pd.Series
_REPLICAS = 3


def by_block(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Mean latency of the paper's three settings, us: index (block, read_share, threads), one column per setting.

    Workloads that lack a setting in a block are left out.

    Raises
    ------
    InputError
        If none is left.
    """
    cells = mixed_cells(cell_stats)
    names = [setting.name for setting in STRONG_SETTINGS]
    at_settings = cells[cells["setting"].isin(names)]
    table = (
        at_settings.pivot_table("latency_us", ["block", *mixing.WORKLOAD], "setting").reindex(columns=names).dropna()
    )
    if table.empty:
        raise LackingError(f"no mix was measured at all of {', '.join(names)} in one block")
    return table


def workloads_of(measured: pd.DataFrame) -> pd.MultiIndex:
    """The workloads of `by_block`, (read_share, threads), each once."""
    return pd.MultiIndex.from_frame(_workloads(measured).to_frame(index=False).drop_duplicates()).sort_values()


def by_estimate(predictors: mixing.Predictors, workloads: pd.MultiIndex) -> Choices:
    """Choose by the weighted mean of two curves (eq. 8-10)."""
    threads, shares = (sorted(workloads.unique(level)) for level in ("threads", "read_share"))
    best = mixing.best_setting(mixing.estimates(predictors, threads, shares))
    return best.set_index(mixing.WORKLOAD)["best"].reindex(workloads)


def always(name: str) -> Callable[[pd.MultiIndex], Choices]:
    """Choose one setting, whatever the load."""
    return lambda workloads: pd.Series(name, index=workloads)


def write_heavy(workloads: pd.MultiIndex) -> Choices:
    """Rule of thumb after section V: 1R-3W, but 3R-1W where fewer than a quarter of the requests read."""
    few = workloads.get_level_values("read_share") < WRITE_HEAVY
    return pd.Series(np.where(few, "3R-1W", "1R-3W"), index=workloads)


def quorum_for_writes(workloads: pd.MultiIndex) -> Choices:
    """The milder rule: 1R-3W, but 2R-2W where fewer than a quarter of the requests read."""
    few = workloads.get_level_values("read_share") < WRITE_HEAVY
    return pd.Series(np.where(few, "2R-2W", "1R-3W"), index=workloads)


def all_choices(points: pd.DataFrame, workloads: pd.MultiIndex) -> dict[str, Choices]:
    """What each policy chooses.

    Parameters
    ----------
    points : DataFrame
        Pure workloads, from `model_selection.points_of`: what estimates are made from.
    workloads : MultiIndex
        (read_share, threads).

    Returns
    -------
    dict of Series
        By the policy's name: estimates from each model that needs no learning, fixed settings, rules of thumb.
    """
    choices: dict[str, Choices] = {}
    for name in (*MODEL_NAMES.values(), "spline", "mva", "usl"):
        predictors = {(str(o), str(c)): models.fit(group, name) for (o, c), group in points.groupby(SERIES)}
        choices[f"estimate: {models.MODELS[name].title}"] = by_estimate(predictors, workloads)
    return choices | fixed_choices(workloads)


def fixed_choices(workloads: pd.MultiIndex) -> dict[str, Choices]:
    """What is chosen without any measurement, by name: fixed settings and rules of thumb."""
    return {
        **{f"always {setting.name}": always(setting.name)(workloads) for setting in STRONG_SETTINGS},
        "1R-3W, at < 25 % reads 2R-2W": quorum_for_writes(workloads),
        RULE: write_heavy(workloads),
    }


def regrets(measured: pd.DataFrame, choices: Mapping[str, Choices]) -> pd.DataFrame:
    """What each policy costs against the setting that is best in the mean over blocks.

    Parameters
    ----------
    measured : DataFrame
        From `by_block`.
    choices : mapping of Series
        From `all_choices`.

    Returns
    -------
    DataFrame
        Index policy; right (`validation.Share`: how often it chose that best), regret (`Estimate` over blocks of the
        mean over workloads, in percent of the best; none is below 0), worst_percent (largest regret of a workload, in
        the mean over blocks). The last row chooses for each block by the mean of the *others*: what measuring every mix
        beforehand gives, and as close to zero as the spread from start to start allows.
    """
    means = measured.groupby(mixing.WORKLOAD).mean()
    best = means.idxmin(axis=1)
    rows = {name: _row(measured, chosen.reindex(means.index), best) for name, chosen in choices.items()}
    if measured.index.unique("block").size > 1:
        rows[OTHER_STARTS] = _from_others(measured, best)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")


def _row(measured: pd.DataFrame, chosen: Choices, best: Choices) -> dict[str, object]:
    by_workload = _percent(measured, chosen, best)
    right = int((chosen == best.reindex(chosen.index)).sum())
    return _figures(by_workload, validation.Share.of(right, len(chosen)))


def _figures(percent: pd.Series, right: validation.Share) -> dict[str, object]:
    blocks = percent.groupby("block").mean()
    worst = percent.groupby(mixing.WORKLOAD).mean().max()
    return {"right": right, "regret": Estimate.mean(blocks).at_least(0.0), "worst_percent": float(worst)}


def _percent(measured: pd.DataFrame, chosen: Choices, best: Choices) -> pd.Series:
    """By how much the chosen setting measured slower than the best, block by block, in percent."""
    at = _workloads(measured)
    taken, least = (picked(measured, names.reindex(at)) for names in (chosen, best))
    return pd.Series((taken / least - 1) * 100, index=measured.index)


def _workloads(measured: pd.DataFrame) -> pd.MultiIndex:
    """Workload of each row of `by_block`."""
    return pd.MultiIndex.from_frame(measured.index.to_frame(index=False)[mixing.WORKLOAD])


def picked(measured: pd.DataFrame, names: Choices) -> np.ndarray:
    """Latency of the named setting in each row of `by_block`."""
    columns = measured.columns.get_indexer(pd.Index(names.to_numpy()))
    return measured.to_numpy()[np.arange(len(measured)), columns]


def by_other_starts(measured: pd.DataFrame) -> Choices:
    """Choose for each block what was best in the mean of the *others*.

    `measured`: from `by_block`.

    Index as `measured`, without workloads that no other block has; empty with one block.
    """
    parts = []
    for block in measured.index.unique("block"):
        here = measured.index.get_level_values("block") == block
        best = measured[~here].groupby(mixing.WORKLOAD).mean().idxmin(axis=1)
        parts.append(pd.Series(best.reindex(_workloads(measured[here])).to_numpy(), measured.index[here], dtype=object))
    return pd.concat(parts).dropna()


def _from_others(measured: pd.DataFrame, best: Choices) -> dict[str, object]:
    chosen = by_other_starts(measured)
    known = measured.loc[chosen.index]
    least = best.reindex(_workloads(known))
    percent = pd.Series((picked(known, chosen) / picked(known, least) - 1) * 100, index=known.index)
    right = int((chosen.to_numpy() == least.to_numpy()).sum())
    return _figures(percent, validation.Share.of(right, len(known)))


def savings(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Return the latency saved against always 1R-3W, in percent, by a choice that the *other* cluster starts made
    (Fig. 7).

    The best of three noisy means is too good by selection; a choice made on other starts is not.

    Returns
    -------
    DataFrame
        block, read_share, threads, chosen, speedup_percent (negative where the choice was wrong).
    """
    measured = by_block(cell_stats)
    chosen = by_other_starts(measured)
    if chosen.empty:  # one start: it is judged by itself
        chosen = measured.idxmin(axis=1)
    judged = measured.loc[chosen.index]
    saved = (1 - picked(judged, chosen) / judged["1R-3W"]) * 100
    return pd.DataFrame({"chosen": chosen, "speedup_percent": saved}).reset_index()


def always_best_from(cell_stats: pd.DataFrame) -> float:
    """Return the least measured share of reads from which on 1R-3W is the fastest over all thread counts; NaN if
    there is none.
    """
    measured = by_block(cell_stats)
    wins = pd.DataFrame(np.log(measured)).groupby("read_share").mean().idxmin(axis=1) == "1R-3W"
    from_here = [float(share) for share in wins.index if wins[wins.index >= share].all()]
    return min(from_here, default=float("nan"))


def against_contained(cell_stats: pd.DataFrame, figure: str = "latency_us") -> pd.DataFrame:
    """Compare each wider setting with those it contains: more replicas on one side, no fewer on the other.

    `cell_stats`: from `summaries.cell_statistics`; mixed cells are used. `figure`: what is compared: the mean, or a
    percentile (see `percentiles.COLUMNS`).

    Index (wider, instead of); ratio (`Estimate`: figure of the wider by that of the other, geometric mean
    over workloads, over blocks), faster (in how many workloads it is lower on average), distinguishably_faster (in how
    many of those that holds at 5 %, paired within blocks), workloads.
    """
    table = mixed_cells(cell_stats).pivot_table(figure, ["block", *WORKLOAD], "setting")
    waits = {s.name: s.waits(_REPLICAS) for s in (*STRONG_SETTINGS, *WIDER_SETTINGS)}
    rows = {}
    for more, less in product(WIDER_SETTINGS, STRONG_SETTINGS):
        more_waits, less_waits = waits[more.name], waits[less.name]
        if not all(a >= b for a, b in zip(more_waits, less_waits, strict=True)) or more.name not in table:
            continue
        logs = pd.Series(np.log(table[more.name] / table[less.name])).dropna()
        ratio = Estimate.ratio(np.exp(logs.groupby("block").mean()))
        by_workload = logs.groupby(WORKLOAD)
        faster = by_workload.mean() < 0
        distinguishable = by_workload.agg(lambda d: uncertainty.paired_p(d.to_numpy())) < 1 - uncertainty.LEVEL
        rows[more.name, less.name] = (ratio, int(faster.sum()), int((faster & distinguishable).sum()), len(faster))
    index = pd.MultiIndex.from_tuples(list(rows), names=["wider", "instead of"])
    return pd.DataFrame(
        list(rows.values()), index=index, columns=["ratio", "faster", "distinguishably_faster", "workloads"]
    )


def times_best(cell_stats: pd.DataFrame, figure: str = "latency_us") -> tuple[int, int]:
    """Count the workloads in which a wider setting is, on average, the fastest of all six, and all workloads."""
    means = mixed_cells(cell_stats).pivot_table(figure, WORKLOAD, "setting").dropna()
    names = {setting.name for setting in WIDER_SETTINGS}
    return int(means.idxmin(axis=1).isin(names).sum()), len(means)
