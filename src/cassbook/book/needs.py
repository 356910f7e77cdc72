"""What sections need of a run, asked before they compute: each check raises `LackingError` with what the run has.

A run that the whole book is to show is checked before any chapter is executed: `check_shown` and `check_pair` refuse it
with everything that is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from cassbook.book.provenance import Source
from cassbook.core.consistency import LEVELS, STRONG_SETTINGS
from cassbook.core.errors import InputError, LackingError
from cassbook.latency.summaries import LEVEL_ORDER, mixed_cells
from cassbook.records.run import RecordedRun

#: Of cells that are no reads or writes alone.
_KINDS = {"mixed": "mixes", "cold": "cells that begin cold", "paced": "cells at fixed rates",
          "open": "cells under open arrivals"}  # fmt: skip
_OPERATIONS = {"READ": "reads", "WRITE": "writes"}
#: A polynomial of fourth order leaves nothing to judge it by with fewer; `fit` warns below eight.
_LEAST_THREADS = 6


def _series(source: Source) -> pd.DataFrame:
    """Operation, level and threads of what was measured of reads and writes alone, in any deployment."""
    if source.run is None:
        return source.level_stats
    cells = source.cell_stats[(source.cell_stats["kind"] == "pure") & source.cell_stats["latency_us"].notna()]
    reads = cells["read_share"] == 1
    operation, level = np.where(reads, "READ", "WRITE"), np.where(reads, cells["read_cl"], cells["write_cl"])
    return pd.DataFrame({"operation": operation, "level": level, "threads": cells["threads"]})


def pure(source: Source, operation: str = "") -> None:
    """Check that a source has reads or writes alone; of one operation if it is named."""
    stats = _series(source)
    if operation and not stats.empty and operation not in set(stats["operation"]):
        raise LackingError(f"{source.label} has no {_OPERATIONS[operation]} alone")
    if stats.empty:
        raise LackingError(f"{source.label} has no reads or writes alone, only {_kinds(source)}")


def levels(source: Source) -> None:
    """Check that one operation was measured at two levels or more, so that they can be compared."""
    pure(source)
    stats = _series(source)
    if stats.groupby("operation")["level"].nunique().max() < 2:  # noqa: PLR2004 - a comparison takes two
        found = _some(sorted(stats["level"].unique(), key=lambda level: _place(str(level))))
        raise LackingError(f"{source.label} has one level, {found}; comparing levels takes two")


def settings(source: Source) -> None:
    """Check that reads and writes were measured at every level that the strong settings use."""
    pure(source)
    stats = _series(source)
    known = set(zip(stats["operation"], stats["level"], strict=True))
    absent = [
        f"{word} at {level}" for operation, word in _OPERATIONS.items() for level in LEVELS
        if (operation, level) not in known
    ]  # fmt: skip
    if absent:
        raise LackingError(
            f"{source.label} has no {_some(absent, 'or')}; comparing settings takes reads and writes at each"
        )


def thread_counts(source: Source, fewest: int, why: str) -> None:
    """Check that every series of reads and writes has so many thread counts; `why` says what takes them."""
    pure(source)
    counted = _series(source).groupby(["operation", "level"])["threads"].nunique()
    if counted.min() < fewest:
        operation, level = counted.sort_values(kind="stable").index.tolist()[0]
        stats = _series(source)
        own = stats[(stats["operation"] == operation) & (stats["level"] == level)]
        found = _some(sorted(int(count) for count in own["threads"].unique()))
        raise LackingError(
            f"{source.label} has {_OPERATIONS[operation]} at {level} at {counted.min()} thread "
            f"count{'s' if counted.min() > 1 else ''} ({found}); {why} takes {fewest}"
        )


def estimates(source: Source, order: int = 4) -> None:
    """Check that the paper's estimates of mixes can be made: curves of reads and writes at the levels of settings."""
    settings(source)
    thread_counts(source, order + 1, "a curve of fourth order" if order == 4 else f"order {order}")  # noqa: PLR2004


def mixes(source: Source) -> None:
    """Check that a run has mixes of reads and writes at the paper's settings."""
    names = [setting.name for setting in STRONG_SETTINGS]
    if source.run is not None and not mixed_cells(source.cell_stats)["setting"].isin(names).any():
        raise LackingError(f"{source.label} has no mixes of reads and writes at {_some(names, 'or')}")


def slices(source: Source) -> None:
    """Check that levels alternated in a run."""
    if source.run is None or source.run.slices.empty:
        raise LackingError(f"{source.label} has no levels that alternated in slices")


def _kinds(source: Source) -> str:
    """What a run has instead of pure cells."""
    cells = source.cell_stats if source.run is not None else pd.DataFrame(columns=["kind", "workload"])
    workloads = sorted(set(cells.loc[cells["kind"] == "workload", "workload"]))
    kinds = [_KINDS.get(kind, f"cells of kind {kind}") for kind in sorted(set(cells["kind"]) - {"workload"})]
    own = [f"workload{'s' if len(workloads) > 1 else ''} {_some(workloads)}"] if workloads else []
    return _some([*kinds, *own]) or "nothing that was measured"


def _place(level: str) -> int:
    return LEVEL_ORDER.index(level) if level in LEVEL_ORDER else len(LEVEL_ORDER)


def _some(names: Iterable[object], word: str = "and") -> str:
    """Join names as a sentence does; of many the first and the last few."""
    texts: Sequence[str] = [str(name) for name in names]
    return f" {word} ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def check_shown(run: RecordedRun) -> None:
    """Refuse a run that lacks what the chapters draw, before any is executed.

    Raises InputError, naming everything that is missing.
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

    Raises InputError, naming both and what each measured.
    """
    keys = ["read_share", "read_cl", "threads"]
    pure = [run.cells.loc[run.cells["kind"] == "pure", keys].drop_duplicates() for run in (recorded, today)]
    if pure[0].merge(pure[1]).empty:
        threads = [", ".join(map(str, sorted(cells["threads"].unique()))) for cells in pure]
        raise InputError(
            f"{recorded.folder} and {today.folder}: the book cannot show these side by side; they have no pure cell in "
            f"common (threads {threads[0]} and {threads[1]})"
        )
