"""Logs of YCSB and go-ycsb made from known samples, as people keep them; what is read is held against the samples."""

import gzip
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassbook.ingest.merge import read_logs
from tests.helpers.ycsb_console import CONSOLE, JAVA, YCSB

_BEGUN_MS = 1_600_000_000_000
NAMES = ["READ", "UPDATE", "INSERT", "SCAN", "READ-FAILED", "UPDATE-FAILED", "VERIFY", "CLEANUP"]
OURS = {"READ": "READ", "UPDATE": "UPDATE", "INSERT": "INSERT", "SCAN": "SCAN"}
ENCODINGS = [("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
US_PER = {"us": 1, "ms": 1000}

latencies = st.lists(st.integers(100, 5_000_000), min_size=1, max_size=40)
samples = st.dictionaries(st.sampled_from(NAMES), latencies, min_size=1).filter(lambda made: set(made) & set(OURS))
texts = st.lists(st.sampled_from([*YCSB, *JAVA, *CONSOLE, ""]), max_size=8)
encoded = st.tuples(st.sampled_from(ENCODINGS), st.sampled_from(["\n", "\r\n"]), st.booleans())
SETTINGS = settings(max_examples=60, deadline=None)


def mixed(rows, texts, rng):
    """Rows in their order with texts at places of their own."""
    lines = list(rows)
    for text in texts:
        lines.insert(rng.randrange(len(lines) + 1), text)
    return lines


def read(lines, how):
    """Write lines as a log in an encoding, read it, and give back its report and table."""
    (encoding, mark), end, packed = how
    content = mark + "".join(line + end for line in lines).encode(encoding)
    with tempfile.TemporaryDirectory() as folder:
        path, to = Path(folder) / "log", Path(folder) / "out.parquet"
        path.write_bytes(gzip.compress(content) if packed else content)
        (log,) = read_logs([path], to).content["logs"]
        return log, pq.read_table(to).to_pandas()


def summary(made, unit, failed_rows):
    """The summary that YCSB prints of latencies, percentiles in a unit, the way 0.1.4 and later versions do."""
    done = sum(len(values) for name, values in made.items() if name not in ("CLEANUP", "VERIFY"))
    rows = ["[OVERALL], RunTime(ms), 2000", f"[OVERALL], Throughput(ops/sec), {done / 2}"]
    for name, values in made.items():
        if name.endswith("-FAILED") and not failed_rows:
            continue
        rows += [f"[{name}], Operations, {len(values)}", f"[{name}], AverageLatency(us), {np.mean(values)}"]
        rows += [f"[{name}], MinLatency(us), {min(values)}", f"[{name}], MaxLatency(us), {max(values)}"]
        for percent in (95, 99):
            value = int(np.percentile(values, percent)) // US_PER[unit]
            rows.append(f"[{name}], {percent}thPercentileLatency({unit}), {value}")
        rows += [f"[{name}], Return=OK, {len(values)}"] if not name.endswith("-FAILED") else []
    return rows


@SETTINGS
@given(samples, st.sampled_from(list(US_PER)), st.booleans(), texts, encoded, st.randoms(use_true_random=False))
def test_summaries(made, unit, failed_rows, texts, how, rng):
    log, table = read(mixed(summary(made, unit, failed_rows), texts, rng), how)
    figures = {(row["tag"], row["statistic"]): row["value"] for row in table.to_dict("records")}
    assert log["text_lines"] == len([text for text in texts if text])
    assert log["damaged_lines"] == 0
    for name, values in made.items():
        if name.endswith("-FAILED") and not failed_rows:
            continue
        assert figures[name, "operations"] == len(values)
        assert figures[name, "mean"] == pytest.approx(np.mean(values))
        assert (figures[name, "min"], figures[name, "max"]) == (min(values), max(values))
        for percent in (95, 99):
            assert 0 <= np.percentile(values, percent) - figures[name, f"p{percent}"] < US_PER[unit] + 1


@SETTINGS
@given(samples, st.sampled_from(["ms", "us"]), st.booleans(), texts, encoded, st.randoms(use_true_random=False))
def test_operations(made, unit, headed, texts, how, rng):
    """YCSB has completions in milliseconds, go-ycsb starts in microseconds and its own names of failures."""
    go = unit == "us"
    named = {name.replace("-FAILED", "_ERROR") if go else name: values for name, values in made.items()}
    rows = ["operation,timestamp_us,latency_us"] if go and headed else []
    for name, values in named.items():
        rows += [f"{name} latency raw data: op, timestamp(ms), latency(us)"] if headed and not go else []
        rows += [f"{name},{(_BEGUN_MS + 7 * i) * (1000 if go else 1)},{us}" for i, us in enumerate(values)]
    log, table = read(mixed(rows, texts, rng), how)
    assert log["text_lines"] == len([text for text in texts if text])
    assert log["counts"] == {name: len(values) for name, values in named.items()}
    assert set(log["left_out"]) == set(named) & {"VERIFY", "CLEANUP"}
    for name, values in made.items():
        kept = table[(table["operation"] == name.removesuffix("-FAILED")) & (
            (table["outcome"] != "ok") == name.endswith("-FAILED"))]  # fmt: skip
        assert Counter(kept["latency_us"]) == (Counter() if name in ("VERIFY", "CLEANUP") else Counter(values))
    sent = [
        (_BEGUN_MS + 7 * i) * 1000 - (0 if go else us)
        for name, values in made.items() if name not in ("VERIFY", "CLEANUP") for i, us in enumerate(values)
    ]  # fmt: skip
    expected = [(at - min(sent)) / 1e6 for at in sorted(sent)]
    assert sorted(table["started_s"]) == pytest.approx(expected, abs=2e-6)
