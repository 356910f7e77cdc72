"""Availability under random faults, measured and by the model of independent nodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from cassbook.book.chapters.failures import answered
from cassbook.core.consistency import setting
from cassbook.core.units import PERCENT
from cassbook.deployment import availability as availabilities
from cassbook.records.faults import OPERATIONS, FaultRun
from cassbook.shown.tables import Format, titled

_REPLICAS = 3
_MINUTES_A_YEAR = 365.25 * 24 * 60
#: Columns of `availability`, with titles and formats.
_AVAILABILITY: dict[str, tuple[str, Format]] = {
    "measured": ("measured, %", lambda share: share.text(digits=2)),
    "by_nodes_down_percent": ("by nodes down, %", ".2f"),
    "k_of_n_percent": ("k of n, %", ".2f"),
}


def dead_over_time(run: FaultRun, setup: str) -> pd.DataFrame:
    """Return for what part of each start's schedule so many nodes were down: index start, a column per number."""
    rows = {}
    length_s = run.length_s(setup)
    for start, faults in run.faults(setup).groupby("start"):
        begins, ends = faults["begins_s"].to_numpy(), faults["ends_s"].fillna(length_s).clip(upper=length_s).to_numpy()
        moments = np.arange(0, length_s, 0.05)
        down = ((moments[:, None] >= begins) & (moments[:, None] < ends)).sum(axis=1)
        rows[start] = pd.Series(down).value_counts(normalize=True)
    return pd.DataFrame(rows).T.fillna(0.0).sort_index(axis=1)


def availability(run: FaultRun, setup: str) -> pd.DataFrame:
    """Return measured availability under random faults beside two that are predicted.

    Returns
    -------
    DataFrame
        Index (operation, setting): measured (share answered, a `Proportion`); by_nodes_down_percent (predicted from how
        many were down when); k_of_n_percent (predicted from each node's own part of time down alone, as if nodes failed
        independently).
    """
    bins = run.bins_of(setup)
    counts = bins.groupby(["operation", "setting", "start"], sort=False)[["ok", "n"]].sum()
    table = answered(counts).rename("measured").to_frame()
    down = dead_over_time(run, setup).mean()
    mean_down = float((down.index.to_numpy() * down).sum() / _REPLICAS)
    counted, independent = [], []
    for operation, name in table.index:
        reads, writes = setting(name).waits(_REPLICAS)
        needed = reads if operation == "READ" else writes
        counted.append(PERCENT * down[down.index <= _REPLICAS - needed].sum())
        independent.append(PERCENT * availabilities.at_least(needed, [1 - mean_down] * _REPLICAS))
    table = table.assign(by_nodes_down_percent=counted, k_of_n_percent=independent)
    return table.rename(index=OPERATIONS, level=0)


def availability_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `availability` in words, in percent."""
    return titled(table, _AVAILABILITY)


def availability_values(pair: Mapping[str, FaultRun], setup: str, name: str) -> dict[str, str]:
    """Return what prose quotes of `availability` of a setting's reads, in percent, named as by `quoted`.

    measured (with its bounds), counted (by how many nodes were down) and model (k of n), each with the setting.
    """
    heads = dict(zip(("measured", "counted", "model"), (title for title, _ in _AVAILABILITY.values()), strict=True))
    of = name.lower().replace("-", "")
    found: dict[str, str] = {}
    for suffix, run in pair.items():
        table = availability_shown(availability(run, setup))
        found |= {f"{short}_{of}_{suffix}": str(table[head].to_dict()["reads", name]) for short, head in heads.items()}
    return found


def minutes_per_year(up_days: float, repair_h: float, region_up: float) -> pd.DataFrame:
    """Return for how many minutes of a year each level is not available, by the model: k of n.

    Parameters
    ----------
    up_days, repair_h : float
        Mean time between a node's failures, and until it is back.
    region_up : float
        Availability of each data centre as a whole.

    Returns
    -------
    DataFrame
        Index level; a column for three nodes, for two data centres of three, and for two that fail as a whole too.
    """
    up = availabilities.of_node(up_days * 24, repair_h)
    one, two = {"here": [up] * 3}, {"here": [up] * 3, "there": [up] * 3}
    whole = dict.fromkeys(two, region_up)
    levels = ("ONE", "LOCAL_ONE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL")
    down = {
        level: [1 - availabilities.of_level(level, one), 1 - availabilities.of_level(level, two),
                1 - availabilities.of_level(level, two, centre_up=whole)]
        for level in levels
    }  # fmt: skip
    heads = ["one data centre of 3", "two of 3", f"two of 3 that are up {PERCENT * region_up:g} % of the time"]
    return _MINUTES_A_YEAR * pd.DataFrame.from_dict(down, orient="index", columns=heads)


def minutes_per_year_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `minutes_per_year` in words: seconds to days, to two digits."""
    return table.map(_in_words)


def _in_words(minutes: float) -> str:
    for unit, each in (("days", 24 * 60), ("h", 60), ("min", 1)):
        if minutes >= each:
            number = f"{float(f'{minutes / each:.2g}'):g}"
            return f"{number} {unit}" if number != "1" else f"1 {unit.removesuffix('s')}"
    seconds = 60 * minutes
    return f"{seconds:.2g} s" if seconds >= 0.1 else "under 0.1 s"  # noqa: PLR2004
