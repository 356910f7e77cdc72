"""What a throughput was measured on, in words: nodes that share a machine do less than nodes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassbook.core.words import counted


def sharing(nodes: int, cores: int) -> str:
    """Return whose processors the figures are: of one machine, for all nodes and the client."""
    return f"{counted(nodes, 'node')} and the client share the {counted(cores, 'core')} of one machine"


def baseline(run: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the cluster of a run.

    `manifest`: of the run; of a folder of logs it says little.

    Keys: run, engine; nodes, replication and cores (None if unknown; cores also where each node has its own);
    note.
    """
    cluster = manifest.get("profile", {}).get("cluster", {})
    nodes, cores = cluster.get("nodes"), manifest.get("machine", {}).get("cores")
    existing = any(start.get("kind") == "existing" for start in manifest.get("cluster_starts", []))
    known = {
        "run": run, "engine": manifest.get("engine"), "nodes": nodes, "replication": cluster.get("replication_factor"),
        "cores": None if existing else cores,
    }  # fmt: skip
    if existing:
        return known | {"note": f"{counted(nodes, 'node')} of an existing cluster"}
    if nodes is None or cores is None:
        return known | {"note": "how many nodes share how many cores is not said there"}
    return known | {"note": sharing(nodes, cores)}
