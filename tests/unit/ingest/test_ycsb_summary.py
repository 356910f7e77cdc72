"""Summaries of YCSB as people keep them: units, several tests, nothing that succeeded, overflows, odd numbers."""

import io
import json
import re
from pathlib import Path

import pytest

from cassbook.core.errors import InputError
from cassbook.ingest import ycsb_summary
from cassbook.ingest.damage import Tally
from cassbook.ingest.formats import Format, recognise

OVERALL = ["[OVERALL], RunTime(ms), 4000", "[OVERALL], Throughput(ops/sec), 250.0"]
READ = [
    "[READ], Operations, 1000", "[READ], AverageLatency(us), 3210.25", "[READ], MinLatency(us), 290",
    "[READ], MaxLatency(us), 70500", "[READ], 95thPercentileLatency(us), 9000",
    "[READ], 99thPercentileLatency(us), 21000", "[READ], Return=OK, 1000",
]  # fmt: skip


def read(lines, skip=False):
    content = "".join(f"{line}\n" for line in lines).encode()
    return ycsb_summary.read_text(io.BytesIO(content), Tally(Path("log"), skip, "rows"))


def read_json(entries, skip=False, indent=None):
    text = "\n".join(json.dumps({"metric": t, "measurement": m, "value": v}, indent=indent) for t, m, v in entries)
    return ycsb_summary.read_json(io.BytesIO(text.encode()), Tally(Path("log"), skip, "objects"))


def of(figures, tag="READ"):
    return {row.statistic: row.value for row in figures.rows if row.tag == tag and row.at_s is None}


@pytest.mark.parametrize(("unit", "factor"), [("ns", 1e-3), ("us", 1), ("ms", 1e3), ("s", 1e6)])
def test_the_unit_in_a_row_is_obeyed(unit, factor):
    figures = read([*OVERALL, f"[READ], 95thPercentileLatency({unit}), 13", f"[READ], AverageLatency({unit}), 2.5"])
    assert of(figures) == {"p95": pytest.approx(13 * factor), "mean": pytest.approx(2.5 * factor)}
    assert {row.unit for row in figures.rows if row.tag == "READ"} == {"us"}
    said = [note for note in figures.notes if "kept in microseconds" in note]
    assert len(said) == 2 * (unit != "us")
    assert all(note.startswith(f"line {line}: ") for line, note in zip((3, 4), said, strict=False))


def test_percentiles_in_milliseconds_as_0_1_4_prints_them():
    lines = [
        *OVERALL,
        "[READ], Operations, 900",
        "[READ], 95thPercentileLatency(ms), 17",
        "[READ], 0, 800",
        "[READ], >1000, 0",
    ]
    figures = read(lines)
    assert of(figures)["p95"] == 17_000
    assert of(figures)["operations in bucket 0"] == 800
    assert next(row.line for row in figures.rows if row.statistic == "p95") == 4


@pytest.mark.parametrize(("unit", "ms"), [("s", 4000), ("ms", 4), ("us", 0.004)])
def test_the_run_time_is_kept_in_milliseconds(unit, ms):
    figures = read([f"[OVERALL], RunTime({unit}), 4", *READ])
    assert of(figures, "OVERALL")["run time"] == pytest.approx(ms)


@pytest.mark.parametrize("name", ["AverageLatency(fortnights)", "95thPercentileLatency(ticks)", "Throughput(ops/min)"])
def test_an_unknown_unit_is_named_and_its_figure_is_not_taken_for_another(name):
    figures = read([*OVERALL[:1], "[READ], Operations, 9", f"[READ], {name}, 5"])
    assert of(figures) == {"operations": 9, name: 5}
    assert any(note.startswith(f"line 3: {name!r} has no unit that is known") for note in figures.notes)


def test_a_latency_without_a_unit_is_said_to_be_assumed():
    figures = read([*OVERALL, "[READ], AverageLatency, 812.5"])
    assert any(note.startswith("line 3: a latency says no unit; microseconds are assumed") for note in figures.notes)
    said = [
        "[READ], Total Operations, 1000",
        "[READ], Below is a summary of latency in microseconds:, -1",
        "[READ], p95, 7",
    ]
    assert read([*OVERALL, *said]).notes == []


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ([*OVERALL, *READ], [*OVERALL, *READ], 10),
        ([*OVERALL, "[INSERT], Operations, 9"], ["Starting test.", *OVERALL, *READ], 5),
        ([*OVERALL, *READ], ["\ufeff" + OVERALL[0], *READ], 10),
        (READ, READ, 8),
    ],
    ids=["a run again", "load and run", "with a byte-order mark", "without their run time"],
)
def test_a_second_test_is_refused_with_the_line_where_it_begins(first, second, line, skip):
    with pytest.raises(InputError, match=rf"log, line {line}: a second test .*`head -n {line - 1}`"):
        read([*first, *second], skip)


@pytest.mark.parametrize(("indent", "line"), [(None, 4), (1, 16)])
def test_a_second_test_in_json_is_refused(indent, line):
    entries = [("OVERALL", "RunTime(ms)", 4000), ("OVERALL", "Throughput(ops/sec)", 2.5), ("READ", "Operations", 10)]
    assert of(read_json(entries)) == {"operations": 10}
    with pytest.raises(InputError, match=rf"log, line {line}: a second test"):
        read_json([*entries, *entries], skip=True, indent=indent)


def test_status_lines_and_a_histogram_that_ends_in_one_place_twice_are_no_second_test():
    status = "2026-11-01 10:00:00:010 10 sec: 90 operations; 9 current ops/sec; [READ: Count=90, Max=8]"
    figures = read([status, status, *OVERALL, *READ, "[READ], 2147483647, 1", "[READ], 2147483647, 2"])
    assert figures.tally.texts == 2


def test_latencies_of_nothing_are_left_out_and_said():
    lines = [
        "[INSERT], Operations, 0", "[INSERT], AverageLatency(us), NaN", "[INSERT], MinLatency(us), 9223372036854775807",
        "[INSERT], MaxLatency(us), 0", "[INSERT], 95thPercentileLatency(us), 0", "[INSERT], Return=ERROR, 40",
        "[INSERT-FAILED], Operations, 40", "[INSERT-FAILED], AverageLatency(us), 95.5",
    ]  # fmt: skip
    figures = read(["[OVERALL], RunTime(ms), 900", "[OVERALL], Throughput(ops/sec), 0.0", *lines])
    assert of(figures, "INSERT") == {"operations": 0, "return ERROR": 40}
    assert of(figures, "INSERT-FAILED") == {"operations": 40, "mean": 95.5}
    assert figures.notes == ["no INSERT succeeded; the latencies printed for it all the same (line 4) are left out"]
    without_count = read([*OVERALL, *lines[1:5]])
    assert of(without_count, "INSERT") == {}


def test_an_overflowed_throughput_is_kept_as_printed_and_said():
    lines = [
        "[OVERALL], RunTime(ms), 25000000",
        "[OVERALL], Throughput(ops/sec), -51798.69",
        "[READ], Operations, 3000000000",
    ]
    figures = read(lines)
    assert of(figures, "OVERALL")["throughput"] == -51798.69
    assert any("line 2: a throughput of -51,798.69/s is printed" in n and "120,000.00/s" in n for n in figures.notes)
    lines = [
        "[OVERALL], RunTime(ms), 25000000",
        "[OVERALL], Throughput(ops/sec), 28201.3",
        "[READ], Operations, 5000000000",
    ]
    assert any("32 bits" in note for note in read(lines).notes)


def test_a_throughput_a_thousand_times_off_is_said_and_a_right_one_is_not():
    assert read([*OVERALL, *READ]).notes == []
    off = ["[OVERALL], RunTime(ms), 4000", "[OVERALL], Throughput(ops/sec), 0.25", *READ]
    assert any("line 2: a throughput of 0.25/s" in note for note in read(off).notes)
    both = ["[READ-MODIFY-WRITE], Operations, 500", "[UPDATE], Operations, 500", "[READ-FAILED], Operations, 7"]
    assert read([*OVERALL, *READ, *both]).notes == []


@pytest.mark.parametrize(
    "row",
    [
        "AverageLatency(us), 812,5", "AverageLatency(us), 1,812.5", "AverageLatency(us), 1.812,5", "Operations, 1,000",
        "Operations, 1 000", "Operations, 1.000", "Operations, 1, 000", "MaxLatency(us), 88.120", "Return=OK, 1.000",
        "99thPercentileLatency(us), 21.000", "Operations, 1'000", "AverageLatency(us), 812·5",
    ],
)  # fmt: skip
def test_a_number_of_another_locale_is_damaged(row):
    with pytest.raises(InputError, match="log, line 3: "):
        read([*OVERALL, f"[READ], {row}"])
    figures = read([*OVERALL, f"[READ], {row}"], skip=True)
    assert of(figures) == {}
    assert figures.tally.count == 1


def test_checks_of_data_integrity_keep_rows_of_their_own():
    figures = read(
        [
            "Data integrity is enabled.",
            *OVERALL,
            *READ,
            "[VERIFY], Operations, 1000",
            "[VERIFY], AverageLatency(us), 13.5",
        ]
    )
    assert of(figures, "VERIFY") == {"operations": 1000, "mean": 13.5}
    assert of(figures)["mean"] == 3210.25
    assert figures.tally.texts == 1


def test_returns_of_older_versions_stay_figures():
    figures = read(
        [*OVERALL, "[READ], Operations, 80", "[READ], Return=0, 68", "[READ], Return=1", "[READ], Return=1, 12"], True
    )
    assert of(figures) == {"operations": 80, "return 0": 68, "return 1": 12}


def test_unknown_text_is_damaged_and_named_by_line():
    with pytest.raises(InputError, match=r"log, line 2: 'workload a, second attempt'"):
        read(["Starting test.", "workload a, second attempt", *OVERALL, *READ])
    figures = read(["Starting test.", "workload a, second attempt", *OVERALL, *READ], skip=True)
    assert (figures.tally.texts, figures.tally.count, of(figures)["p99"]) == (1, 1, 21_000)


def test_json_with_console_text_around_it(tmp_path):
    lines = ["[WARN]  Running against a source checkout.", "Starting test.", "$ cat {a,b}"]
    content = "\n".join([*lines, '[{"metric":"READ","measurement":"Operations","value":12},', "]", "real\t0m7.3s"])
    tally = Tally(Path("log"), False, "objects")
    figures = ycsb_summary.read_json(io.BytesIO(content.encode()), tally)
    assert (of(figures), tally.texts) == ({"operations": 12}, 4)
    (tmp_path / "log").write_text(content)
    assert recognise(tmp_path / "log") is Format.YCSB_JSON
    with pytest.raises(InputError, match="log, line 2: 'my note'"):
        ycsb_summary.read_json(io.BytesIO(b"Starting test.\nmy note\n" + content.encode()), tally)


def one_line(*runs, end=""):
    rows = [[json.dumps({"metric": t, "measurement": m, "value": v}) for t, m, v in run] for run in runs]
    return rows, end.join("[" + ",".join(run) + "]" for run in rows), "".join("".join(run) for run in rows)


RUN = [("OVERALL", "RunTime(ms)", 4000), ("READ", "Operations", 10), ("READ", "AverageLatency(us)", 812.5)]
OTHER = [("OVERALL", "RunTime(ms)", 8000), ("READ", "Operations", 30), ("READ", "AverageLatency(us)", 90.5)]


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("brackets", [True, False])
def test_two_runs_in_one_line_of_json_are_refused_with_the_byte(brackets, skip):
    _, arrays, objects = one_line(RUN, OTHER)
    text = arrays if brackets else objects
    with pytest.raises(InputError, match=r"log, line 1, byte (\d+): a second test") as refused:
        ycsb_summary.read_json(io.BytesIO(text.encode()), Tally(Path("log"), skip, "objects"))
    said = re.search(r"byte (\d+): .*`head -c (\d+)` .*`tail -c \+(\d+)`", str(refused.value))
    begin = int(said[1])
    assert (int(said[2]), int(said[3])) == (begin - 1, begin)
    for part, n in ((text[: begin - 1], 10), (text[begin - 1 :], 30)):
        figures = ycsb_summary.read_json(io.BytesIO(part.encode()), Tally(Path("log"), False, "objects"))
        assert of(figures)["operations"] == n


def test_a_second_run_on_a_line_of_its_own_is_cut_by_lines():
    text = one_line(RUN, OTHER, end="\n")[1]
    with pytest.raises(InputError, match=r"log, line 2: a second test .*`head -n 1`"):
        ycsb_summary.read_json(io.BytesIO(text.encode()), Tally(Path("log"), False, "objects"))


@pytest.mark.parametrize(
    ("old", "new", "quoted"),
    [("812.5", "8z2.5", '"value": 8z2.5'), ('"READ", "measurement": "Op', '"READ", "measure": "Op', '"measure": "Op'),
     ('"value": 10},', '"value": 10},x', "x")],
)  # fmt: skip
def test_a_damaged_object_in_a_long_line_is_quoted_itself(old, new, quoted):
    text = one_line(RUN)[1].replace(old, new)
    tally = Tally(Path("log"), True, "objects")
    figures = ycsb_summary.read_json(io.BytesIO(text.encode()), tally)
    (damage,) = tally.named
    assert quoted in str(damage)
    assert "OVERALL" not in str(damage)
    assert len(figures.rows) == len(RUN) - (new[-1] != "x")
