"""Which recorded runs, and which commands, answer for a number of replicas."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cassbook.core.paths import runs_dir

#: Trials of `cassbook experiment staleness-*` that `cassbook stale` reads.
_STALENESS = ("three", "five")


def answering(replicas: int) -> list[str]:
    """Say which commands answer for so many replicas of a row, one sentence part per command.

    Parameters
    ----------
    replicas : int

    Returns
    -------
    list of str
        Recorded runs first, each with the command that reads it; then what needs no run.
    """
    nodes = f"R1..R{replicas}" if replicas > 1 else "R1"
    return [
        *(part for folder in sorted(runs_dir().glob("*/manifest.json")) for part in _of_record(folder, replicas)),
        f'`cassbook deploy "{{[C], ([{nodes}])}}" --replication {replicas}` says what each level survives',
        f"a profile with `cluster: {{replication_factor: {replicas}}}` has `cassbook run` measure latency with it",
    ]


def _of_record(path: Path, replicas: int) -> Iterator[str]:
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # a damaged record is reported by whoever opens it
    name, setups = path.parent.name, manifest.get("setups", {})
    if not manifest.get("complete"):
        return
    if manifest.get("profile", {}).get("cluster", {}).get("replication_factor") == replicas:
        yield f"`cassbook advise --run {name}` recommends a setting"
    elif manifest.get("trial") in _STALENESS and any(one.get("replication") == replicas for one in setups.values()):
        waits = replicas // 2 + 1
        yield f"`cassbook stale --run {name} --r 1 --w {waits} --t 100` says how stale reads are"
    elif manifest.get("trial") == "calibration" and replicas in _calibrated(path.parent):
        yield f"`cassbook predict --run {name} --replication {replicas}` predicts throughput and response time"


def _calibrated(folder: Path) -> set[int]:
    """Numbers of replicas that a calibration measured."""
    found = set()
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as rows:
            found |= {int(row["replication"]) for row in csv.DictReader(rows) if row.get("replication")}
    return found
