"""Loads under which a node is struck, killed or suspended, so that the others have to find out by themselves."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cassbook.core.errors import LaboratoryError
from cassbook.core.schema import PHASES, SAMPLES
from cassbook.core.threads import meanwhile
from cassbook.core.types import Floats
from cassbook.lab.engine.cluster import READY_TIMEOUT_S, CassandraCluster
from cassbook.lab.engine.gossip import Following
from cassbook.lab.load.loop import Bound, Outcome
from cassbook.lab.load.recorder import Window
from cassbook.lab.run.cell import Group
from cassbook.lab.run.ladder import Load, Measured, Runner
from cassbook.lab.run.open_cells import BEFORE_S, PARTS
from cassbook.lab.run.segments import Segments
from cassbook.latency.cell_checks import Due

_POLL_S = 0.1
_clock = time.perf_counter


@dataclass(slots=True)
class Struck:
    """When a node was struck, and when each other node took it for dead, on `time.perf_counter`."""

    at_s: float = math.nan
    noticed_s: dict[int, float] = field(default_factory=dict)
    others: int = 0

    @property
    def by_all_s(self) -> float:
        """When the last of the others had noticed; infinite if some has not."""
        return max(self.noticed_s.values()) if len(self.noticed_s) == self.others else math.inf


class Struckable(Protocol):
    """A node that is struck under a load, and comes back."""

    node: int  # its number; 0 where that is not known
    label: str  # what samples call it; empty where that is not known
    dead: bool

    def struck(self, killed: bool, window: Window, measured_s: float, seen: Struck) -> AbstractContextManager[None]:
        """Around the run of a loop: strike it `BEFORE_S` after the window begins, and see when the others notice.

        The window ends `measured_s` after the last of them has; where they do not, when it was to end anyway.
        """

    def brought_back(self, killed: bool) -> AbstractContextManager[None]:
        """Have it, which is struck within the block, be taken for alive by all others again."""


class ByHand:
    """A node that a person stops and starts again; `ask` says what to do, and returns once that is done."""

    node, label, dead = 0, "", False

    def __init__(self, ask: Callable[[str], None]) -> None:
        self._ask = ask

    @contextmanager
    def struck(self, killed: bool, window: Window, measured_s: float, seen: Struck) -> Iterator[None]:
        """As `Struckable`."""
        seen.others = 1  # of whom `nodetool status` tells

        def keep_time(over: threading.Event) -> None:
            if not _reached(window, over):
                return
            self._ask("now stop a node of this data centre (kill its process, do not drain it); press Enter at once")
            seen.at_s = _clock()
            self._ask("press Enter as soon as `nodetool status` on another node shows it as DN")
            seen.noticed_s = {self.node: _clock()}
            window.steady_to = min(window.steady_to, _clock() + measured_s)

        with meanwhile(keep_time, "the node could not be stopped"):
            yield
        if math.isnan(seen.at_s):
            raise LaboratoryError("the load ended before a node was stopped")

    @contextmanager
    def brought_back(self, killed: bool) -> Iterator[None]:
        """As `Struckable`."""
        yield
        self._ask("start the node again, and press Enter once `nodetool status` on another node shows it as UN")


def ask_person(log: Callable[[str], None], what: str) -> None:
    """Say what to do, and wait for a line; LaboratoryError where nobody can answer."""
    log(what)
    if not sys.stdin.readline():
        raise LaboratoryError(f"nobody answered: {what}")


def _reached(window: Window, over: threading.Event) -> bool:
    """Wait until it is time to strike; whether the load still goes on then."""
    while math.isinf(window.steady_from):
        if over.wait(_POLL_S):
            return False
    return not over.wait(max(window.steady_from + BEFORE_S - _clock(), 0.0))


class Victim:
    """The node of a cluster that is struck: the last."""

    def __init__(self, cluster: CassandraCluster) -> None:
        self._cluster, self.node = cluster, cluster.spec.nodes
        self.label = cluster.labels[self.node - 1]  # what samples call it
        self.dead = False

    def _others(self) -> Following:
        folders, address = self._cluster.node_folders(), self._cluster.broadcast_addresses[self.node - 1]
        return Following(folders, range(1, self.node), address)

    def kill(self) -> None:
        """Kill it, and wait until all others take it for dead."""
        others = self._others()
        self._cluster.end_node(self.node)
        self.dead = True
        self._wait(lambda: len(others.since("down")) == self.node - 1, "is not taken for dead by all others")

    @contextmanager
    def brought_back(self, killed: bool) -> Iterator[None]:
        """Have it, which is struck within the block, answer clients and be taken for alive by all others again."""
        others = self._others()
        yield
        if killed:
            self._cluster.launch_node(self.node)
        self._wait(lambda: self._cluster.node_answers(self.node), "does not answer again")
        self._wait(
            lambda: others.since("down").keys() <= others.since("up").keys(), "is not taken for alive by all others"
        )

    def _wait(self, reached: Callable[[], bool], wrong: str) -> None:
        deadline = _clock() + READY_TIMEOUT_S
        while not reached():
            if _clock() > deadline:
                raise LaboratoryError(f"node{self.node} {wrong} after {READY_TIMEOUT_S:.0f} s")
            time.sleep(_POLL_S)

    @contextmanager
    def struck(self, killed: bool, window: Window, measured_s: float, seen: Struck) -> Iterator[None]:
        """As `Struckable`; what is suspended goes on then, however the block ends."""
        seen.others = self.node - 1

        def keep_time(over: threading.Event) -> None:
            if not _reached(window, over):
                return
            others = self._others()
            if killed:
                seen.at_s = _clock()
                self._cluster.end_node(self.node)
                self._follow(others, window, measured_s, seen, over)
                return
            seen.at_s = _clock()
            with self._cluster.paused(self.node):
                self._follow(others, window, measured_s, seen, over)

        with meanwhile(keep_time, f"node{self.node} could not be {'killed' if killed else 'suspended'}"):
            yield
        if math.isnan(seen.at_s):
            raise LaboratoryError(f"the load ended before node{self.node} was struck")

    def _follow(
        self, others: Following, window: Window, measured_s: float, seen: Struck, over: threading.Event
    ) -> None:
        """Look until the window ends; set its end once all others have noticed."""
        while _clock() < window.steady_to and not over.wait(_POLL_S):
            if math.isinf(seen.by_all_s):
                seen.noticed_s = others.since("down")
                if math.isfinite(seen.by_all_s):
                    window.steady_to = min(window.steady_to, _clock() + measured_s)


def load(victim: Struckable, cells: Group, bound: Bound, measured_s: float, epoch: float, seen: Struck) -> Load:
    """Return the load of cells that are the `PARTS` of a strike."""
    killed = not cells[0].condition.startswith("pause")

    def of(runner: Runner, path: Path) -> Measured:
        outcome, samples = runner.run(
            [cells[0]], bound, path, lambda window: victim.struck(killed, window, measured_s, seen)
        )
        return in_parts(cells, outcome, samples, seen, epoch, victim.label)

    return of


def in_parts(cells: Group, outcome: Outcome, samples: pa.Table, seen: Struck, epoch: float, struck: str) -> Measured:
    """Split a load into the `PARTS` of a strike: requests belong where they were due, and those that it met on their
    way to it.

    What was `seen` and the outcome's window are on `time.perf_counter`, on which the run began at `epoch`. `struck`:
    what samples call the struck node.
    """
    first_s, last_s = outcome.window.steady_from, outcome.window.steady_to
    bounds = [first_s, seen.at_s, min(seen.by_all_s, last_s), last_s]
    due_s = samples["intended_s"].to_numpy() + epoch
    last = PARTS.index("noticed" if seen.by_all_s < last_s else "unnoticed")
    place = np.clip(np.searchsorted(bounds, due_s, side="right") - 1, 0, last)
    answered_s = samples["started_s"].to_numpy() + samples["latency_us"].to_numpy() / 1e6 + epoch
    place[(place == 0) & (due_s >= first_s) & (answered_s > seen.at_s)] = PARTS.index("unnoticed")
    asked = pc.equal(samples["coordinator"].cast(pa.string()), struck).to_numpy(zero_copy_only=False)
    place[asked & (place > 0)] = PARTS.index("asked")
    steady = (due_s >= first_s) & (due_s < last_s)
    steady_code, early, late = (PHASES.index(name) for name in ("steady", "warmup", "drain"))
    codes = np.where(steady, steady_code, np.where(due_s < first_s, early, late))
    columns = {name: samples[name] for name in samples.column_names} | {
        "cell_id": pa.DictionaryArray.from_arrays(pa.array(place.astype(np.int16)), [cell.cell_id for cell in cells]),
        "phase": pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), list(PHASES)),
        "slice": pa.array(place.astype(np.int16), mask=~steady),
    }
    windows = [*pairwise(bounds), (seen.at_s, last_s)]
    lengths = tuple(ended - begun for begun, ended in windows)
    counts = np.bincount(place[steady], minlength=len(cells))
    dues = _of_parts(outcome.due, counts, due_s - first_s, place, np.array(bounds[1:-1]) - first_s)
    outcomes = [_of_part(outcome, window, due) for window, due in zip(windows, dues, strict=True)]
    turns = Segments(0.0, lengths, tuple(range(len(cells))), tuple(begun for begun, _ in windows))
    alone = [[window] for window in windows[:-1]]  # the last goes on beside others
    return Measured(outcomes, pa.table(columns).cast(SAMPLES), turns, [*alone, []])


#: Due times that differ less are of one request.
_SAME_S = 1e-6


def _of_parts(
    whole: Due | None, counts: NDArray[np.int64], due_s: Floats, place: NDArray[np.int64], bounds: Floats
) -> list[Due]:
    """Share out what was due among the parts.

    What was sent is where its sample is, by when it was due, and what was never sent where it was due. What was still
    in flight is the last part's, of requests to the struck node.

    Parameters
    ----------
    counts
        Answered requests of each part.
    due_s, place
        When each sample's request was due, from the window's begin, and in which part it is.
    bounds
        When the second part and the third begin.
    """
    assert whole is not None  # noqa: S101 - the loop was open
    order = np.argsort(due_s)

    def parts_of(moments_s: Floats) -> NDArray[np.int64]:
        by_time = np.searchsorted(bounds, moments_s, side="right")
        if not len(order):
            return by_time
        nearest = order[np.minimum(np.searchsorted(due_s[order], moments_s - _SAME_S), len(order) - 1)]
        return np.where(np.abs(due_s[nearest] - moments_s) < _SAME_S, place[nearest], by_time)

    unsent, waited, left = map(parts_of, (whole.unsent_s, whole.waited_s, whole.left_s))
    found = []
    for number, count in enumerate(counts):
        own, in_flight = whole.unsent_s[unsent == number], whole.n_in_flight if number == len(counts) - 1 else 0
        late = left == number
        found.append(Due(
            int(count) + in_flight + len(own), in_flight, own, whole.waited_s[waited == number],
            whole.left_s[late], whole.late_s[late],
        ))  # fmt: skip
    return found


def _of_part(outcome: Outcome, window: tuple[float, float], due: Due) -> Outcome:
    """Return a part's share of an outcome."""
    begun, ended = window
    share = (ended - begun) / (outcome.window.steady_to - outcome.window.steady_from)
    answered = due.n_due - due.n_in_flight - due.n_unsent
    return Outcome(Window(begun, ended), outcome.client_cpu_s * share, answered, outcome.loop_lag_us, due)
