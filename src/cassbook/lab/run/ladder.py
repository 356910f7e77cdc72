"""The open cells of one mix in a block: what each setting carries, its rates in turn, and what it carries then."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cassbook.core.balanced_order import balanced_order
from cassbook.core.estimate import FEWEST
from cassbook.core.schema import OPEN, TRIAL, Mark
from cassbook.core.words import counted
from cassbook.lab.load.arrivals import Arrivals
from cassbook.lab.load.loop import Bound, Outcome
from cassbook.lab.load.slices import Alternation, Slices
from cassbook.lab.run.cell import Cell, Group
from cassbook.lab.run.client import Client, During
from cassbook.lab.run.open_cells import (
    AGAIN_S,
    MOST_BEHIND_S,
    MOST_FAILED_COLD,
    MOST_ROUNDS,
    MOST_TRIALS,
    TRIAL_PATIENCE,
    TRIAL_S,
    rounds,
)
from cassbook.lab.run.processes import ClientProcesses
from cassbook.lab.run.segments import Segment, Segments, one_table, outcome_of, turns, windows_of
from cassbook.latency import verdicts
from cassbook.latency.backlog import Backlog, backlog
from cassbook.latency.cell_checks import CLIENT_SHARE, WAITED_SHARE
from cassbook.latency.in_segments import InSegments
from cassbook.profile.open import BROKEN, Figure, OpenSection, mix_name

#: Where a search begins: so many times what the setting carried in the block before, between what it carried and what
#: it did not; in a first block so many times what it got done in its turns among others.
_AFTER, _FIRST = 1.06, 1.5
#: Part of what a cluster answers under a growing backlog that it is tried at next, and of the rate where only replicas
#: are behind; and the first step up where there is none: each further one is twice as large, up to the longest.
_BELOW, _WELL_BELOW, _ABOVE, _LONGEST = 0.95, 0.8, 1.1, 1.5
#: What a setting carries is known if the lowest rate tried that it does not carry is no more times as high as the
#: highest that it does. A rate that is nearer to either is not tried.
_KNOWN, _NEARER = 1.12, 1.03
#: Rounds of a ladder's warm-up go on until no setting gets more than this part more done than in the round before.
_SETTLED = 0.10
#: By what a setting breaks down where nothing else is said.
_TAIL: Figure = "p99"
#: What a setting carries has drifted if it changed by more than this.
DRIFT = 0.10


@dataclass(frozen=True, slots=True)
class Measured:
    """What a load yields: an outcome for each cell of the group, or one for all, and the samples."""

    outcomes: Sequence[Outcome]
    samples: pa.Table
    turns: Slices | Segments | None = None  # how cells of a group took turns
    #: When what counts of each cell went on, from and to moments of this process's clock; empty where slices are short.
    windows: Sequence[Sequence[tuple[float, float]]] = ()
    marks: Sequence[str] = ()  # that the load earned

    def outcome(self, place: int) -> Outcome:
        """Return the outcome of the cell at a place of the group."""
        return self.outcomes[min(place, len(self.outcomes) - 1)]


Runner = Client | ClientProcesses
#: Makes a load on a client, with samples at a path.
Load = Callable[[Runner, Path], Measured]


@dataclass(frozen=True, slots=True)
class Known:
    """What a block has measured a mix at without trouble: which rate a share was, and what each setting carries."""

    rates_per_s: Mapping[float, float] = field(default_factory=dict)
    carried_per_s: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @classmethod
    def of(cls, recorded: pd.DataFrame, like: Cell) -> Self:
        """Take it from recorded cells of one deployment, columns `schema.CELLS`, of the mix and block of a cell."""
        of_mix = (recorded["workload"] == like.workload) & (recorded["read_share"] == like.read_share)
        own = recorded[of_mix & (recorded["kind"] == OPEN) & (recorded["block"] == like.block)]
        own = own[(own["condition"] == "") & own["rate_per_s"].notna()]
        turns = own[own["cell_group"] != ""]
        places = turns["load_share"].fillna(turns["rate_per_s"])
        known = own[own["carried_per_s"] > 0]
        pairs = zip(known["read_cl"].astype(str), known["write_cl"].astype(str), strict=True)
        carried = dict(zip(pairs, known["carried_per_s"].astype(float), strict=True))
        return cls(dict(zip(places, turns["rate_per_s"], strict=True)), carried)

    @classmethod
    def before(cls, recorded: pd.DataFrame, like: Cell) -> Self:
        """What settings carried in the last block before that of a cell, of its mix and condition, if there is one."""
        open_cells = recorded[(recorded["kind"] == OPEN) & (recorded["block"] < like.block)]
        of_condition = open_cells[open_cells["condition"] == like.condition].assign(condition="")
        return cls.of(of_condition, replace(like, block=int(of_condition["block"].max()) if len(of_condition) else 0))

    def with_rate(self, cell: Cell) -> Cell:
        """Return a cell at its rate, and the share of its own that this is; the rate is NaN if nothing was measured."""
        at = cell.rate_per_s if math.isnan(cell.load_share) else cell.load_share
        rate_per_s = self.rates_per_s.get(at, math.nan)
        own = self.carried_per_s.get((cell.read_cl, cell.write_cl), math.nan)
        return replace(cell, rate_per_s=rate_per_s, own_share=round(rate_per_s / own, 4), carried_per_s=own)


@dataclass(frozen=True, slots=True)
class LadderBench:
    """What a block offers to a ladder."""

    section: Callable[[Cell], OpenSection]  # that asks for a cell
    seed: tuple[int, ...]  # of the profile and the block
    warm_up_s: float
    start: int  # which start of the run's clusters: trials of another do not have the same names
    #: Runs and records a group; marks in front of those that its cells earn.
    run: Callable[[Group, Load, Sequence[str]], Measured]
    drained: Callable[[Group], list[str]]  # waits for what a group left; marks where it does not go
    behind_s: Callable[[], float]  # how far replicas are behind right now; NaN where that is not known
    absent: Callable[[Cell, str], None]  # records a cell that is not measured, with the mark that says why
    amend: Callable[[dict[str, dict[str, Any]]], None]  # sets columns of recorded cells, by identifier
    known: Callable[[Cell], Known]  # what was measured of a cell's mix without trouble
    before: Callable[[Cell], Known]  # what was measured of it in the block before
    #: Within the block nodes have the processors that a cell asks for.
    switched: Callable[[Cell], AbstractContextManager[None]]
    #: What goes on beside a turn of a cell, by the turn's number; None as a rule.
    beside: Callable[[Cell, int], During | None]
    log: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial at a rate says of a setting."""

    rate_per_s: float
    backlog: Backlog
    failed_share: float
    client_share: float  # of the machine, that the client took
    behind: bool = False  # replicas that no request waited for were behind at its end
    full: bool = True  # requests found no slot: a backlog that is no passing one

    @property
    def keeps_up(self) -> bool:
        """Whether clients get their answers: no trend in the backlog, and hardly a failure."""
        return not self.backlog.grows and self.failed_share <= verdicts.MOST_FAILED

    @property
    def carried(self) -> bool:
        """Whether the rate is carried: clients get their answers, and replicas keep up."""
        return self.keeps_up and not self.behind

    @property
    def doubtful(self) -> bool:
        """Whether a backlog seemed to grow, of which all requests found a slot: a moment's stall looks like that."""
        return self.backlog.grows and not (self.full or self.behind or self.failed_share > verdicts.MOST_FAILED)

    @property
    def below_per_s(self) -> float:
        """The next rate to try, where this one is not carried."""
        answered_per_s = min(self.backlog.answered_per_s, self.rate_per_s)
        return _WELL_BELOW * self.rate_per_s if self.keeps_up else _BELOW * answered_per_s


@dataclass(slots=True)
class Carried:
    """What a setting carries in a block."""

    per_s: float = math.nan  # the highest rate tried that it carries
    failing_per_s: float = math.inf  # the lowest tried that it does not
    by_client: bool = False  # the client is the limit

    def note(self, trial: Trial) -> None:
        """Take a trial into account."""
        if trial.carried:
            self.per_s = max(trial.rate_per_s, 0.0 if math.isnan(self.per_s) else self.per_s)
        else:
            self.failing_per_s = min(trial.rate_per_s, self.failing_per_s)
            self.by_client = trial.client_share > CLIENT_SHARE


class Ladder:
    """Measures the open cells of a mix, group by group; those of a group are in turn at one rate."""

    def __init__(self, groups: Sequence[Group], bench: LadderBench) -> None:
        first = groups[0][0]
        self._groups, self._bench, self._part, self._first = groups, bench, bench.section(first), first
        self._searches = self._part.find_capacity and not self._part.trouble
        settings = {(cell.read_cl, cell.write_cl): cell for group in groups for cell in group}
        self._settings = dict(sorted(settings.items()))
        self._carried = {pair: Carried() for pair in self._settings}
        self._closed_per_s: dict[tuple[str, str], float] = {}  # what closed loops got done when that was known
        self._trials = 0
        self._rows: list[Cell] = []  # that were measured
        self._stopped = ""
        self._out: set[tuple[str, str]] = set()  # settings that broke down at a rate

    def measure(self, done: Callable[[Group], None]) -> None:
        """Measure all groups; `done` hears of each."""
        guesses = {} if self._part.trouble else self._warm_up()
        with self._bench.switched(self._first):
            self._measure_all(guesses, done)

    def _measure_all(self, guesses: dict[tuple[str, str], float], done: Callable[[Group], None]) -> None:
        if self._searches and self._first.condition:  # the warm-up had other processors
            guesses = self._closed(AGAIN_S * len(self._settings))
        if self._searches:
            before = self._bench.before(self._first).carried_per_s
            for pair in self._settings:
                start_per_s = _AFTER * before[pair] if pair in before else _FIRST * guesses[pair]
                self._carried[pair] = self._find(pair, start_per_s)
            self._closed_per_s = self._closed(AGAIN_S * len(self._settings))
        for group in self._groups:
            self._measure(group)
            if group is self._groups[-1] and self._searches and self._rows:
                self._look_again()
            done(group)

    def _measure(self, group: Group) -> None:
        cells = [self._with_rate(cell) for cell in group]
        able = []
        for cell in cells:
            if self._stopped or self._pair(cell) in self._out:
                self._bench.absent(cell, Mark.STOPPED)
            elif math.isnan(cell.rate_per_s) or not self._carries(cell):
                by_client = self._carried[self._pair(cell)].by_client
                self._bench.absent(cell, ";".join([Mark.NOT_CARRIED, *([Mark.CLIENT] if by_client else [])]))
            else:
                able.append(cell)
        if able and not self._stopped:
            self._in_turn(able)

    def _pair(self, cell: Cell) -> tuple[str, str]:
        return cell.read_cl, cell.write_cl

    def _with_rate(self, cell: Cell) -> Cell:
        """Return a cell with the rate that its share is in this block, and the share of its own that this is."""
        if self._part.trouble:
            return self._bench.known(cell).with_rate(cell)
        own, rate_per_s = self._carried[self._pair(cell)].per_s, cell.rate_per_s
        if not self._part.find_capacity:
            return cell
        if not math.isnan(cell.own_share):
            return replace(cell, rate_per_s=round(cell.own_share * own, 1), carried_per_s=own)
        if not math.isnan(cell.load_share):
            known = [one.per_s for one in self._carried.values() if not math.isnan(one.per_s)]
            rate_per_s = round(cell.load_share * min(known, default=math.nan), 1)
        return replace(cell, rate_per_s=rate_per_s, own_share=round(rate_per_s / own, 4), carried_per_s=own)

    def _carries(self, cell: Cell) -> bool:
        """Whether a setting carries a rate: by what is known, or by a trial. With trouble that is what is measured."""
        if self._part.trouble or self._part.until_known:  # what it does in its turns says so
            return True
        known = self._carried[self._pair(cell)]
        if not known.per_s >= cell.rate_per_s and cell.rate_per_s < known.failing_per_s:
            known.note(self._tried(self._pair(cell), cell.rate_per_s))
        if known.per_s >= cell.rate_per_s:
            return True
        self._bench.log(
            f"{cell.cell_id}: {cell.read_cl}/{cell.write_cl} does not carry {cell.rate_per_s:g} requests a second"
            f"{', for the client is the limit' if known.by_client else ''}; it is not measured there"
        )
        return False

    def _bound(self, rate_per_s: float, steady_s: float, *seed: int) -> Bound:
        arrivals = Arrivals(self._part.arrivals, rate_per_s, (*self._bench.seed, *seed))
        return Bound(self._part.lead_in_s, steady_s, arrivals=arrivals)

    # What a setting carries

    def _warm_up(self) -> dict[tuple[str, str], float]:
        """Run every operation of the mix at every setting: what is not compiled yet would pass for a price.

        Where rates are not to be exceeded, at the lowest of them. Else in rounds, until none gets faster; returns what
        the settings got done in the last.
        """
        if not self._part.rates_bound:
            return self._settled()
        each_s = self._bench.warm_up_s / len(self._settings)
        rate_per_s = min(cell.rate_per_s for group in self._groups for cell in group)
        for pair in self._settings:
            cell = replace(self._trial_cell(pair, rate_per_s, self._part.arrivals), condition="warm_up")
            load = together([cell], self._bound(rate_per_s, each_s, 4, self._trials))
            warm = self._bench.run([cell], load, self._bench.drained([cell]))
            self._look_out(warm.samples, cold=True)
        return {}

    def _settled(self) -> dict[tuple[str, str], float]:
        """Let closed loops of all settings alternate in rounds until none gets faster; return what each got done."""
        done: dict[tuple[str, str], float] = {}
        number = 0
        while number < MOST_ROUNDS:
            number += 1
            before, done = done, self._closed(self._bench.warm_up_s / 2, condition="warm_up")
            if before and all(done[pair] <= (1 + _SETTLED) * per_s for pair, per_s in before.items()):
                break
        self._bench.log(f"block {self._first.block}, {self._what()}: warm-up over after {counted(number, 'round')}")
        return done

    def _closed(self, whole_s: float, condition: str | None = None) -> dict[tuple[str, str], float]:
        """Let closed loops of all settings alternate; return what each got done, per second."""
        condition = self._first.condition if condition is None else condition
        cells = [replace(self._trial_cell(pair, math.nan, ""), condition=condition) for pair in self._settings]
        group = [replace(cell, cell_group=f"{cells[0].cell_id}-closed") for cell in cells] if len(cells) > 1 else cells
        lead_in_s, seed = self._part.lead_in_s, (*self._bench.seed, 0, self._trials)
        turns = Alternation(len(group), whole_s, seed, whole_s=whole_s) if len(group) > 1 else None
        bound = Bound(lead_in_s, alternation=turns) if turns else Bound(lead_in_s, whole_s)
        measured = self._bench.run(group, together(group, bound), self._bench.drained(group))
        return dict(zip(self._settings, _done_per_s(measured, whole_s), strict=True))

    def _find(self, pair: tuple[str, str], start_per_s: float) -> Carried:
        """Try rates until the highest that is carried is known to some percent."""
        found = Carried()
        rate_per_s, step = start_per_s, _ABOVE
        for _ in range(MOST_TRIALS):
            if not rate_per_s > 0:
                break
            trial = self._tried(pair, round(rate_per_s, 1))
            found.note(trial)
            if math.isinf(found.failing_per_s):
                rate_per_s *= step
                step = min(step * step, _LONGEST)
                continue
            least = float(np.nan_to_num(found.per_s))
            if found.failing_per_s <= _KNOWN * least:
                break
            rate_per_s, step = (0.0, step) if trial.carried else (trial.below_per_s, _ABOVE)
            if not _NEARER * least < rate_per_s < found.failing_per_s / _NEARER:
                rate_per_s = min(step * least, math.sqrt(least * found.failing_per_s))
                step = min(step * step, _LONGEST)
        limit = "; there the client is the limit" if found.by_client else ""
        some = "at least " if math.isinf(found.failing_per_s) else ""
        self._bench.log(f"{self._name(pair)} carries {some}{found.per_s:.0f} requests a second{limit}")
        return found

    def _look_again(self) -> None:
        """See by closed loops how what each setting carries has changed, and mark what has drifted."""
        again = self._closed(AGAIN_S * len(self._settings))
        change = {pair: again[pair] / per_s if per_s > 0 else math.nan for pair, per_s in self._closed_per_s.items()}
        drifted = {pair for pair, ratio in change.items() if not abs(ratio - 1) <= DRIFT}
        carried = {pair: one.per_s for pair, one in self._carried.items()}
        weakest = min(carried, key=lambda pair: np.nan_to_num(carried[pair], nan=math.inf))
        columns: dict[str, dict[str, Any]] = {}
        for cell in self._rows:
            pair = self._pair(cell)
            marks = [Mark.DRIFT] if {pair, weakest} & drifted else []
            if self._carried[pair].by_client and cell.rate_per_s == self._highest_per_s(pair):
                marks.append(Mark.CLIENT)  # a curve that the client ends says so where it ends
            columns[cell.cell_id] = {"carried_after_per_s": round(carried[pair] * change[pair], 1), "marks": marks}
        self._bench.amend(columns)

    def _highest_per_s(self, pair: tuple[str, str]) -> float:
        return max(cell.rate_per_s for cell in self._rows if self._pair(cell) == pair)

    def _name(self, pair: tuple[str, str]) -> str:
        return f"block {self._first.block}, {self._what()}: {'/'.join(pair)}"

    def _what(self) -> str:
        return self._first.workload or f"{self._first.read_share:.0%} reads"

    def _trial_cell(self, pair: tuple[str, str], rate_per_s: float, arrivals: str) -> Cell:
        self._trials += 1
        one = self._settings[pair]
        condition = f"-{one.condition.replace('_', '-')}" if one.condition else ""
        mix, levels = f"{one.workload or mix_name(one.read_share)}{condition}", "+".join(pair)
        return replace(
            one, cell_id=f"b{one.block}-trial{self._bench.start}.{self._trials}-{mix}-{levels}", kind=TRIAL,
            rate_per_s=rate_per_s, arrivals=arrivals, cell_group="", load_share=math.nan, own_share=math.nan,
            threads=one.threads if arrivals else self._part.capacity_threads,
        )  # fmt: skip

    def _tried(self, pair: tuple[str, str], rate_per_s: float) -> Trial:
        """Try a rate, and where the answer is doubtful once more."""
        trial = self._trial(pair, rate_per_s)
        return self._trial(pair, rate_per_s) if trial.doubtful else trial

    def _trial(self, pair: tuple[str, str], rate_per_s: float) -> Trial:
        """See whether a setting carries a rate."""
        cell = self._trial_cell(pair, rate_per_s, self._part.arrivals)
        bound = replace(self._bound(rate_per_s, TRIAL_S, 1, self._trials), patience_s=TRIAL_S * TRIAL_PATIENCE)
        load = self._watched(cell, together([cell], bound))
        measured = self._bench.run([cell], load, self._bench.drained([cell]))
        return self._judged(rate_per_s, measured)

    def _watched(self, cell: Cell, load: Load) -> Load:
        """Return a load that earns a mark if replicas that none of its writes waited for are behind at its end."""
        if not cell.leaves_writes:
            return load

        def watched(runner: Runner, path: Path) -> Measured:
            measured = load(runner, path)
            behind = self._bench.behind_s() > MOST_BEHIND_S
            return replace(measured, marks=[*measured.marks, Mark.BEHIND]) if behind else measured

        return watched

    def _judged(self, rate_per_s: float, measured: Measured) -> Trial:
        outcome, samples = measured.outcome(0), measured.samples
        begun = samples["intended_s"].to_numpy()
        answered = samples["started_s"].to_numpy() + samples["latency_us"].to_numpy() / 1e6
        due = outcome.due
        assert due is not None  # noqa: S101 - the loop was open
        steady = np.flatnonzero(pc.equal(samples["phase"].cast(pa.string()), "steady").to_numpy(zero_copy_only=False))
        from_s = float(begun[steady].min()) if len(steady) else 0.0
        growth = backlog(begun, answered, due.n_unsent, from_s, from_s + TRIAL_S)
        failed = 1 - _steady(samples, "ok") / max(due.n_due, 1)
        if not self._part.find_capacity:  # else to load the cluster fully is what was asked for
            self._look_out(samples)
        client_share = outcome.client_cpu_s / TRIAL_S / (os.cpu_count() or 1)
        full = due.n_waited > WAITED_SHARE * due.n_due or due.n_unsent > 0
        return Trial(rate_per_s, growth, failed, client_share, Mark.BEHIND in measured.marks, full)

    # Rates in turn

    def _in_turn(self, cells: list[Cell]) -> None:
        """Measure cells at one rate: in each round each has the same arrivals, operations and keys."""
        part = self._bench.section(cells[0])
        count = rounds(part)
        order = balanced_order(len(cells), count, (*self._bench.seed, 2, cells[0].order))
        counted_s = part.measured_s / count
        brief = frozenset(place for place, cell in enumerate(cells) if "/".join(self._pair(cell)) in part.briefly)
        enough = Enough(part, len(cells), count, brief)

        def load(runner: Runner, path: Path) -> Measured:
            segments: list[Segment] = []
            marks: set[str] = set()
            enough.begin()
            for number, variant in enumerate(order):
                cell = cells[variant]
                if variant not in enough.settled:
                    bound = self._bound(cell.rate_per_s, counted_s, 3, cells[0].order, number // len(cells))
                    own = path.with_name(f"{path.stem}.segment{number}.parquet")
                    try:
                        outcome, samples = runner.run([cell], bound, own, self._bench.beside(cell, number))
                    finally:
                        with suppress(OSError):
                            own.unlink()
                    segments.append(Segment(variant, outcome, samples))
                    if not part.until_known and self._look_out(samples):
                        marks.add(Mark.STOPPED)
                        break
                    marks |= set(self._bench.drained([cell]))
                if enough.look(number + 1, segments):
                    self._say_open([one for place, one in enumerate(cells) if place not in enough.settled])
                if len(enough.settled) == len(cells):
                    break
            lead_in_s = self._part.lead_in_s
            outcomes = [outcome_of(segments, place, lead_in_s) for place in range(len(cells))]
            windows = [windows_of(segments, place) for place in range(len(cells))]
            of_turns = turns(segments, lead_in_s, counted_s)
            return Measured(outcomes, one_table(segments), of_turns, windows, sorted(marks))

        self._bench.run(cells, load, self._bench.drained(cells))
        self._rows += cells
        broken = [cells[variant] for variant in sorted(enough.broken)]
        if self._part.rising:
            self._out |= set(map(self._pair, broken))
        self._bench.amend({cell.cell_id: {"marks": [Mark.NOT_CARRIED]} for cell in broken})

    def _say_open(self, cells: Sequence[Cell]) -> None:
        """Say at a look which settings still take turns."""
        names = ", ".join("/".join(self._pair(cell)) for cell in cells) or "no setting"
        rate = f" at {cells[0].rate_per_s:g} a second" if cells else ""
        self._bench.log(f"block {self._first.block}, {self._what()}{rate}: still open: {names}")

    def _look_out(self, samples: pa.Table, cold: bool = False) -> bool:
        """Whether the ladder ends here, on a cluster that people depend on: for failures, or far too long responses.

        The first requests, while all is `cold`, may take as long as they like, and more of them may fail.
        """
        if not self._part.rising or self._stopped:
            return bool(self._stopped)
        failed = 1 - pc.sum(pc.equal(samples["outcome"].cast(pa.string()), "ok")).as_py() / max(samples.num_rows, 1)
        response_ms = (
            samples["latency_us"].to_numpy() / 1e3
            + (samples["started_s"].to_numpy() - samples["intended_s"].to_numpy()) * 1e3
        )
        p99_ms = float(np.quantile(response_ms, 0.99)) if len(response_ms) else 0.0
        if failed >= (MOST_FAILED_COLD if cold else verdicts.MOST_FAILED):
            self._stopped = f"{failed:.1%} of the requests failed"
        elif self._part.bound_ms and not cold and p99_ms > verdicts.MOST_BOUNDS * self._part.bound_ms:
            self._stopped = f"p99 is {p99_ms:.0f} ms, more than ten times the bound of {self._part.bound_ms:g} ms"
        if self._stopped:
            self._bench.log(f"{self._what()}: stopped, for {self._stopped}; higher rates are not measured")
        return bool(self._stopped)


class Enough:
    """Which settings of a rate take no more turns, if its section says `until_known`: the broken down, and the known.

    Known is a figure that is on one side of the bound, or near it. `brief`: settings, by their places, that are out
    whatever they show, and so take as few turns as an interval needs.
    """

    def __init__(self, part: OpenSection, settings: int, count: int, brief: frozenset[int] = frozenset()) -> None:
        self.begin()
        self._part, self._settings, self._brief = part, settings, brief
        #: What is judged; of settings that are only left out where they break down, nothing is.
        self._by: Figure | None = None if part.until_known == BROKEN else part.until_known
        at = verdicts.looks(count) if self._by else ()
        self._looks = {rounds * settings for rounds in at}
        # Each setting is held against a bound, and weak ones may be against one of staleness.
        self._error = verdicts.share_of_error(2 * settings, len(at) or 1)

    def begin(self) -> None:
        """Forget what was seen: all of it is measured, or measured again."""
        self.settled: set[int] = set()
        self.broken: set[int] = set()  # of them, by failures or far too long responses

    def look(self, turns_over: int, segments: Sequence[Segment]) -> bool:
        """Look after so many turns, counting those that were left out, if it is time to; return whether it was."""
        by, bound_ms = self._by or _TAIL, self._part.bound_ms
        rounds_over, within = divmod(turns_over, self._settings)
        if self._part.until_known is None or bound_ms is None or within or rounds_over < FEWEST:
            return False
        due, before = turns_over in self._looks, len(self.settled)
        for variant in set(range(self._settings)) - self.settled:
            own = [segment for segment in segments if segment.variant == variant]
            unsent = sum(segment.outcome.due.n_unsent for segment in own if segment.outcome.due)
            seen = InSegments.of_tables([segment.samples for segment in own])
            if unsent or seen.breaks_down(by, bound_ms):
                self.broken.add(variant)
                self.settled.add(variant)
            elif variant in self._brief or (due and verdicts.is_settled(seen.estimate(by, self._error), bound_ms)):
                self.settled.add(variant)
        return due or len(self.settled) > before


def together(group: Group, bound: Bound, during: During | None = None) -> Load:
    """Return the load of a cell, or of cells that alternate, in one go."""

    def load(runner: Runner, path: Path) -> Measured:
        outcome, samples = runner.run(group, bound, path, during)
        return Measured([outcome], samples, outcome.window.slices)

    return load


def _steady(samples: pa.Table, outcome: str) -> int:
    """Count operations of the steady phase with an outcome."""
    steady = pc.equal(samples["phase"].cast(pa.string()), "steady")
    return int(pc.sum(pc.and_(steady, pc.equal(samples["outcome"].cast(pa.string()), outcome))).as_py() or 0)


def _done_per_s(measured: Measured, whole_s: float) -> list[float]:
    """Operations a second that each of the closed loops that alternated got done in its own time."""
    steady = measured.samples.select(["phase", "outcome", "slice"]).to_pandas()
    steady = steady[(steady["phase"] == "steady") & (steady["outcome"] == "ok")]
    turns = measured.turns
    if turns is None:
        return [len(steady) / whole_s]
    assert isinstance(turns, Slices)  # noqa: S101 - closed loops alternate in slices
    done, order = steady["slice"].value_counts(), np.array(turns.order)
    of_variant = [np.flatnonzero(order == variant) for variant in range(max(turns.order) + 1)]
    return [float(done.reindex(places, fill_value=0).sum() / (turns.counted_s * len(places))) for places in of_variant]
