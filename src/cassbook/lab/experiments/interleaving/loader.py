"""One group of levels, measured in slices or one after the other, with all of its operations."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.consistency import LEVELS, STRONG_SETTINGS
from cassbook.core.schema import OK
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.experiment import Experiment, Row, in_random_order
from cassbook.lab.experiments.workbench import TIMEOUT_S, Workbench
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, UPDATE, Usertable
from cassbook.lab.run.client import mix
from cassbook.lab.run.warmup import WarmUp
from cassbook.profile.profile import TableSection, WarmUpSection

#: What is asked, with its share of reads, and the names and levels that are compared in it.
PURE = {level: (level, level) for level in LEVELS}
MIXED = {pair.name: (pair.read_cl, pair.write_cl) for pair in STRONG_SETTINGS}
SHARES = {"READ": 1.0, "UPDATE": 0.0, "MIX": 0.5}
_WARM_UP = WarmUpSection(windows=5, cap_s=40)


def compared(operation: str) -> dict[str, tuple[str, str]]:
    """Return names and levels that are compared in an operation: levels, or strong settings where both are done."""
    return MIXED if operation == "MIX" else PURE


@dataclass(frozen=True, slots=True)
class Seen:
    """What a group gave: the operations of its window."""

    operations: pd.DataFrame  # started_s (since the window began), latency_ms, ok, slice (negative outside of slices)
    window: Window


class Loader:
    """A loaded table, and groups of levels on it."""

    def __init__(self, bench: Workbench, part: TableSection, rng: np.random.Generator) -> None:
        self._bench, self._rng = bench, rng
        self._table: Usertable = bench.table(part, coordinator="token_aware")
        bench.cluster.flush(bench.session, self._table.name)

    def warm_up(self, rule: WarmUpSection) -> None:
        """Load the cluster until its throughput has settled."""
        self.run("MIX", [("QUORUM", "QUORUM")], rule.threads, Bound(until=WarmUp(rule)))

    @staticmethod
    def now() -> float:
        """Return the time by the loop's clock, in seconds."""
        return time.perf_counter()

    def settle(self) -> None:
        """Wait for writes that nobody waited for: a write at ALL through each node queues behind them."""
        self._bench.cluster.barrier(self._bench.session)

    def run(self, operation: str, levels: Sequence[tuple[str, str]], threads: int, bound: Bound) -> Seen:
        """Run a group, or one pair of levels alone."""
        rows: list[tuple[float, float, int, int]] = []

        def note(started: float, latency_s: float, _: int, outcome: int, *rest: float) -> None:
            rows.append((started, latency_s, outcome, int(rest[-1])))

        requests = [self._table.requests(READ), self._table.requests(UPDATE)]
        variants = [self._table.prefixes(*pair) for pair in levels]
        kinds = mix(SHARES[operation], self._rng)
        loop = ClosedLoop(self._bench.nodes, threads, kinds, requests, variants[0], note, TIMEOUT_S)
        loop.variants = variants
        window = Window()
        loop.run(bound, window)
        started, latency_s, outcome, slices = (np.array(column) for column in zip(*rows, strict=True))
        within = (started >= window.steady_from) & (started < window.steady_to)
        columns = {
            "started_s": started - window.steady_from, "latency_ms": latency_s * 1000, "ok": outcome == OK,
            "slice": slices,
        }  # fmt: skip
        return Seen(pd.DataFrame(columns)[within].reset_index(drop=True), window)


@contextmanager
def warmed_up(cluster: CassandraCluster, records: int, rng: np.random.Generator) -> Iterator[Loader]:
    """Give a loader of a table of so many rows on a cluster that is warm; its connections are closed with the block."""
    with Workbench(cluster, rng) as bench:
        loader = Loader(bench, TableSection(record_count=records), rng)
        loader.warm_up(_WARM_UP)
        yield loader


@dataclass(frozen=True)
class GroupExperiment(Experiment):
    """An experiment on groups of levels, each measured once on a warm cluster."""

    records: int = field(default=100_000, kw_only=True)  # rows of the table

    @abstractmethod
    def group(self, loader: Loader, point: Any, rng: np.random.Generator) -> Row:
        """Measure a group; return its row but for `panel`."""

    def measure(self, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure all groups, in random order; `panel` is a row's number."""
        with warmed_up(cluster, self.records, rng) as loader:
            for number, point in enumerate(in_random_order(self.points(), rng)):
                yield {"panel": number} | self.group(loader, point, rng)


def slice_table(seen: Seen, levels: list[str]) -> pd.DataFrame:
    """Return mean and 99th percentile of each slice's successful operations, without its guard.

    `levels` are names by variant. Columns: level, round, n, latency_ms, p99_ms, in the order of time; one row where
    nothing alternated.
    """
    slices = seen.window.slices
    done = seen.operations[seen.operations["ok"]]
    if slices is None:
        done = done.assign(slice=0)
        order = [0]
    else:
        since_s = done["started_s"] - done["slice"] * slices.length_s
        done, order = done[(done["slice"] >= 0) & (since_s >= slices.guard_s)], list(slices.order)
    by = done.groupby("slice", sort=True)["latency_ms"]
    table = by.agg(n="size", latency_ms="mean").assign(p99_ms=by.quantile(0.99)).round(4).reset_index()
    table["level"] = [levels[order[number]] for number in table["slice"]]
    table["round"] = table["slice"] // len(levels)
    return table[["level", "round", "n", "latency_ms", "p99_ms"]]
