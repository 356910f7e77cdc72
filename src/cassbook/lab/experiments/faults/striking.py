"""Does to a cluster what a schedule of faults orders, and undoes it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psutil

from cassbook.core.children import failure
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.deployment.link import Link
from cassbook.lab.engine import manual, tools
from cassbook.lab.engine.cluster import READY_TIMEOUT_S, CassandraCluster
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.engine.manual import NodeState
from cassbook.profile.faults import OWN_LENGTH, Order

#: One row per order and node: the fault's number, what it is, whether it begins or ends there, the node; when it was to
#: be, was ordered and was seen to be done, in seconds since the schedule began. An end is done when the node's port
#: answers.
STRUCK = ("number", "fault", "begins", "node", "at_s", "ordered_s", "done_s")
_POLL_S = 0.05
#: Done while the node runs, by nodetool.
_BY_NODETOOL = ("decommission", "repair")
_NODETOOL_S = 300.0
#: From here on nodetool repairs only what was not repaired yet, unless told otherwise.
_INCREMENTAL = (2, 2)
_clock = time.perf_counter


class Striker:
    """Carries out orders on a cluster.

    Parameters
    ----------
    cluster : CassandraCluster
        Ready; a `DistantCluster` for orders that are of links.
    orders : sequence of Order
        In order of time.

    Raises
    ------
    InputError
        For an order of links on a cluster without a relay.
    """

    def __init__(self, cluster: CassandraCluster, orders: Sequence[Order]) -> None:
        self._cluster, self._orders = cluster, list(orders)
        self._links: dict[int, Order] = {}  # faults of links that are in force, by number
        self._down: dict[int, bool] = {}  # nodes, and whether their disks are lost
        self._paused: set[int] = set()
        self._full: set[int] = set()
        self._off: set[int] = set()  # nodes whose clock is
        self._rows: list[tuple[Any, ...]] = []
        if any(order.to for order in orders) and not isinstance(cluster, DistantCluster):
            raise InputError("faults: cut and slow need a relay between the hosts, which this cluster has not")

    def run(self, begun_s: float, over: threading.Event) -> None:
        """Carry out each order at its time, counted from `begun_s` on `time.perf_counter`, until told that it is over.

        Raises
        ------
        LaboratoryError
            If one cannot be carried out, with the node.
        """
        for order in self._orders:
            if over.wait(max(0.0, begun_s + order.at_s - _clock())):
                return
            self._carry_out(order, begun_s, over)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return what was done, as `STRUCK`."""
        return list(self._rows)

    def heal(self) -> None:
        """Undo all that is still in force: links are as they were, and every node runs and sees all others.

        Raises
        ------
        LaboratoryError
            If a node does not come back, with the end of its log.
        """
        self._links.clear()
        self._set_links()
        for node in list(self._paused):
            self._resume(node)
        for node in self._off:
            self._cluster.set_clock(node, 0.0)
        self._off.clear()
        for node in list(self._full):
            self._make_room(node)
        for node, empty in sorted(self._down.items()):
            self._cluster.launch_node(node, empty)
        self._down.clear()
        self._cluster.wait_until_whole()

    def _carry_out(self, order: Order, begun_s: float, over: threading.Event) -> None:
        if order.to:
            ordered_s = _clock()
            self._links[order.number] = order
            if not order.begins:
                del self._links[order.number]
            self._set_links()
            for node in order.nodes:
                self._note(order, node, begun_s, ordered_s)
            return
        for node in order.nodes:  # in turn
            ordered_s = _clock()
            self._strike(order, node, over)
            self._note(order, node, begun_s, ordered_s)
            if order.fault in OWN_LENGTH and order.alone:
                ended_s = _clock()
                if order.fault not in _BY_NODETOOL:
                    self._bring_back(node, order.fault == "replace", over)
                self._note(replace(order, begins=False), node, begun_s, ended_s)

    def _strike(self, order: Order, node: int, over: threading.Event) -> None:
        cluster = self._cluster
        if order.fault == "pause" and order.begins:
            cluster.node_process(node).suspend()
            self._paused.add(node)
        elif order.fault == "pause":
            self._resume(node)
        elif order.fault in _BY_NODETOOL:
            self._nodetool(node, *(_repair(cluster) if order.fault == "repair" else [order.fault]))
        elif order.fault == "clock":
            cluster.set_clock(node, order.by_ms if order.begins else 0.0)
            (self._off.add if order.begins else self._off.discard)(node)
        elif order.fault == "fill" and order.begins:
            cluster.fill_disk(node)
            self._full.add(node)
        elif order.fault == "fill":
            self._make_room(node)
            self._wait_for(node, over)
        elif order.begins and order.fault != "add":
            cluster.end_node(node, kill=order.fault in ("kill", "replace"))
            self._down[node] = order.fault == "replace"
        elif not order.begins:
            self._bring_back(node, order.fault == "replace", over)

    def _nodetool(self, node: int, *arguments: str) -> None:
        """Have a node do something by nodetool: leave the ring, which its process survives, or repair its rows."""
        (there,) = [one for one in manual.status() if one.folder == self._cluster.folder]
        state = NodeState(f"node{node}", "", manual.RUNNING, self._cluster.node_process(node).pid)
        command = tools.nodetool(replace(there, nodes=[state]), state.name, arguments)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_NODETOOL_S)
        if done.returncode:
            what = f"node{node}: `nodetool {' '.join(arguments)}` failed"
            raise failure(what, f"{done.stderr}{done.stdout}", "nodetool")

    def _resume(self, node: int) -> None:
        with suppress(psutil.NoSuchProcess, LaboratoryError):
            self._cluster.node_process(node).resume()
        self._paused.discard(node)

    def _bring_back(self, node: int, empty: bool, over: threading.Event) -> None:
        """Start a node, and wait until it answers or the load is over."""
        self._cluster.launch_node(node, empty)
        self._down.pop(node, None)
        self._wait_for(node, over)

    def _make_room(self, node: int) -> None:
        """Free a node's disk; one that has closed its ports over it is started again."""
        self._cluster.free_disk(node)
        self._full.discard(node)
        if not self._cluster.node_answers(node):
            with suppress(LaboratoryError):  # it may have ended by itself
                self._cluster.end_node(node)
            self._cluster.launch_node(node)

    def _wait_for(self, node: int, over: threading.Event) -> None:
        deadline = _clock() + READY_TIMEOUT_S
        while not self._cluster.node_answers(node) and not over.wait(_POLL_S):
            if _clock() > deadline:
                raise LaboratoryError(f"node{node} does not answer again after {READY_TIMEOUT_S:.0f} s")

    def _note(self, order: Order, node: int, begun_s: float, ordered_s: float) -> None:
        at_s = order.at_s
        self._rows.append(
            (order.number, order.fault, order.begins, node, at_s, ordered_s - begun_s, _clock() - begun_s)
        )  # fmt: skip

    def _set_links(self) -> None:
        """Put the cluster's own links into force, with all faults of links over them."""
        if not isinstance(self._cluster, DistantCluster):
            return
        links = self._cluster.placement.links()
        for order in self._links.values():
            for pair in _pairs(order, self._cluster):
                links[pair] = _broken(order, links[pair])
        self._cluster.relay.set_links(links)


def _repair(cluster: CassandraCluster) -> list[str]:
    """What nodetool is asked for, to compare all rows of a node."""
    return ["repair", *(["-full"] if cluster.release.major >= _INCREMENTAL else []), cluster.keyspace]


def _pairs(order: Order, cluster: DistantCluster) -> list[tuple[str, str]]:
    """Ordered pairs of hosts, by name, whose link an order is of."""
    hosts = cluster.placement.deployment.hosts
    client = next(host.name for host in hosts if host.name not in cluster.labels)
    names: Callable[[int | str], str] = lambda host: client if isinstance(host, str) else cluster.labels[host - 1]  # noqa: E731
    pairs = []
    for node in map(names, order.nodes):
        for other in map(names, order.to):
            pairs += [(other, node)] if order.way in ("both", "in") else []
            pairs += [(node, other)] if order.way in ("both", "out") else []
    return pairs


def _broken(order: Order, link: Link) -> Link:
    if order.fault == "cut":
        return replace(link, cut=True)
    return replace(link, delay_ms=link.delay_ms + order.delay_ms)
