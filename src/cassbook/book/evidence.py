"""What stands behind a page's figures: which runs, when, on what machine, how long, and how quiet it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pandas as pd

from cassbook.book.provenance import Source
from cassbook.core.schema import without_aside
from cassbook.records import manifest
from cassbook.records.experiment import Results
from cassbook.records.run import RecordedRun

#: Nodes of a local cluster whose manifest does not give their number.
_DEFAULT_NODES = 3
#: Facts of a machine that change with its system alone.
_SYSTEM = {"system", "python_build"}


class Record(Protocol):
    """A reader of one kind of experiment, built on its `Results`."""

    @property
    def results(self) -> Results:
        """The record."""


class Evidence(pd.DataFrame):
    """The table of `describe`: on a page its cells break between words, so that none is cut off."""

    def _repr_html_(self) -> str:
        return f'<div class="evidence">{self.to_html(notebook=True)}</div>'


def describe(sources: Sequence[Source | Results | Record | str]) -> Evidence:
    """Describe runs and recorded experiments in a column each; rows are facts, without those that none of them tells.

    Said are the record's name, engine, Java, dates, machine and processor, blocks, cells and their seconds, what others
    took of the machine, marks, and the hash of the data. A record that no class here reads is given by its name.
    """
    described = dict(_described(source) for source in sources)
    facts = max(described.values(), key=len)  # all of them for a run, some for the paper
    table = pd.DataFrame(described).reindex(list(facts)).fillna("")
    return Evidence(table[(table != "").any(axis=1)])


def _described(source: Source | Results | Record | str) -> tuple[str, dict[str, str]]:
    if isinstance(source, str):
        notes = manifest.read(manifest.located(source))
        named = {"record": source, "Cassandra": notes.get("engine", ""), "measured, UTC": _when(notes)}
        return source, named | {"machine": machine_of(notes) if "machine" in notes else ""}
    if not isinstance(source, Source):
        return _of_experiment(source if isinstance(source, Results) else source.results)
    if source.run is None:
        machine = "3 EC2 c3.xlarge, client apart"
        return source.label, {"Cassandra": "2.1", "machine": machine, "cells": "36 + 36"}
    notes, measured = source.run.manifest, without_aside(source.run.cells)
    facts = _facts(source.run.name, notes, measured["block"].nunique(), len(measured), _seconds(source.run))
    marked = int((measured["marks"] != "").sum())
    return source.label, facts | {"marked cells": str(marked), "data hash": source.run.data_hash[:12]}


def _of_experiment(results: Results) -> tuple[str, dict[str, str]]:
    notes = results.manifest
    seconds = notes["numbers"].get("steady_s") or notes["numbers"].get("seconds")
    facts = _facts(results.name, notes, notes["starts"], len(results.rows), f"{seconds:g}" if seconds else "")
    marked = results.rows["marks"] != "" if "marks" in results.rows else pd.Series(dtype=bool)
    facts |= {"marked cells": str(int(marked.sum())), "data hash": results.data_hash[:12]}
    return f"{notes['experiment']}, {notes['engine']}", facts


def _facts(name: str, notes: Mapping[str, Any], blocks: int, cells: int, seconds: str) -> dict[str, str]:
    return {
        "record": name,
        "Cassandra": notes["engine"],
        "Java": _java(notes),
        "measured, UTC": _when(notes),
        "machine": machine_of(notes),
        "processor": _processor(notes),
        "blocks": str(blocks),
        "cells": str(cells),
        "seconds a cell": seconds,
        "busy before, %": f"{notes['busy_before_percent']:.0f}" if "busy_before_percent" in notes else "",
        "others took in a block, %": _others(notes),
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
    """Describe the machine that a manifest records, and what ran on it.

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
    return f"{cores} for {_nodes(notes)} and the client{_elsewhere(notes)}"


def _elsewhere(notes: Mapping[str, Any]) -> str:
    """What some blocks ran on that was not the machine of the first: often the same kind with another kernel."""
    others = notes.get("other_machines", [])
    if not others:
        return ""
    unlike = {
        name
        for other in others
        for name in {*other, *notes["machine"]}
        if other.get(name) != notes["machine"].get(name)
    }
    if unlike <= _SYSTEM:
        return "; some blocks under another build of the kernel"
    return "; some blocks on another machine" if len(others) == 1 else f"; some blocks on {len(others)} other machines"


def _nodes(notes: Mapping[str, Any]) -> str:
    if "setups" not in notes:
        return f"{notes.get('profile', {}).get('cluster', {}).get('nodes', _DEFAULT_NODES)} nodes"
    known = sorted({setup["nodes"] for setup in notes["setups"].values() if "nodes" in setup})
    return f"{' or '.join(map(str, known))} nodes" if known else "the nodes"
