"""Where numbers come from: the printed tables or a run. Both pass through the same functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from cassbook import published
from cassbook.core.errors import InputError
from cassbook.core.schema import without_aside
from cassbook.ingest.folder import open_run
from cassbook.latency import summaries, validation
from cassbook.records.run import RecordedRun

PUBLISHED, RECORDED, FRESH = "published", "recorded", "measured now"
#: Nodes of a local cluster whose manifest does not give their number.
_DEFAULT_NODES = 3


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

    Raises
    ------
    InputError
        Naming the values that they can.
    """
    possible = list(dict.fromkeys(known))
    if value not in possible:
        listed = ", ".join(map(str, possible)) or "none"
        raise InputError(f"{name}: there are no data for {value}; use one of {listed}")


def describe(sources: Sequence[Source]) -> pd.DataFrame:
    """Describe sources in a column each; rows are facts, those left out that none of them tells.

    Said are engine, Java, dates, machine and processor, blocks, cells and their seconds, what others took of the
    machine, marks, and the hash of the data.
    """
    told = {source.label: _described(source) for source in sources}
    facts = max(told.values(), key=len)  # all of them for a run, some for the paper
    table = pd.DataFrame(told).reindex(list(facts)).fillna("")
    return table[(table != "").any(axis=1)]


def _described(source: Source) -> dict[str, str]:
    if source.run is None:
        machine = "3 EC2 c3.xlarge, client apart"
        return {"Cassandra": "2.1", "machine": machine, "cells": "36 + 36"}
    notes, cells = source.run.manifest, source.run.cells
    measured = without_aside(cells)
    return {
        "Cassandra": notes["engine"],
        "Java": _java(notes),
        "measured, UTC": _when(notes),
        "machine": machine_of(notes),
        "processor": _processor(notes),
        "blocks": str(measured["block"].nunique()),
        "cells": str(len(measured)),
        "seconds a cell": _seconds(source.run),
        "busy before, %": f"{notes['busy_before_percent']:.0f}" if "busy_before_percent" in notes else "",
        "others took in a block, %": _others(notes),
        "marked cells": str(int((measured["marks"] != "").sum())),
        "data hash": source.run.data_hash[:12],
    }


def _when(notes: Mapping[str, Any]) -> str:
    moments = [notes[name][:16].replace("T", " ") for name in ("begun", "ended") if name in notes]
    return " to ".join(moments)


def _processor(notes: Mapping[str, Any]) -> str:
    machine = notes.get("machine", {})
    under = f", under {machine['hypervisor']}" if machine.get("hypervisor") else ""
    return f"{machine.get('cpu', '')}{under}"


def _seconds(run: RecordedRun) -> str:
    """What of a cell counts; where levels alternate, in slices of what length."""
    steady_s = run.manifest.get("profile", {}).get("load", {}).get("steady_s")
    if steady_s is None:
        return ""
    if run.slices.empty:
        return f"{steady_s:g}"
    lengths = run.slices["guard_s"] + run.slices["counted_s"]
    return f"{steady_s:g}, in slices of {lengths.min():.1f} to {lengths.max():.1f}"


def _others(notes: Mapping[str, Any]) -> str:
    """Which part of the machine other processes and guests of the hypervisor took in the block they took most of."""
    seen = [start["machine"] for start in notes.get("cluster_starts", []) if "machine" in start]
    took = [100 * (of["steal_share"] + of["other_cpu_share"]) for of in seen]
    return f"{max(took):.1f} at most" if took else ""


def _java(notes: Mapping[str, Any]) -> str:
    starts = notes.get("cluster_starts") or [{}]
    return str(starts[0].get("java", {}).get("version", ""))


def machine_of(notes: Mapping[str, Any]) -> str:
    """Describe the machine that a run's manifest records, and what ran on it.

    Parameters
    ----------
    notes : mapping
        A manifest; that of logs of other tools names no machine.
    """
    if "machine" not in notes:
        return "logs do not tell"
    cores = f"{notes['machine']['cores']} cores"
    if "existing_cluster" in notes:
        return f"{cores} for the client, {notes['existing_cluster']['nodes_in_all']} nodes apart"
    nodes = notes.get("profile", {}).get("cluster", {}).get("nodes", _DEFAULT_NODES)
    others = len(notes.get("other_machines", []))
    return f"{cores} for {nodes} nodes and the client" + (f", and {others} more machine(s)" if others else "")
