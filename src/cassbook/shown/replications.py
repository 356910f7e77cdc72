"""Which recorded runs, and which commands, answer for a number of replicas."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cassbook.records import manifest
from cassbook.records.kinds import CALIBRATION, STALENESS


def answering(replicas: int) -> list[str]:
    """Say which commands answer for so many replicas of a row, one sentence part per command.

    Returns recorded runs first, each with the command that reads it; then what needs no run.
    """
    nodes = f"R1..R{replicas}" if replicas > 1 else "R1"
    return [
        *(part for name, notes in manifest.recorded() for part in _of_record(name, notes, replicas)),
        f'`cassbook deploy "{{[C], ([{nodes}])}}" --replication {replicas}` says what each level survives',
        f"a profile with `cluster: {{replication_factor: {replicas}}}` has `cassbook run` measure latency with it",
    ]


def _of_record(name: str, notes: Mapping[str, Any], replicas: int) -> Iterator[str]:
    if not notes["complete"]:
        return
    if notes.get("profile", {}).get("cluster", {}).get("replication_factor") == replicas:
        yield f"`cassbook advise --run {name}` recommends a setting"
    elif notes["kind"] == STALENESS and any(one.get("replication") == replicas for one in notes["setups"].values()):
        waits = replicas // 2 + 1
        yield f"`cassbook stale --run {name} --r 1 --w {waits} --t 100` says how stale reads are"
    elif notes["kind"] == CALIBRATION and replicas in _calibrated(manifest.located(name)):
        yield f"`cassbook predict --run {name} --replication {replicas}` predicts throughput and response time"


def _calibrated(folder: Path) -> set[int]:
    """Numbers of replicas that a calibration measured."""
    found = set()
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as rows:
            found |= {int(row["replication"]) for row in csv.DictReader(rows) if row.get("replication")}
    return found
