"""Tables I and II of the 2020 paper, or a run of our own, in one shape: what claims about measurements are put to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from cassbook import published
from cassbook.claims.interval import Interval, as_printed, exactly
from cassbook.core.errors import LaboratoryError
from cassbook.latency.summaries import level_stats

_COLUMNS = ("latency_us", "throughput_per_s", "cv_percent")


class NotInRun(LaboratoryError):
    """The run has not measured what a claim is about; its text says what is missing."""


class Columns(Mapping[tuple[str, str], "pd.Series[Interval]"]):
    """(operation, level) to a series of intervals over thread counts; a missing pair is a `NotInRun`."""

    def __init__(self, stats: pd.DataFrame, value: str) -> None:
        groups = stats.groupby(["operation", "level"], sort=False)
        self._columns = {
            (str(operation), str(level)): pd.Series(list(rows[value]), index=rows["threads"].astype(int), dtype=object)
            for (operation, level), rows in groups
        }

    def __getitem__(self, key: tuple[str, str]) -> pd.Series[Interval]:
        if key not in self._columns:
            raise NotInRun(f"{key[0]} at {key[1]}")
        return self._columns[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Means by (operation, level) and threads, each an interval."""

    #: Printed numbers are intervals of their rounding; a run's have no width, for their spread is another matter.
    latency_us: Columns
    throughput_per_s: Columns
    cv_percent: Columns
    measured: bool  # by us: a run has no slips of the keyboard

    @classmethod
    def _of(cls, stats: pd.DataFrame, measured: bool) -> Study:
        latency_us, throughput_per_s, cv_percent = (Columns(stats, name) for name in _COLUMNS)
        return cls(latency_us, throughput_per_s, cv_percent, measured=measured)

    @classmethod
    def printed(cls) -> Study:
        """Tables I and II of the 2020 paper as printed."""
        stats = pd.concat([published.as_text("g20_table1"), published.as_text("g20_table2")], ignore_index=True)
        for name in _COLUMNS:
            stats[name] = [as_printed(text) for text in stats[name]]
        return cls._of(stats, measured=False)

    @classmethod
    def of(cls, stats: pd.DataFrame) -> Study:
        """Measured statistics, columns `schema.LEVEL_STATS`, as intervals of no width."""
        exact = {name: [exactly(value) for value in stats[name]] for name in _COLUMNS}
        return cls._of(stats.assign(**exact), measured=True)

    @classmethod
    def blocks(cls, cell_stats: pd.DataFrame) -> list[Study]:
        """Measured statistics of each block, from `cell_statistics`; a block without pure workloads is left out."""
        parts = [level_stats(cells) for _, cells in cell_stats.groupby("block")]
        return [cls.of(stats) for stats in parts if len(stats)]

    def threads(self) -> list[int]:
        """Thread counts at which all levels of both operations were measured, ascending; a `NotInRun` where there are
        none.
        """
        measured = [set(column.index) for column in self.latency_us.values()]
        if not measured:
            raise NotInRun("reads alone and writes alone")
        common = set.intersection(*measured)
        if not common:
            raise NotInRun("a thread count at every level")
        return sorted(common)
