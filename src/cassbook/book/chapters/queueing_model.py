"""Tables of the chapter on the queueing model: its demands, and what they load."""

from __future__ import annotations

import pandas as pd

from cassbook.core.consistency import LEVELS
from cassbook.queueing import paper
from cassbook.queueing.loads import Loads
from cassbook.queueing.network import CPU_CLASSES

#: What is at a class of the paper's Table 1.
_CLASSES = {
    "read-local": "coordinator has the row: parse, and look",
    "read-remote": "coordinator has it not: parse",
    "read-remote-ID": "at a replica that was asked by another node",
    "read-local-end": "after the join, where the coordinator has the row",
    "read-remote-end": "after the join, where it has not",
    "read-remote-return": "an answer that comes back to the join",
}


def demands() -> pd.DataFrame:
    """Return CPU demands of each class at each level, ms, and what they are for: the paper's Tables 1 and 2."""
    rows = {
        name: {"what": _CLASSES[name]}
        | {level: paper.demands(level).cpu_ms.get(name, float("nan")) for level in LEVELS}
        for name in CPU_CLASSES
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("class")


def loads() -> pd.DataFrame:
    """Return the work for one read at each kind of station, ms over its servers, and the most reads a second that
    leaves room for.

    Returns
    -------
    DataFrame
        Index level; columns stations (one node's for all), most_per_s, and full first.
    """
    rows = {}
    for level in LEVELS:
        work = Loads(paper.network(level))
        each = {name: ms for name, ms in work.per_server_ms.items() if not name.startswith("node") or "node1 " in name}
        rows[level] = {name.replace("node1", "a node's"): ms for name, ms in each.items()} | {
            "most reads/s": work.most_per_s, "full first": work.bottleneck.replace("node1", "the nodes'")
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("level")


def nodes_work_times_one(level: str) -> float:
    """Return what a read at a level takes of a node's processor, on average over nodes, divided by that at ONE."""
    of, one = (Loads(paper.network(name)).ms["node1 CPU"] for name in (level, "ONE"))
    return float(of / one)
