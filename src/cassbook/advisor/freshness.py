"""How stale reads of a run are: from a record of the probe, or, roughly, from the latencies of any run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd

from cassbook.core.consistency import check_replicas, level_waiting_for, levels
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.ingest.folder import open_run
from cassbook.latency.cells import WRITES
from cassbook.latency.histograms import merged, quantile_us
from cassbook.latency.summaries import pure_cells
from cassbook.records.kinds import RUN
from cassbook.records.manifest import kind_of
from cassbook.records.prediction_errors import weak_panels
from cassbook.records.run import RecordedRun
from cassbook.records.staleness import StalenessRun
from cassbook.staleness import curves, pbs
from cassbook.staleness.wars import Mixture, Wars, empirical

_QUANTILES = (np.arange(2000) + 0.5) / 2000
_TRIALS = 1_000_000
_COUNTED = ("asked_t_ms", "t_ms", "stale", "reads", "worth")
#: Which histograms hold reads and writes of single rows, and which column has the mean of each in a mix.
_TAGS = {"READ": ("READ",), "WRITE": WRITES}
_MEANS = {"READ": "read_latency_us", "WRITE": "update_latency_us"}


@dataclass(frozen=True, slots=True)
class Wait:
    """Reads of a probe after one wait: how many, and how many of them were stale."""

    #: The wait that was asked for, and what it was on average.
    asked_ms: float
    t_ms: float
    stale: int
    reads: int
    worth: float  # how many independent reads would say as much


@dataclass(frozen=True, slots=True)
class Freshness:
    """What reads at R see of writes at W, t after these were acknowledged, and what both take.

    Attributes
    ----------
    r, w : int
    p_consistent : Estimate
        Measured where there is a measurement.
    predicted : Estimate or None
        From traces, next to a measurement.
    read_ms, write_ms : Estimate
        Mean latency.
    stale : Estimate
        Probability that a read is stale, with its binomial bounds: the rest of `p_consistent`.
    predicted_stale : Estimate or None
        The same from traces; `n` is how many of their pairings have no trace in common.
    pairings : int
        How many pairs of a traced write and a traced read were counted for it; 0 without traces.
    waits : tuple of Wait
        What was counted at the wait that is t, or at those on either side of it; empty for a prediction from latencies.
    reads_ms, writes_ms : tuple of float
        Mean latencies by cluster start of the probe; empty for a prediction from latencies.
    """

    r: int
    w: int
    p_consistent: Estimate
    predicted: Estimate | None
    read_ms: Estimate
    write_ms: Estimate
    stale: Estimate
    predicted_stale: Estimate | None = None
    pairings: int = 0
    waits: tuple[Wait, ...] = ()
    reads_ms: tuple[float, ...] = ()
    writes_ms: tuple[float, ...] = ()

    def middle_ms(self, side: str) -> float:
        """Latency of a `read` or a `write`: the median of cluster starts, or the mean where there are none."""
        starts, mean = (self.reads_ms, self.read_ms) if side == "read" else (self.writes_ms, self.write_ms)
        return float(np.median(starts)) if starts else mean.value


@dataclass(frozen=True, slots=True)
class Load:
    """Which load is answered for."""

    threads: int  # requests in flight; 0 for the probe alone
    recorded: tuple[int, ...]  # loads that the run can answer for
    asked: bool  # whether it was asked for, or is the default: the heaviest

    def __str__(self) -> str:
        """Say which it is, and which others there are."""
        others = ", ".join(map(str, self.recorded))
        default = "" if self.asked or len(self.recorded) == 1 else "; by default the heaviest"
        return f"{self.threads} threads of load (recorded: {others}{default})"


@dataclass(frozen=True, slots=True)
class Off:
    """By how much predictions from a record's traces missed what the same record counted, as shares of all reads."""

    run: str
    median: float
    most: float
    panels: int  # pairs of levels under a load

    def __str__(self) -> str:
        """Say it in percentage points."""
        return (
            f"such predictions were off by up to {100 * self.most:.1f} percentage points (median "
            f"{100 * self.median:.1f}) at this age, in {self.panels} panels of {self.run}"
        )


class Known(Protocol):
    """Whoever can answer."""

    n: int  # replicas
    basis: str  # what the answers rest on
    engine: str  # Cassandra's version; empty where it is not known
    settings: set[tuple[int, int]]  # R and W that it can answer for
    load: Load

    def at(self, r: int, w: int, t_ms: float) -> Freshness:
        """Answer for one setting."""

    def off(self, t_ms: float) -> Off | None:
        """Return how far predictions from traces were off at an age; None where nobody looked."""


def of_run(
    name_or_path: str, setup: str | None = None, threads: int | None = None, workload: str | None = None
) -> Known:
    """Open a run and be ready to answer.

    Parameters
    ----------
    name_or_path : str
        A record of `cassbook experiment staleness-*`, or any run.
    setup : str, optional
        Of the probe: where the nodes were. Default: the first.
    threads : int, optional
        The load. Default: the heaviest that was recorded.
    workload : str, optional
        Of a run that knows latencies alone: whose reads and writes at ALL to take. Default: those of reads alone and
        writes alone, or of the only workload that has them.

    Raises
    ------
    InputError
        If it is no run, or has no such setup, load or workload.
    """
    name = Path(name_or_path).name
    if kind_of(name_or_path) not in (None, RUN):
        if workload is not None:
            raise InputError(f"workload: {name} is a record of the probe and has none; leave --workload out")
        return Probed(StalenessRun(name_or_path), setup, threads)
    if setup is not None:
        raise InputError(f"setup: {name} is no record of the probe and has none; leave --setup out")
    return FromLatencies(open_run(name_or_path), threads, workload)


def _chosen(what: str, wanted: object, known: Sequence[object], run: str) -> object:
    if wanted is None:
        return known[0]
    if wanted not in known:
        raise InputError(f"{what}: {run} has none of {wanted!r}; it has {', '.join(map(str, known))}")
    return wanted


def _load(wanted: int | None, recorded: Sequence[int], run: str) -> Load:
    """Return the load asked for, or the heaviest: an idle cluster is not what a service reads from."""
    if wanted is not None and wanted not in recorded:
        listed = ", ".join(map(str, recorded))
        raise InputError(f"threads: {run} has none of {wanted!r}; it has {listed}")
    return Load(recorded[-1] if wanted is None else wanted, tuple(recorded), wanted is not None)


def _rest(share: Estimate) -> Estimate:
    """Return the share of all others."""
    return Estimate(1 - share.value, 1 - share.high, 1 - share.low, share.n).at_least(0.0)


def _check(r: int, w: int, n: int, t_ms: float) -> None:
    check_replicas(r, w, n)
    if not t_ms >= 0:
        raise InputError(f"t: {t_ms:g} ms is no time after a write; give 0 or more")


class Probed:
    """Answers of a record of the probe: measured, between the two waits next to t."""

    def __init__(self, run: StalenessRun, setup: str | None, threads: int | None) -> None:
        panels = run.panels[run.panels["versions"] == 1]
        self._run = run
        self._setup = str(_chosen("setup", setup, list(run.results.manifest["setups"]), run.name))
        of_setup = panels[panels["setup"] == self._setup]
        self.load = _load(threads, sorted({int(number) for number in of_setup["threads"]}), run.name)
        self._threads = self.load.threads
        self._panels = of_setup[of_setup["threads"] == self._threads]
        self.n = int(self._panels["n"].iloc[0])
        self.settings = {(int(r), int(w)) for r, w in zip(self._panels["r"], self._panels["w"], strict=True)}
        self.engine = run.results.manifest["engine"]
        self.basis = f"measured by the probe, Cassandra {self.engine}, {self._setup}, with {self.load}"

    def at(self, r: int, w: int, t_ms: float) -> Freshness:
        """Answer for one setting.

        Raises InputError if it was not probed.
        """
        _check(r, w, self.n, t_ms)
        if (r, w) not in self.settings:
            raise InputError(f"r, w: {self._run.name} did not probe ({r}, {w}); it has {sorted(self.settings)}")
        rows = self._panels[(self._panels["r"] == r) & (self._panels["w"] == w)]
        costs = (Estimate.positive(rows["read_ms"]), Estimate.positive(rows["write_ms"]))
        reads_ms, writes_ms = (
            tuple(map(float, self._run.latencies_ms(self._setup, self._threads, r, w, side)))
            for side in ("read", "write")
        )
        counted = self._run.counted(self._setup, self._threads, r, w)
        near = curves.stale_near(counted, t_ms)
        waits = tuple(Wait(*row) for row in near[[*_COUNTED]].itertuples(index=False, name=None))
        if r + w > self.n:
            always = Estimate(1.0, 1.0, 1.0, int(rows["reads"].sum()))
            never = Estimate(0.0, 0.0, 0.0, always.n)
            return Freshness(r, w, always, None, *costs, never, None, 0, waits, reads_ms, writes_ms)
        p, low, high = (float(np.interp(t_ms, near["t_ms"], near[name])) for name in ("p", "low", "high"))
        fresh = Estimate(p, low, high, int(counted["reads"].sum()))
        stale = _rest(fresh)
        if not self._run.has_traces:
            return Freshness(r, w, fresh, None, *costs, stale, None, 0, waits, reads_ms, writes_ms)
        traced = self._run.traced(self._setup, self._threads, r, w)
        missed = traced.stale_estimate(t_ms)
        pairings = traced.pairings
        return Freshness(r, w, fresh, _rest(missed), *costs, stale, missed, pairings, waits, reads_ms, writes_ms)

    def off(self, t_ms: float) -> Off | None:
        """Hold predictions against counts in all panels of levels that need not meet; None without traces."""
        if not self._run.has_traces:
            return None
        missed = []
        for panel in weak_panels(self._run):
            near = curves.stale_near(self._run.counted(*panel), t_ms)
            counted = float(np.interp(t_ms, near["t_ms"], near["p"]))
            missed.append(abs(self._run.traced(*panel).p_consistent(t_ms) - counted))
        return Off(self._run.name, float(np.median(missed)), max(missed), len(missed)) if missed else None


class FromLatencies:
    """Answers of a run that knows latencies only, roughly.

    A request at ALL waits for the last of N replicas. If they are independent and alike, one of them takes the N-th
    root of that distribution (as a distribution function); half of it is taken to be the way there, half the way back.
    Time that is common to all replicas (the client's, the coordinator's) counts as the replicas' own.
    """

    def __init__(self, run: RecordedRun, threads: int | None, workload: str | None = None) -> None:
        self._run = run
        self.workload, cells = _cells_at_all(run, workload)
        at_all = cells[(cells["read_cl"] == "ALL") & (cells["write_cl"] == "ALL")]
        if not self.workload:
            at_all = cells[cells["level"] == "ALL"]
        self.load = _load(threads, _shared_threads(at_all, self.workload), run.name)
        self._cells = cells[cells["threads"] == self.load.threads]
        self._at_all = at_all[at_all["threads"] == self.load.threads]
        self.n = int(run.manifest.get("profile", {}).get("cluster", {}).get("replication_factor", 3))
        self.settings = set(product(levels(self.n), levels(self.n)))
        delays = {operation: self._one_way(operation) for operation in _TAGS}
        self.engine = str(run.manifest.get("engine", ""))
        self._wars = Wars(delays["WRITE"], delays["WRITE"], delays["READ"], delays["READ"])
        of = f"{run.name}, workload {self.workload}" if self.workload else run.name
        self.basis = (
            f"predicted from latencies at ALL alone, {of}, with {self.load}: replicas taken to be "
            "independent and alike, half of each answer's time the way there; a record of "
            "`cassbook experiment staleness-three` says more"
        )

    def _one_way(self, operation: str) -> Mixture:
        at_all = self._at_all if self.workload else self._at_all[self._at_all["operation"] == operation]
        tags = [f"{cell_id}.{tag}" for cell_id in at_all["cell_id"] for tag in _TAGS[operation]]
        counted = [self._run.histograms[tag] for tag in tags if tag in self._run.histograms]
        if not counted:
            raise InputError(f"{self._run.name}: workload {self.workload} has no {operation.lower()} that was answered")
        whole = merged(counted)
        return empirical([quantile_us(whole, float(q)) / 2000 for q in _QUANTILES**self.n])

    def off(self, t_ms: float) -> Off | None:
        """Nobody has held these against counts."""
        return None

    def at(self, r: int, w: int, t_ms: float) -> Freshness:
        """Answer for one setting; the interval is that of the simulation alone."""
        _check(r, w, self.n, t_ms)
        fresh = pbs.predict(self._wars, self.n, r, w, _TRIALS, ask="r").p_consistent_estimate(t_ms)
        costs = (self._latency_ms("READ", r, w), self._latency_ms("WRITE", r, w))
        stale = _rest(fresh)
        if r + w > self.n:
            fresh, stale = Estimate(1.0, 1.0, 1.0, fresh.n), Estimate(0.0, 0.0, 0.0, fresh.n)
        return Freshness(r, w, fresh, None, *costs, stale)

    def _latency_ms(self, operation: str, r: int, w: int) -> Estimate:
        of_r, of_w = (level_waiting_for(replicas, self.n) for replicas in (r, w))
        cells = self._cells
        if self.workload:
            at_level = cells[(cells["read_cl"] == of_r) & (cells["write_cl"] == of_w)]
        else:
            level = of_r if operation == "READ" else of_w
            at_level = cells[(cells["level"] == level) & (cells["operation"] == operation)]
        column = _MEANS[operation] if self.workload else "latency_us"
        known = at_level[column].dropna()
        if known.empty:
            return Estimate(float("nan"), float("nan"), float("nan"), 0)
        return Estimate.positive(known / 1000)


def _shared_threads(at_all: pd.DataFrame, workload: str) -> list[int]:
    """Loads under which both reads and writes at ALL were measured; a workload's cells hold both."""
    at_all = at_all[at_all["threads"].notna()]
    if workload:
        return sorted({int(number) for number in at_all["threads"]})
    reads, writes = (set(at_all.loc[at_all["operation"] == name, "threads"]) for name in ("READ", "WRITE"))
    return sorted(int(number) for number in reads & writes)


def _cells_at_all(run: RecordedRun, workload: str | None) -> tuple[str, pd.DataFrame]:
    """Return whose reads and writes at ALL can be taken ('' for reads alone and writes alone), and its cells.

    Raises InputError if nobody's can, with what to add to the profile.
    """
    cells = run.statistics
    of = cells["workload"].fillna("") if "workload" in cells else pd.Series("", cells.index)
    closed = cells["rate_per_s"].isna() if "rate_per_s" in cells else pd.Series(True, cells.index)
    both = (cells["read_cl"] == "ALL") & (cells["write_cl"] == "ALL") & (of != "")
    names = [str(name) for name in of[both & closed].unique()]
    if workload is None:
        pure = pure_cells(cells)
        if _shared_threads(pure[pure["level"] == "ALL"], ""):
            return "", pure
    if (workload is None and len(names) == 1) or workload in names:
        name = workload or names[0]
        return name, cells[(of == name) & closed]
    raise InputError(_lacking(run, workload, names, sorted({str(name) for name in of if name}), any(both & ~closed)))


def _lacking(run: RecordedRun, workload: str | None, names: list[str], known: list[str], at_rates: bool) -> str:
    """Say why no reads and writes at ALL can be taken, and what to add."""
    if workload is None and names:
        return f"workload: {run.name} has reads and writes at ALL of {', '.join(names)}; choose one with --workload"
    if workload is not None and workload not in known:
        return f"workload: {run.name} has none of {workload!r}; it has {', '.join(known) or 'none'}"
    what = (
        f"{run.name}: has no reads and writes at ALL under one load, which say how long the last replica takes"
        if workload is None else f"{run.name}: workload {workload} was not measured at ALL/ALL in a closed loop"
    )  # fmt: skip
    if at_rates:
        what += "; its cells at ALL/ALL are at fixed rates alone, and no number of threads goes with a rate"
    if not run.manifest.get("profile"):
        return f"{what}; add logs of reads at ALL and of writes at ALL, with the same number of threads"
    return (
        f"{what}; add `pure: {{threads: [100], levels: [ONE, QUORUM, ALL]}}` to the profile, or ALL/ALL to `settings` "
        "and a number to `threads` under `workloads`, and run it again; or measure staleness itself with "
        "`cassbook experiment staleness-three`"
    )


def stronger(known: Known, r: int, w: int, t_ms: float) -> list[Freshness]:
    """The next stronger settings that can be answered for: with more replicas for reads, and with more for writes."""
    reads = min((pair for pair in known.settings if pair[1] == w and pair[0] > r), default=None)
    writes = min((pair for pair in known.settings if pair[0] == r and pair[1] > w), default=None)
    return [known.at(*pair, t_ms) for pair in (reads, writes) if pair]
