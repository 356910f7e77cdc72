"""go-ycsb: its summary in text and JSON, and its raw measurements, whose times are starts in microseconds."""

import io
import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cassbook.core.errors import InputError
from cassbook.ingest import go_ycsb
from cassbook.ingest.common import Options
from cassbook.ingest.damage import Tally
from cassbook.ingest.folder import open_run
from cassbook.ingest.formats import Format, recognise
from cassbook.ingest.merge import read_logs

_BEGUN_US = 1_716_000_000_123_456
HEADINGS = ("Takes(s)", "Count", "OPS", "Avg(us)", "Min(us)", "Max(us)", "50th(us)", "90th(us)", "95th(us)", "99th(us)")
PROPERTIES = ["***************** properties *****************", '"threadcount"="8"', "*" * 46]
INTERIM = {"READ": ("10.0", "4000", "400.0", "900", "200", "9000", "800", "1500", "1900", "4100")}
FINAL = {
    "READ": ("20.0", "9000", "450.0", "950", "190", "9900", "810", "1510", "1950", "4200"),
    "UPDATE": ("19.9", "1000", "50.3", "1150", "250", "9000", "1010", "1710", "2150", "5200"),
    "UPDATE_ERROR": ("18.0", "12", "0.7", "40000", "39000", "41000", "40000", "40500", "40800", "40900"),
}
TOTAL = {"TOTAL": ("20.0", "10000", "500.0", "970", "190", "9900", "830", "1530", "1970", "4300")}


def plain(rows):
    return [
        f"{tag:<6} - " + ", ".join(f"{name}: {text}" for name, text in zip(HEADINGS, texts, strict=True))
        for tag, texts in rows.items()
    ]


def as_json(rows):
    return [json.dumps([{"Operation": tag, **dict(zip(HEADINGS, texts, strict=True))} for tag, texts in rows.items()])]


def log(final, rendered=plain):
    return [*PROPERTIES, *rendered(INTERIM), "*" * 46, "Run finished, takes 20.004s", *rendered(final)]


def read(lines, skip=False):
    content = "".join(f"{line}\n" for line in lines).encode()
    return go_ycsb.read(io.BytesIO(content), Tally(Path("log"), skip, "rows"))


def of(figures, tag):
    return {row.statistic: row.value for row in figures.rows if row.tag == tag}


@pytest.mark.parametrize("rendered", [plain, as_json])
def test_the_last_row_of_each_operation_is_read(rendered):
    figures = read(log(FINAL | TOTAL, rendered))
    assert of(figures, "READ") == {
        "operations": 9000, "throughput": 450, "mean": 950, "min": 190, "max": 9900, "p50": 810, "p90": 1510,
        "p95": 1950, "p99": 4200,
    }  # fmt: skip
    assert of(figures, "total") == {
        "run time": 20, "operations": 10_000, "throughput": 500, "mean": 970, "min": 190, "max": 9900, "p50": 830,
        "p90": 1530, "p95": 1970, "p99": 4300,
    }  # fmt: skip
    assert of(figures, "UPDATE_ERROR")["operations"] == 12
    assert {row.unit for row in figures.rows if row.statistic in ("mean", "p99")} == {"us"}
    assert (figures.notes, figures.tally.texts) == ([], 6)


def test_a_log_without_a_total_has_the_run_time_of_the_longest_and_says_so():
    figures = read(log(FINAL))
    assert of(figures, "OVERALL") == {"run time": 20_000}
    assert figures.notes == ["no row TOTAL in it: the run time is the longest Takes(s), of line 7"]


def test_the_folder_reads_it_as_a_cell(tmp_path):
    path = tmp_path / "go.txt"
    path.write_text("\n".join(log(FINAL | TOTAL)) + "\n")
    assert recognise(path) is Format.GO_YCSB
    (cell,) = open_run(path).statistics.to_dict("records")
    assert (cell["n_ok"], cell["n_errors"], cell["throughput_per_s"], cell["p95_us"]) == (10_000, 12, 500, 1970)
    assert cell["latency_us"] == pytest.approx(970)


@pytest.mark.parametrize("skip", [False, True])
def test_several_tests_are_refused(skip):
    both = log(FINAL | TOTAL)
    with pytest.raises(InputError, match=rf"log, line {len(both) + 4}: a second test"):
        read([*both, *both], skip)
    with pytest.raises(InputError, match=r"log, line 3: a second test .*line 1"):
        read([plain(FINAL)[0], "Starting test.", *plain(INTERIM)], skip)


def test_a_test_that_was_stopped_is_said():
    figures = read([*PROPERTIES, *plain(INTERIM)])
    assert any(note.startswith("no `Run finished` in it") for note in figures.notes)


@pytest.mark.parametrize("change", [("9000", "9,000"), ("Count: ", "Counts: "), ("Takes(s): 20.0, ", "")])
def test_a_damaged_row_is_named(change):
    lines = log(FINAL | TOTAL)
    place = next(i for i, line in enumerate(lines) if "9000, OPS: 450" in line)
    lines[place] = lines[place].replace(*change, 1)
    with pytest.raises(InputError, match=f"log, line {place + 1}: "):
        read(lines)


def raw_rows(header=True, names=("READ", "TOTAL", "UPDATE", "UPDATE_ERROR")):
    rows = ["operation,timestamp_us,latency_us"] if header else []
    for name in names:
        rows += [f"{name},{_BEGUN_US + 2000 * i},{500 + i}" for i in range(200)]
    return rows


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("texts", [[], [*PROPERTIES, "Using request distribution 'uniform' a keyrange of [0 99]"]])
def test_raw_times_are_starts_in_microseconds(tmp_path, header, texts):
    path = tmp_path / "raw.csv"
    path.write_text("\n".join([*texts, *raw_rows(header)]) + "\n")
    report = read_logs([path], tmp_path / "out.parquet")
    samples = pq.read_table(tmp_path / "out.parquet").to_pandas()
    assert Counter(samples["operation"]) == {"UPDATE": 400, "READ": 200}
    assert (samples["outcome"] == "server_error").sum() == 200
    reads = samples[samples["operation"] == "READ"]
    assert reads["started_s"].to_list() == pytest.approx([0.002 * i for i in range(200)], abs=2e-6)
    assert reads["latency_us"].to_list() == [500.0 + i for i in range(200)]
    (content,) = report.content["logs"]
    assert content["left_out"] == {"TOTAL": 200}
    assert content["begun_unix_s"] == _BEGUN_US / 1e6
    assert content["text_lines"] == len(texts)
    assert content["clock_set_back_s"] == 0
    assert any("microseconds since 1970" in note for note in content["notes"])


@pytest.mark.parametrize(("per_ms", "unit"), [(10**6, "nanoseconds"), (1e-3, "seconds")])
def test_other_units_are_known_from_the_date(tmp_path, per_ms, unit):
    path = tmp_path / "raw.csv"
    path.write_text("".join(f"READ,{round((_BEGUN_US // 1000 + 3000 * i) * per_ms)},1500\n" for i in range(20)))
    report = read_logs([path], tmp_path / "out.parquet")
    (content,) = report.content["logs"]
    assert content["length_s"] == pytest.approx(57.0015, abs=1e-3)
    assert any(f"read as {unit} since 1970" in note for note in content["notes"])


@pytest.mark.parametrize("at", [0, 5, 86_400_000, 10**14 * 5, 5_000_000_000_000, 10**18 * 6])
def test_an_implausible_date_is_refused_by_line(tmp_path, at):
    path = tmp_path / "raw.csv"
    path.write_text(f"READ,1716000000000,812\nREAD,{at},812\nREAD,1716000000001,812\n")
    with pytest.raises(InputError, match=rf"raw\.csv, line 2: 'READ,{at},812'.*2000 to 2099"):
        read_logs([path], tmp_path / "out.parquet")
    report = read_logs([path], tmp_path / "out.parquet", Options(skip_damaged=True))
    assert report.content["rows"] == 2
    path.write_text(f"READ,{at},812\n" * 3)
    with pytest.raises(InputError, match="line 1"):
        read_logs([path], tmp_path / "two.parquet")


def test_times_in_two_units_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "raw.csv"
    path.write_text("READ,1716000000000,812\n" * 3 + "\n".join(raw_rows(header=False)) + "\n")
    with pytest.raises(InputError, match="line 4: "):
        read_logs([path], tmp_path / "out.parquet")
    monkeypatch.setattr("cassbook.ingest.ycsb_lines.blocks.__defaults__", (69,))
    with pytest.raises(InputError, match=r"in ms .*line after 3 .*in us"):
        read_logs([path], tmp_path / "out.parquet", Options(skip_damaged=True))


def row(tag, takes, count):
    return f"{tag:<6} - Takes(s): {takes}, Count: {count}, OPS: 100.0, Avg(us): 812, Min(us): 90, Max(us): 9000"


def rows(takes, *tags):
    return [row(tag, takes, round(takes * 100)) for tag in tags]


LOAD, END = rows(5.0, "INSERT", "TOTAL"), "Run finished, takes 5.004s"
SEVERAL = {
    "load and run, rows before the end": ([*LOAD, END, *rows(10.0, "READ", "TOTAL"), END], 4),
    "the second was stopped": ([*LOAD, END, *rows(10.0, "READ", "TOTAL")], 4),
    "load and run, rows behind the end": ([END, *LOAD, END, *rows(10.0, "READ", "TOTAL")], 4),
    "load and run as go-ycsb prints them": (
        [*rows(4.0, "INSERT", "TOTAL"), END, *LOAD, *PROPERTIES, *rows(10.0, "READ", "TOTAL"), END], 9),
    "without a pause": ([*rows(4.0, "INSERT", "TOTAL"), END, *LOAD, *rows(10.0, "READ", "TOTAL"), END], 6),
    "without TOTAL": ([*rows(4.0, "INSERT"), END, *LOAD[:1], *rows(10.0, "READ", "UPDATE"), END], 4),
    "the same again": ([*rows(5.0, "READ", "TOTAL"), END, *rows(10.0, "READ", "TOTAL"), END], 4),
    "a shorter one": ([*LOAD, *rows(3.0, "READ", "TOTAL")], 3),
    "a shorter one, of the same": ([*rows(5.0, "READ", "UPDATE"), *rows(3.0, "READ", "UPDATE")], 3),
}  # fmt: skip


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("which", SEVERAL)
def test_a_second_test_is_named_where_it_begins(which, skip):
    lines, line = SEVERAL[which]
    with pytest.raises(InputError, match=rf"log, line {line}: a second test"):
        read(lines, skip)


@pytest.mark.parametrize(
    "lines",
    [
        [*rows(3.0, "READ", "TOTAL"), END, *rows(5.0, "READ", "READ_ERROR", "TOTAL")],
        [END, *rows(5.0, "READ", "TOTAL")],
        [*rows(3.0, "READ", "TOTAL", "UPDATE"), *rows(4.0, "READ", "TOTAL", "UPDATE"), END, *rows(5.0, "READ")],
        [*rows(3.0, "READ", "TOTAL"), "Run finished, takes 1m0.5s", *rows(60.5, "READ", "TOTAL")],
        [*rows(3.0, "READ", "TOTAL"), "Run finished, takes long", *rows(60.5, "READ", "TOTAL")],
    ],
    ids=["an error at the end", "without rows before", "cut short", "minutes", "no duration"],
)
def test_rows_behind_the_end_of_their_own_run_are_no_second_test(lines):
    assert of(read(lines), "READ")["operations"] == max(
        int(line.split("Count: ")[1].split(",")[0]) for line in lines if line.startswith("READ ")
    )
