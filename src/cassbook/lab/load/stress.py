"""The release's own cassandra-stress: on our usertable in its `user` mode, or as it comes, on a table of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from cassbook.core.children import failure
from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.profile.profile import TableSection

MAIN = "org.apache.cassandra.stress.Stress"
#: `total` lines of its log: operations so far come first, seconds so far are the eleventh figure.
_OPERATIONS, _SECONDS = 0, 10
_PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class Rate:
    """Throughput over a steady window, CPU an operation over the same, and operations that failed."""

    throughput_per_s: float
    cpu_us_per_op: float
    errors: int


class Stress:
    """cassandra-stress of the release that a cluster runs (2.1 needs Thrift to be on: `start_rpc`).

    The cluster is ready and has the usertable; the profile is written in `folder`.
    """

    def __init__(self, cluster: CassandraCluster, table: TableSection, keyspace: str, folder: Path) -> None:
        self._java = java(cluster, _home(cluster), folder)
        self._nodes, self._table = ",".join(cluster.addresses), table
        self._profile = folder / "usertable.yaml"
        self._profile.write_text(yaml.safe_dump(stress_profile(table, keyspace)))

    def load(self) -> None:
        """Insert every row once, with keys that cassandra-stress makes."""
        rows = self._table.record_count
        self._run("insert", f"n={rows}", "ALL", 64, f"seq=1..{rows}")

    def measure(self, operation: str, level: str, threads: int, settle_s: float, steady_s: float) -> Rate:
        """Run one operation ('read', or 'insert': an UPDATE of every field) on existing keys, drawn uniformly.

        The last `steady_s` seconds of `settle_s` + `steady_s` are the window. If it fails, a LaboratoryError quotes it.
        """
        length = f"duration={settle_s + steady_s:.0f}s"
        keys = f"dist=UNIFORM(1..{self._table.record_count})"
        seen, errors = self._run(operation, length, level, threads, keys)
        last = seen[-1]
        first = min(seen, key=lambda at: abs(at[0] - (last[0] - steady_s)))
        seconds, operations, cpu_s = (b - a for a, b in zip(first, last, strict=True))
        return Rate(operations / seconds, cpu_s * 1e6 / operations, errors)

    def _run(
        self, operation: str, length: str, level: str, threads: int, keys: str
    ) -> tuple[list[tuple[float, float, float]], int]:
        """Seconds, operations and CPU seconds so far at each line of the log, and the number of errors."""
        command = [
            *self._java, MAIN, "user", f"profile={self._profile}", f"ops({operation}=1)", length, "no-warmup",
            f"cl={level}", "-pop", keys, "-rate", f"threads={threads}", "-mode", "native", "cql3",
            "-node", self._nodes, "-log", "interval=1s",
        ]  # fmt: skip
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                seen, output = list[tuple[float, float, float]](), list[str]()
                for line in _lines(process):
                    output.append(line)
                    if "Exception in thread" in line:  # its threads die, its process stays
                        raise LaboratoryError(f"cassandra-stress failed: {line.strip()}")
                    if line.startswith("total,"):
                        figures = [float(part) for part in line.split(",")[1 : _SECONDS + 2]]
                        times = psutil.Process(process.pid).cpu_times()
                        seen.append((figures[_SECONDS], figures[_OPERATIONS], times.user + times.system))
            finally:
                process.kill()
        errors = re.search(r"Total errors\s*:\s*(\d+)", "".join(output))
        if not seen or not errors:
            raise failure("cassandra-stress gave no result", "".join(output), "cassandra-stress")
        if len(seen) > 1 and seen[-1][0] - seen[-2][0] < 0.5:  # noqa: PLR2004 - a remainder, too short to count
            seen.pop()
        return seen, int(errors[1])


def java(cluster: CassandraCluster, home: Path, folder: Path) -> list[str]:
    """How to start the tool of a release's home, by the cluster's Java; what it logs goes to the folder."""
    assert cluster.java is not None  # noqa: S101 - it is ready
    options = [str(cluster.java.home / "bin" / "java"), "-Xmx1G", f"-Dcassandra.logdir={folder}", "-cp"]
    return [*options, f"{home}/lib/*:{home}/tools/lib/*:{home}/conf"]


def _home(cluster: CassandraCluster) -> Path:
    assert cluster.installation is not None  # noqa: S101 - it is ready
    return cluster.installation.home


def standard(cluster: CassandraCluster, operation: str, count: int, level: str, threads: int) -> dict[str, float]:
    """Run so many operations ('write' or 'read') on the table that cassandra-stress makes itself, with its defaults.

    Returns what it reports of latency in ms: mean, median, 95th percentile, 99th percentile. If it fails, or an
    operation does, a LaboratoryError quotes it.
    """
    replication = f"replication(factor={cluster.spec.replication_factor})"
    command = [
        *java(cluster, _home(cluster), cluster.folder), MAIN, operation, f"n={count}", "no-warmup", f"cl={level}",
        "-rate", f"threads={threads}", "-mode", "native", "cql3", "-node", ",".join(cluster.addresses),
        "-schema", replication,
    ]  # fmt: skip
    output = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=_PATIENCE_S, check=False,
    ).stdout  # fmt: skip
    errors = re.search(r"Total errors\s*:\s*(\d+)", output)
    matches = {
        name: re.search(rf"latency {name}\s*:\s*([\d.]+)", output)
        for name in ("mean", "median", "95th percentile", "99th percentile")
    }
    if not errors or int(errors[1]) or not all(matches.values()):
        what = f"cassandra-stress {operation} at {level} gave no result, or had errors"
        raise failure(what, output, "cassandra-stress")
    return {name: float(match[1]) for name, match in matches.items() if match}


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    return iter(process.stdout.readline, "")


def stress_profile(table: TableSection, keyspace: str) -> dict[str, object]:
    """Profile of usertable for the `user` mode: keys of 23 characters as YCSB's have, fields of the table's length."""
    fields = [f"field{i}" for i in range(table.field_count)]
    return {
        "keyspace": keyspace,
        "table": "usertable",
        "columnspec": [
            {"name": "y_id", "size": "fixed(23)", "population": "uniform(1..100B)"},
            *({"name": name, "size": f"fixed({table.field_length})"} for name in fields),
        ],
        "insert": {"partitions": "fixed(1)", "batchtype": "UNLOGGED", "select": "fixed(1)/1"},
        "queries": {"read": {"cql": "SELECT * FROM usertable WHERE y_id = ?", "fields": "samerow"}},
    }
