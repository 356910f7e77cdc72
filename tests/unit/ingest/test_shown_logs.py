"""What `show`, `compare` and `report` say of single logs: operations by name, errors, units, several tests, tables."""

import json
import re

import pytest

from cassbook.core.errors import InputError
from cassbook.ingest import operations
from cassbook.ingest.operations import Meanings
from cassbook.latency import histograms
from tests.helpers.command import cassbook
from tests.helpers.data import LOGS
from tests.helpers.tool_logs import operation, shown, stress, summary


def test_scans_are_reads_and_each_operation_has_a_row(tmp_path):
    scan = {"95thPercentileLatency(us)": 21000, "99thPercentileLatency(us)": 34000}
    path = summary(tmp_path, *operation("SCAN", 950, 11000.0, **scan), *operation("INSERT", 50, 500.0))
    rows, notes = shown(path)
    assert set(rows) == {"SCAN", "INSERT", "workload mixed"}
    assert rows["workload mixed"]["read_share"] == 0.95
    assert rows["workload mixed"]["latency_us"] == pytest.approx((950 * 11000 + 50 * 500) / 1000)
    assert (rows["SCAN"]["p95_us"], rows["SCAN"]["p99_us"], rows["SCAN"]["read_share"]) == (21000, 34000, 1)
    assert (rows["INSERT"]["latency_us"], rows["INSERT"]["read_share"], rows["INSERT"]["throughput_per_s"]) == (
        500,
        0,
        5,
    )
    assert "Percentiles of 1 mix are not shown" in notes
    (alone,) = shown(summary(tmp_path, *operation("SCAN", 950, 11000.0)))[0].values()
    assert (alone["operation"], alone["read_share"], alone["kind"]) == ("SCAN", 1, "pure")


def test_checks_inside_the_client_are_no_requests(tmp_path):
    path = summary(
        tmp_path, *operation("READ", 500, 1200.0), *operation("UPDATE", 500, 1400.0), *operation("VERIFY", 500, 12.0)
    )
    rows, _ = shown(path)
    assert set(rows) == {"READ", "UPDATE", "workload mixed"}
    assert (rows["workload mixed"]["latency_us"], rows["workload mixed"]["operations"]) == (1300, 1000)


def test_a_read_modify_write_is_not_counted_beside_its_parts(tmp_path):
    parts = [*operation("READ", 1000, 1000.0), *operation("UPDATE", 500, 1000.0)]
    rows, _ = shown(summary(tmp_path, *parts, *operation("READ-MODIFY-WRITE", 500, 2000.0)))
    whole = rows["workload mixed"]
    assert (whole["operations"], whole["latency_us"]) == (1500, 1000)
    assert whole["read_share"] == pytest.approx(2 / 3)
    assert rows["READ-MODIFY-WRITE"]["latency_us"] == 2000


@pytest.mark.parametrize(
    ("lines", "operations", "errors"),
    [
        # before there were rows of failures, the count of an operation held them
        (["[READ], Return=OK, 45", "[READ], Return=ERROR, 55"], 100, 55),
        (["[READ], Return=0, 88", "[READ], Return=1, 12"], 100, 12),
        (["[READ], Return=OK, 45", "[READ], Return=NOT_FOUND, 50", "[READ], Return=ERROR, 5"], 100, 55),
        # with rows of failures it counts successes alone
        (["[READ], Return=OK, 100", "[READ], Return=ERROR, 55", "[READ-FAILED], Operations, 55",
          "[READ-FAILED], AverageLatency(us), 9.0"], 155, 55),
        (["[READ], Return=OK, 100"], 100, 0),
    ],
)  # fmt: skip
def test_errors_are_counted_from_every_line_that_has_them(tmp_path, lines, operations, errors):
    rows, notes = shown(summary(tmp_path, *operation("READ", 100, 900.0), *lines))
    assert (rows["READ"]["operations"], rows["READ"]["errors"]) == (operations, errors)
    assert ("latencies include those" in notes) == (operations == 100 and errors > 0)


@pytest.mark.parametrize("printed", ["-64748.4", "0.0", "NaN"])
def test_a_throughput_that_cannot_be_is_computed_and_named(tmp_path, printed):
    path = summary(tmp_path, *operation("READ", 3_000_000_000, 800.0), run_time_ms=20_000_000, throughput=printed)
    rows, notes = shown(path)
    assert rows["READ"]["throughput_per_s"] == pytest.approx(150_000)
    assert printed == "NaN" or f"Printed throughput {float(printed):g} a second cannot be" in notes


def test_where_nothing_succeeded_that_is_said(tmp_path):
    lines = ["[INSERT], Operations, 0", "[INSERT], AverageLatency(us), NaN", "[INSERT-FAILED], Operations, 10"]
    rows, notes = shown(summary(tmp_path, *lines, "[INSERT-FAILED], AverageLatency(us), 12.0"))
    (row,) = rows.values()
    assert (row["operation"], row["errors"], row["latency_us"]) == ("WRITE", 10, None)
    assert "1 cell had no successful operation" in notes


def test_figures_that_contradict_each_other_are_named_with_their_line(tmp_path):
    more = {
        "MinLatency(us)": 100,
        "MaxLatency(us)": 5000,
        "95thPercentileLatency(us)": 800,
        "99thPercentileLatency(us)": 700,
    }
    _, notes = shown(summary(tmp_path, *operation("READ", 1000, 9000.0, **more)))
    assert "line 8: READ: p99 700 us is below p95 800 us" in notes
    assert "line 6: READ: max 5000 us is below mean 9000 us" in notes


def test_operations_of_ones_own_are_unknown_until_something_says_what_they_do(tmp_path):
    path = stress(tmp_path, "insert", "simple1", "events")
    rows, _ = shown(path)
    assert {"insert", "simple1 (unknown)", "events (unknown)", "workload mixed"} == set(rows)
    assert rows["workload mixed"]["read_share"] is rows["simple1 (unknown)"]["read_share"] is None
    assert rows["insert"]["read_share"] == 0

    rows, _ = shown(path, "--reads", "simple1,events")
    assert rows["workload mixed"]["read_share"] == pytest.approx(2 / 3)
    assert rows["simple1 (READ)"]["read_share"] == 1
    rows, _ = shown(path, "--reads", "events")
    assert rows["simple1 (WRITE)"]["read_share"] == 0

    profile = tmp_path / "profile.yaml"
    profile.write_text("queries:\n  simple1: {cql: 'select a from t where b=?'}\n  events: {cql: UPDATE t SET b = 1}\n")
    rows, _ = shown(path, "--stress-profile", profile)
    assert (rows["simple1 (READ)"]["read_share"], rows["events (WRITE)"]["read_share"]) == (1, 0)

    wrong = cassbook("show", path, "--reads", "simple2")
    assert wrong.exit_code == 2
    assert "--reads simple2: " in wrong.output
    assert "events, insert, simple1" in wrong.output
    both = cassbook("show", path, "--reads", "simple1", "--stress-profile", profile)
    assert both.exit_code == 2
    assert "give one of them" in both.output


def test_one_operation_of_an_unknown_name_is_neither_read_nor_write(tmp_path):
    (row,) = shown(stress(tmp_path, "simple1"))[0].values()
    assert (row["operation"], row["read_share"], row["threads"]) == ("simple1 (unknown)", None, 10)
    assert row["level"] == "unknown/unknown"


@pytest.mark.parametrize("text", ["tables: {}", "queries: [a]", "queries:\n  a: {fields: samerow}\n", "a: [", "5"])
def test_a_file_that_is_no_stress_profile_is_refused(tmp_path, text):
    profile = tmp_path / "other.yaml"
    profile.write_text(text)
    with pytest.raises(
        InputError, match=r"other\.yaml: (is no cassandra-stress profile|cannot be read|queries without)"
    ):
        Meanings.of_profile(profile)


def test_every_percentile_that_stress_prints_is_shown(tmp_path):
    rows, notes = shown(stress(tmp_path, "READ", errors=7))
    assert [rows["READ"][f"{name}_us"] for name in ("p50", "p95", "p99", "p999", "max")] == [1e3, 4e3, 8e3, 16e3, 32e3]
    assert rows["READ"]["errors"] == 7
    assert "does not hold" not in notes
    assert "p99.9 of 1 cell is as the log prints it, of 5,000 operations" in notes
    text = cassbook("show", tmp_path / "stress.log").output
    assert re.search(r"READ +unknown +500 +2\.00 +1\.00 +4\.00 +8\.00 +16\.0 +32\.0 +7\b", text)


def test_a_series_of_thread_counts_is_a_row_for_each(tmp_path):
    path = stress(tmp_path, "READ", threads=(4, 8, 16))
    content = json.loads(cassbook("show", path, "--format", "json").stdout)
    assert {row["threads"]: row["latency_us"] for row in content["cells"]} == {4: 2000, 8: 4000, 16: 8000}
    assert "in 1 block" in cassbook("show", path).output
    (tmp_path / "logs.csv").write_text(
        "file,engine,threads,read_cl,write_cl,read_share,block\nstress.log,2.1.20,,ONE,ONE,1,1\n"
    )
    content = json.loads(cassbook("show", tmp_path, "--format", "json").stdout)
    assert {(row["threads"], row["level"]) for row in content["cells"]} == {(n, "ONE") for n in (4, 8, 16)}
    (tmp_path / "logs.csv").write_text(
        "file,engine,threads,read_cl,write_cl,read_share,block\nstress.log,2.1.20,8,ONE,ONE,1,1\n"
    )
    (row,) = json.loads(cassbook("show", tmp_path, "--format", "json").stdout)["cells"]
    assert (row["threads"], row["latency_us"]) == (8, 4000)
    (tmp_path / "logs.csv").write_text(
        "file,engine,threads,read_cl,write_cl,read_share,block\nstress.log,2.1.20,9,ONE,ONE,1,1\n"
    )
    wrong = cassbook("show", tmp_path)
    assert wrong.exit_code == 2
    assert "threads 9 of stress.log, which ran with 4, 8, 16; leave threads empty" in wrong.output


def histogram_log(folder, *tags):
    """Of 30,000 values from 1 to 30,000 each, without a word on their unit."""
    path = folder / "values.hlog"
    counted = histograms.histogram(range(1, 30_001))
    histograms.write_log(path, {tag: (counted, 0.0, 10.0) for tag in tags})
    lines = [line for line in path.read_text().splitlines() if "microseconds" not in line]
    path.write_text("\n".join(line.removeprefix("Tag=x,") for line in lines) + "\n")
    return path


def test_the_unit_of_a_histogram_log_is_asked_for_or_said(tmp_path):
    path = histogram_log(tmp_path, "READ")
    rows, notes = shown(path)
    assert rows["READ"]["p999_us"] == pytest.approx(29_970, rel=0.001)
    assert "values.hlog: taken as microseconds" in notes
    assert "--unit" in notes
    for unit, scale in (("ns", 1e-3), ("us", 1), ("ms", 1e3)):
        rows, notes = shown(path, "--unit", unit)
        assert rows["READ"]["p50_us"] == pytest.approx(15_000 * scale, rel=0.001)
        assert "taken as" not in notes
    (tmp_path / "logs.csv").write_text(
        "file,engine,threads,read_cl,write_cl,read_share,block,unit\nvalues.hlog,2.1.20,8,ONE,ONE,1,1,ms\n"
    )
    rows, notes = shown(tmp_path)
    assert rows["READ"]["p50_us"] == pytest.approx(15_000e3, rel=0.001)
    assert "taken as" not in notes
    compared = cassbook("compare", path, path, "--format", "text", "--unit", "ms")
    assert compared.exit_code == 0, compared.output
    assert "taken as" not in compared.output
    assert "taken as microseconds" in cassbook("compare", path, path).output


def test_values_without_a_tag_are_not_called_writes(tmp_path):
    path = histogram_log(tmp_path, "x")
    (row,) = shown(path)[0].values()
    assert (row["operation"], row["read_share"]) == ("untagged (unknown)", None)


def test_options_of_logs_are_refused_for_runs():
    result = cassbook("show", "quick-2.1.20", "--unit", "ms", "--skip-damaged")
    assert result.exit_code == 2
    assert "--skip-damaged, --unit: is for logs" in result.output
    assert "quick-2.1.20" in result.output


@pytest.mark.parametrize("command", ["show", "compare", "report"])
def test_damaged_lines_are_refused_or_left_out_by_every_command(tmp_path, command):
    path = summary(tmp_path, *operation("READ", 100, 900.0), "[READ], MaxLatency(us)")
    arguments = {"show": [path], "compare": [path, path], "report": [path, "--output", tmp_path / "out.html"]}[command]
    refused = cassbook(command, *arguments)
    assert refused.exit_code == 2
    assert "line 5" in refused.output
    assert "--skip-damaged" in refused.output
    passed = cassbook(command, *arguments, "--skip-damaged")
    assert passed.exit_code == 0, passed.output
    said = (tmp_path / "out.html").read_text() if command == "report" else passed.output
    assert "1 damaged lines left out" in said


@pytest.mark.parametrize("source", ["ycsb-0.17.0/summary.txt", "ycsb-0.17.0/READ.hdr", "stress-3.11.4/mixed.log",
                                    "stress-3.11.4/mixed.hdr", "ycsb-0.17.0/raw.txt"])  # fmt: skip
def test_what_read_wrote_is_shown_as_the_log_is(tmp_path, source):
    written = tmp_path / "out.parquet"
    assert cassbook("read", LOGS / source, "--output", written).exit_code == 0
    logged, _ = shown(LOGS / source)
    again, _ = shown(written)
    assert set(logged) == set(again)
    for name, row in logged.items():
        for figure in ("latency_us", "p50_us", "p99_us", "throughput_per_s", "operations", "errors", "read_share"):
            if row[figure] is not None:
                # The raw log lasts 10 ms, of which one in its last millisecond is a request more or less.
                within = 0.05 if figure == "throughput_per_s" else 0.002
                assert again[name][figure] == pytest.approx(row[figure], rel=within), (name, figure)


def test_several_logs_in_one_table_are_cells_of_their_own(tmp_path):
    written = tmp_path / "out.parquet"
    logs = [stress(tmp_path, "READ", threads=(n,), name=f"s{n}.log") for n in (4, 8)]
    assert cassbook("read", *logs, "--output", written).exit_code == 0
    content = json.loads(cassbook("show", written, "--format", "json").stdout)
    assert sorted(row["threads"] for row in content["cells"]) == [4, 8]


SEMICOLONS = "file;engine;threads;read_cl;write_cl;read_share;block\nraw.txt;2.1.20;4;ONE;ALL;0,5;1\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_an_index_as_spreadsheets_write_it(tmp_path, encoding):
    (tmp_path / "raw.txt").write_bytes((LOGS / "ycsb-0.17.0" / "raw.txt").read_bytes())
    (tmp_path / "logs.csv").write_bytes(SEMICOLONS.encode(encoding))
    rows, _ = shown(tmp_path)
    assert rows["reads 50 %"]["level"] == "ONE/ALL"
    assert {"READ of reads 50 %", "SCAN of reads 50 %"} <= set(rows)
    (tmp_path / "logs.csv").write_bytes(SEMICOLONS.replace("0,5", "0,5,0").encode(encoding))
    assert "line 2: read_share" in cassbook("show", tmp_path).output


def test_an_index_that_the_log_contradicts_is_noted(tmp_path):
    stress(tmp_path, "READ", "WRITE", threads=(20,))
    (tmp_path / "logs.csv").write_text(
        "file,engine,threads,read_cl,write_cl,read_share,block\nstress.log,2.1.20,4,ONE,ONE,0.9,1\n"
    )
    _, notes = shown(tmp_path)
    assert "logs.csv has 4 threads for stress.log, the log itself 20." in notes
    assert "logs.csv has read_share 0.9 for stress, the log itself 0.5." in notes


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [("unit", "s", "unit 's' is none of ns, us, ms"), ("stress_profile", "no.yaml", "'no.yaml' does not exist"),
     ("reads", "b", "no operation is called b")],
)  # fmt: skip
def test_a_wrong_description_is_refused(tmp_path, column, value, message):
    stress(tmp_path, "a")
    head = f"file,engine,threads,read_cl,write_cl,read_share,block,{column}"
    (tmp_path / "logs.csv").write_text(f"{head}\nstress.log,2.1.20,10,ONE,ONE,0.5,1,{value}\n")
    result = cassbook("show", tmp_path)
    assert result.exit_code == 2
    assert message in result.output


def test_names_are_known_by_the_tools_that_give_them():
    known = {
        name: operations.operation_of(name) for name in ("READ", "scan", "SELECT", "counter_read", "UPDATE", "DELETE")
    }
    assert known == {"READ": "READ", "scan": "READ", "SELECT": "READ", "counter_read": "READ", "UPDATE": "WRITE",
                     "DELETE": "WRITE"}  # fmt: skip
    assert operations.operation_of("latest_event") == operations.operation_of("") == "UNKNOWN"
