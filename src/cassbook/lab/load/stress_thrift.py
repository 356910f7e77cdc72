"""cassandra-stress as it was in the ccm study's time: the tool of 2.0.17 by its old options, over Thrift."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cassbook.core.children import described
from cassbook.core.errors import LaboratoryError
from cassbook.core.releases import STUDY_TOOLS
from cassbook.lab.engine import fetch
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.load.stress import MAIN, java

#: Its names of what the book calls write and read.
_OPERATIONS = {"write": "insert", "read": "read"}
#: One line per second: operations so far, operations and keys per second, then latencies; seconds so far come last.
_LINE = re.compile(r"^(?P<total>\d+),(?P<rate>\d+),\d+,.*,(?P<seconds>\d+)$", re.MULTILINE)
_PATIENCE_S = 600.0
_NEVER_ENDS = 1_000_000_000


@dataclass(slots=True)
class Rates:
    """Operations per second, by 'write' and 'read'; empty until it is over."""

    per_s: dict[str, float]


def once(cluster: CassandraCluster, operation: str, count: int, level: str, threads: int) -> float:
    """Run so many operations ('write' or 'read') and return operations per second; the first makes its table.

    If it fails, or an operation does, a LaboratoryError quotes it.
    """
    command = _command(cluster, operation, count, count, level, threads)
    output = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=_PATIENCE_S, check=False,
    ).stdout  # fmt: skip
    lines = list(_LINE.finditer(output))
    if not lines or int(lines[-1]["total"]) != count or _wrong(output):
        raise LaboratoryError(_failed(operation, level, output))
    return count / max(1, int(lines[-1]["seconds"]))


@contextmanager
def kept_up(cluster: CassandraCluster, rows: int, level: str, threads: int) -> Iterator[Rates]:
    """Within the block have half of the threads write, and the others read, rows that `once` has written.

    LaboratoryError at the block's end, if one of them had stopped by itself.
    """
    rates = Rates({})
    with tempfile.TemporaryDirectory() as folder:
        logs = {operation: Path(folder) / operation for operation in _OPERATIONS}
        running = {}
        try:
            for operation, log in logs.items():
                command = _command(cluster, operation, _NEVER_ENDS, rows, level, threads // 2)
                with log.open("w") as file:
                    running[operation] = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
                    )
            _wait_for_lines(logs)
            yield rates
            for operation, process in running.items():
                if process.poll() is not None or _wrong(logs[operation].read_text()):
                    raise LaboratoryError(_failed(operation, level, logs[operation].read_text()))
                rates_seen = [int(line["rate"]) for line in _LINE.finditer(logs[operation].read_text())]
                rates.per_s[operation] = sum(rates_seen) / len(rates_seen)
        finally:
            for process in running.values():
                process.kill()
                process.wait()


def _wait_for_lines(logs: dict[str, Path]) -> None:
    """Wait until each has reported its operations, or a while has passed."""
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline and not all(_LINE.search(log.read_text()) for log in logs.values()):
        time.sleep(0.25)


def _command(
    cluster: CassandraCluster, operation: str, count: int, rows: int, level: str, threads: int
) -> list[str]:  # fmt: skip
    home = fetch.obtain(STUDY_TOOLS).home
    return [
        *java(cluster, home, cluster.folder), MAIN, "--nodes", ",".join(cluster.addresses),
        "--num-keys", str(count), "--num-different-keys", str(rows), "--operation", _OPERATIONS[operation],
        "--consistency-level", level, "--threads", str(threads), "--progress-interval", "1", "--random",
        "--replication-factor", str(cluster.spec.replication_factor),
    ]  # fmt: skip


def _wrong(output: str) -> bool:
    return "Exception" in output or "Operation [" in output


def _failed(operation: str, level: str, output: str) -> str:
    what = f"cassandra-stress {operation} at {level} gave no result, or had errors"
    return f"{what}: {described(output, 'cassandra-stress')}"
