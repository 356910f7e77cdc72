"""A block: one cluster start, its tables, and the cells measured on it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.compute as pc
from cassandra.cluster import Session

from cassbook.core import schema
from cassbook.core.errors import LaboratoryError
from cassbook.core.schema import DISTURBED, SAMPLES, TRIAL, WARM_UP, Mark
from cassbook.core.words import counted
from cassbook.lab.engine import processors
from cassbook.lab.engine.any_cluster import AnyCluster
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.engine.connect import connect
from cassbook.lab.load.arrivals import Arrivals, even
from cassbook.lab.load.lag import clock_resolution_ns
from cassbook.lab.load.loop import Bound, Outcome
from cassbook.lab.load.recorder import write_samples
from cassbook.lab.load.slices import Slices
from cassbook.lab.load.ycsb import create_keyspace, create_table
from cassbook.lab.run import conditions, open_cells, strikes, workloads
from cassbook.lab.run.cell import Cell, Group
from cassbook.lab.run.circumstances import now
from cassbook.lab.run.client import Client, During, Place
from cassbook.lab.run.cpu_times import CpuTimes
from cassbook.lab.run.distance import Seen, Watch
from cassbook.lab.run.ladder import Known, Ladder, LadderBench, Load, Measured, together
from cassbook.lab.run.plan import alternation, share_of_reads
from cassbook.lab.run.processes import LostClientError
from cassbook.lab.run.remote import Clients, RemoteProcesses
from cassbook.lab.run.runners import Runners
from cassbook.lab.run.segments import Segments
from cassbook.lab.run.side_probe import SideProbe
from cassbook.lab.run.store import RunStore, of_cell
from cassbook.lab.run.strikes import ByHand, Struck, Struckable, Victim, ask_person
from cassbook.lab.run.warmup import WarmUp
from cassbook.latency.cell_checks import (
    OTHERS_SHARE,
    MissedRate,
    check_cell,
    disturbed,
    errors_by_kind,
    missed_rate,
)
from cassbook.profile.open import BY_HAND, OpenSection
from cassbook.profile.profile import Profile

_LOOK_EVERY_S = 1.0
#: In flight while tables are loaded, and where nothing else may be asked as fast as can be either.
_LOAD_THREADS, _CAREFUL_THREADS = 64, 2
_LOAD_ATTEMPTS = 3
_DRAIN_TIMEOUT_S = 10.0
#: After a node was struck: for how long hints may take, and how long all is warmed up again after a start.
_HINTS_TIMEOUT_S, _HINTS_POLL_S, _WARM_AGAIN_S = 120.0, 0.5, 10.0
#: How often a cell is measured again whose client process was lost with its worker.
_TRIES = 4
#: So many groups of a block are measured again, once each, because others took more than `OTHERS_SHARE` of the machine.
#: Steal and other processes' CPU alone decide, never a latency; what was measured first is kept, as of kind DISTURBED.
MOST_DISTURBED = 10

Log = Callable[[str], None]


def _too_slow(cell: Cell, missed: MissedRate) -> str:
    """Say how many requests left instead of those that were due, and whose limit that is.

    >>> _too_slow(Cell("b1-x", "workload", 50, "ONE", "ONE", 1.0, 1, 1, 0), MissedRate(499.6, 1000.0, of_client=False))
    'b1-x: 500 of 1000 requests a second were sent; with 50 in flight the cluster answers no more; marked `rate`'
    """
    limit = "this client sends" if missed.of_client else f"with {cell.threads} in flight the cluster answers"
    return (
        f"{cell.cell_id}: {missed.sent_per_s:.0f} of {missed.rate_per_s:.4g} requests a second were sent; "
        f"{limit} no more; marked `rate`"
    )


def _name(group: Group) -> str:
    """How messages call what is measured together."""
    return group[0].cell_group or group[0].cell_id


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a run's cluster, as the manifest counts it."""

    block: int  # from 1
    number: int  # which of the run's starts, from 1, those that were killed included: no two draw the same
    cluster_start: int  # as the cells' column has it: 1 for all blocks where the cluster runs before and after them
    notes: dict[str, Any]  # what the manifest says of it

    @classmethod
    def noted(cls, store: RunStore, block: int, cluster: AnyCluster, clients: Clients | None = None) -> Self:
        """Count a start and note it in the manifest at once: after one that is killed, the next repeats no draw."""
        starts = store.notes["cluster_starts"]
        number = len(starts) + 1
        cluster_start = number if cluster.started_here else 1
        notes = {"start": cluster_start, "block": block, "begun": now()} | cluster.notes()
        if clients:
            notes["clients"] = clients.notes() | {"clocks": {}}
        starts.append(notes)
        store.save_notes()
        return cls(block, number, cluster_start, notes)


class Block:
    """One cluster start, its table, and the cells measured on it; `begun` connects and makes the parts.

    The cluster is ready and has the table; runners and CPU times end with the block. `again` groups may be measured
    again because others used the machine; none on a cluster that the laboratory has not started, whose nodes count as
    others.
    """

    def __init__(
        self,
        profile: Profile,
        store: RunStore,
        start: Start,
        cluster: AnyCluster,
        runners: Runners,
        cpu: CpuTimes,
        watch: Watch,
        log: Log,
        clients: Clients | None = None,
        again: int = MOST_DISTURBED,
    ) -> None:
        self._profile, self._store, self._start, self._log = profile, store, start, log
        self._cluster, self._runners, self._clients = cluster, runners, clients
        self._cpu, self._watch, self._notes = cpu, watch, start.notes
        self._again_left = again if cluster.started_here else 0
        self._loaded: set[str] = set()
        self._previous: Group = []
        self._victim: Victim | None = None
        self._by_hand = ByHand(partial(ask_person, log))
        self._probes: dict[str, SideProbe] = {}
        self._clock_resolution_ns = clock_resolution_ns()
        self._hints_at_start = self._hints()
        self._watched = ExitStack()
        self._watched.enter_context(cpu.watched())
        self._began = time.perf_counter()

    @classmethod
    def begun(
        cls, profile: Profile, store: RunStore, number: int, cluster: AnyCluster, log: Log,
        clients: Clients | None = None,
    ) -> Self:  # fmt: skip
        """Begin block `number` (from 1) on a cluster that is ready: note its start, create its table, connect."""
        start = Start.noted(store, number, cluster, clients)
        session = cluster.connect()
        try:
            if profile.uses_table:
                create_table(session, profile.table, cluster.replication, cluster.keyspace)
            elif cluster.replication is not None:
                create_keyspace(session, cluster.keyspace, cluster.replication)
        finally:
            session.cluster.shutdown()
        reach = partial(connect, cluster.addresses, cluster.release.protocol, access=cluster.access)
        place = Place(reach, cluster.addresses, cluster.labels, cluster.keyspace, cluster.read)
        seed = [profile.seed, number, start.number]
        client = Client(profile, place, seed, store.epoch)
        try:
            runners = Runners(profile, client, place, seed, store.epoch, clients)
            cpu = CpuTimes(cluster, _LOOK_EVERY_S)
            return cls(profile, store, start, cluster, runners, cpu, Watch(cluster), log, clients)
        except BaseException:
            client.close()
            raise

    @property
    def _client(self) -> Client:
        return self._runners.client

    @property
    def _session(self) -> Session:
        return self._client.session

    def close(self) -> None:
        """End the clients and keep the notes."""
        for probe in self._probes.values():
            probe.close()
        self._runners.close()
        self._watched.close()
        self._notes["machine"] = self._cpu.columns(self._began, time.perf_counter())
        self._store.save_notes()

    def load(self) -> None:
        """Insert every row at ALL and flush, so that reads are not served by a memtable alone.

        Where no cell uses YCSB's table it is that of the first workload.
        """
        if table := self._client.table:
            self._log(f"block {self._start.block}: loading {counted(self._profile.table.record_count, 'row', 'd')}")
            self._fill(table, table.name)
        else:
            self._load_workload(self._profile.first_workload)

    def _load_workload(self, name: str) -> None:
        """Load the tables of a workload's own, where it has any, before its first cell."""
        ready = self._client.workloads[name]
        if ready.load is not None and name not in self._loaded:
            self._log(f"block {self._start.block}: loading what workload {name} needs")
            self._fill(ready.load, *ready.tables)
            self._loaded.add(name)

    def _fill(self, table: workloads.Loadable, *names: str) -> None:
        for _ in range(_LOAD_ATTEMPTS):
            failed = self._client.fill(table, _CAREFUL_THREADS if self._profile.rates_bound else _LOAD_THREADS)
            if not failed:
                break
        else:
            kinds = ", ".join(f"{count} {outcome}" for outcome, count in failed.most_common())
            raise LaboratoryError(f"the table could not be loaded: inserts failed {_LOAD_ATTEMPTS} times: {kinds}")
        for name in names:
            self._cluster.flush(self._session, name)

    def warm_up(self) -> float:
        """Run half reads, half updates at QUORUM until throughput has settled; kept as a series of its own.

        Where no cell uses YCSB's table it is the mix of the first workload. Returns how many a second were done at its
        end; 0 where rates bound everything, and there is none.
        """
        rule = self._profile.warm_up
        block = self._start.block
        if self._profile.rates_bound:
            self._log(f"block {block}: no warm-up as fast as can be: each mix has one at the lowest of its rates")
            return 0.0
        cell_id = f"b{block}-s{self._start.number}-warmup"
        cell = Cell(cell_id, WARM_UP, rule.threads, "QUORUM", "QUORUM", 0.5, block, block, -1)
        if not self._profile.uses_table:
            name = self._profile.first_workload
            cell = replace(cell, workload=name, read_share=share_of_reads(self._profile, name))
        warm = WarmUp(rule)
        self._run([cell], together([cell], Bound(until=warm)))
        self._previous = [cell]
        self._notes["warm_up"] = {
            "ended": warm.reason,
            "throughput_per_s": [round(x, 1) for x in warm.throughput],
        }
        self._store.save_notes()
        self._log(f"block {self._start.block}: warm-up over after {len(warm.throughput)} windows ({warm.reason})")
        return float(np.mean(warm.throughput[-rule.windows :])) if warm.throughput else 0.0

    def measure(self, group: Group) -> None:
        """Measure a cell, or a group of cells that alternate, after what the last group left has been drained."""
        load, cell, marks = self._profile.load, group[0], self._drained()
        if cell.workload:
            self._load_workload(cell.workload)
        if cell.kind in conditions.KINDS:
            conditions.measure(cell, self._bench(), self._previous, marks)
        else:
            turns = alternation(self._profile, group)
            own = Bound(load.ramp_s, load.steady_s, load.operations_per_thread, arrivals=even(cell.rate_per_s))
            bound = Bound(load.ramp_s, alternation=turns) if turns else own
            self._recorded(group, together(group, bound), marks)
        self._previous = group

    def measure_open(self, of_mix: Sequence[Group], done: Callable[[Group], None]) -> None:
        """Measure the groups of an open mix, and what its settings carry before and after; `done` hears of each.

        With trouble the node that is struck is alive again after each group that it is struck in, and stays dead for
        all that are measured while it is: these are the last of a block.
        """
        first = of_mix[0][0]
        if first.workload:
            self._load_workload(first.workload)
        trouble = open_cells.section_of(self._profile, first).trouble
        if trouble not in {"", open_cells.DEAD_NODE}:
            for group in of_mix:
                self._measure_strike(group, trouble)
                done(group)
            return
        if trouble and not (self._victim and self._victim.dead):
            for name in dict.fromkeys(name for part in self._profile.open if part.trouble for name in part.workloads):
                self._load_workload(name)  # no row can be inserted at ALL later
            victim = self._own_victim()
            self._log(f"block {self._start.block}: node{victim.node} is killed, and stays dead")
            victim.kill()
        seed, warm_up_s = (self._profile.seed, first.block, 5, first.order), self._profile.warm_up.cap_s
        bench = LadderBench(
            partial(open_cells.section_of, self._profile), seed, warm_up_s, self._start.number, self._recorded,
            self._drained_after, self._behind_s, self._absent, self._store.amend, self._known, self._before,
            self._switched, self._beside, self._log,
        )  # fmt: skip
        Ladder(of_mix, bench).measure(done)

    @contextmanager
    def _switched(self, cell: Cell) -> Iterator[None]:
        """Within the block nodes have the processors that a cell's section gives them."""
        part = open_cells.section_of(self._profile, cell)
        if part.processors == "shared":
            yield
            return
        nodes = [self._cluster.node_process(number) for number in range(1, self._cluster.nodes_here + 1)]
        if part.processors == "own":
            with processors.own(nodes):
                yield
            return
        began = time.perf_counter()
        with processors.quota(nodes, part.quota_cores) as throttled:
            yield
        seconds = {"lasted_s": time.perf_counter() - began, "throttled_s": throttled.seconds}
        own = {"cell_id": cell.cell_id, "quota_cores": part.quota_cores}
        conditions.note(self._store.notes, "throttled", own | {name: round(of, 1) for name, of in seconds.items()})

    def _beside(self, cell: Cell, turn: int) -> During | None:
        """Return the probe of staleness beside a turn of a cell that asks for it."""
        part = open_cells.section_of(self._profile, cell)
        if part.probe_after_ms is None:
            return None
        if cell.workload not in self._probes:
            tables = workloads.tables_of(self._profile, cell.workload)
            seed = np.random.default_rng([self._profile.seed, cell.block, self._start.number, 6])
            self._probes[cell.workload] = SideProbe(
                self._session, self._cluster.addresses, self._profile.load.coordinator, self._cluster.keyspace, tables,
                seed, self._profile.load.request_timeout_s,
                lambda counts: conditions.note(self._store.notes, "staleness", counts), self._log,
            )  # fmt: skip
        return self._probes[cell.workload].beside(cell, turn, part)

    def _known(self, cell: Cell) -> Known:
        return Known.of(self._store.cells(self._cluster.deployment), cell)

    def _before(self, cell: Cell) -> Known:
        return Known.before(self._store.cells(self._cluster.deployment), cell)

    def _own_victim(self) -> Victim:
        assert isinstance(self._cluster, CassandraCluster)  # noqa: S101 - others are refused trouble: `conditions`
        self._victim = self._victim or Victim(self._cluster)
        return self._victim

    def _measure_strike(self, group: Group, trouble: str) -> None:
        """Strike a node under the load of a setting, at the rate that its mix had without it, and bring it back."""
        cells = [self._known(cell).with_rate(cell) for cell in group]
        if math.isnan(cells[0].rate_per_s):
            for cell in cells:
                self._absent(cell, Mark.NOT_CARRIED)
            return
        victim: Struckable = self._by_hand if trouble == BY_HAND else self._own_victim()
        part, seen, killed = open_cells.section_of(self._profile, group[0]), Struck(), trouble != "pause"
        arrivals = Arrivals(part.arrivals, cells[0].rate_per_s, (self._profile.seed, cells[0].block, 5, cells[0].order))
        bound = Bound(part.lead_in_s, open_cells.strike_seconds(part), arrivals=arrivals)
        marks = self._drained()
        with victim.brought_back(killed):
            self._run(cells, strikes.load(victim, cells, bound, part.measured_s, self._store.epoch, seen), marks)
        by_node = {str(node): round(at_s - seen.at_s, 3) for node, at_s in sorted(seen.noticed_s.items())}
        at_s = round(seen.at_s - self._store.epoch, 6)
        own = {"cell_id": _name(group), "node": victim.node, "strike": trouble, "at_s": at_s}
        conditions.note(self._store.notes, "strikes", own | {"noticed_s": by_node})
        self._store.save_notes()
        self._previous = group
        self._after_strike(cells[0], part, killed)

    def _after_strike(self, cell: Cell, part: OpenSection, killed: bool) -> None:
        """Wait until hints are delivered; a node that was started again runs code that is not compiled."""
        deadline = time.monotonic() + _HINTS_TIMEOUT_S
        while (self._hints() or 0) > (self._hints_at_start or 0) and time.monotonic() < deadline:
            time.sleep(_HINTS_POLL_S)
        if not killed:
            return
        self._runners.reconnect()
        if part.rates_bound:  # no more may be asked of it
            return
        warm = replace(
            cell, cell_id=f"{_name([cell])}-warm{self._start.number}", kind=TRIAL, condition="warm_up", arrivals="",
            threads=part.capacity_threads, rate_per_s=math.nan, load_share=math.nan, own_share=math.nan, cell_group="",
        )  # fmt: skip
        self._run([warm], together([warm], Bound(part.lead_in_s, _WARM_AGAIN_S)))
        self._previous = [warm]

    def _recorded(self, group: Group, load: Load, marks: Sequence[str]) -> Measured:
        """Run and record a group of a ladder; once more, if others had a part of the machine in cells that count."""
        again = self._again_left > 0 and group[0].kind != TRIAL
        kind, measured = self._run(group, load, marks, again)
        if kind == DISTURBED:
            _, measured = self._run(group, load, [*self._drained_after(group), Mark.AGAIN])
        self._previous = group
        return measured

    def _drained_after(self, group: Group) -> list[str]:
        """Wait for what a group left; a mark where it did not go."""
        self._previous = group
        return self._drained()

    def _absent(self, cell: Cell, mark: str) -> None:
        """Record a cell that is not measured, with the mark that says why."""
        write_samples(SAMPLES.empty_table(), self._store.sample_path(cell.cell_id))
        at = round(time.perf_counter() - self._store.epoch, 6)
        own = {name: getattr(cell, name) for name in Cell.__slots__}
        nothing = dict.fromkeys(("n_due", "n_in_flight", "n_unsent", "n_waited", "measured_s"), 0.0)
        common = {
            "engine": self._profile.engine, "deployment": self._cluster.deployment,
            "cluster_start": self._start.cluster_start, "started_s": at, "ended_s": at, "slices": 0, "operations": 0,
            "errors": "", "client_processes": self._profile.load.client_processes, "marks": mark,
        }  # fmt: skip
        self._store.finish_cell(own | nothing | common)

    def _drained(self) -> list[str]:
        """Wait for what the last group left; a mark where it did not go."""
        if self._victim and self._victim.dead:
            return []  # hints for it wait for as long as it is dead
        return [] if self._settle() else [Mark.HINTS]

    def _bench(self) -> conditions.Bench:
        store, table = self._store, self._client.usertable.name
        return conditions.Bench(
            self._profile, self._cluster, store.notes, store.epoch, table,
            lambda: self._cluster.flush(self._session, table),
            self._runners.reconnect, self._runners.renew,
            lambda group, bound, marks, during: self._run(group, together(group, bound, during), marks),
        )  # fmt: skip

    def _run(self, group: Group, load: Load, marks: Sequence[str] = (), again: bool = False) -> tuple[str, Measured]:
        """Run a group and write its samples, then its rows.

        Returns what was measured, and the kind under which it was recorded: its own, or, where it may be measured
        `again`, perhaps `DISTURBED`.
        """
        for attempt in range(1, _TRIES + 1):
            lost = [Mark.AGAIN] if attempt > 1 else []
            try:
                return self._run_once(group, load, [*marks, *lost], attempt, again)
            except LostClientError as error:
                self._lost(group, error, last=attempt == _TRIES)
        raise AssertionError("the last attempt raises")

    def _run_once(self, group: Group, load: Load, marks: list[str], attempt: int, again: bool) -> tuple[str, Measured]:
        path = self._store.sample_path(_name(group))
        client, count = self._runners.of(group[0], attempt)
        began = time.perf_counter()
        self._watch.begin()
        try:
            measured = load(client, path)
        finally:
            seen = self._seen(group)
        common = seen.columns | {"client_processes": count}
        self._cpu.look()
        common |= self._cpu.columns(began, time.perf_counter())
        if isinstance(client, RemoteProcesses):
            self._notes["clients"]["clocks"] |= {cell.cell_id: client.offsets for cell in group}
            self._store.save_notes()
            common, marks = common | client.columns, marks + client.marks
        samples, turns = measured.samples, measured.turns
        if again and disturbed(common):
            group, samples = self._set_aside(group, samples)
        marks = [*marks, *measured.marks, *seen.marks]
        rows = [self._checked(place, group, measured, samples, began, common, marks) for place in range(len(group))]
        if turns:
            self._store.finish_group(rows, samples, turns)
        else:
            self._store.finish_cell(rows[0])
        return group[0].kind, measured

    def _set_aside(self, group: Group, samples: pa.Table) -> tuple[Group, pa.Table]:
        """Return a group that is measured again, and its samples, under other names and of kind `DISTURBED`."""
        self._again_left -= 1
        self._notes["measured_again"] = self._notes.get("measured_again", 0) + 1
        aside = f"-disturbed{self._start.number}"
        self._log(f"{_name(group)}: others took more than {OTHERS_SHARE:.0%} of the machine; it is measured again")
        renamed = [
            replace(c, cell_id=c.cell_id + aside, kind=DISTURBED, cell_group=c.cell_group and c.cell_group + aside)
            for c in group
        ]
        names = pc.binary_join_element_wise(samples["cell_id"].cast(pa.string()), aside, "")
        place = samples.schema.get_field_index("cell_id")
        samples = samples.set_column(place, samples.schema.field(place), names.cast(samples.schema.field(place).type))
        if len(group) == 1:
            write_samples(samples, self._store.sample_path(renamed[0].cell_id))
        return renamed, samples

    def _checked(
        self,
        place: int,
        group: Group,
        measured: Measured,
        samples: pa.Table,
        began: float,
        common: dict[str, Any],
        marks: list[str],
    ) -> dict[str, Any]:
        """Return the row of the cell at a place of its group, with its marks; `samples`: of the whole group."""
        cell, turns, outcome = group[place], measured.turns, measured.outcome(place)
        own = of_cell(samples, cell.cell_id)
        row = {name: getattr(cell, name) for name in Cell.__slots__} | self._row(outcome, began)
        row["operations"] = outcome.operations if len(group) == 1 else own.num_rows
        row["measured_s"] = turns.measured_s(place) if turns else row["steady_to_s"] - row["steady_from_s"]
        row["slices"] = turns.order.count(place) if turns else 0
        of_client_s = row["measured_s"] if isinstance(turns, Segments) else row["steady_to_s"] - row["steady_from_s"]
        share = outcome.client_cpu_s / of_client_s / (psutil.cpu_count() or 1) if of_client_s > 0 else float("nan")
        row |= {"client_cpu_share": round(share, 4)} | common | {"errors": errors_by_kind(own)}
        row |= self._of_nodes(measured, place, own)
        row |= check_cell(own, row, marks, own if isinstance(turns, Segments) else samples, outcome.due)
        if missed := missed_rate(own, row):
            self._log(_too_slow(cell, missed))
        return row

    def _of_nodes(self, measured: Measured, place: int, own: pa.Table) -> dict[str, float]:
        """Return what the nodes and all together took of the processors while a cell counted, if that can be told."""
        window = measured.outcome(place).window
        windows = measured.windows[place] if measured.windows else [(window.steady_from, window.steady_to)]
        length_s = sum(ended - begun for begun, ended in windows)
        count = pc.sum(pc.equal(own["phase"].cast(pa.string()), "steady")).as_py()
        if isinstance(measured.turns, Slices) or not (length_s > 0 and count and self._cluster.nodes_here):
            return dict.fromkeys(schema.OF_NODES, math.nan)
        took = pd.DataFrame([self._cpu.between(begun, ended) for begun, ended in windows])
        mean = np.average(took, axis=0, weights=[ended - begun for begun, ended in windows])
        means = dict(zip(took.columns, mean, strict=True))
        node_us = took["node_cpu_s"].sum() * 1e6 / count
        shares = node_us, means["busy"], means["disk"], means["wire_mb_per_s"]
        return {name: round(float(value), 4) for name, value in zip(schema.OF_NODES, shares, strict=True)}

    def _lost(self, group: Group, error: LostClientError, last: bool) -> None:
        """Note that a client process was lost, and look for workers to measure the group again on."""
        self._cut_off(group, error)
        self._runners.renew()
        if last or self._clients is None:
            raise LaboratoryError(f"{_name(group)}: {error}; `--resume` measures this again") from None
        self._log(f"{_name(group)}: {error}; it is measured again")
        self._clients.look_again()
        self._notes["clients"] |= self._clients.notes()

    def _seen(self, group: Group) -> Seen:
        """Return distances as measured; a group whose relay has died is recorded as cut off, to be measured again."""
        try:
            return self._watch.end()
        except LaboratoryError as error:
            self._cut_off(group, error)
            raise LaboratoryError(f"{_name(group)}: {error}; `--resume` measures this again") from None

    def _cut_off(self, group: Group, error: LaboratoryError) -> None:
        """Record in the manifest that cells were cut off, and why."""
        entries = [{"cell_id": cell.cell_id, "reason": str(error)} for cell in group]
        self._store.notes.setdefault("cut_off", []).extend(entries)
        self._store.save_notes()

    def _row(self, outcome: Outcome, began: float) -> dict[str, Any]:
        """Columns that all cells of a group share."""
        epoch, window = self._store.epoch, outcome.window
        length_s = window.steady_to - window.steady_from  # NaN for a warm-up, which has no steady phase
        steady = length_s > 0
        return {
            "engine": self._profile.engine,
            "deployment": self._cluster.deployment,
            "cluster_start": self._start.cluster_start,
            "started_s": round(began - epoch, 6),
            "steady_from_s": round(window.steady_from - epoch, 6) if steady else float("nan"),
            "steady_to_s": round(window.steady_to - epoch, 6) if steady else float("nan"),
            "ended_s": round(time.perf_counter() - epoch, 6),
            "loop_lag_us": round(outcome.loop_lag_us, 1),
            "clock_resolution_ns": round(self._clock_resolution_ns, 1),
            "client_cpu_s": outcome.client_cpu_s,
            "client_hosts": 1,
        }

    def _hints(self) -> int | None:
        return self._cluster.hints(self._session)

    def _behind_s(self) -> float:
        """How much longer a write at ALL through each node takes now than once nothing is left; inf if it fails now.

        NaN if it fails then too: a replica is away, and not behind.
        """
        return self._barrier_s() - self._barrier_s()  # in this order

    def _barrier_s(self) -> float:
        began = time.perf_counter()
        return math.inf if self._cluster.barrier(self._session) else time.perf_counter() - began

    def _settle(self) -> bool:
        """Wait for writes that the last cell did not wait for, so that no cell inherits another's backlog.

        A write at ALL through each node queues behind them; hints, should there be any, get a while to go. Returns
        whether all are gone, as far as can be known.
        """
        if not any(cell.leaves_writes for cell in self._previous):
            return True
        if self._cluster.barrier(self._session):
            return False
        deadline = time.monotonic() + _DRAIN_TIMEOUT_S
        while (left := self._hints()) is not None and left > (self._hints_at_start or 0):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True
