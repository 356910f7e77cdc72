"""A cluster that a person starts, looks at and removes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from cassbook.core.errors import LaboratoryError
from cassbook.core.releases import release
from cassbook.core.signals import heeded
from cassbook.core.words import counted
from cassbook.lab.engine import teardown
from cassbook.lab.engine.cluster import CassandraCluster, clusters_dir
from cassbook.lab.engine.spec import MEASURED_NICE, Spec

_SOME_DOWN = 3
_NO_THRIFT = (4, 0)


def _kept() -> list[Path]:
    return [p.parent for p in clusters_dir().glob(f"*/{teardown.STATE}") if json.loads(p.read_text())["keep"]]


def up(engine: str, spec: Spec, log: Callable[[str], None]) -> list[str]:
    """Start a cluster that outlives this process; return its addresses. LaboratoryError if one is up already."""
    thrift = release(engine).major < _NO_THRIFT
    _refuse_second()
    if thrift:  # cassandra-stress of these speaks it, besides CQL
        spec = replace(spec, options={"start_rpc": True, **spec.options})
    cluster = CassandraCluster(engine, spec, name="byhand", log=log)
    with heeded():
        cluster.start(keep=True)
    return cluster.addresses


def _refuse_second() -> None:
    """Refuse in one line where a cluster of ours, started by hand or by a running process, holds the addresses.

    The LaboratoryError says whose it is, and the way to another.
    """
    left = set(teardown.orphans(clusters_dir()))
    there = [cluster for cluster in status() if cluster.folder not in left]
    if not there:
        return
    by_hand = [cluster for cluster in there if cluster.by_hand]
    head = (by_hand or there)[0].lines()[0]
    way = (
        "use it, or remove it with `cassbook cluster down`"
        if by_hand
        else "wait until that process has ended, or end it: its cluster is removed with it"
    )
    raise LaboratoryError(f"a cluster is up already: {head}; {way}")


RUNNING, PAUSED, DOWN = "running", "paused", "down"


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node: name, address, what its process does ("running", "paused", "down"), and its number, if it has one."""

    name: str
    address: str
    state: str
    pid: int | None


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """A local cluster as its folder and its processes show it."""

    engine: str
    by_hand: bool  # started by `cassbook cluster up`; otherwise process `owner_pid` removes it
    owner_pid: int
    folder: Path
    nodes: list[NodeState]
    nice: int = MEASURED_NICE  # priority that its nodes were started with

    @property
    def whose(self) -> str:
        """Who started it, in words."""
        return "by hand" if self.by_hand else f"of process {self.owner_pid}"

    def lines(self) -> list[str]:
        """Describe it, with one line for each node."""
        up = sum(node.state == RUNNING for node in self.nodes)
        verb = "runs" if len(self.nodes) == 1 else "run"
        lines = [f"Cassandra {self.engine} ({self.whose}): {up} of {counted(len(self.nodes), 'node')} {verb}"]
        for node in self.nodes:
            process = "" if node.pid is None else f"  process {node.pid}"
            lines.append(f"  {node.name}  {node.address}  {node.state}{process}")
        return lines

    def as_json(self) -> dict[str, Any]:
        """Describe it for a program."""
        return {
            "engine": self.engine,
            "by_hand": self.by_hand,
            "owner_pid": self.owner_pid,
            "nodes": [asdict(node) for node in self.nodes],
        }


def status() -> list[LocalCluster]:
    """Return the clusters on this machine, those of runs included."""
    states = sorted(clusters_dir().glob(f"*/{teardown.STATE}"))
    return [_read(state.parent, json.loads(state.read_text())) for state in states]


def exit_code(clusters: list[LocalCluster]) -> int:
    """Return 0 if all nodes of all clusters run, 1 if none does (or there is no cluster), 3 if some do."""
    running = [node.state == RUNNING for cluster in clusters for node in cluster.nodes]
    if not any(running):
        return 1
    return 0 if all(running) else _SOME_DOWN


def _read(folder: Path, note: dict[str, Any]) -> LocalCluster:
    ours = {process.pid: process for process in teardown.processes(folder)}
    nodes = []
    for number, address in enumerate(note["addresses"], start=1):
        pid = _noted_pid(folder / "ccm" / f"node{number}")
        state = _state_of(ours[pid]) if pid in ours else DOWN
        nodes.append(NodeState(f"node{number}", address, state, None if state == DOWN else pid))
    nice = int(note["spec"].get("nice", MEASURED_NICE))
    return LocalCluster(note["engine"], bool(note["keep"]), int(note["owner_pid"]), folder, nodes, nice)


def _noted_pid(node: Path) -> int:
    """Return the process that a node's folder names; 0 if it names none."""
    try:
        return int((node / "cassandra.pid").read_text())
    except (OSError, ValueError):
        return 0


def _state_of(process: psutil.Process) -> str:
    try:
        found = process.status()
    except psutil.NoSuchProcess:
        return DOWN
    if found in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
        return DOWN
    return PAUSED if found in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP) else RUNNING


def down() -> list[str]:
    """Remove clusters started by hand and orphans of killed processes; the engines they ran."""
    removed = []
    for folder in [*_kept(), *teardown.orphans(clusters_dir())]:
        engine = json.loads((folder / teardown.STATE).read_text())["engine"]
        teardown.tear_down(folder)
        removed.append(f"Cassandra {engine}")
    return removed
