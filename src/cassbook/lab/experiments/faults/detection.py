"""When the driver, and when each node, takes a node for dead or alive."""

from __future__ import annotations

import time
from typing import Any

import pandas as pd
from cassandra.cluster import Cluster
from cassandra.policies import HostStateListener

from cassbook.lab.engine import gossip
from cassbook.lab.engine.cluster import CassandraCluster

#: One row per notice: who noticed ('driver' or a node's number), of which node, what ('up' or 'down'), and when, in
#: seconds since the load began.
NOTICES = ("observer", "node", "state", "at_s")
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
                for address, state, at_unix_s in gossip.said(gossip.log_of(folder))
                if address in by_gossip
            ]
        table = pd.DataFrame(rows, columns=list(NOTICES))
        table = table[table["at_s"] >= 0].sort_values("at_s", kind="stable", ignore_index=True)
        known = table.groupby(["observer", "node"])["state"].shift()
        return table[table["state"] != known].reset_index(drop=True)
