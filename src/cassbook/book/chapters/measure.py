"""What a run's cells say of themselves: Little's law, the client's share, errors and marks."""

from __future__ import annotations

import pandas as pd

from cassbook.core.schema import Mark, without_aside
from cassbook.latency.cell_checks import LITTLE_TOLERANCE
from cassbook.records.run import RecordedRun


def self_checks(run: RecordedRun) -> pd.DataFrame:
    """Return what the cells of a run say of themselves: Little's law, the client's share, errors and marks, by kind."""
    cells = without_aside(run.cells)
    groups = cells.groupby("kind")
    return pd.DataFrame(
        {
            "cells": groups.size(),
            "operations": groups["operations"].sum(),
            "Little, least": groups["little_ratio"].min(),
            "Little, most": groups["little_ratio"].max(),
            "client CPU, us/op": groups["client_cpu_us_per_op"].median().round(1),
            "client, share of machine": groups["client_cpu_share"].max(),
            "with errors": groups["errors"].agg(lambda e: int((e != "").sum())),
            "marked": groups["marks"].agg(lambda m: int((m != "").sum())),
        }
    )


def little(run: RecordedRun) -> pd.DataFrame:
    """Return Little's law, checked cell by cell over the steady window: throughput x mean latency by threads, by
    kind of cell.

    Cells of a fixed rate are left out: there the threads do not set how many requests are in flight.
    """
    cells = _closed_loop(run)
    groups = cells.groupby("kind")
    return pd.DataFrame(
        {
            "cells": groups["little_ratio"].count(),
            "least": groups["little_ratio"].min(),
            "median": groups["little_ratio"].median(),
            "most": groups["little_ratio"].max(),
            f"over {100 * LITTLE_TOLERANCE:.0f} % off": groups["marks"].agg(lambda m: int(m.map(_marked_little).sum())),
        }
    ).round(3)


def _closed_loop(run: RecordedRun) -> pd.DataFrame:
    cells = without_aside(run.cells)
    return cells[cells["rate_per_s"].isna()]


def _marked_little(marks: str) -> bool:
    return Mark.LITTLE in marks.split(";")
