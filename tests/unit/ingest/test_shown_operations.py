"""Rows of operations next to their whole: what is counted once, what failed, and what names of one's own mean."""

import json

import pytest

from cassbook.core.errors import InputError
from cassbook.ingest.operations import Meanings, operation_of
from tests.helpers.command import cassbook
from tests.helpers.data import LOGS
from tests.helpers.tool_logs import operation, shown, stress, summary

HEADING = "file,engine,threads,read_cl,write_cl,read_share,block"


def test_reads_of_two_kinds_are_not_averaged_with_their_whole(tmp_path):
    path = summary(tmp_path, *operation("READ", 1000, 900.0), *operation("SCAN", 1000, 4900.0), throughput=200.0)
    rows, _ = shown(path)
    whole = rows["all reads"]
    assert (whole["latency_us"], whole["throughput_per_s"], whole["operations"]) == (2900, 200, 2000)
    assert (rows["READ"]["latency_us"], rows["READ"]["throughput_per_s"]) == (900, 100)
    compared = cassbook("compare", path, path, "--format", "json")
    values = {row["operation"]: row["first_value"] for row in json.loads(compared.stdout)["figures"]
              if row["figure"] == "latency_us"}  # fmt: skip
    assert values == {"all reads": 2900, "READ": 900, "SCAN": 4900}
    assert "1 cell in 1 block" in cassbook("show", path).output
    (tmp_path / "logs.csv").write_text(f"{HEADING}\nsummary.txt,2.1.20,4,ONE,ALL,1,1\n")
    rows, _ = shown(tmp_path)
    assert rows["all reads"]["level"] == rows["SCAN of all reads"]["level"] == "ONE"


def test_logs_in_one_table_are_not_repeats_of_each_other(tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    for folder, throughput in zip(folders, (100.0, 400.0), strict=True):
        folder.mkdir()
        parts = [
            *operation("READ", 500 * throughput / 100, 1000.0),
            *operation("UPDATE", 500 * throughput / 100, 900.0),
        ]
        summary(folder, *parts, throughput=throughput)
    written = tmp_path / "both.parquet"
    assert cassbook("read", *(folder / "summary.txt" for folder in folders), "--output", written).exit_code == 0
    cells = json.loads(cassbook("show", written, "--format", "json").stdout)["cells"]
    whole = {cell["condition"]: cell["throughput_per_s"] for cell in cells if cell["operation"] == "workload mixed"}
    assert whole == {"log one/summary.txt": 100, "log two/summary.txt": 400}


@pytest.mark.parametrize(
    ("lines", "errors"),
    [
        ([*operation("DELETE", 900, 100.0), "[DELETE-FAILED], Operations, 100",
          "[DELETE-FAILED], AverageLatency(us), 100000.0"], {"DELETE": 100}),
        ([*operation("READ", 100, 100.0), "[READ], Return=OK, 10", "[READ], Return=BATCHED_OK, 90"], {"READ": 0}),
        ([*operation("HdrREAD", 93, 900.0), *operation("RawREAD", 93, 900.0), "[HdrREAD-FAILED], Operations, 7",
          "[RawREAD-FAILED], Total Operations, 7"], {"READ": 7}),
        ([*operation("READ", 900, 100.0), "[UPDATE-FAILED], Operations, 100"],
         {"workload mixed": 100, "READ": 0, "UPDATE": 100}),
    ],
)  # fmt: skip
def test_failures_belong_to_their_operation(tmp_path, lines, errors):
    rows, notes = shown(summary(tmp_path, *lines))
    assert {name: row["errors"] for name, row in rows.items()} == errors
    if "workload mixed" in rows:
        assert rows["workload mixed"]["read_share"] == 0.9
        assert rows["UPDATE"]["latency_us"] is None
        assert "No UPDATE succeeded" in notes
    assert all(row["latency_us"] in (None, 100, 900) for row in rows.values())


def test_names_of_ones_own_are_kept_whole(tmp_path):
    names = ("spec1.insert", "spec2.insert", "spec1.by_id", "verify_login", "cleanup_old", "user-rt", "update")
    rows, _ = shown(stress(tmp_path, *names))
    parts = set(rows) - {"workload mixed"}
    assert parts == {"spec1.insert (WRITE)", "spec2.insert (WRITE)", "spec1.by_id (unknown)", "verify_login (unknown)",
                     "cleanup_old (unknown)", "user-rt (unknown)", "update (unknown)"}  # fmt: skip
    assert rows["workload mixed"]["operations"] == 5000 * len(names)
    rows, _ = shown(tmp_path / "stress.log", "--reads", "by_id,user-rt,verify_login,cleanup_old")
    assert rows["workload mixed"]["read_share"] == pytest.approx(4 / 7)


def test_partitions_are_not_operations(tmp_path):
    """An insert of ten partitions: 1,000 operations of 20 ms beside 9,000 of 2 ms, as the intervals count."""
    head = "type, total ops, op/s, pk/s, row/s, mean, med, .95, .99, .999, max, time, stderr, errors, gc: #, max ms, "
    head += "sum ms, sdv ms, mb"
    interval = "{}, {}, 1, 1, 1, {}, 1.0, 1.0, 1.0, 1.0, 1.0, 10.0, 0.0, 0, 0, 0, 0, 0, 0"
    results = [
        "Op rate                   :    1,000 op/s  [insert: 100 op/s, simple1: 900 op/s]",
        "Latency mean              :    3.8 ms [insert: 20.0 ms, simple1: 2.0 ms]",
        "Total partitions          :     19,000 [insert: 10,000, simple1: 9,000]",
        "Total errors              :          0 [insert: 0, simple1: 0]",
        "Total operation time      : 00:00:10",
    ]
    counts = (("insert", 1000, 20.0), ("simple1", 9000, 2.0), ("total", 10000, 3.8))
    path = tmp_path / "stress.log"
    rows = [interval.format(*count) for count in counts]
    path.write_text("\n".join(["Running with 4 threadCount", head, *rows, "", "Results:", *results, "", "END"]) + "\n")
    shown_rows, notes = shown(path, "--reads", "simple1")
    whole = shown_rows["workload mixed"]
    assert (whole["latency_us"], whole["read_share"], whole["operations"]) == (3800, 0.9, 10000)
    assert "Printed throughput" not in notes


def test_a_run_of_no_time_has_no_throughput(tmp_path):
    path = summary(tmp_path, *operation("READ", 10, 3000.0), run_time_ms=0, throughput="Infinity")
    (row,) = shown(path)[0].values()
    assert (row["throughput_per_s"], row["latency_us"]) == (None, 3000)


def test_statements_are_known_behind_comments(tmp_path):
    profile = tmp_path / "p.yaml"
    profile.write_text(
        "queries:\n  a: {cql: '/* hot */ select x from t'}\n  b:\n    cql: |\n      -- newest\n      SELECT x from t\n"
        "  c: {cql: 'TRUNCATE t'}\n  d: {cql: 'BEGIN BATCH insert into t(x) values(1) APPLY BATCH'}\n"
    )
    meanings = Meanings.of_profile(profile)
    assert {name: operation_of(name, meanings, own_names=True) for name in "abcd"} == {
        "a": "READ", "b": "READ", "c": "UNKNOWN", "d": "WRITE",
    }  # fmt: skip


def test_what_a_user_says_has_to_fit_the_log(tmp_path):
    raw = LOGS / "ycsb-0.17.0" / "raw.txt"
    for options, words in (
        (["--reads", "batch"], "operations of raw.txt are known by its tool"),
        (["--unit", "ms"], "--unit: is for HdrHistogram logs"),
    ):
        refused = cassbook("show", raw, *options)
        assert refused.exit_code == 2
        assert words in refused.output
    profile = tmp_path / "p.yaml"
    profile.write_text("queries:\n  other: {cql: select x from t}\n")
    refused = cassbook("show", stress(tmp_path, "simple1"), "--stress-profile", profile)
    assert refused.exit_code == 2
    assert "has no query of stress.log, whose operations are simple1" in refused.output


def test_a_share_that_unknown_names_cannot_make_is_noted(tmp_path):
    stress(tmp_path, "insert", "simple1")
    (tmp_path / "logs.csv").write_text(f"{HEADING}\nstress.log,2.1.20,10,ONE,ONE,1,1\n")
    assert "logs.csv has read_share 1 for stress, the log itself 0 to 0.5." in shown(tmp_path)[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEADING}\nstress.log,2.1.20,10,ONE,ONE,0,5,1\n", "line 2: has 8 fields, the heading 7"),
        (f"{HEADING.replace(',', ';')}\nstress.log;2.1.20;10;ONE;ONE;0,5\xff;1\n", "is neither UTF-8 nor UTF-16"),
    ],
)
def test_an_index_that_a_spreadsheet_damaged_is_refused(tmp_path, text, words):
    stress(tmp_path, "READ")
    (tmp_path / "logs.csv").write_bytes(text.encode("latin-1"))
    refused = cassbook("show", tmp_path)
    assert refused.exit_code == 2
    assert words in refused.output


def test_tests_of_one_log_may_be_named_by_threads(tmp_path):
    stress(tmp_path, "READ", threads=(4, 8))
    rows = "".join(f"stress.log;2.1.20;{n};ONE;ONE;1;1\n" for n in (4, 8))
    (tmp_path / "logs.csv").write_text(f"sep=;\n{HEADING.replace(',', ';').title()}\n{rows}")
    cells = json.loads(cassbook("show", tmp_path, "--format", "json").stdout)["cells"]
    assert {cell["threads"]: cell["latency_us"] for cell in cells} == {4: 2000, 8: 4000}


def test_failed_writes_are_counted_once():
    _, notes = shown(LOGS / "ycsb-0.17.0" / "raw-failed.txt")
    text = (LOGS / "ycsb-0.17.0" / "raw-failed.txt").read_text()
    failed = {
        name: sum(line.startswith(f"{name}-FAILED,") for line in text.splitlines()) for name in ("READ", "UPDATE")
    }
    assert f"Of {sum(failed.values())} errors, {failed['UPDATE']} are writes" in notes


def test_a_profile_that_is_not_there_is_named():
    with pytest.raises(InputError, match="cannot be read"):
        Meanings.of_profile(LOGS / "no.yaml")
