"""A client of a cluster: its session, its connections and its requests; it runs the load of a cell."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from cassandra.cluster import Session

from cassbook.core.schema import OPERATIONS, OUTCOMES
from cassbook.lab.load.core_workloads import Workload
from cassbook.lab.load.loop import Bound, ClosedLoop, Outcome, Record
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.open_loop import Drawn, OpenLoop
from cassbook.lab.load.recorder import Recorder, Window
from cassbook.lab.load.ycsb import INSERT, READ, UPDATE, Request, Usertable
from cassbook.lab.run import workloads
from cassbook.lab.run.cell import Group
from cassbook.profile.profile import Profile

During = Callable[[Window], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client finds its cluster; can be handed to another process."""

    connect: Callable[[], Session]  # opens an ordinary session
    addresses: list[str]  # of the coordinators
    labels: list[str]  # what samples call them
    keyspace: str
    read: tuple[str, ...] = ()  # tables there that exist already, whose keys are sampled


class Agreeing(Protocol):
    """How the loops of several clients agree; see `ClosedLoop.agree` and `agree_on`."""

    def moment(self) -> float:
        """Wait until all have come as far, and return one moment for all."""

    def figure(self, own: float) -> float:
        """Return the largest of all figures."""


class Client:
    """One client: everything that a process needs in order to load the cluster, where the profile's tables exist.

    It draws from `seed`; `epoch` is the monotonic time at which the run began. It is number `process` of so many
    clients: the first makes the tables of workloads, and no two insert the same rows.
    """

    def __init__(
        self,
        profile: Profile,
        place: Place,
        seed: Sequence[int],
        epoch: float,
        process: int = 0,
        processes: int = 1,
    ) -> None:
        self._profile, self._place, self.epoch = profile, place, epoch
        self._rng = np.random.default_rng(list(seed))
        self.session = place.connect()
        self._nodes = Nodes(self.session, place.addresses, profile.load.connections_per_node)
        self._drawn: tuple[tuple[int, ...], Drawn] = (), []
        try:
            self._prepare(process, processes)
        except BaseException:
            self.close()
            raise

    def _prepare(self, process: int, processes: int) -> None:
        """Prepare the statements of the table and of the workloads."""
        profile, place = self._profile, self._place
        policy = profile.load.coordinator
        nearest = self._nodes.nearest() if policy.startswith("nearest") else 0
        #: YCSB's; None where no cell uses it.
        self.table = (
            Usertable(self.session, profile.table, place.addresses, policy, nearest, self._rng, place.keyspace)
            if profile.uses_table else None
        )  # fmt: skip
        self.workloads = workloads.prepare(
            profile, self.session, place, nearest, self._rng, self.table, process, processes
        )

    @property
    def usertable(self) -> Usertable:
        """YCSB's table, in a profile whose cells use it."""
        assert self.table is not None  # noqa: S101 - `Profile.uses_table`
        return self.table

    def close(self) -> None:
        self._nodes.close()
        self.session.cluster.shutdown()

    def reconnect(self) -> None:
        """Open new connections and prepare every statement anew: restarted nodes know neither."""
        self.close()
        self.session = self._place.connect()
        self._nodes = Nodes(self.session, self._place.addresses, self._profile.load.connections_per_node)
        for query in self.table.queries() if self.table else ():
            self.session.prepare(query)
        own = [ready.workload for ready in self.workloads.values() if ready.workload is not self.table]
        if own:
            self.session.set_keyspace(self._place.keyspace)  # a statement's id is of its text and of this
        for query in (query for workload in own for query in workload.queries()):
            self.session.prepare(query)

    def fill(self, table: workloads.Loadable, threads: int) -> Counter[str]:
        """Insert every row of a table at ALL; how many inserts failed, by what became of them."""
        return fill(self._nodes, table, threads, self._profile.load.request_timeout_s)

    def run(
        self,
        group: Group,
        bound: Bound,
        path: Path,
        during: During | None = None,
        agreeing: Agreeing | None = None,
    ) -> tuple[Outcome, pa.Table]:
        """Run a cell, or a group of cells that are alike but for their levels and alternate, and write the samples to
        `path`.

        `during` makes, from the cell's window, the block of code that the load runs in. `agreeing` answers what
        `ClosedLoop` asks where others take part in the load.
        """
        window = Window()
        recorder = Recorder(path, [cell.cell_id for cell in group], self._place.labels, self.epoch, window)
        try:
            loop = self._loop(group, bound, recorder.add)
            if agreeing:
                loop.agree, loop.agree_on = agreeing.moment, agreeing.figure
            with during(window) if during else nullcontext():
                outcome = loop.run(bound, window)
            return outcome, recorder.close()
        except BaseException:
            recorder.abandon()
            raise

    def _loop(self, group: Group, bound: Bound, record: Record) -> ClosedLoop:
        """Build the loop of a group: open where its bound has arrivals."""
        cell = group[0]
        if cell.workload:
            statements: Usertable | Workload = self.workloads[cell.workload].workload
            operations = self.workloads[cell.workload].workload.operations(self._rng)
            requests = [statements.requests(operation) for operation in range(len(OPERATIONS))]
        else:
            statements, operations = self.usertable, mix(cell.read_share, self._rng)
            requests = [statements.requests(READ), statements.requests(UPDATE)]
        variants = [statements.prefixes(each.read_cl, each.write_cl) for each in group]
        timeout_s = self._profile.load.request_timeout_s
        common = (self._nodes, cell.threads, operations, requests, variants[0], record, timeout_s)
        if math.isnan(cell.rate_per_s) != (bound.arrivals is None):
            raise ValueError(f"{cell.cell_id}: a rate goes with arrivals, and a closed loop has neither")
        if bound.arrivals:
            return OpenLoop(*common, arrivals=bound.arrivals, drawn=self._draw(bound.arrivals.seed))
        loop = ClosedLoop(*common)
        loop.variants = variants
        return loop

    def _draw(self, seed: tuple[int, ...]) -> Drawn | None:
        """Return what arrivals of a seed have asked for so far: settings in turn ask for the same."""
        if not seed:
            return None
        if self._drawn[0] != seed:
            self._drawn = seed, []
        return self._drawn[1]


def fill(nodes: Nodes, table: workloads.Loadable, threads: int, timeout_s: float) -> Counter[str]:
    """Insert every row of a table at ALL; how many inserts failed, by what became of them."""
    failed: Counter[str] = Counter()

    def note(started: float, latency_s: float, operation: int, outcome: int, *_: float) -> None:
        if outcome:
            failed[OUTCOMES[outcome]] += 1

    requests: list[Iterator[Request]] = [iter(()), iter(()), table.inserts()]
    prefixes = table.prefixes("ALL", "ALL")
    ClosedLoop(nodes, threads, itertools.repeat(INSERT), requests, prefixes, note, timeout_s).run(Bound(), Window())
    return failed


def mix(read_share: float, rng: np.random.Generator, length: int = 1 << 16) -> Iterator[int]:
    """Endless kinds of operation, READ with probability `read_share`, else UPDATE; safe to share by threads."""
    if read_share in (0.0, 1.0):
        return itertools.repeat(READ if read_share else UPDATE)
    return itertools.cycle(np.where(rng.random(length) < read_share, READ, UPDATE).tolist())
