"""Our load generator against cassandra-stress: one cluster, one table, pair by pair in random order.

Both read, or update every field of, the same existing rows, drawn uniformly, through prepared statements. What is
compared is throughput at the same number of requests in flight, over a steady window, after both have warmed up.
"""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core import schema
from cassbook.core.consistency import LEVELS
from cassbook.core.errors import LaboratoryError
from cassbook.core.files import write_text
from cassbook.core.paths import project_root
from cassbook.core.progress import bar
from cassbook.core.types import Log
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.load.loop import Bound, ClosedLoop, Record
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.stress import Rate, Stress
from cassbook.lab.load.ycsb import KEYSPACE, READ, TABLE, UPDATE, Usertable, create_table
from cassbook.lab.run.circumstances import machine
from cassbook.lab.run.warmup import WarmUp
from cassbook.profile.profile import TableSection, WarmUpSection
from cassbook.records.bench_results import POINT, ratios

ENGINE = "2.1.20"
PAIRS = 5
OPERATIONS, THREADS = ("READ", "UPDATE"), (10, 100, 500)
ROWS = TableSection(record_count=20_000, request_distribution="uniform", update_all_fields=True)
_STEADY_S, _RAMP_S = 5.0, 2.0
#: A JVM needs a while to compile what it runs; its first seconds do not count.
_STRESS_SETTLES_S = 6.0
_COLUMNS = [*POINT, "pair", "first", "ours_per_s", "stress_per_s"]
_COLUMNS += ["ours_cpu_us_per_op", "stress_cpu_us_per_op", "ours_lag_us", "ours_latency_us"]
_Point = tuple[str, str, int]


class Ours:
    """The closed loop, with the keys that cassandra-stress made."""

    def __init__(self, cluster: CassandraCluster) -> None:
        self._session = cluster.connect()
        keys = [row.y_id.encode() for row in self._session.execute(f"SELECT y_id FROM {TABLE}")]
        if len(keys) != ROWS.record_count:
            raise LaboratoryError(f"{len(keys)} rows were loaded instead of {ROWS.record_count}")
        self._nodes = Nodes(self._session, cluster.addresses)
        rng = np.random.default_rng(1)
        self._table = Usertable(self._session, ROWS, cluster.addresses, "token_aware", 0, rng, row_keys=keys)

    def warm_up(self) -> None:
        """Half reads, half updates at QUORUM, until throughput has settled."""
        self._loop(100, itertools.cycle([READ, UPDATE]), "QUORUM", lambda *_: None).run(
            Bound(until=WarmUp(WarmUpSection(windows=5, cap_s=40.0))), Window()
        )

    def measure(self, operation: str, level: str, threads: int) -> tuple[Rate, float, float]:
        """Throughput and CPU, mean lag of the event loop and mean latency, both in microseconds.

        Every read has been held against the key it asked for; anything but 'ok' counts as an error.
        """
        starts, latencies_s, outcomes = list[float](), list[float](), Counter[int]()

        def note(started: float, latency_s: float, operation: int, outcome: int, *_: float) -> None:
            starts.append(started)
            latencies_s.append(latency_s)
            outcomes[outcome] += 1

        kind = READ if operation == "READ" else UPDATE
        loop_run = self._loop(threads, itertools.repeat(kind), level, note).run(Bound(_RAMP_S, _STEADY_S), Window())
        ended = np.array(starts) + np.array(latencies_s)
        within = (ended >= loop_run.window.steady_from) & (ended < loop_run.window.steady_to)
        count, latency_us = int(within.sum()), float(np.array(latencies_s)[within].mean() * 1e6)
        rate = Rate(count / _STEADY_S, loop_run.client_cpu_s * 1e6 / count, outcomes.total() - outcomes[schema.OK])
        return rate, loop_run.loop_lag_us, latency_us

    def _loop(self, threads: int, operations: Iterator[int], level: str, note: Record) -> ClosedLoop:
        requests = [self._table.requests(READ), self._table.requests(UPDATE)]
        return ClosedLoop(self._nodes, threads, operations, requests, self._table.prefixes(level, level), note, 12.0)

    def close(self) -> None:
        self._nodes.close()
        self._session.cluster.shutdown()


def points(rng: np.random.Generator) -> Iterator[tuple[int, _Point, bool]]:
    """Yield (pair, point, ours first), round by round, each in a random order of its own."""
    every: list[_Point] = list(itertools.product(OPERATIONS, LEVELS, THREADS))
    for pair in range(1, PAIRS + 1):
        for place in rng.permutation(len(every)):
            yield pair, every[place], bool(rng.integers(2))


def compare(folder: Path, log: Log = print) -> pd.DataFrame:
    """Measure every pair that `folder` does not hold yet.

    `folder`: `generator.csv` grows there, one row per pair; an interrupted comparison resumes where it stopped.

    One row per pair.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "generator.csv"
    rows = pd.read_csv(path).to_dict("records") if path.is_file() else []
    done = {(row["pair"], row["operation"], row["level"], row["threads"]) for row in rows}
    plan = list(points(np.random.default_rng(20201)))
    todo = [(pair, point, first) for pair, point, first in plan if (pair, *point) not in done]
    if not todo:
        return pd.DataFrame(rows, columns=_COLUMNS)
    # 2.1's cassandra-stress asks the schema through Thrift, which is off by default.
    with CassandraCluster(ENGINE, Spec(options={"start_rpc": True}), name="bench", log=log) as cluster:
        session = cluster.connect()
        create_table(session, ROWS, 3)
        session.cluster.shutdown()
        stress = Stress(cluster, ROWS, KEYSPACE, cluster.folder)
        stress.load()
        ours = Ours(cluster)
        try:
            ours.warm_up()
            with bar(len(plan), len(done), "pair") as progress:
                for pair, point, first in todo:
                    rows.append(_pair(ours, stress, point, pair, first))
                    _write(rows, path)
                    progress.update()
        finally:
            ours.close()
    note = {"engine": ENGINE, "date": time.strftime("%Y-%m-%d"), "machine": machine()}
    (folder / "generator.json").write_text(json.dumps(note, indent=1) + "\n")
    return pd.DataFrame(rows, columns=_COLUMNS)


def _pair(ours: Ours, stress: Stress, point: _Point, pair: int, ours_first: bool) -> dict[Hashable, Any]:
    operation, level, threads = point

    def theirs() -> Rate:
        return stress.measure(
            {"READ": "read", "UPDATE": "insert"}[operation], level, threads, _STRESS_SETTLES_S, _STEADY_S
        )

    other = None if ours_first else theirs()
    rate, lag_us, latency_us = ours.measure(*point)
    other = other or theirs()
    if rate.errors or other.errors:
        raise LaboratoryError(f"{point}: {rate.errors} of our operations failed, {other.errors} of cassandra-stress")
    values = (
        rate.throughput_per_s,
        other.throughput_per_s,
        rate.cpu_us_per_op,
        other.cpu_us_per_op,
        lag_us,
        latency_us,
    )
    return dict(
        zip(_COLUMNS, [*point, pair, "ours" if ours_first else "stress", *(round(v, 1) for v in values)], strict=True)
    )


def _write(rows: list[dict[Hashable, Any]], path: Path) -> None:
    write_text(path, pd.DataFrame(rows, columns=_COLUMNS).to_csv(index=False, lineterminator="\n"))


def main(folder: Path | None = None) -> None:
    """Measure what is missing, and print one row per point."""
    folder = folder or project_root() / "_build" / "bench"
    table = ratios(compare(folder))
    table.round(3).to_csv(folder / "generator-ratios.csv", index=False, lineterminator="\n")
    print(table.round(2).to_string(index=False))
    median, least = table["ratio"].median(), table["ratio"].min()
    print(f"throughput, ours over cassandra-stress: median {median:.2f}, least {least:.2f}")


if __name__ == "__main__":
    main()
