"""Where numbers come from: the printed tables or a run. Both pass through the same functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from cassbook import published
from cassbook.core.errors import InputError
from cassbook.ingest.folder import open_run
from cassbook.latency import summaries, validation
from cassbook.records.run import RecordedRun

PUBLISHED, RECORDED, FRESH = "published", "recorded", "measured now"


@dataclass(frozen=True)
class Source:
    """One origin of numbers: the printed tables, or a run.

    Attributes
    ----------
    label : str
        'published', 'recorded' and the version, or 'measured now'.
    run : RecordedRun or None
    """

    label: str
    run: RecordedRun | None = None

    @cached_property
    def cell_stats(self) -> pd.DataFrame:
        """Statistics of each cell of a run (see `summaries.cell_statistics`)."""
        if self.run is None:
            raise InputError("the printed tables have no cells")
        return self.run.statistics

    @cached_property
    def level_stats(self) -> pd.DataFrame:
        """Pure workloads, columns `schema.LEVEL_STATS`."""
        return published.level_stats() if self.run is None else summaries.level_stats(self.cell_stats)

    @cached_property
    def mixed_stats(self) -> pd.DataFrame:
        """Mixed workloads: measured in a run; for the paper, what Tables IV and V together imply."""
        return validation.printed_measured() if self.run is None else summaries.mixed_stats(self.cell_stats)


def run_of(name_or_path: str | Path) -> Source:
    """Open a run as a source named for its profile and version.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    run = open_run(name_or_path)
    profile = run.manifest.get("profile", {}).get("name", run.name)
    return Source(f"{profile}, {run.manifest['engine']}", run)


def recorded_sources(runs: Iterable[RecordedRun]) -> list[Source]:
    """Name recorded runs for their versions; a version that comes again is numbered."""
    sources: list[Source] = []
    for run in runs:
        label = f"{RECORDED} {run.manifest['engine']}"
        again = sum(source.label == label or source.label.startswith(f"{label} (") for source in sources)
        sources.append(Source(f"{label} ({again + 1})" if again else label, run))
    return sources


def check_served(name: str, value: object, known: Iterable[object]) -> None:
    """Refuse a parameter's value that the data cannot serve.

    Raises InputError, naming the values that they can.
    """
    possible = list(dict.fromkeys(known))
    if value not in possible:
        listed = ", ".join(map(str, possible)) or "none"
        raise InputError(f"{name}: there are no data for {value}; use one of {listed}")
