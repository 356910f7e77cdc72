"""A block: one cluster start, its tables, and the cells measured on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import psutil
from cassandra.cluster import Session

from cassbook.core.errors import LaboratoryError
from cassbook.core.schema import Mark
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.engine.connect import connect
from cassbook.lab.engine.existing import ExistingCluster
from cassbook.lab.load.lag import clock_resolution_ns
from cassbook.lab.load.loop import Bound, Outcome
from cassbook.lab.load.ycsb import create_table
from cassbook.lab.run import conditions, workloads
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.client import Client, Place
from cassbook.lab.run.distance import Seen, Watch
from cassbook.lab.run.processes import ClientProcesses, LostClientError
from cassbook.lab.run.remote import Clients, RemoteProcesses
from cassbook.lab.run.store import RunStore
from cassbook.lab.run.warmup import WarmUp
from cassbook.latency.cell_checks import check_cell, errors_by_kind, missed_rate
from cassbook.profile.profile import Profile

_LOAD_THREADS = 64
_LOAD_ATTEMPTS = 3
_DRAIN_TIMEOUT_S = 10.0
#: How often a cell is measured again whose client process was lost with its worker.
_TRIES = 4

Log = Callable[[str], None]
AnyCluster = CassandraCluster | ExistingCluster


class Block:
    """One cluster start, its table, and the cells measured on it.

    Parameters
    ----------
    profile : Profile
    store : RunStore
    number : int
        Which block, from 1.
    cluster : CassandraCluster or ExistingCluster
        Ready.
    log : callable
    clients : Clients, optional
        Other machines that the client processes go to.
    """

    def __init__(
        self,
        profile: Profile,
        store: RunStore,
        number: int,
        cluster: AnyCluster,
        log: Log,
        clients: Clients | None = None,
    ) -> None:
        self._profile, self._store, self._number, self._log = profile, store, number, log
        self._cluster, self._clients = cluster, clients
        starts = store.notes["cluster_starts"]
        self._start = len(starts) + 1
        made = isinstance(cluster, ExistingCluster)  # nobody started it for us, and its keyspace stands by now
        self._cluster_start = 1 if made else self._start
        self._notes: dict[str, Any] = {"start": self._cluster_start, "block": number, **cluster.notes()}
        if clients:
            self._notes["clients"] = clients.notes() | {"clocks": {}}
        starts.append(self._notes)
        store.save_notes()  # a start that is killed counts too: the next must not repeat its draws
        session = cluster.connect()
        create_table(
            session,
            profile.table,
            None if isinstance(cluster, ExistingCluster) else cluster.replication,
            cluster.keyspace,
        )
        session.cluster.shutdown()
        # A resumed block must not repeat the draws of its first start.
        self._seed = [profile.seed, number, self._start]
        reach = partial(connect, cluster.addresses, cluster.release.protocol, access=cluster.access)
        self._place = Place(reach, cluster.addresses, cluster.labels, cluster.keyspace)
        self._client = Client(profile, self._place, self._seed, store.epoch)
        self._processes: ClientProcesses | RemoteProcesses | None = None
        self._loaded: set[str] = set()
        self._clock_resolution_ns = clock_resolution_ns()
        self._watch = Watch(cluster)
        self._hints_at_start = self._hints()
        self._previous: Cell | None = None

    @property
    def _session(self) -> Session:
        return self._client.session

    def close(self) -> None:
        """End the clients and keep the notes."""
        if self._processes:
            self._processes.close()
        self._client.close()
        self._store.save_notes()

    def load(self) -> None:
        """Insert every row at ALL and flush, so that reads are not served by a memtable alone."""
        self._log(f"block {self._number}: loading {self._profile.table.record_count} rows")
        self._fill(self._client.table, self._client.table.name)

    def _load_workload(self, name: str) -> None:
        """Load the tables of a workload's own, where it has any, before its first cell."""
        ready = self._client.workloads[name]
        if ready.load is not None and name not in self._loaded:
            self._log(f"block {self._number}: loading what workload {name} needs")
            self._fill(ready.load, *ready.tables)
            self._loaded.add(name)

    def _fill(self, table: workloads.Loadable, *names: str) -> None:
        for _ in range(_LOAD_ATTEMPTS):
            failed = self._client.fill(table, _LOAD_THREADS)
            if not failed:
                break
        else:
            raise LaboratoryError(f"the table could not be loaded: {failed} inserts failed, {_LOAD_ATTEMPTS} times")
        for name in names:
            self._cluster.flush(self._session, name)

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
        self._log(f"block {self._number}: warm-up over after {len(warm.throughput)} windows ({warm.reason})")

    def measure(self, cell: Cell) -> None:
        """Measure one cell, after what the last one left has been drained."""
        load = self._profile.load
        marks: list[str] = [] if self._settle() else [Mark.HINTS]
        if cell.workload:
            self._load_workload(cell.workload)
        if cell.kind in conditions.KINDS:
            conditions.measure(cell, self._bench(), self._previous, marks)
        else:
            self._run(cell, Bound(load.ramp_s, load.steady_s, load.operations_per_thread), marks)
        self._previous = cell

    def _bench(self) -> conditions.Bench:
        store, table = self._store, self._client.table.name
        return conditions.Bench(
            self._profile, self._cluster, store.notes, store.epoch, table,
            lambda: self._cluster.flush(self._session, table),
            self.reconnect, self.renew_client, self._run,
        )  # fmt: skip

    def reconnect(self) -> None:
        """Have every client connect anew: restarted nodes know neither connections nor prepared statements."""
        self._client.reconnect()
        self.renew_client()

    def renew_client(self) -> None:
        """Have the next cell run by client processes that have just been started."""
        if self._processes:
            self._processes.close()
            self._processes = None

    def _run(
        self,
        cell: Cell,
        bound: Bound,
        marks: list[str] | None = None,
        during: conditions.During | None = None,
    ) -> None:
        """Run one cell, within what is to be done during it, and put down its samples, then its row."""
        for attempt in range(1, _TRIES + 1):
            try:
                self._run_once(cell, bound, [*(marks or []), *([Mark.AGAIN] if attempt > 1 else [])], during, attempt)
                return
            except LostClientError as error:
                self._lost(cell, error, last=attempt == _TRIES)

    def _run_once(
        self, cell: Cell, bound: Bound, marks: list[str], during: conditions.During | None, attempt: int
    ) -> None:
        path = self._store.sample_path(cell.cell_id)
        client, count = self._runner(cell, attempt)
        began = time.perf_counter()
        self._watch.begin()
        try:
            outcome, samples = client.run(cell, bound, path, during)
        finally:
            seen = self._seen(cell)
        row = (
            seen.columns
            | self._row(cell, outcome, began)
            | {"client_processes": count, "errors": errors_by_kind(samples)}
        )
        if isinstance(client, RemoteProcesses):
            self._notes["clients"]["clocks"][cell.cell_id] = client.offsets
            self._store.save_notes()
            row, marks = row | client.columns, marks + client.marks
        row |= check_cell(samples, row, [*marks, *seen.marks])
        self._store.finish_cell(row)
        if sentence := missed_rate(samples, row):
            self._log(sentence)

    def _lost(self, cell: Cell, error: LostClientError, last: bool) -> None:
        """Note that a client process was lost, and look for workers to measure the cell again on."""
        self._cut_off(cell, error)
        self.renew_client()
        if last or self._clients is None:
            raise LaboratoryError(f"{cell.cell_id}: {error}; `--resume` measures this cell again") from None
        self._log(f"{cell.cell_id}: {error}; it is measured again")
        self._clients.look_again()
        self._notes["clients"] |= self._clients.notes()

    def _seen(self, cell: Cell) -> Seen:
        """What is said of distances; a cell whose relay has died is put down as such, and measured again later."""
        try:
            return self._watch.end()
        except LaboratoryError as error:
            self._cut_off(cell, error)
            raise LaboratoryError(f"{cell.cell_id}: {error}; `--resume` measures this cell again") from None

    def _cut_off(self, cell: Cell, error: LaboratoryError) -> None:
        """Put down a cell that came to nothing."""
        self._store.notes.setdefault("cut_off", []).append({"cell_id": cell.cell_id, "reason": str(error)})
        self._store.save_notes()

    def _runner(self, cell: Cell, attempt: int) -> tuple[Client | ClientProcesses, int]:
        """Return who runs a cell, and how many processes that are.

        This process does, unless the profile asks for more than one, for a client that has just been started, or a
        person for clients on other machines. The warm-up, whose end it decides, is always its own.
        """
        count = self._profile.load.client_processes
        alone = count == 1 and self._clients is None and cell.condition != "restarted_client"
        if cell.kind == "warmup" or alone:
            return self._client, 1
        if self._processes is None:
            seed = [*self._seed, cell.order, *([attempt] if attempt > 1 else [])]
            place = self._clients.place if self._clients else ClientProcesses
            self._processes = place(count, self._profile, self._place, seed, self._store.epoch)
        return self._processes, count

    def _row(self, cell: Cell, outcome: Outcome, began: float) -> dict[str, Any]:
        epoch, window = self._store.epoch, outcome.window
        length_s = window.steady_to - window.steady_from  # NaN for a warm-up, which has no steady phase
        cores = psutil.cpu_count() or 1
        steady = length_s > 0
        return {
            **{name: getattr(cell, name) for name in Cell.__slots__},
            "engine": self._profile.engine,
            "deployment": self._cluster.deployment,
            "cluster_start": self._cluster_start,
            "started_s": round(began - epoch, 6),
            "steady_from_s": round(window.steady_from - epoch, 6) if steady else float("nan"),
            "steady_to_s": round(window.steady_to - epoch, 6) if steady else float("nan"),
            "ended_s": round(time.perf_counter() - epoch, 6),
            "operations": outcome.operations,
            "loop_lag_us": round(outcome.loop_lag_us, 1),
            "clock_resolution_ns": round(self._clock_resolution_ns, 1),
            "client_cpu_s": outcome.client_cpu_s,
            "client_hosts": 1,
            "client_cpu_share": round(outcome.client_cpu_s / length_s / cores, 4) if steady else float("nan"),
        }

    def _hints(self) -> int | None:
        return self._cluster.hints(self._session)

    def _settle(self) -> bool:
        """Wait for writes that the last cell did not wait for, so that no cell works off another's arrears.

        A write at ALL through each node queues behind them; hints, should there be any, get a while to go.
        Returns whether all are gone, as far as can be known.
        """
        last = self._previous
        if last is None or last.read_share == 1.0 or last.write_cl == "ALL":
            return True
        if self._cluster.barrier(self._session):
            return False
        deadline = time.monotonic() + _DRAIN_TIMEOUT_S
        while (left := self._hints()) is not None and left > (self._hints_at_start or 0):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True
