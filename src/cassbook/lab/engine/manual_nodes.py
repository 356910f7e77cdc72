"""Nodes of the cluster that was started by hand: stopped, killed, paused and started again, one at a time."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import psutil
from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import NoHostAvailable

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.releases import release
from cassbook.core.types import Log
from cassbook.lab.engine import cluster_state, home, java, manual, preflight
from cassbook.lab.engine.cluster import READY_TIMEOUT_S, answers
from cassbook.lab.engine.connect import connect
from cassbook.lab.engine.manual import DOWN, PAUSED, RUNNING, LocalCluster, NodeState

_STOP_TIMEOUT_S = 60.0
#: Within which the last threads of a process that was killed close its ports.
_FREE_TIMEOUT_S = 10.0
_POLL_S = 0.1
#: Why a node that was killed still counts as up for a while.
_NOTICED = "it took no leave, and the other nodes notice by its silence (gossip's failure detector)"
#: How a read shows that its coordinator sees so many replicas up, where the table has one on each node.
_LEVELS = (ConsistencyLevel.ONE, ConsistencyLevel.TWO, ConsistencyLevel.THREE)


def by_hand() -> LocalCluster:
    """Return the cluster that was started by hand; LaboratoryError if there is none."""
    there = manual.status()
    kept = [cluster for cluster in there if cluster.by_hand]
    if not kept:
        found = "no cluster was started by hand" if there else "no cluster is up"
        raise LaboratoryError(f"{found}; `cassbook cluster up` starts one")
    return kept[0]


def named(cluster: LocalCluster, name: str) -> NodeState:
    """Find a node by its name ("node1"), its number ("1") or its address; an InputError lists those that exist."""
    for node in cluster.nodes:
        if name in (node.name, node.name.removeprefix("node"), node.address):
            return node
    there = ", ".join(f"{node.name} ({node.address})" for node in cluster.nodes)
    raise InputError(f"NODE: there is no node {name!r}; there are {there}")


def stop(name: str, log: Log) -> None:
    """End a node's process as its operator would (SIGTERM: it announces its leave), and wait until it is gone."""
    _end(name, "stop", log)


def kill(name: str, log: Log) -> None:
    """Kill a node's process (SIGKILL), also one that is paused, and wait until it is gone."""
    _end(name, "kill", log)


def pause(name: str, log: Log) -> None:
    """Suspend a node's process (SIGSTOP): its connections stay open and nothing is answered."""
    node = _in_state(name, "pause", {RUNNING: "", PAUSED: "is paused already", DOWN: "is down"})
    _process(node).suspend()
    _wait_for(node.name, PAUSED)
    log(f"{node.name} ({node.address}) is paused")


def resume(name: str, log: Log) -> None:
    """Resume a paused node (SIGCONT)."""
    node = _in_state(name, "resume", {PAUSED: "", RUNNING: "runs; it is not paused", DOWN: "is down; start it instead"})
    _process(node).resume()
    _wait_for(node.name, RUNNING)
    log(f"{node.name} ({node.address}) runs again")


def start(name: str, log: Log) -> None:
    """Start a node that is down, and wait until CQL answers on it and all nodes that run see each other."""
    node = _in_state(name, "start", {DOWN: "", RUNNING: "runs already", PAUSED: "is paused; resume it instead"})
    cluster = by_hand()
    began = time.monotonic()
    while held := preflight.held(node.address):
        if time.monotonic() - began > _FREE_TIMEOUT_S:
            raise LaboratoryError(f"start: {node.name}: {'; '.join(one.text for one in held)}")
        time.sleep(_POLL_S)
    _launch(cluster, node)
    while not answers(node.address):
        if named(by_hand(), node.name).state == DOWN:
            raise LaboratoryError(f"{node.name} stopped while starting; {_log_of(cluster, node)} says why")
        _check_time(began, f"{node.name} does not answer on {node.address}:9042; {_log_of(cluster, node)} may say why")
        time.sleep(_POLL_S)
    _wait_until_seen(began)
    log(f"{node.name} ({node.address}) runs, after {time.monotonic() - began:.0f} s")


def restart(name: str, log: Log) -> None:
    """Stop a node and start it again; one that is down is started."""
    if named(by_hand(), name).state != DOWN:
        stop(name, log)
    start(name, log)


def _end(name: str, what: str, log: Log) -> None:
    refused = {RUNNING: "", PAUSED: "", DOWN: "is down already"}
    if what == "stop":
        refused[PAUSED] = "is paused, so that it cannot stop in order; resume it first, or kill it"
    node = _in_state(name, what, refused)
    process = _process(node)
    with suppress(psutil.NoSuchProcess):
        process.kill() if what == "kill" else process.terminate()
    _wait_for(node.name, DOWN)
    log(f"{node.name} ({node.address}) is down")
    others = any(other.state == RUNNING for other in by_hand().nodes)
    if what == "kill" and others:
        log(f"`nodetool status` shows it as UN for some seconds still: {_NOTICED}")


def _in_state(name: str, what: str, refused: dict[str, str]) -> NodeState:
    """Find a node and refuse what its state does not allow."""
    node = named(by_hand(), name)
    if refused[node.state]:
        raise LaboratoryError(f"{what}: {node.name} ({node.address}) {refused[node.state]}")
    return node


def _process(node: NodeState) -> psutil.Process:
    try:
        return psutil.Process(node.pid)
    except psutil.NoSuchProcess:
        raise LaboratoryError(f"{node.name} ({node.address}) ended just now") from None


def _wait_for(name: str, state: str) -> None:
    began = time.monotonic()
    while (now := named(by_hand(), name).state) != state:
        if time.monotonic() - began > _STOP_TIMEOUT_S:
            raise LaboratoryError(f"{name} is still {now} after {_STOP_TIMEOUT_S:.0f} s; `kill` does not ask it")
        time.sleep(_POLL_S)


def _check_time(began: float, message: str) -> None:
    if time.monotonic() - began > READY_TIMEOUT_S:
        raise LaboratoryError(f"{message} (waited {READY_TIMEOUT_S:.0f} s)")


def _launch(cluster: LocalCluster, node: NodeState) -> None:
    """Start a node's process from the folder that it was first started from."""
    from ccmlib.cluster_factory import ClusterFactory  # noqa: PLC0415 - writes a config folder when loaded

    runtime = java.obtain(release(cluster.engine))
    ccm: Any = ClusterFactory.load(str(cluster.folder), "ccm")
    ccm._environment_variables = home.environment(runtime, cluster.folder / "home", cluster.nice)
    ccm.nodes[node.name].pid = None  # of a process that has ended, which ccm takes to run until its parent has noticed
    ccm.nodes[node.name].start(no_wait=True, wait_other_notice=False)


def _wait_until_seen(began: float) -> None:
    """Wait until each node that runs sees all others that do: a read of as many replicas is not refused by it."""
    cluster = by_hand()
    running = [node.address for node in cluster.nodes if node.state == RUNNING]
    whole = len(running) == len(cluster.nodes)
    level = ConsistencyLevel.ALL if whole else _LEVELS[min(len(running), len(_LEVELS)) - 1]
    session = connect(running, release(cluster.engine).protocol)
    try:
        while failed := _unseen(session, level):
            _check_time(began, f"not all nodes see each other: {failed}")
            time.sleep(_POLL_S)
    finally:
        session.cluster.shutdown()


def _unseen(session: Any, level: int) -> list[str]:
    try:
        return cluster_state.read_through_each(session, level)
    except (DriverException, NoHostAvailable) as error:
        return [str(error)[:200]]


def _log_of(cluster: LocalCluster, node: NodeState) -> str:
    return str(cluster.folder / "ccm" / node.name / "logs" / "system.log")
