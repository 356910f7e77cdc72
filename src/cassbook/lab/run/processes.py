"""Several client processes for one load: each runs its share of the threads, over one steady window of all.

A process that is started for one cell alone is a client that has just been restarted. The processes are children of
this one here; `lab.run.remote` has those on other machines, with clocks of their own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.parquet as pq

from cassbook.core.errors import LaboratoryError
from cassbook.lab.load.loop import Bound, Outcome, alone
from cassbook.lab.load.recorder import Window, write_samples
from cassbook.lab.run.cell import Group
from cassbook.lab.run.client import Client, During, Place
from cassbook.lab.wan.child import Child, Owner
from cassbook.latency.cell_checks import Due
from cassbook.profile.profile import Profile

FAREWELL_S = 5.0


class LostClientError(LaboratoryError):
    """A client process on another machine is lost, or heard too late: its cell must be measured again."""


@dataclass(frozen=True, slots=True)
class Order:
    """One process's share of a group of cells, where its samples go, and when the run began by its clock."""

    group: Group
    bound: Bound
    path: Path
    epoch: float


class Member(Protocol):
    """How one talks to a client process, wherever it runs."""

    @property
    def offset_s(self) -> float:
        """What its clock shows more than ours."""

    def launch(self) -> None:
        """Start it without waiting for its first answer."""

    def hear(self, timeout_s: float | None = None, failing: str = "") -> Any:
        """Wait for its next message."""

    def tell(self, message: Any) -> None:
        """Send it something."""

    def hang_up(self) -> None:
        """Let it end, without waiting for it."""

    def stop(self) -> None:
        """End it."""

    def writes_at(self, part: Path) -> Path:
        """Where it writes what is to be `part` here."""

    def collect(self, part: Path) -> None:
        """Bring what it wrote to `part`."""


class LocalMember(Child):
    """A child of this process: the same clock, the same files."""

    offset_s = 0.0

    def writes_at(self, part: Path) -> Path:
        """Return `part` itself: the files are shared."""
        return part

    def collect(self, part: Path) -> None:
        """Do nothing: `part` is where it was written."""


class ClientProcesses:
    """Client processes; as a context manager they end with the block. LaboratoryError if one cannot connect.

    Each draws from a seed of its own that begins with `seed`. `epoch` is the monotonic time at which the run began; the
    clock is the machine's, the same in all of its processes.
    """

    #: How far ahead the steady window is announced, so that the news reaches all before it begins.
    lead_s = 0.0

    def __init__(self, count: int, profile: Profile, place: Place, seed: list[int], epoch: float) -> None:
        self._epoch = epoch
        # The owner's own client is the first of all; it has made the tables.
        self.children = [
            self._member(number, (profile, place, [*seed, number - 1], epoch, number, count + 1))
            for number in range(1, count + 1)
        ]
        try:
            for child in self.children:
                child.launch()
            for child in self.children:
                child.hear(None, "cannot start")
        except BaseException:
            self.close()
            raise

    def _member(self, number: int, arguments: tuple[Any, ...]) -> Any:
        """Make a client process, not started yet, that serves with `arguments`."""
        return LocalMember(f"client process {number}", serve, *arguments, patience_s=FAREWELL_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes: gently, then not."""
        for child in self.children:
            child.hang_up()
        for child in self.children:
            child.stop()

    def run(self, group: Group, bound: Bound, path: Path, during: During | None = None) -> tuple[Outcome, pa.Table]:
        """Run a group of cells, its threads and its arrivals shared out, and merge the samples; as `Client.run`.

        A bound by operations is not for several processes: their first thread to end would not be the first of all.
        """
        threads = group[0].threads
        shares = [share for share in _shared_out(threads, len(self.children)) if share]
        children, parts = self.children[: len(shares)], [path.with_suffix(f".{n}.parquet") for n in range(len(shares))]
        window = Window()
        self._begin(children)
        for number, (child, share, part) in enumerate(zip(children, shares, parts, strict=True)):
            own = [replace(cell, threads=share) for cell in group]
            arrivals = bound.arrivals and bound.arrivals.thinned(number, len(children))
            order = Order(own, replace(bound, arrivals=arrivals), child.writes_at(part), self._epoch + child.offset_s)
            child.tell(order)
        with during(window) if during else nullcontext():
            steady_s = bound.steady_s
            if bound.alternation:
                window.slices = bound.alternation.slices(self._agree_on_figure(children))
                steady_s = window.slices.whole_s
            window.steady_from = self._agree(children, self.lead_s) + (bound.ramp_s if bound.arrivals else 0.0)
            if steady_s is not None:
                window.steady_to = window.steady_from + steady_s
                self._agree(children)
            outcomes: list[Outcome] = [child.hear() for child in children]
        ends = [each.window.steady_to - child.offset_s for child, each in zip(children, outcomes, strict=True)]
        window.steady_to = max(ends)
        self._end(children, outcomes, window)
        try:
            for child, part in zip(children, parts, strict=True):
                child.collect(part)
            samples = pa.concat_tables(pq.read_table(part) for part in parts).unify_dictionaries()
        finally:
            for part in parts:
                part.unlink(missing_ok=True)
        samples = samples.sort_by("started_s")
        write_samples(samples, path)
        return _merged(outcomes, window), samples

    def _begin(self, children: Sequence[Member]) -> None:
        """Prepare for a cell."""

    def _end(self, children: Sequence[Member], outcomes: Sequence[Outcome], window: Window) -> None:
        """Note what is known of a cell when its load is over."""

    def _agree(self, children: Sequence[Member], lead_s: float = 0.0) -> float:
        """Wait until each has come as far, and send all the moment of the last, or one that is still to come."""
        moment = max(child.hear() - child.offset_s for child in children)
        if lead_s:
            moment = max(moment, time.perf_counter() + lead_s)
        for child in children:
            self._announce(child, moment, ahead=lead_s > 0)
        return float(moment)

    def _agree_on_figure(self, children: Sequence[Member]) -> float:
        """Wait for each one's figure, and send all the largest."""
        largest = max(float(child.hear()) for child in children)
        for child in children:
            child.tell(largest)
        return largest

    def _announce(self, child: Member, moment: float, ahead: bool) -> None:
        """Send a member a moment of ours by its own clock; `ahead` if it is still to come."""
        child.tell(moment + child.offset_s)


def _shared_out(threads: int, count: int) -> list[int]:
    return [threads // count + (number < threads % count) for number in range(count)]


def _merged(outcomes: list[Outcome], window: Window) -> Outcome:
    """CPU, operations and what was due of all; the lag of the one that was worst."""
    return Outcome(
        window,
        sum(outcome.client_cpu_s for outcome in outcomes),
        sum(outcome.operations for outcome in outcomes),
        max(outcome.loop_lag_us for outcome in outcomes),
        Due.sum([outcome.due for outcome in outcomes if outcome.due]),
    )


@dataclass(frozen=True, slots=True)
class _WithOwner:
    """How a client process agrees with the others: through its owner."""

    owner: Owner

    def moment(self) -> float:
        self.owner.tell(alone())
        moment = float(self.owner.hear())
        time.sleep(max(0.0, moment - alone()))
        return moment

    def figure(self, own: float) -> float:
        self.owner.tell(own)
        return float(self.owner.hear())


def serve(
    owner: Owner, profile: Profile, place: Place, seed: list[int], epoch: float, process: int, processes: int
) -> None:
    """Be a client process: connect and report it, then run what is ordered until the owner is gone."""
    client = Client(profile, place, seed, epoch, process, processes)
    owner.tell(None)
    while True:
        order: Order = owner.hear()
        client.epoch = order.epoch
        outcome, _ = client.run(order.group, order.bound, order.path, agreeing=_WithOwner(owner))
        owner.tell(outcome)
