"""What the adviser adds to a request, in microseconds: its own code around a session that answers at once."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
from cassandra.query import BoundStatement, PreparedStatement

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.consistency import STRONG_SETTINGS
from cassbook.core.paths import project_root
from cassbook_advisor.adviser import Adviser, Pace

#: The most that it may add to a request (median over rounds).
BAR_US = 5.0
_REQUESTS, _ROUNDS = 20_000, 15
_DRIVER = "import cassandra, cassandra.cluster, cassandra.query"


class _Answered:
    """A ResponseFuture that has its answer: it calls back at once, as the driver does for one that is done."""

    __slots__ = ()

    def add_callbacks(self, callback: Callable[..., None], errback: Callable[..., None]) -> None:
        callback([])

    def result(self) -> list[Any]:
        return []


class _Session:
    """Answers at once, so that what is timed is the adviser."""

    def __init__(self) -> None:
        table = SimpleNamespace(partition_key=[SimpleNamespace(name="id")], options={})
        strategy = SimpleNamespace(replication_factor=3)
        keyspace = SimpleNamespace(tables={"t": table}, replication_strategy=strategy)
        self.cluster = SimpleNamespace(metadata=SimpleNamespace(keyspaces={"k": keyspace}, all_hosts=list))
        self._answer = _Answered()

    def prepare(self, query: str) -> Any:
        return SimpleNamespace(query_string=query)

    def execute_async(self, statement: Any, parameters: Any = None) -> _Answered:
        return self._answer


def _prepared(query: str) -> PreparedStatement:
    return PreparedStatement([], b"0" * 16, [], query, "k", 4, [], b"")


def _map() -> LatencyMap:
    rows = []
    for threads in (1, 1000):
        for setting in STRONG_SETTINGS:
            for share in (0.1, 0.9):
                rows.append((threads, setting.read_cl, setting.write_cl, share, 100.0 * threads))
    cells = pd.DataFrame(rows, columns=["threads", "read_cl", "write_cl", "read_share", "latency_us"])
    same = pd.DataFrame({"kind": "mixed", "engine": "", "deployment": "", "block": 1, "marks": ""}, cells.index)
    return LatencyMap(cells.join(same).assign(cell_id=cells.index.astype(str)), "made up")


def _per_request_us(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(_REQUESTS):
        function()
    return (time.perf_counter() - began) / _REQUESTS * 1e6


def _rounds(
    operation: str, bare: Callable[[], object], advised: Callable[[], object]
) -> list[tuple[str, float, float, float]]:
    bare(), advised()
    rounds = []
    for _ in range(_ROUNDS):
        figures = _per_request_us(bare), _per_request_us(advised)
        rounds.append((operation, *figures, figures[1] - figures[0]))
    return rounds


def measure() -> pd.DataFrame:
    """Microseconds per request with the adviser and without it, interleaved; one row per round.

    Columns: operation ('read', 'write', or 'bound read': of a statement bound before), bare_us (the same statement
    bound and sent, its level set by hand), advised_us, added_us.
    """
    session: Any = _Session()
    rows = []
    with Adviser(session, "k", ["t"], _map(), pace=Pace(interval_s=0.5)) as adviser:
        for operation, query in (("read", "SELECT * FROM t"), ("write", "UPDATE t SET a = 1 WHERE id = 2")):
            statement = _prepared(query)

            def bare(statement: PreparedStatement = statement) -> object:
                bound = BoundStatement(statement).bind(())
                bound.consistency_level = 4
                return session.execute_async(bound).result()

            def advised(statement: PreparedStatement = statement) -> object:
                return adviser.execute_async(statement).result()

            rows += _rounds(operation, bare, advised)
        ready = BoundStatement(_prepared("SELECT * FROM t")).bind(())
        rows += _rounds(
            "bound read",
            lambda: session.execute_async(ready).result(),
            lambda: adviser.execute_async(ready).result(),
        )
    return pd.DataFrame(rows, columns=["operation", "bare_us", "advised_us", "added_us"])


def weight() -> pd.DataFrame:
    """Seconds and MB that importing takes in a new process: of the driver alone, and of the adviser with it.

    One row per round; columns driver_s, adviser_s, driver_mb, adviser_mb.
    """
    rows = []
    for _ in range(_ROUNDS):
        driver, adviser = (
            _imported(code)
            for code in (_DRIVER, f"{_DRIVER}; from cassbook_advisor import Adviser, InCassandra, Latencies, Metrics")
        )
        rows.append({"driver_s": driver[0], "adviser_s": adviser[0], "driver_mb": driver[1], "adviser_mb": adviser[1]})
    return pd.DataFrame(rows)


def _imported(code: str) -> tuple[float, float]:
    """Seconds that some imports take, and MB that the process has afterwards."""
    timed = (
        f"import time; began = time.perf_counter(); {code}; took = time.perf_counter() - began; "
        "import psutil; print(took, psutil.Process().memory_info().rss / 1e6)"  # ru_maxrss would be the parent's
    )
    done = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True)
    seconds, mb = map(float, done.stdout.split())
    return seconds, mb


def _print_weight(folder: Path) -> None:
    table = weight()
    for what, unit in (("s", "import time"), ("mb", "memory")):
        part = (table[f"adviser_{what}"] / table[f"driver_{what}"] - 1).median()
        bare = table[f"driver_{what}"].median()
        print(f"  {unit} beyond the driver's own, {bare:.2f} {what.replace('mb', 'MB')}: {part:.1%} of it (aim: 10 %)")
    table.round(4).to_csv(folder / "adviser-import.csv", index=False, lineterminator="\n")


def main(folder: Path | None = None) -> None:
    """Measure, print and store; says whether the bar is met."""
    folder = folder or project_root() / "_build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    table = measure()
    lines = ["what the adviser adds to a request, us (bar: at most 5)"]
    for operation, group in table.groupby("operation"):
        added = group["added_us"]
        lines.append(
            f"  {operation:5}  {statistics.median(added):.2f}  ({added.min():.2f} to {added.max():.2f}), "
            f"{'met' if added.median() <= BAR_US else 'NOT met'}"
        )
    print("\n".join(lines))
    table.round(3).to_csv(folder / "adviser.csv", index=False, lineterminator="\n")
    _print_weight(folder)
