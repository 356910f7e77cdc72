"""A ccm cluster as a context manager: ready means ready, and however the block ends, nothing is left.

Its nodes, by their numbers from 1, can be ended, paused, started again and replaced.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
from cassandra.cluster import Session
from typing_extensions import override

from cassbook.core.children import described
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.files import write_text
from cassbook.core.paths import cache_dir
from cassbook.core.releases import DEFAULT_ENGINE, Release, release
from cassbook.core.signals import Cleared, held_back, let_through
from cassbook.core.words import counted
from cassbook.lab.engine import breakage, cluster_state, fetch, home, java, preflight, teardown
from cassbook.lab.engine.any_cluster import AnyCluster, Distances
from cassbook.lab.engine.connect import Access, connect
from cassbook.lab.engine.spec import Spec

READY_TIMEOUT_S = 240.0
#: How units that old keys of cassandra.yaml end in are written in a value.
_UNITS = {"ms": "ms", "kb": "KiB", "mb": "MiB"}
#: A session that has not shown all nodes ready is made anew after so long.
_RENEW_S = 20.0
_END_TIMEOUT_S, _POLL_S = 60.0, 0.02
#: Folders of a node, besides its data, that are lost with its disks.
_LOST = ("commitlogs", "saved_caches", "hints")


def clusters_dir() -> Path:
    """Folder that holds one folder a running cluster."""
    return cache_dir() / "clusters"


class CassandraCluster(Cleared, AnyCluster):
    """Start a local cluster on entry, remove every trace of it on exit.

    Parameters
    ----------
    engine : str or Release
        A version in `releases.RELEASES`, or a release that is not among them.
    spec : Spec
    name : str
        Start of the folder's name.
    log : callable
        Takes each line of progress.
    access : Access, optional
        How to be let in, where `spec.options` ask for passwords or TLS.

    Examples
    --------
    >>> with CassandraCluster("2.1.20", Spec(nodes=3)) as cluster:  # doctest: +SKIP
    ...     session = cluster.connect()

    Raises
    ------
    InputError
        For an unknown engine or an impossible spec.
    LaboratoryError
        When ports, memory or disk are wanting, or a node does not start (with its name and its log's end).
    """

    started_here = True
    deployment = "{[C, R1, R2, R3]}"
    keyspace = "ycsb"
    release: Release

    def __init__(
        self,
        engine: str | Release = DEFAULT_ENGINE,
        spec: Spec | None = None,
        name: str = "cluster",
        log: Callable[[str], None] = print,
        access: Access | None = None,
    ) -> None:
        self.release = engine if isinstance(engine, Release) else release(engine)
        self.spec = spec or Spec()
        self.name = name
        self.log = log
        self._access = access
        self.folder = clusters_dir() / f"{name}-{os.getpid()}"
        self.addresses = [f"127.0.0.{i}" for i in range(1, self.spec.nodes + 1)]
        self.installation: fetch.Installation | None = None
        self.java: java.Java | None = None
        self._watchdog: teardown.Watchdog | None = None
        self._ccm: Any = None  # what started the nodes, and can start them again

    @override
    def begin(self) -> None:
        self.start()

    @override
    def end(self, error: BaseException | None) -> None:
        self.remove()

    def start(self, keep: bool = False) -> None:
        """Fetch what is missing, start every node, and wait until all are ready.

        With `keep` the cluster outlives this process (`cassbook cluster up`).
        """
        with let_through():
            version = self._obtain().version
        began = time.monotonic()
        self.log(f"starting {counted(self.spec.nodes, 'node')} of Cassandra {self.release.version} on Java {version}")
        try:
            with let_through():
                self._write_state(keep)
                self._watchdog = teardown.Watchdog(self.folder)
                self._prepare()
                self._launch()
                self._wait_until_ready()
            if keep:
                self._watchdog.release()
        except BaseException:
            self.remove()
            raise
        self.log(f"cluster ready after {time.monotonic() - began:.0f} s")

    def _obtain(self) -> java.Java:
        """Fetch what is missing, remove what killed processes left, and see that there is room; the nodes' Java."""
        self.installation = fetch.obtain(self.release, self.log)
        self.java = java.obtain(self.release, self.log)
        for orphan in teardown.orphans(clusters_dir()):
            self.log(f"removing what a killed process left: {orphan.name}")
            teardown.tear_down(orphan)
        if self.folder.exists():
            raise LaboratoryError(f"a cluster is already up in {self.folder}; `cassbook cluster down` removes it")
        preflight.check(self.spec.nodes + self.spec.spare, self.spec.heap_mb, self.folder)
        return self.java

    @override
    def restart(self, between: Callable[[], None] | None = None) -> None:
        """Kill every node and start it again on the same data; returns when all are ready.

        What was flushed or synced is kept; what came since the last sync of the commit log, up to ten seconds by
        default, a node may forget. Sessions lose their connections, and nodes before 3.10 the statements prepared on
        them. `between` is called while no node runs. If a node does not come back, the cluster is removed
        (LaboratoryError).
        """
        began = time.monotonic()
        self.log(f"restarting {counted(self.spec.nodes, 'node')}")
        try:
            teardown.kill(self.folder)
            if between:
                between()
            self._launch()
            self._wait_until_ready()
        except BaseException:
            self.remove()
            raise
        self.log(f"cluster ready again after {time.monotonic() - began:.0f} s")

    def wait_until_whole(self) -> None:
        """Wait until every node answers, and reaches all others as coordinator, after some were down.

        A LaboratoryError names a node that has stopped or does not answer, with the end of its log.
        """
        CassandraCluster._wait_until_ready(self)

    def together(self) -> AbstractContextManager[None]:
        """Within the block no two hosts are apart; here they never are."""
        return nullcontext()

    def remove(self) -> None:
        """Kill the nodes and remove their folder; the watchdog is let go only after that."""
        with held_back():
            teardown.tear_down(self.folder)
            if self._watchdog:
                self._watchdog.release()
                self._watchdog = None

    @override
    def connect(self) -> Session:
        return connect(self.addresses, self.release.protocol, access=self.access)

    @override
    def node_folders(self) -> list[Path]:
        """Folder of each node, in order of address; its data, logs and hints lie inside."""
        return [self._folder(node) for node in range(1, self.spec.nodes + 1)]

    @property
    @override
    def access(self) -> Access | None:
        return self._access

    @property
    @override
    def apart(self) -> Distances | None:
        return None

    @property
    @override
    def nodes_here(self) -> int:
        return self.spec.nodes

    @property
    @override
    def replication(self) -> int | dict[str, int]:
        return self.spec.replication_factor

    @property
    def _listening(self) -> list[str]:
        """Address that each node listens on."""
        return self.addresses

    @property
    def broadcast_addresses(self) -> list[str]:
        """Address that the other nodes, and traces, know each node by."""
        return self.addresses

    @property
    @override
    def labels(self) -> list[str]:
        """What samples call the coordinators: their loopback addresses."""
        return self.addresses

    @override
    def notes(self) -> dict[str, Any]:
        """What the manifest says of a cluster start: Java and Cassandra, and where they were found."""
        assert self.java is not None  # noqa: S101 - it is ready
        assert self.installation is not None  # noqa: S101 - it is ready
        java: dict[str, Any] = {"version": self.java.version, "source": self.java.source}
        if further := home.further_options():
            java["further_options"] = further
        return {"java": java, "cassandra": self.installation.source}

    @override
    def flush(self, session: Session, table: str) -> None:
        """Flush `table` ("keyspace.name") on every node and see that it is done."""
        cluster_state.flush(session, table, self.node_folders())

    @override
    def hints(self, session: Session) -> int:
        return cluster_state.pending_hints(session, self.release.major, self.node_folders())

    @override
    def barrier(self, session: Session) -> list[str]:
        return cluster_state.write_at_all(session, self.spec.nodes)

    @override
    @contextmanager
    def paused(self, node: int) -> Iterator[None]:
        """Pause node `node` (from 1) for the length of the block: SIGSTOP, and SIGCONT however the block ends."""
        process = self.node_process(node)
        try:
            process.suspend()
            yield
        finally:
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def end_node(self, node: int, kill: bool = True) -> None:
        """End the process of node `node` (from 1) and wait, for a minute at most, until it is gone.

        It gets SIGKILL or, without `kill`, SIGTERM, upon which it announces its leave. Either way the kernel still
        writes out the pages that the node has written: it is no power cut.
        """
        process = self.node_process(node)
        process.kill() if kill else process.terminate()
        deadline = time.monotonic() + _END_TIMEOUT_S
        while _runs(process) or preflight.held(self._address(node)):
            if time.monotonic() > deadline:
                wrong = f"node{node} has not ended after {_END_TIMEOUT_S:.0f} s"
                raise LaboratoryError(f"{wrong}\n{self._log_end(node)}")
            time.sleep(_POLL_S)

    def launch_node(self, node: int, replace: bool = False) -> None:
        """Start node `node` (from 1), which does not run; returns before it answers.

        A spare node joins: it fetches its rows from the others. With `replace` its disks are empty, and its rows are
        streamed from the other replicas.
        """
        folder = self._folder(node)
        (folder / "cassandra.pid").unlink(missing_ok=True)
        ccm_node = self._ccm.nodelist()[node - 1]
        ccm_node.pid = None  # of a process that has ended, which ccm takes to run until its parent has noticed
        options: dict[str, Any] = {}
        if replace:
            for lost in (*folder.glob("data*"), *(folder / name for name in _LOST)):
                shutil.rmtree(lost, ignore_errors=True)
                lost.mkdir()
            options["replace_address"] = self.broadcast_addresses[node - 1]
        if replace or node > self.spec.nodes:
            self._let_join(node)
        ccm_node.start(no_wait=True, wait_other_notice=False, **options)

    def set_clock(self, node: int, by_ms: float) -> None:
        """Set the clock of node `node`, one of `Spec.breakable.clocks`, ahead; it heeds that within a second."""
        breakage.set_clock(self._folder(node), by_ms)

    def fill_disk(self, node: int) -> None:
        """Fill the disk of node `node`, one of `Spec.breakable.disks`."""
        breakage.fill(self._folder(node))

    def free_disk(self, node: int) -> None:
        """Free the disk of node `node` again; it has what it had."""
        breakage.free(self._folder(node))

    def _let_join(self, node: int) -> None:
        """Have a node fetch its rows from the others, which no node does that is a seed of its own."""
        ccm_node, seeds = self._ccm.nodelist()[node - 1], self._ccm.seeds
        self._ccm.seeds = [address for other, address in enumerate(self.broadcast_addresses, 1) if other != node]
        ccm_node.auto_bootstrap = True
        ccm_node.set_configuration_options({})  # writes its configuration anew
        self._ccm.seeds = seeds

    def _folder(self, node: int) -> Path:
        return self.folder / "ccm" / f"node{node}"

    def node_answers(self, node: int) -> bool:
        """Whether node `node` (from 1) accepts connections of clients."""
        return answers(self._address(node))

    def _address(self, node: int) -> str:
        return [*self._listening, *self._spare_addresses][node - 1]

    @property
    def _spare_addresses(self) -> list[str]:
        return [f"127.0.0.{self.spec.nodes + place}" for place in range(1, self.spec.spare + 1)]

    @override
    def node_process(self, node: int) -> psutil.Process:
        """Return the process of node `node`, from 1.

        InputError if there is no such node, LaboratoryError if it does not run.
        """
        if not 1 <= node <= self.spec.nodes + self.spec.spare:
            raise InputError(f"node: there are nodes 1 to {self.spec.nodes + self.spec.spare}, got {node}")
        process = self.running(node)
        if process is None:
            raise LaboratoryError(f"node{node} does not run\n{self._log_end(node)}")
        return process

    @override
    def running(self, node: int) -> psutil.Process | None:
        try:
            return psutil.Process(int((self._folder(node) / "cassandra.pid").read_text()))
        except (OSError, ValueError, psutil.NoSuchProcess):
            return None

    def _log_end(self, number: int) -> str:
        """Why a node failed by its logs, what it said itself and then its JVM; they are kept when its folder goes."""
        folder = self._folder(number) / "logs"
        paths = [folder / name for name in ("system.log", "stdout.log")]
        logs = "\n".join(path.read_text(errors="replace") for path in paths if path.is_file())
        return described(logs, f"{self.folder.name}-node{number}") if logs.strip() else f"node{number} wrote no log"

    def _write_state(self, keep: bool) -> None:
        self.folder.mkdir(parents=True)
        note = {
            "owner_pid": os.getpid(),
            "owner_created_s": psutil.Process().create_time(),
            "keep": keep,
            "engine": self.release.version,
            "addresses": self.addresses,
            "spec": asdict(self.spec),
        }
        write_text(self.folder / teardown.STATE, json.dumps(note, indent=1))

    def _prepare(self) -> None:
        """Write the home, the folder and the configuration of each node."""
        from ccmlib.cluster import Cluster as Ccm  # noqa: PLC0415 - writes a config folder when loaded

        installation, java_found = self.installation, self.java
        assert installation is not None  # noqa: S101 - set by start()
        assert java_found is not None  # noqa: S101 - set by start()
        prepared = home.prepare(installation, java_found, self.spec.heap_mb, self.folder / "home")
        ccm = Ccm(str(self.folder), "ccm", install_dir=str(prepared))
        options = {"start_rpc": False} if self.release.major < (4, 0) else {}
        ccm.set_configuration_options({**options, **named_for(self.release, self.spec.options)})
        ccm._environment_variables = home.environment(java_found, prepared, self.spec.nice)
        ccm.populate(self.spec.nodes + self.spec.spare)
        if self.spec.node_options:
            # The others may be known by another address than they listen on.
            ccm.seeds = [self.spec.seed or ccm.nodelist()[0]]
            for node in ccm.nodelist():
                node.set_configuration_options({})  # writes the seeds anew
            for number, extra in self.spec.node_options.items():
                ccm.nodelist()[number - 1].set_configuration_options(dict(extra))
        for number in self.spec.breakable.clocks:
            breakage.give_clock(self._folder(number))
        for number in self.spec.breakable.disks:
            breakage.give_small_disk(self._folder(number))
        self._ccm = ccm

    def _launch(self) -> None:
        for node in self._ccm.nodelist()[: self.spec.nodes]:
            node.start(no_wait=True, wait_other_notice=False)

    def _wait_until_ready(self) -> None:
        """Wait until CQL answers on every node and each, as coordinator, reaches all replicas."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        for i, address in enumerate(self._listening, start=1):
            while not answers(address):
                self._check_alive()
                if time.monotonic() > deadline:
                    raise LaboratoryError(f"node{i} does not answer on {address}:9042\n{self._log_end(i)}")
                time.sleep(0.25)
        session = self.connect()
        renewed = time.monotonic()
        try:
            for question in (cluster_state.missing_peers, cluster_state.ensure_probe_table, cluster_state.read_at_all):
                while missing := question(session, self.spec.nodes):
                    self._check_alive()
                    if time.monotonic() > deadline:
                        raise LaboratoryError(f"not all nodes see each other: {missing}")
                    time.sleep(0.25)
                    if time.monotonic() > renewed + _RENEW_S:
                        # A session may hold a node for removed that was replaced at its own address while it connected.
                        session.cluster.shutdown()
                        session = self.connect()
                        renewed = time.monotonic()
        finally:
            session.cluster.shutdown()

    def _check_alive(self) -> None:
        """Raise for a node whose process has gone, quoting its log."""
        for i, folder in enumerate(self.node_folders(), start=1):
            pidfile = folder / "cassandra.pid"
            text = pidfile.read_text().strip() if pidfile.is_file() else ""
            if text and not psutil.pid_exists(int(text)):
                raise LaboratoryError(f"node{i} stopped while starting\n{self._log_end(i)}")


def named_for(release: Release, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of cassandra.yaml as a release names them, with those that they require.

    What is synced in batches has no period. Units stand in the values from 4.1 on; a file that has a key with and
    without its unit stops the node, and so does an empty value.
    """
    batch = options.get("commitlog_sync") == "batch"
    if release.major < (4, 1):
        goes_with = {"commitlog_sync_period_in_ms": None, "commitlog_sync_batch_window_in_ms": 2} if batch else {}
        return goes_with | dict(options)
    found: dict[str, Any] = {"commitlog_sync_period": "0ms"} if batch else {}
    for key, value in options.items():
        name, _, unit = key.rpartition("_in_")
        found |= {name: f"{value}{_UNITS[unit]}"} if unit in _UNITS else {key: value}
    return found


def _runs(process: psutil.Process) -> bool:
    """Whether a process has not ended, or only its parent has yet to notice."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def answers(address: str) -> bool:
    """Return whether something accepts connections on a node's CQL port."""
    try:
        with socket.create_connection((address, preflight.CQL_PORT), timeout=1):
            return True
    except OSError:
        return False
