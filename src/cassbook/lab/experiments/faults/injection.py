"""Injects a schedule's faults into a cluster. A kind of fault is one function: what it does, `yield`, how that ends."""

from __future__ import annotations

import dataclasses
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil

from cassbook.core.children import failure
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.deployment.distances import Placement
from cassbook.deployment.link import Link
from cassbook.lab.engine import manual, tools
from cassbook.lab.engine.any_cluster import Distances
from cassbook.lab.engine.cluster import READY_TIMEOUT_S, CassandraCluster
from cassbook.lab.engine.manual import NodeState
from cassbook.profile.fault_schedule import Fault, Order

#: One row per order and node: the fault's number, what it is, whether it begins or ends there, the node; when it was to
#: be, was ordered and was seen to be done, in seconds since the schedule began. An end is done when the node's port
#: answers.
STRUCK = ("number", "fault", "begins", "node", "at_s", "ordered_s", "done_s")
_POLL_S = 0.05
_NODETOOL_S = 300.0
#: From here on nodetool repairs only what was not repaired yet, unless asked for all.
_INCREMENTAL = (2, 2)
_clock = time.perf_counter


@dataclass(slots=True)
class Site:
    """A cluster into which faults are injected, and what they have in common."""

    cluster: CassandraCluster
    #: Set when the load has ended: then nothing waits for a node.
    over: threading.Event = field(default_factory=threading.Event)
    _changes: list[tuple[list[tuple[str, str]], Callable[[Link], Link]]] = field(default_factory=list)

    def bring_back(self, node: int, empty: bool = False) -> None:
        """Start a node, perhaps with empty disks, and wait until it answers or the load is over."""
        self.cluster.launch_node(node, empty)
        self.wait_for(node)

    def wait_for(self, node: int) -> None:
        """Wait until a node answers or the load is over; raise LaboratoryError if it takes too long."""
        deadline = _clock() + READY_TIMEOUT_S
        while not self.cluster.node_answers(node) and not self.over.wait(_POLL_S):
            if _clock() > deadline:
                raise LaboratoryError(f"node{node} does not answer again after {READY_TIMEOUT_S:.0f} s")

    def nodetool(self, node: int, *arguments: str) -> None:
        """Have a running node do something by nodetool; raise LaboratoryError if that fails."""
        (there,) = [one for one in manual.status() if one.folder == self.cluster.folder]
        state = NodeState(f"node{node}", "", manual.RUNNING, self.cluster.node_process(node).pid)
        command = tools.nodetool(dataclasses.replace(there, nodes=[state]), state.name, arguments)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_NODETOOL_S)
        if done.returncode:
            what = f"node{node}: `nodetool {' '.join(arguments)}` failed"
            raise failure(what, f"{done.stderr}{done.stdout}", "nodetool")

    def changed(self, fault: Fault, change: Callable[[Link], Link]) -> Iterator[None]:
        """Change the links of a fault, on top of what others change, until it ends."""
        apart = self.cluster.apart
        assert apart is not None  # noqa: S101 - checked by `Injector`
        ours = (_pairs(fault, apart.placement, self.cluster.labels), change)
        self._changes.append(ours)
        self._set_links(apart)
        yield
        self._changes.remove(ours)
        self._set_links(apart)

    def _set_links(self, apart: Distances) -> None:
        links = apart.placement.links()
        for pairs, change in self._changes:
            for pair in pairs:
                links[pair] = change(links[pair])
        apart.relay.set_links(links)


Injection = Callable[[Site, Fault], Iterator[None]]
#: By kind of fault. Those that are in force at the end are ended in this order: links first, which what starts needs.
INJECTIONS: dict[str, Injection] = {}


def injection(function: Injection) -> Injection:
    """Make a function inject the kind of fault that is named as it is.

    It gets the site and the fault, of one node unless it is of links; what stands behind its `yield` ends the fault.
    """
    INJECTIONS[function.__name__] = function
    return function


@injection
def cut(site: Site, fault: Fault) -> Iterator[None]:
    """Nothing passes."""
    yield from site.changed(fault, lambda link: dataclasses.replace(link, cut=True))


@injection
def slow(site: Site, fault: Fault) -> Iterator[None]:
    """All that passes takes longer."""
    yield from site.changed(fault, lambda link: dataclasses.replace(link, delay_ms=link.delay_ms + fault.delay_ms))


@injection
def pause(site: Site, fault: Fault) -> Iterator[None]:
    """The process is suspended."""
    site.cluster.node_process(fault.node).suspend()
    yield
    with suppress(psutil.NoSuchProcess, LaboratoryError):
        site.cluster.node_process(fault.node).resume()


@injection
def clock(site: Site, fault: Fault) -> Iterator[None]:
    """Its clock is off."""
    site.cluster.set_clock(fault.node, fault.by_ms)
    yield
    site.cluster.set_clock(fault.node, 0.0)


@injection
def fill(site: Site, fault: Fault) -> Iterator[None]:
    """Its disk is full; if it has closed its ports over that, it is started again."""
    cluster, node = site.cluster, fault.node
    cluster.fill_disk(node)
    yield
    cluster.free_disk(node)
    if not cluster.node_answers(node):
        with suppress(LaboratoryError):  # it may have ended by itself
            cluster.end_node(node)
        cluster.launch_node(node)
    site.wait_for(node)


@injection
def kill(site: Site, fault: Fault) -> Iterator[None]:
    """The process is gone at once."""
    site.cluster.end_node(fault.node, kill=True)
    yield
    site.bring_back(fault.node)


@injection
def stop(site: Site, fault: Fault) -> Iterator[None]:
    """The process takes its leave."""
    site.cluster.end_node(fault.node, kill=False)
    yield
    site.bring_back(fault.node)


@injection
def restart(site: Site, fault: Fault) -> Iterator[None]:
    """As `stop`, and started again at once."""
    yield from stop(site, fault)


@injection
def replace(site: Site, fault: Fault) -> Iterator[None]:
    """The process is gone and its disks with it."""
    site.cluster.end_node(fault.node, kill=True)
    yield
    site.bring_back(fault.node, empty=True)


@injection
def add(site: Site, fault: Fault) -> Iterator[None]:
    """A node joins."""
    yield
    site.bring_back(fault.node)


@injection
def decommission(site: Site, fault: Fault) -> Iterator[None]:
    """A node leaves the ring, which its process survives."""
    site.nodetool(fault.node, "decommission")
    yield


@injection
def repair(site: Site, fault: Fault) -> Iterator[None]:
    """A node compares all its rows with the other replicas'."""
    cluster = site.cluster
    full = ["-full"] if cluster.release.major >= _INCREMENTAL else []
    site.nodetool(fault.node, "repair", *full, cluster.keyspace)
    yield


class Injector:
    """Carries out orders, which are in order of time, on a cluster that is ready.

    Raise InputError for an order of links on a cluster without a relay.
    """

    def __init__(self, cluster: CassandraCluster, orders: Sequence[Order]) -> None:
        self._site, self._orders = Site(cluster), list(orders)
        self._in_force: dict[tuple[int, tuple[int, ...]], tuple[Fault, Iterator[None]]] = {}
        self._rows: list[tuple[Any, ...]] = []
        if any(order.fault.of_links for order in orders) and cluster.apart is None:
            raise InputError("faults: cut and slow need a relay between the hosts, which this cluster has not")

    def run(self, begun_s: float, over: threading.Event) -> None:
        """Carry out each order at its time, counted from `begun_s` on `time.perf_counter`, until it is over.

        Raise LaboratoryError, with the node, if one cannot be carried out.
        """
        self._site.over = over
        for order in self._orders:
            if over.wait(max(0.0, begun_s + order.at_s - _clock())):
                return
            for part in _parts(order.fault):
                self._carry_out(order, part, begun_s)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return what was done, as `STRUCK`."""
        return list(self._rows)

    def heal(self) -> None:
        """Undo all that is still in force: links are as they were, and every node runs and sees all others.

        Raise LaboratoryError, with the end of its log, if a node does not come back.
        """
        self._site.over.set()
        kinds = list(INJECTIONS)
        for _, under_way in sorted(self._in_force.values(), key=lambda one: kinds.index(one[0].kind)):
            next(under_way, None)
        self._in_force.clear()
        self._site.cluster.wait_until_whole()

    def _carry_out(self, order: Order, part: Fault, begun_s: float) -> None:
        """Begin or end a fault, or that of one of its nodes; what is over by itself does both."""
        key = (order.number, part.nodes)
        if order.begins:
            ordered_s = _clock()
            under_way = INJECTIONS[part.kind](self._site, part)
            next(under_way)
            self._in_force[key] = (part, under_way)
            self._note(order, part, True, begun_s, ordered_s)
        if not order.begins or part.by_itself:
            ordered_s = _clock()
            next(self._in_force.pop(key)[1], None)
            self._note(order, part, False, begun_s, ordered_s)

    def _note(self, order: Order, part: Fault, begins: bool, begun_s: float, ordered_s: float) -> None:
        done_s = _clock() - begun_s
        for node in part.nodes:
            self._rows.append((order.number, part.kind, begins, node, order.at_s, ordered_s - begun_s, done_s))


def _parts(fault: Fault) -> list[Fault]:
    """What is done at once: all links of a fault, or one node after the other."""
    return [fault] if fault.of_links else [dataclasses.replace(fault, nodes=(node,)) for node in fault.nodes]


def _pairs(fault: Fault, placement: Placement, labels: Sequence[str]) -> list[tuple[str, str]]:
    """Ordered pairs of hosts, by name, whose link a fault is of; `labels` are the names of the nodes."""
    client = next(host.name for host in placement.deployment.hosts if host.name not in labels)
    ends = [client if isinstance(host, str) else labels[host - 1] for host in fault.to]
    pairs = []
    for node in (labels[number - 1] for number in fault.nodes):
        for other in ends:
            pairs += [(other, node)] if fault.way in ("both", "in") else []
            pairs += [(node, other)] if fault.way in ("both", "out") else []
    return pairs
