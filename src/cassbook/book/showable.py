"""Which runs the book can show: refused before any chapter is executed, with everything that is missing."""

from __future__ import annotations

import pandas as pd

from cassbook.core.consistency import LEVELS, STRONG_SETTINGS
from cassbook.core.errors import InputError
from cassbook.records.run import RecordedRun

#: A polynomial of fourth order leaves nothing to judge it by with fewer; `fit` warns below eight.
_LEAST_THREADS = 6


def check_shown(run: RecordedRun) -> None:
    """Refuse a run that lacks what the chapters draw, before any is executed.

    Raises
    ------
    InputError
        Naming everything that is missing.
    """
    cells = run.cells
    pure, mixed = cells[cells["kind"] == "pure"], cells[cells["kind"] == "mixed"]
    missing = []
    for share, word in ((1.0, "reads"), (0.0, "writes")):
        absent = [level for level in LEVELS if level not in set(pure.loc[pure["read_share"] == share, "read_cl"])]
        if absent:
            missing += [f"{word} at {level}" for level in absent]
        elif not _all_levels(pure[pure["read_share"] == share]):
            missing.append(f"a thread count with {word} at all of {', '.join(LEVELS)} in one block")
    if pure["threads"].nunique() < _LEAST_THREADS:
        missing.append(
            f"at least {_LEAST_THREADS} thread counts of pure reads and writes (a fourth-order fit needs them)"
        )
    if not {(s.read_cl, s.write_cl) for s in STRONG_SETTINGS} <= set(
        zip(mixed["read_cl"], mixed["write_cl"], strict=True)
    ):
        missing.append(f"mixed cells at {', '.join(s.name for s in STRONG_SETTINGS)}")
    if missing:
        raise InputError(f"{run.folder}: the book cannot show this run; it lacks {'; '.join(missing)}")


def _all_levels(pure: pd.DataFrame) -> bool:
    """Whether some thread count has all levels in one block, so that they can be ranked."""
    return bool((pure.groupby(["block", "threads"])["read_cl"].nunique() >= len(LEVELS)).any())


def check_pair(recorded: RecordedRun, today: RecordedRun) -> None:
    """Refuse two runs of which the chapters could show no cell side by side.

    Raises
    ------
    InputError
        Naming both and what each measured.
    """
    keys = ["read_share", "read_cl", "threads"]
    pure = [run.cells.loc[run.cells["kind"] == "pure", keys].drop_duplicates() for run in (recorded, today)]
    if pure[0].merge(pure[1]).empty:
        threads = [", ".join(map(str, sorted(cells["threads"].unique()))) for cells in pure]
        raise InputError(
            f"{recorded.folder} and {today.folder}: the book cannot show these side by side; they have no pure cell in "
            f"common (threads {threads[0]} and {threads[1]})"
        )
