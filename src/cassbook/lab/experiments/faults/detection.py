"""When the driver, and when each node, takes a node for dead or alive."""

from __future__ import annotations

import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
from cassandra.cluster import Cluster
from cassandra.policies import HostStateListener

from cassbook.lab.engine.cluster import CassandraCluster

#: One row per notice: who noticed ('driver' or a node's number), of which node, what ('up' or 'down'), and when, in
#: seconds since the load began.
NOTICES = ("observer", "node", "state", "at_s")
#: How a node's log says it; 4.0 and later add the port to the address.
_GOSSIP = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}).*"
    r"InetAddress \S*/(?P<address>[\d.]+)(?::\d+)? is now (?P<state>UP|DOWN)"
)
_AT = "%Y-%m-%d %H:%M:%S,%f"
_clock = time.perf_counter


class _Listener(HostStateListener):
    def __init__(self) -> None:
        self.states: list[tuple[float, str, str]] = []

    def on_up(self, host: Any) -> None:
        self.states.append((_clock(), host.address, "up"))

    def on_down(self, host: Any) -> None:
        self.states.append((_clock(), host.address, "down"))

    def on_add(self, host: Any) -> None:
        pass

    def on_remove(self, host: Any) -> None:
        pass


class Notices:
    """Listens to a driver that is connected to a cluster and, afterwards, reads the nodes' logs."""

    def __init__(self, cluster: CassandraCluster, driver: Cluster) -> None:
        self._cluster = cluster
        self._listener = _Listener()
        driver.register_listener(self._listener)

    def since(self, begun_s: float) -> pd.DataFrame:
        """Return what was noticed since then (on `time.perf_counter`): columns `NOTICES`, in order of time.

        A state that is reported again, as nodes do for each connection that comes back, is noticed once.
        """
        by_driver = {address: node for node, address in enumerate(self._cluster.addresses, 1)}
        rows = [
            ("driver", by_driver[address], state, at_s - begun_s)
            for at_s, address, state in self._listener.states
            if address in by_driver
        ]
        wall_s = time.time() - _clock()  # what the nodes' clock, which is this one, shows at 0 of ours
        by_gossip = {address: node for node, address in enumerate(self._cluster.broadcast_addresses, 1)}
        for observer, folder in enumerate(self._cluster.node_folders(), 1):
            rows += [
                (str(observer), by_gossip[address], state, at_unix_s - wall_s - begun_s)
                for address, state, at_unix_s in said(folder / "logs" / "system.log")
                if address in by_gossip
            ]
        table = pd.DataFrame(rows, columns=list(NOTICES))
        table = table[table["at_s"] >= 0].sort_values("at_s", kind="stable", ignore_index=True)
        known = table.groupby(["observer", "node"])["state"].shift()
        return table[table["state"] != known].reset_index(drop=True)


def said(log: Path) -> list[tuple[str, str, float]]:
    """Return what a node's log says of others: address, 'up' or 'down', and when in Unix time (of milliseconds)."""
    if not log.is_file():
        return []
    found = []
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if match := _GOSSIP.search(line):
                at = datetime.strptime(match["at"], _AT)
                found.append((match["address"], match["state"].lower(), at.timestamp()))
    return found
