"""A cluster that a person starts, looks at and removes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cassbook.core.signals import heeded
from cassbook.lab.engine import teardown
from cassbook.lab.engine.cluster import CassandraCluster, Spec, clusters_dir


def _kept() -> list[Path]:
    return [p.parent for p in clusters_dir().glob(f"*/{teardown.STATE}") if json.loads(p.read_text())["keep"]]


def up(engine: str, spec: Spec, log: Callable[[str], None]) -> list[str]:
    """Start a cluster that outlives this process; its addresses."""
    cluster = CassandraCluster(engine, spec, name="byhand", log=log)
    with heeded():
        cluster.start(keep=True)
    return cluster.addresses


def status() -> list[str]:
    """Return one line per cluster: engine, addresses, processes, and whose it is."""
    lines = []
    for state in sorted(clusters_dir().glob(f"*/{teardown.STATE}")):
        note = json.loads(state.read_text())
        alive = sum("java" in p.name() for p in teardown.processes(state.parent))
        whose = "by hand" if note["keep"] else f"of process {note['owner_pid']}"
        nodes = note["spec"]["nodes"]
        lines.append(
            f"Cassandra {note['engine']} ({whose}): {alive} of {nodes} nodes run, {', '.join(note['addresses'])}"
        )
    return lines


def down() -> list[str]:
    """Remove clusters started by hand and orphans of killed processes; the engines they ran."""
    removed = []
    for folder in [*_kept(), *teardown.orphans(clusters_dir())]:
        engine = json.loads((folder / teardown.STATE).read_text())["engine"]
        teardown.tear_down(folder)
        removed.append(f"Cassandra {engine}")
    return removed
