"""How stale reads of a run are: from a record of the probe, or, roughly, from the latencies of any run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Protocol

import numpy as np

from cassbook.core.consistency import check_replicas, level_waiting_for, levels
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.paths import runs_dir
from cassbook.ingest.folder import open_run
from cassbook.latency.histograms import merged, quantile_us
from cassbook.latency.summaries import pure_cells
from cassbook.records.run import RecordedRun
from cassbook.records.staleness import StalenessRun
from cassbook.staleness import curves, pbs
from cassbook.staleness.wars import Mixture, Wars, empirical

_QUANTILES = (np.arange(2000) + 0.5) / 2000
_TRIALS = 1_000_000


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
    """

    r: int
    w: int
    p_consistent: Estimate
    predicted: Estimate | None
    read_ms: Estimate
    write_ms: Estimate


class Known(Protocol):
    """Whoever can answer.

    Attributes
    ----------
    n : int
        Replicas.
    basis : str
        What the answers rest on.
    engine : str
        Cassandra's version; empty where it is not known.
    settings : set of (int, int)
        R and W that it can answer for.
    """

    n: int
    basis: str
    engine: str
    settings: set[tuple[int, int]]

    def at(self, r: int, w: int, t_ms: float) -> Freshness:
        """Answer for one setting."""


def of_run(name_or_path: str, setup: str | None = None, threads: int | None = None) -> Known:
    """Open a run and be ready to answer.

    Parameters
    ----------
    name_or_path : str
        A record of `cassbook experiment staleness-*`, or any run.
    setup : str, optional
        Of the probe: where the nodes were. Default: the first.
    threads : int, optional
        The load. Default: the least.

    Raises
    ------
    InputError
        If it is no run, or has no such setup or load.
    """
    folder = Path(name_or_path) if Path(name_or_path).is_dir() else runs_dir() / name_or_path
    manifest = folder / "manifest.json"
    if manifest.is_file() and "trial" in _read(manifest):
        return Probed(StalenessRun(str(folder)), setup, threads)
    if setup is not None:
        raise InputError(f"setup: {folder.name} is no record of the probe and has none; leave --setup out")
    return FromLatencies(open_run(name_or_path), threads)


def _read(manifest: Path) -> dict[str, object]:
    try:
        return dict(json.loads(manifest.read_text(encoding="utf-8")))
    except ValueError as error:
        raise InputError(f"{manifest}: is damaged ({error})") from None


def _chosen(what: str, wanted: object, known: Sequence[object], run: str) -> object:
    if wanted is None:
        return known[0]
    if wanted not in known:
        raise InputError(f"{what}: {run} has none of {wanted!r}; it has {', '.join(map(str, known))}")
    return wanted


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
        self._threads = int(
            str(_chosen("threads", threads, sorted({int(number) for number in of_setup["threads"]}), run.name))
        )
        self._panels = of_setup[of_setup["threads"] == self._threads]
        self.n = int(self._panels["n"].iloc[0])
        self.settings = {(int(r), int(w)) for r, w in zip(self._panels["r"], self._panels["w"], strict=True)}
        self.engine = run.results.manifest["engine"]
        self.basis = (
            f"measured by the probe, Cassandra {self.engine}, {self._setup}, with {self._threads} threads of load"
        )

    def at(self, r: int, w: int, t_ms: float) -> Freshness:
        """Answer for one setting.

        Raises
        ------
        InputError
            If it was not probed.
        """
        _check(r, w, self.n, t_ms)
        if (r, w) not in self.settings:
            raise InputError(f"r, w: {self._run.name} did not probe ({r}, {w}); it has {sorted(self.settings)}")
        rows = self._panels[(self._panels["r"] == r) & (self._panels["w"] == w)]
        costs = (Estimate.positive(rows["read_ms"]), Estimate.positive(rows["write_ms"]))
        if r + w > self.n:
            return Freshness(r, w, Estimate(1.0, 1.0, 1.0, int(rows["reads"].sum())), None, *costs)
        seen = curves.over_t(self._run.counted(self._setup, self._threads, r, w))
        p, low, high = (float(np.interp(t_ms, seen["t_ms"], seen[name])) for name in ("p", "low", "high"))
        predicted = None
        if self._run.has_traces:
            predicted = self._run.traced(self._setup, self._threads, r, w).p_consistent_estimates([t_ms])[0]
        return Freshness(r, w, Estimate(p, low, high, int(seen["reads"].sum())), predicted, *costs)


class FromLatencies:
    """Answers of a run that knows latencies only, roughly.

    A request at ALL waits for the last of N replicas. If they are independent and alike, one of them takes the N-th
    root of that distribution (as a distribution function); half of it is taken to be the way there, half the way back.
    Time that is common to all replicas (the client's, the coordinator's) counts as the replicas' own.
    """

    def __init__(self, run: RecordedRun, threads: int | None) -> None:
        self._run = run
        cells = pure_cells(run.statistics)
        at_all = cells[cells["level"] == "ALL"]
        known = sorted(set(at_all.loc[at_all["operation"] == "READ", "threads"])
                       & set(at_all.loc[at_all["operation"] == "WRITE", "threads"]))  # fmt: skip
        if not known:
            raise InputError(f"{run.name}: has no reads and writes at ALL, which say how long the last replica takes")
        self._threads = int(str(_chosen("threads", threads, [int(number) for number in known], run.name)))
        self._cells = cells[cells["threads"] == self._threads]
        self.n = int(run.manifest.get("profile", {}).get("cluster", {}).get("replication_factor", 3))
        self.settings = set(product(levels(self.n), levels(self.n)))
        delays = {operation: self._one_way(operation) for operation in ("READ", "WRITE")}
        self.engine = str(run.manifest.get("engine", ""))
        self._wars = Wars(delays["WRITE"], delays["WRITE"], delays["READ"], delays["READ"])
        self.basis = (
            f"predicted from latencies at ALL alone, {run.name}, {self._threads} threads: replicas taken to be "
            "independent and alike, half of each answer's time the way there; a record of "
            "`cassbook experiment staleness-three` says more"
        )

    def _one_way(self, operation: str) -> Mixture:
        at_all = self._cells[(self._cells["level"] == "ALL") & (self._cells["operation"] == operation)]
        tag = {"READ": "READ", "WRITE": "UPDATE"}[operation]
        whole = merged(self._run.histograms[f"{cell_id}.{tag}"] for cell_id in at_all["cell_id"])
        return empirical([quantile_us(whole, float(q)) / 2000 for q in _QUANTILES**self.n])

    def at(self, r: int, w: int, t_ms: float) -> Freshness:
        """Answer for one setting; the interval is that of the simulation alone."""
        _check(r, w, self.n, t_ms)
        fresh = pbs.predict(self._wars, self.n, r, w, _TRIALS, ask="r").p_consistent_estimate(t_ms)
        return Freshness(r, w, fresh, None, self._latency_ms("READ", r), self._latency_ms("WRITE", w))

    def _latency_ms(self, operation: str, replicas: int) -> Estimate:
        level = level_waiting_for(replicas, self.n)
        at_level = self._cells[(self._cells["level"] == level) & (self._cells["operation"] == operation)]
        if at_level.empty:
            return Estimate(float("nan"), float("nan"), float("nan"), 0)
        return Estimate.positive(at_level["latency_us"] / 1000)


def stronger(known: Known, r: int, w: int, t_ms: float) -> list[Freshness]:
    """The next stronger settings that can be answered for: with more replicas for reads, and with more for writes."""
    reads = min((pair for pair in known.settings if pair[1] == w and pair[0] > r), default=None)
    writes = min((pair for pair in known.settings if pair[0] == r and pair[1] > w), default=None)
    return [known.at(*pair, t_ms) for pair in (reads, writes) if pair]
