"""Every number of every sample log is in what was read, or stands in `NOT_READ` with the reason why it is not."""

import json
import re
from collections import Counter

import pyarrow.parquet as pq
import pytest

from cassbook.ingest.merge import read_logs
from tests.helpers.command import cassbook
from tests.helpers.data import LOGS

#: Lines whose numbers are not read, and why.
NOT_READ = {
    r"Improvement over \d+ threadCount: ": "follows from the throughputs of two thread counts",
    r"Sleeping \d+s|Warming up .* with \d+ iterations": "what the tool does before it measures",
    r"Datatacenter: |Connected to cluster: |Created keyspaces": "whom it talks to",
    r"(?:Command line|YCSB Client|Starting test|Loading workload|DBWrapper|\S*java ).*": "how the tool was called",
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d+ \d+ sec: ": "status on the way, of operations that are read one by one",
    r"#": "comments: what they say of start and unit is in each row",
    r"Total number of (?:keys|ops)|Using a distribution|Running \[": "how the tool was called",
}
#: A number of threads is read, the iterations asked for are not: how many there were is.
_RUNNING = re.compile(r"Running (?:with (\d+) threadCount|.*with (\d+) threads)")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:E-?\d+)?(?![\w.])")


def table_of(path, folder):
    read_logs([path], folder / "out.parquet")
    return pq.read_table(folder / "out.parquet")


def left_out(line):
    return any(re.match(pattern, line) for pattern in NOT_READ)


def as_printed(row):
    """A figure as cassandra-stress prints it: milliseconds, and times of a day."""
    value = row["value"]
    if row["unit"] == "us":
        return round(value / 1000, 6)
    return value


@pytest.mark.parametrize(
    "path", sorted(LOGS.glob("stress-*/*.log")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_intervals_and_results_of_cassandra_stress(path, tmp_path):
    """Numbers line by line: of intervals, of the results with every operation in brackets, of the series' table."""
    rows = table_of(path, tmp_path).to_pylist()
    threads, heads, in_results, lines_read = None, [], False, 0
    for line in path.read_text().splitlines():
        fields = [field.strip() for field in line.split(",")]
        if running := _RUNNING.match(line):
            threads, in_results = int(running[1] or running[2]), False
            assert threads in {row["threads"] for row in rows}
            continue
        if left_out(line):
            continue
        if "total ops" in line:
            heads, in_results = fields, False
            continue
        if line.startswith("Results:"):
            in_results = True
            continue
        own = [row for row in rows if row["threads"] == threads]
        if in_results and ":" in line:
            lines_read += results_line(line, [row for row in own if row["at_s"] is None])
        elif len(fields) >= len(heads) - 1 > 0:
            whole = heads[0] == "id"
            tag = fields[1] if whole else fields[0]
            if whole:  # the series' table, of another number of threads each line
                own = [row for row in rows if row["threads"] == int(fields[0].split()[0])]
            kept = {as_printed(row) for row in own if row["tag"] == tag}
            # Time and standard error of the series' table are those of the last interval of the total.
            kept |= {row["at_s"] for row in own if row["tag"] == tag or whole}
            kept |= {row["value"] for row in own if row["statistic"].startswith("standard error") and whole}
            assert {float(field) for field in fields[1 + whole :]} <= kept, line
            lines_read += 1
    assert lines_read > 20


def results_line(line, rows):
    """Hold a line of the results against its rows, by operation; how many numbers it had."""
    name, _, content = line.partition(":")
    if clock := re.fullmatch(r"\s*(\d+):(\d+):(\d+)", content):
        hours, minutes, seconds = map(int, clock.groups())
        assert [r["value"] for r in rows if r["statistic"] == "run time"] == [hours * 3600 + minutes * 60 + seconds]
        return 1
    printed = {"total": _NUMBER.findall(content.partition("[")[0])}
    for tag, text in re.findall(r"(\w+):\s*(\S+?)(?:,? |,?\]|,$|$)", content.partition("[")[2]):
        printed.setdefault(tag, []).append(text)
    statistics = {row["statistic"] for row in rows}
    for tag, numbers in printed.items():
        for text in numbers:
            number = float(text.replace(",", ""))
            found = [row for row in rows if row["tag"] == tag and as_printed(row) == pytest.approx(number)]
            assert found, f"{name}: {tag} {text} is not among {statistics}"
    return sum(map(len, printed.values()))


def test_the_writes_of_a_mixed_test_of_2_1_are_read(tmp_path):
    log, to = LOGS / "stress-2.1.20" / "mixed.log", tmp_path / "out.parquet"
    assert cassbook("read", log, "--output", to).exit_code == 0
    rows = pq.read_table(to).to_pylist()
    written = {row["statistic"]: row["value"] for row in rows if row["tag"] == "WRITE" and row["at_s"] is None}
    shown = re.search(r"latency 99th percentile +: \S+ \[READ:\S+, WRITE:(\S+)\]", log.read_text())
    assert written["p99"] == pytest.approx(float(shown[1]) * 1000)
    assert {"throughput", "mean", "p50", "p95", "p99", "p99.9", "max", "partitions", "errors"} <= set(written)


@pytest.mark.parametrize("path", sorted((LOGS / "ycsb-0.17.0").glob("summary*")), ids=lambda path: path.name)
def test_summaries_of_ycsb(path, tmp_path):
    text = path.read_text()
    if path.suffix == ".json":
        objects = json.loads(text) if text.lstrip().startswith("[") else [
            json.loads(part) for part in re.findall(r"\{[^{}]*\}", text)
        ]  # fmt: skip
        printed = [float(one["value"]) for one in objects]
    else:
        printed = [float(line.rsplit(", ", 1)[1]) for line in text.splitlines() if line.startswith("[")]
        others = [line for line in text.splitlines() if not line.startswith("[") and _NUMBER.search(line)]
        assert [line for line in others if not left_out(line)] == []
    assert Counter(table_of(path, tmp_path)["value"].to_pylist()) == Counter(printed)


RAW = sorted([*(LOGS / "ycsb-0.17.0").glob("raw*.txt"), *(LOGS / "ycsb-0.17.0").glob("client-*.txt")])


@pytest.mark.parametrize("path", RAW, ids=lambda path: path.name)
def test_operations_of_ycsb(path, tmp_path):
    """Rows whose names have no place in the samples are counted in the report; YCSB's sums behind repeat the rows."""
    rows = re.findall(r"^((?:Raw)?[A-Z-]+(?:_[A-Z]+)?),(\d+),(\d+)$", path.read_text(), re.MULTILINE)
    kept = [row for row in rows if not re.match(r"(?:Raw)?(?:CLEANUP|DELETE)", row[0])]
    table = table_of(path, tmp_path)
    assert Counter(table["latency_us"].to_pylist()) == Counter(float(us) for _, _, us in kept)
    (log,) = json.loads(table.schema.metadata[b"cassbook_logs"])
    ended = sorted(round(s * 1e6 + us) for s, us in zip(table["started_s"].to_pylist(), table["latency_us"].to_pylist(),
                                                        strict=True))  # fmt: skip
    since = sorted(int(ms) * 1000 - log["begun_unix_us"] for _, ms, _ in kept)
    assert max(abs(a - b) for a, b in zip(ended, since, strict=True)) <= 1
    assert sum(log["operations"].values()) >= len(rows)


HDR = sorted([*LOGS.glob("*/*.hdr"), *LOGS.glob("*/*.hlog")])


@pytest.mark.parametrize("path", HDR, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_intervals_of_histograms(path, tmp_path):
    """Start and length as printed; the greatest value is read from the histogram, which the log prints in `max` too."""
    lines = [line for line in path.read_text().splitlines() if "HIST" in line and not line.startswith(("#", '"'))]
    rows = table_of(path, tmp_path).to_pylist()
    for line, row in zip(lines, rows, strict=True):
        tag, _, numbers = line.removeprefix("Tag=").partition(",") if line.startswith("Tag=") else ("", "", line)
        start, length, longest = map(float, numbers.split(",")[:3])
        assert tag in ("", row["tag"])
        assert row["length_s"] == length
        assert row["started_s"] % 1 == pytest.approx(start % 1, abs=1e-3) or row["started_s"] > start
        if row["operations"]:  # printed in millionths of the unit that was recorded, and less exact than the histogram
            scale = {"ns": 1e3, "us": 1e6, "ms": 1e9}[row["unit"]]
            assert row["max_us"] == pytest.approx(longest * scale, rel=2e-3, abs=6e-4 * scale)
