"""Logs of sums and histograms: what the tools wrote, against what the same tools say of it elsewhere."""

import csv
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import InputError
from cassbook.ingest.common import Options
from cassbook.ingest.hdr import HISTOGRAMS
from cassbook.ingest.merge import read_logs
from cassbook.ingest.summary import SUMMARIES
from tests.helpers.command import cassbook
from tests.helpers.data import DATA, LOGS

YCSB = LOGS / "ycsb-0.17.0"


def read(path, to, **options):
    report = read_logs([path] if isinstance(path, Path) else path, to / "out.parquet", Options(force=True, **options))
    return pq.read_table(to / "out.parquet"), "\n".join(report.lines)


def figures(path, to):
    """Values by tag, statistic and time, and units by statistic."""
    table, _ = read(path, to)
    assert table.schema.equals(SUMMARIES)
    rows = table.to_pylist()
    return {(r["tag"], r["statistic"], r["at_s"]): r["value"] for r in rows}, {r["statistic"]: r["unit"] for r in rows}


@pytest.mark.parametrize("name", ["v1", "v2-tagged"])
def test_histograms_are_those_that_the_java_library_recorded(tmp_path, name):
    """The CSV beside each log was printed by the program that wrote the log, from the same histograms."""
    with (LOGS / "hdrhistogram" / f"{name}.csv").open() as file:
        recorded = list(csv.DictReader(file))
    table, report = read(LOGS / "hdrhistogram" / f"{name}.hlog", tmp_path)
    assert table.schema.equals(HISTOGRAMS)
    assert "(microseconds)" in report
    assert "no samples" in report
    for row, line in zip(table.to_pylist(), recorded, strict=True):
        assert row["tag"] == ("" if line["tag"] == "all" else line["tag"])
        assert row["started_s"] == 1_600_000_000 + int(line["interval"])
        assert row["length_s"] == 1
        assert row["operations"] == int(line["count"])
        for ours, theirs in (("min_us", "min_us"), ("p50_us", "p50_us"), ("p99_us", "p99_us"), ("max_us", "max_us")):
            assert row[ours] == int(line[theirs])
        assert row["mean_us"] == pytest.approx(float(line["mean_us"]), rel=1e-9)
        kept = HdrHistogram.decode(row["histogram"])
        assert (kept.total_count, kept.get_value_at_percentile(50)) == (row["operations"], row["p50_us"])


def test_ycsb_hdr_names_its_operation_and_counts_microseconds(tmp_path):
    table, report = read([YCSB / "READ.hdr", YCSB / "UPDATE.hdr"], tmp_path)
    assert set(table["tag"].to_pylist()) == {"READ", "UPDATE"}
    assert set(table["unit"].to_pylist()) == {"us"}
    assert min(table["started_s"].to_pylist()) > 1_700_000_000
    assert "READ.hdr" in report


@pytest.mark.parametrize("run", ["mixed", "fixed"])
def test_stress_hdr_agrees_with_its_console(tmp_path, run):
    """cassandra-stress of 3.11.4 logs nanoseconds, service (-st), response (-rt) and waiting time (-wt) apart."""
    table, report = read(LOGS / "stress-3.11.4" / f"{run}.hdr", tmp_path)
    console, _ = figures(LOGS / "stress-3.11.4" / f"{run}.log", tmp_path)
    assert "(nanoseconds)" in report
    rows = table.to_pylist()
    service = [row for row in rows if row["tag"].endswith("-st")]
    assert sum(row["operations"] for row in service) == console["total", "partitions", None]
    # The console says of a fixed rate what its users wait for, response times; otherwise service times.
    shown = [row for row in rows if row["tag"].endswith("-rt" if run == "fixed" else "-st")]
    mean = sum(row["mean_us"] * row["operations"] for row in shown) / sum(row["operations"] for row in shown)
    assert console["total", "mean", None] == pytest.approx(mean, abs=60)  # printed to a tenth of a millisecond
    assert console["total", "max", None] == pytest.approx(max(row["max_us"] for row in shown), rel=2e-3, abs=60)


def test_the_unit_of_a_log_that_does_not_tell_is_told_to_be_assumed(tmp_path):
    bare = tmp_path / "bare.hlog"
    bare.write_text("\n".join((LOGS / "hdrhistogram" / "v1.hlog").read_text().splitlines()[1:]) + "\n")
    table, report = read(bare, tmp_path)
    assert "taken as microseconds, for the log does not say" in report
    as_ns, report = read(bare, tmp_path, unit="ns")
    assert "does not say" not in report
    assert as_ns["p50_us"].to_pylist() == pytest.approx([p / 1000 for p in table["p50_us"].to_pylist()])


@pytest.mark.parametrize("what", ["cut", "changed", "text", "alien"])
@pytest.mark.parametrize("name", ["v1", "v2-tagged"])
def test_a_damaged_histogram_is_found(tmp_path, name, what):
    lines = (LOGS / "hdrhistogram" / f"{name}.hlog").read_text().splitlines()
    line = next(i for i, text in enumerate(lines) if "HIST" in text) + 1
    text = lines[line]
    flipped = text[:-30] + ("A" if text[-30] != "A" else "B") + text[-29:]
    lines[line] = {"cut": text[:-40], "changed": flipped, "text": "3.0,1.0", "alien": "1.0,1.0,1.0,HISTAAAA"}[what]
    (tmp_path / "bad.hlog").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=rf"bad\.hlog, line {line + 1}: "):
        read(tmp_path / "bad.hlog", tmp_path)
    assert not (tmp_path / "out.parquet").exists()
    whole = read(LOGS / "hdrhistogram" / f"{name}.hlog", tmp_path)[0].num_rows
    table, report = read(tmp_path / "bad.hlog", tmp_path, skip_damaged=True)
    assert table.num_rows == whole - 1
    assert "1 damaged lines left out" in report


def test_text_and_json_summaries_say_the_same_of_the_same_things(tmp_path):
    text, units = figures(YCSB / "summary.txt", tmp_path)
    for name in ("summary.json", "summary-array.json"):
        theirs, their_units = figures(YCSB / name, tmp_path)
        assert {key[:2] for key in theirs} == {key[:2] for key in text}
        assert their_units == units
    assert units["mean"] == units["p95"] == "us"
    assert text["OVERALL", "throughput", None] == pytest.approx(600 / text["OVERALL", "run time", None] * 1000)
    operations = {tag: value for (tag, name, _), value in text.items() if name == "operations"}
    # Each read-modify-write is counted as a read and an update too.
    assert sum(n for tag, n in operations.items() if tag != "CLEANUP") == 600 + 2 * operations["READ-MODIFY-WRITE"]
    assert text["READ", "return OK", None] == operations["READ"]


def test_every_figure_of_a_text_summary_is_kept(tmp_path):
    for path in sorted(YCSB.glob("summary*.txt")):
        lines = [line for line in path.read_text().splitlines() if line.startswith("[")]
        table, _ = read(path, tmp_path)
        assert sorted(table["value"].to_pylist()) == sorted(float(line.rsplit(", ", 1)[1]) for line in lines)


def test_a_time_series_keeps_its_times(tmp_path):
    means, _ = figures(YCSB / "summary-timeseries.txt", tmp_path)
    line = re.search(r"^\[READ\], 50, (\S+)$", (YCSB / "summary-timeseries.txt").read_text(), re.MULTILINE)
    assert means["READ", "mean", 0.05] == float(line[1])


@pytest.mark.parametrize("path", sorted(LOGS.glob("stress-*/*.log")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_console_log_intervals_add_up_to_its_results(tmp_path, path):
    table, _ = read(path, tmp_path)
    rows = table.to_pylist()
    for threads in {row["threads"] for row in rows}:
        totals = [row for row in rows if row["threads"] == threads and row["tag"] == "total"]
        counted = [row["value"] for row in totals if row["statistic"] == "operations" and row["at_s"] is not None]
        whole = {row["statistic"]: row["value"] for row in totals if row["at_s"] is None}
        assert max(counted) == whole["partitions"] > 0
        assert whole["p50"] <= whole["p95"] <= whole["p99"] <= whole["p99.9"] <= whole["max"]
        assert {row["unit"] for row in totals if row["statistic"] == "mean"} == {"us"}
    shown = re.search(r"atency max\s*: +([\d.]+)", path.read_text())
    assert whole["max"] / 1000 == pytest.approx(float(shown[1])) or len({row["threads"] for row in rows}) > 1


def test_a_series_of_thread_counts_keeps_them_apart(tmp_path):
    path = LOGS / "stress-2.1.20" / "series.log"
    announced = [int(n) for n in re.findall(r"^Running with (\d+) threadCount", path.read_text(), re.MULTILINE)]
    table, _ = read(path, tmp_path)
    assert set(table["threads"].to_pylist()) == set(announced)
    assert len(announced) > 1


def test_an_interval_of_a_console_log_that_lacks_a_number_is_damaged(tmp_path):
    lines = (LOGS / "stress-2.1.20" / "mixed.log").read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("total,"))
    lines[place] = lines[place].rsplit(",", 3)[0]
    (tmp_path / "bad.log").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=rf"bad\.log, line {place + 1}: 'total, "):
        read(tmp_path / "bad.log", tmp_path)
    assert "1 damaged lines left out" in read(tmp_path / "bad.log", tmp_path, skip_damaged=True)[1]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("summary.txt", "[READ], AverageLatency(us), ", "[READ], AverageLatency(us), x"),
        ("summary.json", '"value" : ', '"value" : x'),
        ("summary-array.json", '"measurement"', '"measuremen"'),
    ],
)
def test_a_damaged_figure_is_found(tmp_path, name, old, new):
    text = (YCSB / name).read_text()
    whole = read(YCSB / name, tmp_path)[0].num_rows
    at = text.index(old, len(text) // 4)
    (tmp_path / "bad").write_text(text[:at] + text[at:].replace(old, new, 1))
    (tmp_path / "out.parquet").unlink()
    with pytest.raises(InputError, match=r"bad, line \d+: "):
        read(tmp_path / "bad", tmp_path)
    assert not (tmp_path / "out.parquet").exists()
    table, report = read(tmp_path / "bad", tmp_path, skip_damaged=True)
    assert table.num_rows == whole - 1
    assert "1 damaged lines left out" in report


#: How a test of cassandra-stress 2.1 ends whose every operation failed.
FAILED = """com.datastax.driver.core.exceptions.NoHostAvailableException: All host(s) tried for query failed
java.io.IOException: Operation x10 on key(s) [4b30]: Error executing: (NoHostAvailableException)
"""


def failed_test(folder):
    """Return the log of a test that failed before its first operation came back, as cassandra-stress prints it."""
    text = (LOGS / "stress-2.1.20" / "write.log").read_text()
    heading = re.search(r"(?s).*?^type,[^\n]*\n", text, re.MULTILINE)[0]
    results = text[text.index("Results:") :]
    counted = r"(?m)^((?:latency|Total part|op|part|row).*?: )[\d.]+ \[WRITE:[\d.]+\]$"
    results = re.sub(counted, r"\g<1>0 [WRITE:0]", results)
    (folder / "failed.log").write_text(heading + FAILED + "\n\n" + results.replace("END", "FAILURE"))
    return folder / "failed.log"


def test_a_stress_test_that_failed_is_refused_and_on_demand_read_with_a_word(tmp_path):
    path, to = failed_test(tmp_path), tmp_path / "out.parquet"
    refused = cassbook("read", path, "--output", to)
    assert refused.exit_code == 2
    assert re.search(r"failed\.log: the test failed \(line 9: 'com\.datastax\..*--skip-damaged", refused.output)
    assert not to.exists()
    given = cassbook("read", path, "--output", to, "--skip-damaged")
    assert given.exit_code == 0
    assert "the test failed" in given.output
    assert "printed as 0, are left out: WRITE, total" in given.output
    rows = pq.read_table(to).to_pylist()
    assert {row["unit"] for row in rows} & {"us"} == set()
    assert [row["value"] for row in rows if row["statistic"] == "partitions"] == [0, 0]


@pytest.mark.parametrize(("name", "line"), [("stress-2.1.20", 17), ("stress-3.11.4", 88)])
def test_logs_of_tests_that_failed_on_a_cluster(tmp_path, name, line):
    path, to = DATA / "failed-logs" / f"{name}.log", tmp_path / "out.parquet"
    refused = cassbook("read", path, "--output", to)
    assert refused.exit_code == 2
    assert f"{name}.log: the test failed (line {line}: 'java.io.IOException: Operation x10 on key(s)" in refused.output
    table, report = read(path, tmp_path, skip_damaged=True)
    assert "these figures are not those of a whole test" in report
    latencies = [row["value"] for row in table.to_pylist() if row["unit"] == "us"]
    lines = [line for line in path.read_text().splitlines() if line.startswith("total,")]
    assert len(latencies) == 6 * len(lines) > 0
    assert 0 not in latencies


def test_an_interval_without_an_operation_has_no_latency(tmp_path):
    text = (LOGS / "stress-2.1.20" / "write.log").read_text()
    first = re.search(r"(?m)^total,.*$", text)[0]
    idle = re.sub(r"[\d.]+", "0", first)
    (tmp_path / "idle.log").write_text(text.replace(first, idle))
    rows = [row for row in read(tmp_path / "idle.log", tmp_path)[0].to_pylist() if row["at_s"] == 0]
    assert {row["statistic"] for row in rows} & {"operations", "throughput", "errors", "mean", "p99"} == {
        "operations", "throughput", "errors",
    }  # fmt: skip


def test_a_stress_test_that_failed_after_some_operations_keeps_its_intervals(tmp_path):
    text = (LOGS / "stress-2.1.20" / "mixed.log").read_text().replace("\nEND", "\nFAILURE")
    (tmp_path / "failed.log").write_text(text)
    with pytest.raises(InputError, match=r"the test failed \(line \d+: 'FAILURE'\)"):
        read(tmp_path / "failed.log", tmp_path)
    table, report = read(tmp_path / "failed.log", tmp_path, skip_damaged=True)
    assert "not those of a whole test" in report
    assert table.num_rows == read(LOGS / "stress-2.1.20" / "mixed.log", tmp_path)[0].num_rows


def test_a_stress_log_that_stops_says_so(tmp_path):
    text = (LOGS / "stress-2.1.20" / "mixed.log").read_text()
    (tmp_path / "cut.log").write_text(text[: text.index("\n\nResults:")])
    assert "no END in it" in read(tmp_path / "cut.log", tmp_path)[1]


@pytest.mark.parametrize("heading", ["time", "mean"])
def test_a_damaged_heading_of_a_console_log_is_found(tmp_path, heading):
    text = (LOGS / "stress-2.1.20" / "mixed.log").read_text()
    (tmp_path / "bad.log").write_text(text.replace(f"{heading},", "med,", 1))
    place = text[: text.index("type, ")].count("\n") + 1
    with pytest.raises(InputError, match=rf"bad\.log, line {place}: 'type, "):
        read(tmp_path / "bad.log", tmp_path)
    table, report = read(tmp_path / "bad.log", tmp_path, skip_damaged=True)
    assert "13 damaged lines left out" in report  # the heading, and each interval below it
    assert set(table["at_s"].to_pylist()) == {None}


def test_a_damaged_start_of_a_histogram_log_is_found(tmp_path):
    text = (LOGS / "hdrhistogram" / "v1.hlog").read_text()
    (tmp_path / "bad.hlog").write_text(text.replace("1600000000.000", "1600.000.000", 1))
    with pytest.raises(InputError, match=r"bad\.hlog, line 3: "):
        read(tmp_path / "bad.hlog", tmp_path)
    assert "1 damaged lines left out" in read(tmp_path / "bad.hlog", tmp_path, skip_damaged=True)[1]
