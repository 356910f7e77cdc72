"""Measure a profile: block by block, each on a cluster of its own, cell by cell in random order."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from cassandra.cluster import Session

from cassbook.engine import CassandraCluster, probe
from cassbook.engine.cluster import Spec
from cassbook.errors import LaboratoryError
from cassbook.load.loop import Bound, ClosedLoop, Outcome
from cassbook.load.nodes import Nodes
from cassbook.load.recorder import Recorder, Window
from cassbook.load.ycsb import INSERT, READ, TABLE, UPDATE, Usertable, create_table
from cassbook.profile import Profile
from cassbook.progress import bar
from cassbook.run.cellcheck import check_cell, errors_by_kind
from cassbook.run.plan import Cell, forecast_s, plan
from cassbook.run.store import RunStore
from cassbook.run.warmup import WarmUp

_LOAD_THREADS = 64
_LOAD_ATTEMPTS = 3
_DRAIN_TIMEOUT_S = 10.0
_QUIET_PERCENT = 10.0
_DEPLOYMENT = "{[C, R1, R2, R3]}"

Say = Callable[[str], None]


def measure(profile: Profile, folder: Path, resume: bool = False, say: Say = print) -> Path:
    """Measure every cell of `profile` that `folder` does not hold yet.

    Parameters
    ----------
    profile : Profile
    folder : Path
        The run folder; new, or one to go on with where `resume` is true.
    say : callable
        Takes each line of progress.

    Returns
    -------
    Path
        The folder, complete.

    Raises
    ------
    InputError
        Before anything is started, if the folder cannot be used.
    LaboratoryError
        If a cluster does not start or the table cannot be loaded; finished cells are kept.
    """
    store = RunStore.resume(folder, profile) if resume else RunStore.create(folder, profile)
    with closing(store):
        _measure(profile, store, say)
    say(f"run complete: {folder}")
    return folder


def _measure(profile: Profile, store: RunStore, say: Say) -> None:
    blocks = plan(profile)
    todo = [cell for cells in blocks for cell in cells if cell.cell_id not in store.done]
    total = sum(map(len, blocks))
    say(
        f"profile {profile.name}: {total} cells in {len(blocks)} blocks, {len(todo)} to measure, "
        f"about {forecast_s(profile, todo) / 60:.0f} min on 2 cores"
    )
    _warn_if_busy(store.notes["busy_before_percent"], say)
    with bar(total, total - len(todo), "cell") as progress:
        for number, cells in enumerate(blocks, start=1):
            left = [cell for cell in cells if cell.cell_id not in store.done]
            if left:
                _measure_block(profile, store, number, left, say, progress.update)
            store.finish_block(number)
    store.complete()


def _warn_if_busy(busy_percent: float, say: Say) -> None:
    """Say so if something else uses the processors; it would show in every figure."""
    if busy_percent > _QUIET_PERCENT:
        say(f"something else uses {busy_percent:.0f} % of this machine's processors: the figures will show it")


def _measure_block(
    profile: Profile, store: RunStore, number: int, cells: list[Cell], say: Say, advance: Callable[[], Any]
) -> None:
    part = profile.cluster
    spec = Spec(part.nodes, part.replication_factor, part.heap_mb, part.options)
    with (
        CassandraCluster(profile.engine, spec, name=profile.name, say=say) as cluster,
        _connected(cluster) as session,
    ):
        block = Block(profile, store, number, cluster, session, say)
        try:
            block.load()
            block.warm_up()
            for cell in cells:
                block.measure(cell)
                advance()
        finally:
            block.close()


@contextmanager
def _connected(cluster: CassandraCluster) -> Iterator[Session]:
    session = cluster.connect()
    try:
        yield session
    finally:
        session.cluster.shutdown()


class Block:
    """One cluster start, its table, and the cells measured on it.

    Parameters
    ----------
    profile : Profile
    store : RunStore
    number : int
        Which block, from 1.
    cluster : CassandraCluster
        Ready.
    session : Session
        An ordinary session to it.
    say : callable
    """

    def __init__(
        self,
        profile: Profile,
        store: RunStore,
        number: int,
        cluster: CassandraCluster,
        session: Session,
        say: Say,
    ) -> None:
        self._profile, self._store, self._number, self._say = profile, store, number, say
        self._cluster, self._session = cluster, session
        starts = store.notes["cluster_starts"]
        self._start = len(starts) + 1
        assert cluster.java is not None  # noqa: S101 - it is ready
        assert cluster.installation is not None  # noqa: S101 - it is ready
        java = {"version": cluster.java.version, "source": cluster.java.source}
        self._notes: dict[str, Any] = {
            "start": self._start,
            "block": number,
            "java": java,
            "cassandra": cluster.installation.source,
        }
        starts.append(self._notes)
        store.save_notes()  # a start that is killed counts too: the next must not repeat its draws
        # A resumed block must not repeat the draws of its first start.
        self._rng = np.random.default_rng([profile.seed, number, self._start])
        create_table(session, profile.table, profile.cluster.replication_factor)
        self._nodes = Nodes(session, cluster.addresses, profile.load.connections_per_node)
        policy = profile.load.coordinator
        nearest = self._nodes.nearest() if policy == "nearest" else 0
        self._table = Usertable(session, profile.table, cluster.addresses, policy, nearest, self._rng)
        self._hints_at_start = self._hints()
        self._previous: Cell | None = None

    def close(self) -> None:
        """Close the load generator's connections and keep the notes."""
        self._nodes.close()
        self._store.save_notes()

    def load(self) -> None:
        """Insert every row at ALL and flush, so that reads are not served by a memtable alone."""
        self._say(f"block {self._number}: loading {self._profile.table.record_count} rows")
        for _ in range(_LOAD_ATTEMPTS):
            failed: list[int] = []

            def note(started: float, latency_s: float, operation: int, outcome: int, node: int) -> None:
                if outcome:
                    failed.append(outcome)  # noqa: B023 - the loop is over before the next list

            loop = self._loop(_LOAD_THREADS, itertools.repeat(INSERT), ("ALL", "ALL"), note, inserts=True)
            loop.run(Bound(), Window())
            if not failed:
                break
        else:
            raise LaboratoryError(
                f"the table could not be loaded: {len(failed)} inserts failed, {_LOAD_ATTEMPTS} times"
            )
        probe.flush(self._session, TABLE, self._cluster.node_folders())

    def warm_up(self) -> None:
        """Half reads, half updates at QUORUM until throughput has settled; kept as a series of its own."""
        rule = self._profile.warm_up
        cell_id = f"b{self._number}-s{self._start}-warmup"
        cell = Cell(cell_id, "warmup", rule.threads, "QUORUM", "QUORUM", 0.5, self._number, self._number, -1)
        warm = WarmUp(rule)
        self._run(cell, Bound(until=warm))
        self._previous = cell
        self._notes["warm_up"] = {
            "ended": warm.reason,
            "throughput_per_s": [round(x, 1) for x in warm.throughput],
        }
        self._store.save_notes()
        self._say(f"block {self._number}: warm-up over after {len(warm.throughput)} windows ({warm.reason})")

    def measure(self, cell: Cell) -> None:
        """Measure one cell, after what the last one left has been drained."""
        load = self._profile.load
        marks = [] if self._settle() else ["hints"]
        self._run(cell, Bound(load.ramp_s, load.steady_s, load.operations_per_thread), marks)
        self._previous = cell

    def _loop(
        self,
        threads: int,
        operations: Iterator[int],
        levels: tuple[str, str],
        record: Callable[[float, float, int, int, int], None],
        inserts: bool = False,
    ) -> ClosedLoop:
        """Build a closed loop on this block's table."""
        table = self._table
        requests = [iter(()), iter(()), table.inserts()] if inserts else [table.requests(READ), table.requests(UPDATE)]
        timeout_s = self._profile.load.request_timeout_s
        return ClosedLoop(self._nodes, threads, operations, requests, table.prefixes(*levels), record, timeout_s)

    def _run(self, cell: Cell, bound: Bound, marks: list[str] | None = None) -> None:
        """Run one cell and put down its samples, then its row."""
        window = Window()
        path = self._store.sample_path(cell.cell_id)
        recorder = Recorder(path, cell.cell_id, self._cluster.addresses, self._store.epoch, window)
        began = time.perf_counter()
        try:
            operations = mix(cell.read_share, self._rng)
            loop = self._loop(cell.threads, operations, (cell.read_cl, cell.write_cl), recorder.add)
            outcome = loop.run(bound, window)
            samples = recorder.close()
        except BaseException:
            recorder.abandon()
            raise
        row = self._row(cell, outcome, began)
        row["errors"] = errors_by_kind(samples)
        row |= check_cell(samples, row, marks or [])
        self._store.finish_cell(row)

    def _row(self, cell: Cell, outcome: Outcome, began: float) -> dict[str, Any]:
        epoch, window = self._store.epoch, outcome.window
        length_s = window.steady_to - window.steady_from  # NaN for a warm-up, which has no steady phase
        cores = psutil.cpu_count() or 1
        steady = length_s > 0
        return {
            **{name: getattr(cell, name) for name in Cell.__slots__},
            "engine": self._profile.engine,
            "deployment": _DEPLOYMENT,
            "cluster_start": self._start,
            "started_s": round(began - epoch, 6),
            "steady_from_s": round(window.steady_from - epoch, 6) if steady else float("nan"),
            "steady_to_s": round(window.steady_to - epoch, 6) if steady else float("nan"),
            "ended_s": round(time.perf_counter() - epoch, 6),
            "operations": outcome.operations,
            "client_cpu_s": outcome.client_cpu_s,
            "client_cpu_share": round(outcome.client_cpu_s / length_s / cores, 4) if steady else float("nan"),
        }

    def _hints(self) -> int:
        return probe.pending_hints(self._session, self._cluster.release.major, self._cluster.node_folders())

    def _settle(self) -> bool:
        """Wait for writes that the last cell did not wait for, so that no cell works off another's arrears.

        A write at ALL through each node queues behind them; hints, should there be any, get a while to go.
        Returns whether all are gone.
        """
        last = self._previous
        if last is None or last.read_share == 1.0 or last.write_cl == "ALL":
            return True
        if probe.write_at_all(self._session, self._profile.cluster.nodes):
            return False
        deadline = time.monotonic() + _DRAIN_TIMEOUT_S
        while self._hints() > self._hints_at_start:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True


def mix(read_share: float, rng: np.random.Generator, length: int = 1 << 16) -> Iterator[int]:
    """Endless kinds of operation, READ with probability `read_share`, else UPDATE; safe to share by threads."""
    if read_share in (0.0, 1.0):
        return itertools.repeat(READ if read_share else UPDATE)
    return itertools.cycle(np.where(rng.random(length) < read_share, READ, UPDATE).tolist())
