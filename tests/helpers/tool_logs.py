"""Logs of load generators, of given figures, and what the command says of them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from tests.helpers.command import cassbook


def shown(path, *options):
    """Rows of `show` by operation, and its notes."""
    result = cassbook("show", path, "--format", "json", *options)
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    return {row["operation"]: row for row in content["cells"]}, "\n".join(content["notes"])


def summary(folder, *lines, run_time_ms=10000, throughput=100.0):
    """A text summary of YCSB's."""
    path = folder / "summary.txt"
    head = [f"[OVERALL], RunTime(ms), {run_time_ms}", f"[OVERALL], Throughput(ops/sec), {throughput}"]
    path.write_text("\n".join([*head, *lines]) + "\n")
    return path


def operation(name, n, mean, **more):
    lines = [f"[{name}], Operations, {n}", f"[{name}], AverageLatency(us), {mean}"]
    return [*lines, *(f"[{name}], {statistic}, {value}" for statistic, value in more.items())]


def stress(folder, *tags, threads=(10,), name="stress.log", errors=0):
    """A console log of cassandra-stress: results per number of threads, of 500 operations of each tag a second."""
    lines = []
    for n in threads:
        lines += [f"Running with {n} threadCount", "Results:"]
        for figure, value in (("Op rate", 500), ("Partition rate", 500), ("Latency mean", 2.0), ("Latency median", 1.0),
                              ("Latency 95th percentile", 4.0), ("Latency 99th percentile", 8.0),
                              ("Latency 99.9th percentile", 16.0), ("Latency max", 32.0)):  # fmt: skip
            unit = "ms" if "Latency" in figure else "op/s" if figure == "Op rate" else "pk/s"
            scale = n / threads[0]
            whole = value * len(tags) if "rate" in figure else value * scale
            apart = ", ".join(f"{tag}: {value if 'rate' in figure else value * scale:,.1f} {unit}" for tag in tags)
            lines.append(f"{figure:<26}: {whole:>8,.1f} {unit} [{apart}]")
        counts = ", ".join(f"{tag}: 5,000" for tag in tags)
        lines += [f"Total partitions          : {5000 * len(tags):>8,} [{counts}]"]
        failed = ", ".join(f"{tag}: {errors}" for tag in tags)
        lines += [
            f"Total errors              : {errors * len(tags):>8} [{failed}]",
            "Total operation time      : 00:00:10",
        ]
    path = folder / name
    path.write_text("\n".join([*lines, "END"]) + "\n")
    return path


def zstd(content):
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(content)
    return out.getvalue().to_pybytes()


_BEGUN = 1_700_000_000_000


def easy_stress(path, rows=None):
    """Parquet in the schema that cassandra-easy-stress declares; not written by it, for no registry has the tool.

    One read, one write and one schema change; then a read that timed out on the client.
    """
    text = pa.field("t", pa.string(), nullable=False).type
    columns = {
        "operation": (["Select", "Mutation", "DDL", "Select"], text),
        "success": ([True, True, True, False], pa.bool_()),
        "failure_reason": (["", "", "", "DriverTimeoutException"], text),
        "failure_stacktrace": (["", "", "", "at ..."], text),
        "service_start_time_ms": (
            [_BEGUN + 10, _BEGUN + 20, _BEGUN, _BEGUN + 1000],
            pa.int64(),
        ),
        "service_duration_ns": ([1_500_250, 2_000_000, 9_000_000, 12_000_000_000], pa.int64()),
        "request_start_time_ms": (
            [_BEGUN + 4, _BEGUN + 20, _BEGUN, _BEGUN + 900],
            pa.int64(),
        ),
        "request_duration_ns": ([7_500_250, 2_000_000, 9_000_000, 12_100_000_000], pa.int64()),
    }
    table = pa.table({name: pa.array((rows or {}).get(name, values), kind) for name, (values, kind) in columns.items()})
    pq.write_table(table, path)
    return path
