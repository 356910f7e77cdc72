"""Open any record by its name or folder, as what its manifest says it is."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from cassbook.records import manifest
from cassbook.records.kinds import KINDS


def open_record(name_or_path: str | Path) -> Any:
    """Open a record with the reader of its kind.

    Parameters
    ----------
    name_or_path : str or Path
        Its name in `data/records`, or its folder.

    Returns
    -------
    RecordedRun, Results, StalenessRun, OracleRun, CalibrationRun, FaultRun, AdvisedRun, ScheduleRuns or DataFrame
        Recorded switches of setting are a table (`schedule_runs.recorded_switches`).

    Raises
    ------
    InputError
        If there is none, or it is damaged, not complete, or differs from its manifest's sums.
    """
    folder = manifest.located(name_or_path)
    kind = KINDS[manifest.read(folder)["kind"]]
    return getattr(importlib.import_module(kind.module), kind.reader)(folder)
