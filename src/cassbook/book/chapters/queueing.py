"""Tables of the chapters on the queueing network, and what their prose says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from cassbook.queueing import paper, reproduction
from cassbook.queueing.loads import Loads
from cassbook.queueing.mva import Analysed, analyse
from cassbook.queueing.network import CPU_CLASSES, Network, Readings
from cassbook.queueing.paper import JOBS, LEVELS

_PERCENT = 100.0
#: What is at a class of the paper's Table 1.
_CLASSES = {
    "read-local": "coordinator has the row: parse, and look",
    "read-remote": "coordinator has it not: parse",
    "read-remote-ID": "at a replica that was asked by another node",
    "read-local-end": "after the join, where the coordinator has the row",
    "read-remote-end": "after the join, where it has not",
    "read-remote-return": "an answer that comes back to the join",
}
#: What the text leaves open, as a question.
_OPEN = {
    "client_cores": "servers of the client's CPU",
    "node_cores": "servers of a node's CPU",
    "client_network": "queues of the client's network",
    "node_network": "queues of a node's network",
    "receiver": "messages take the receiver's network too",
    "targets": "whom a coordinator asks",
    "returned_ms": "CPU for each answer, ms (printed: n/a)",
    "law": "law of service times",
    "region": "what the capacity region covers",
}


def demands() -> pd.DataFrame:
    """CPU demands of each class at each level, ms, and what they are for: the paper's Tables 1 and 2."""
    rows = {
        name: {"what": _CLASSES[name]}
        | {level: paper.demands(level).cpu_ms.get(name, float("nan")) for level in LEVELS}
        for name in CPU_CLASSES
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("class")


def loads() -> pd.DataFrame:
    """Work for one read at each kind of station, ms over its servers, and the most reads a second that leaves room for.

    Returns
    -------
    DataFrame
        Index level; columns stations (one node's for all), most_per_s, and full first.
    """
    rows = {}
    for level in LEVELS:
        own = Loads(paper.network(level))
        each = {name: ms for name, ms in own.per_server_ms.items() if not name.startswith("node") or "node1 " in name}
        rows[level] = {name.replace("node1", "a node's"): ms for name, ms in each.items()} | {
            "most reads/s": own.most_per_s, "full first": own.bottleneck.replace("node1", "the nodes'")
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("level")


def readings() -> pd.DataFrame:
    """What the text leaves open, what is taken, and what else it may mean."""
    base = Readings()
    rows = {
        name: {"question": _OPEN[name], "taken": reproduction.told(getattr(base, name)),
               "or": ", ".join(reproduction.told(choice) for choice in choices[1:])}
        for name, choices in reproduction.OPEN.items()
    }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("switch")


def one_at_a_time(table: pd.DataFrame) -> pd.DataFrame:
    """`reproduction.one_at_a_time` in words."""
    shown = table[["switch", "reading"]].copy()
    shown["ONE, reads/s"] = [f"{own:±.0f}" for own in table["at_one_per_s"]]
    for name in ("quorum", "all"):
        shown[f"less at {name.upper()}, %"] = [f"{own.times(_PERCENT):±.1f}" for own in table[f"less_at_{name}"]]
    return shown.set_index(["switch", "reading"])


def sentences_told(table: pd.DataFrame) -> dict[str, object]:
    """The first reading's three figures, and that of the region which changes them most."""
    base = table.iloc[0]
    region = table[table["switch"] == "region"]["at_one_per_s"].map(lambda own: own.value)
    return {
        "one_per_s": base["at_one_per_s"].value, "quorum_less": _PERCENT * base["less_at_quorum"].value,
        "all_less": _PERCENT * base["less_at_all"].value,
        "region_most": _PERCENT * float(np.abs(region / base["at_one_per_s"].value - 1).max()),
    }  # fmt: skip


def nearest(table: pd.DataFrame, count: int = 6) -> pd.DataFrame:
    """The readings of `reproduction.factorial` that are nearest to the sentences."""
    own = table.sort_values("off", kind="stable").head(count)
    shown = own.drop(columns=["at_one_per_s", "less_at_quorum", "less_at_all", "off"])
    return shown.assign(**{
        "ONE, reads/s": own["at_one_per_s"].round(0), "less at QUORUM, %": (_PERCENT * own["less_at_quorum"]).round(1),
        "less at ALL, %": (_PERCENT * own["less_at_all"]).round(1), "off, %": (_PERCENT * own["off"]).round(1),
    }).reset_index(drop=True)  # fmt: skip


def factorial_told(table: pd.DataFrame) -> dict[str, object]:
    """How many readings there are, how many fit all three sentences, and how far off the first of each is."""
    fits = table["off"] < FITS
    return {
        "combinations": len(table), "fitting": int(fits.sum()), "best_off": _PERCENT * float(table["off"].min()),
        "two_queues_fitting": int((fits & (table["client_network"] == "two")).sum()),
    }  # fmt: skip


#: Of the sentences' distance, below which a reading is said to fit.
FITS = 0.02


def effects(table: pd.DataFrame) -> pd.DataFrame:
    """`reproduction.effects` in percent."""
    own = _PERCENT * reproduction.effects(table)
    own.columns = pd.Index(["ONE, %", "less at QUORUM, points", "less at ALL, points"])
    return own.round(1)


def analysis_told(table: pd.DataFrame) -> dict[str, object]:
    """Mean and worst error of the analysis, percent, and what of it is the simulation's own."""
    off = table["off"].abs()
    return {
        "analysis_mean": _PERCENT * float(off.mean()), "analysis_worst": _PERCENT * float(off.max()),
        "simulation_noise": _PERCENT * float(table["noise"].mean()), "points": len(table),
    }  # fmt: skip


def lines(networks: Mapping[str, Network], most: int = 100) -> dict[str, Analysed]:
    """Each network analysed up to so many jobs."""
    return {name: analyse(network, most) for name, network in networks.items()}


def quorums_told(table: pd.DataFrame) -> dict[str, object]:
    """Requests a second that asking all of three gains (light load) and loses, percent, and where it turns."""
    rates = table.assign(x=[own.value for own in table["throughput_per_s"]]).pivot_table("x", "jobs", "level")
    gain = _PERCENT * (rates[reproduction.REAL_QUORUM] / rates[reproduction.QUORUM] - 1)
    losing = gain[gain < 0]
    return {
        "light_gain": float(gain.iloc[0]), "heavy_loss": -float(gain.iloc[-1]), "heavy_jobs": int(gain.index[-1]),
        "turns_at": int(losing.index[0]) if len(losing) else float("nan"),
    }  # fmt: skip


def response_told(table: pd.DataFrame) -> dict[str, object]:
    """How straight response time rises with jobs at each level: the part of its variance that a line explains."""
    found: dict[str, object] = {}
    for level, own in table.groupby("level"):
        y = np.array([estimate.value for estimate in own["response_ms"]])
        found[f"straight_{str(level).lower()}"] = float(np.corrcoef(own["jobs"], y)[0, 1] ** 2)
    at = table[table["jobs"] == JOBS].set_index("level")["node_cpu"]
    found |= {f"cpu_{str(name).lower()}": _PERCENT * busy.value for name, busy in at.items()}
    return found


def scylla_told(needs: Mapping[str, float]) -> dict[str, object]:
    """`reproduction.scylla_needs` under the names of the prose."""
    names = {"cpu": "cpu", "most": "most_per_s", "low": "network_low_ms", "high": "network_high_ms",
             "amplified": "amplified", "printed": "printed_amplified"}  # fmt: skip
    return {f"scylla_{name}": needs[key] for name, key in names.items()}
