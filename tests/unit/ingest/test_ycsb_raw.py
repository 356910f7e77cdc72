"""Raw logs of YCSB as people keep them: checks inside the client, console text between the rows, several tests."""

import gzip
import json
import re

import pyarrow.parquet as pq
import pytest

from cassbook.core.errors import InputError
from cassbook.ingest.common import Options
from cassbook.ingest.folder import open_run
from cassbook.ingest.formats import Format
from cassbook.ingest.merge import read_logs
from cassbook.ingest.on_dask import PARTITION_BYTES, _merged, partitions, survey, write_part

_BEGUN_MS = 1_599_400_000_000
HEADER = "{} latency raw data: op, timestamp(ms), latency(us)"
TEXTS = [
    "java -cp core.jar site.ycsb.Client -t -db site.ycsb.BasicDB -p dataintegrity=true",
    "Command line: -t -db site.ycsb.BasicDB", "YCSB Client 0.17.0", "", "Loading workload...", "Starting test.",
    "[Thread-3] INFO site.ycsb.db.CassandraCQLClient - Connected to cluster: mine",
    "Data integrity is enabled.", "2026-11-01 10:00:00:010 0 sec: 0 operations; est completion in 1 second ",
    "java.lang.IllegalStateException", "\tat site.ycsb.Client.main(Client.java:5)",
]  # fmt: skip


def block(name, rows=30, first=0):
    return [HEADER.format(name), *(f"{name},{_BEGUN_MS + first + i},{700 + i}" for i in range(rows))]


def sums(*names):
    return [
        "[OVERALL], RunTime(ms), 70",
        "[OVERALL], Throughput(ops/sec), 900.0",
        *(f"[{n}], Total Operations, 30" for n in names),
    ]


def write(path, lines, end="\n"):
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def test_checks_of_data_integrity_are_left_out_and_counted(tmp_path):
    path = write(
        tmp_path / "raw.txt", ["Data integrity is enabled.", *block("READ"), *block("VERIFY"), *sums("READ", "VERIFY")]
    )
    report = read_logs([path], tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["operation"].to_pylist() == ["READ"] * 30
    (log,) = report.content["logs"]
    assert (log["left_out"], log["text_lines"], log["damaged_lines"]) == ({"VERIFY": 30}, 1, 0)
    assert any(note.startswith("VERIFY: a check of what was read") for note in log["notes"])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_console_text_is_passed_over_and_counted(tmp_path, end):
    lines = [*TEXTS, *block("READ"), *TEXTS[8:], *block("UPDATE"), *sums("READ", "UPDATE"), "real\t0m7.310s"]
    report = read_logs([write(tmp_path / "raw.txt", lines, end)], tmp_path / "out.parquet")
    (log,) = report.content["logs"]
    assert (log["counts"], log["damaged_lines"]) == ({"READ": 30, "UPDATE": 30}, 0)
    assert log["text_lines"] == len([text for text in (*TEXTS, *TEXTS[8:]) if text]) + 1
    assert "text passed over" in "\n".join(report.lines)


BOTH = {
    "a run again": ([*block("READ"), *block("UPDATE"), *sums("READ")], [*block("READ"), *sums("READ")], 0),
    "load and run": (
        [*TEXTS, *block("INSERT"), *block("CLEANUP"), *sums("INSERT")],
        [*TEXTS, *block("READ"), *block("CLEANUP"), *sums("READ")],
        len(TEXTS),
    ),
    "without sums": ([*block("READ"), *block("UPDATE")], [*block("READ"), *block("UPDATE")], 0),
    "sums only behind": (["READ,1599400000000,812", *sums("READ")], sums("READ"), 0),
}


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("which", BOTH)
def test_several_tests_in_one_file_are_refused_with_the_line(tmp_path, which, skip):
    first, second, texts = BOTH[which]
    line = len(first) + texts + 1
    path = write(tmp_path / "raw.txt", [*first, *second])
    with pytest.raises(InputError, match=rf"raw\.txt, line {line}: a second test .*tail -n \+{line}`"):
        read_logs([path], tmp_path / "out.parquet", Options(skip_damaged=skip))
    assert not (tmp_path / "out.parquet").exists()
    for number, lines in enumerate((first, second)):
        read_logs([write(tmp_path / f"{number}.txt", lines)], tmp_path / f"{number}.parquet") if any(
            "READ," in text or "INSERT," in text for text in lines
        ) else None


def test_partitions_find_a_second_test_at_its_line_in_the_file(tmp_path):
    lines = [*TEXTS, *block("READ", 60), *sums("READ")]
    path = write(tmp_path / "raw.txt", [*lines, *lines])
    parts = partitions({path: Format.YCSB_RAW}, 500)
    with pytest.raises(InputError, match=rf"line {len(lines) + len(TEXTS) + 1}: a second test"):
        _merged(parts, [survey(part) for part in parts], Options())
    write(path, [*block("READ", 60), *(f"UPDATE,{_BEGUN_MS * 1000},{us}" for us in range(60))])
    parts = partitions({path: Format.YCSB_RAW}, 200)
    surveys = [survey(part) for part in parts if part.start < 60 * 22 or part.start > 1600]
    with pytest.raises(InputError, match="times are in ms at first"):
        _merged([part for part in parts if part.start < 60 * 22 or part.start > 1600], surveys, Options())


def test_a_summary_behind_the_rows_of_one_run_is_no_second_test(tmp_path):
    path = write(tmp_path / "raw.txt", [*TEXTS, *block("READ"), *block("CLEANUP"), *sums("READ", "CLEANUP")])
    assert read_logs([path], tmp_path / "out.parquet").content["rows"] == 30


MARKED = {
    "utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-16-le without": b"",
    "utf-16-be without": b"",
}  # fmt: skip


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("which", MARKED)
def test_other_encodings_are_read_alike(tmp_path, which, pack):
    lines = [*block("READ", 3000), *TEXTS, *block("UPDATE", 3000), *sums("READ", "UPDATE")]
    plain = write(tmp_path / "log", lines, "\r\n")
    read_logs([plain], tmp_path / "plain.parquet")
    encoded = plain.read_bytes().decode().encode(which.partition(" ")[0])
    plain.write_bytes(pack(MARKED[which] + encoded))
    read_logs([plain], tmp_path / "other.parquet")
    expected, table = (
        pq.read_table(tmp_path / name).drop_columns("cell_id") for name in ("plain.parquet", "other.parquet")
    )
    assert table.equals(expected)
    assert len(partitions({plain: Format.YCSB_RAW}, 5000)) == 1 or which == "utf-8"


@pytest.mark.parametrize("size", [40, 700, PARTITION_BYTES])
def test_partitions_begin_behind_a_byte_order_mark(tmp_path, size):
    path = tmp_path / "raw.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(block("READ", 100)).encode())
    parts = partitions({path: Format.YCSB_RAW}, size)
    logs = [survey(part) for part in parts]
    assert (sum(log.rows for log in logs), sum(log.tally.count for log in logs)) == (100, 0)
    begun = min(log.first_us for log in logs)
    written = [write_part(part, begun, tmp_path / f"{i}.parquet", "c", {}) for i, part in enumerate(parts)]
    assert sum(written) == 100


def test_show_of_a_log_with_microseconds_says_its_throughput(tmp_path):
    path = write(tmp_path / "raw.csv", [f"READ,{_BEGUN_MS * 1000 + 4000 * i},900" for i in range(2500)])
    (cell,) = open_run(path).statistics.to_dict("records")
    assert cell["throughput_per_s"] == pytest.approx(250, rel=2e-3)
    assert json.loads(json.dumps(cell["latency_us"])) == pytest.approx(900)


def headless(name="READ", rows=1000, first=0, step=10):
    return [f"{name},{_BEGUN_MS + first + step * i},1500" for i in range(rows)]


def in_us(lines):
    return [re.sub(r",(\d{13}),", lambda at: f",{at[1]}000,", line) for line in lines]


FINISHED, GO_HEADING = "Run finished, takes 10.0s", "operation,timestamp_us,latency_us"
MIXED = [row for pair in zip(headless(), headless("UPDATE"), strict=True) for row in pair]
SECOND = {
    "the same rows again": ([headless(), headless()], 1001),
    "twenty rows": ([headless(rows=10), headless(rows=10, step=11)], None),
    "half a second": ([headless(rows=500, step=1), headless(rows=500, step=1)], 501),
    "two operations": ([headless(), headless("UPDATE"), headless(), headless("UPDATE")], 2001),
    "operations mixed": ([MIXED, MIXED], 2001),
    "three times": ([headless(), headless(), headless()], 1001),
    "text between": ([headless(), ["Starting test.", "", *headless()]], 1003),
    "sums between": ([[*headless(), *sums("READ")], [*headless(first=20_000), *sums("READ")]], 1004),
    "in microseconds": ([in_us(headless()), in_us(headless())], 1001),
    "go-ycsb's heading": ([[GO_HEADING, *in_us(headless())], [GO_HEADING, *in_us(headless(first=20_000))]], 1002),
    "Run finished between": ([[*in_us(headless()), FINISHED], in_us(headless(first=20_000))], 1002),
    "both": ([[GO_HEADING, *in_us(headless()), FINISHED], [GO_HEADING, *in_us(headless()), FINISHED]], 1003),
}  # fmt: skip


@pytest.mark.parametrize("size", [300, PARTITION_BYTES])
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("which", SECOND)
def test_a_second_test_without_a_heading_is_refused_with_its_line(tmp_path, monkeypatch, which, skip, size):
    parts, line = SECOND[which]
    path = write(tmp_path / "raw.txt", [row for part in parts for row in part])
    if line is None:  # too short a time to tell from jitter
        report = read_logs([path], tmp_path / "out.parquet")
        assert report.content["logs"][0]["clock_set_back_s"] == 0.09
        return
    monkeypatch.setattr("cassbook.ingest.ycsb_lines.blocks.__defaults__", (size,))
    with pytest.raises(InputError, match=rf"raw\.txt, line {line}: a second test .*tail -n \+{line}`"):
        read_logs([path], tmp_path / "out.parquet", Options(skip_damaged=skip))
    pieces = partitions({path: Format.YCSB_RAW}, 10_000)
    with pytest.raises(InputError, match=rf"line {line}: a second test"):
        _merged(pieces, [survey(piece) for piece in pieces], Options())


STEPS = {
    "a tenth of the run": [*headless(rows=900), *headless(rows=100, first=8000)],
    "one row at the begin": [*headless(rows=900), *headless(rows=1), *headless(rows=100, first=9000)],
    "sorted by latency": [headless()[i * 389 % 1000] for i in range(1000)],
}


@pytest.mark.parametrize("which", STEPS)
def test_a_smaller_step_back_is_a_clock_that_was_set(tmp_path, which):
    report = read_logs([write(tmp_path / "raw.txt", STEPS[which])], tmp_path / "out.parquet")
    (log,) = report.content["logs"]
    assert log["clock_set_back_s"] > 0.9
    assert log["rows"] == len(STEPS[which])


@pytest.mark.parametrize("front", [[FINISHED], sums("READ"), [*TEXTS, FINISHED, "", GO_HEADING]])
def test_rows_behind_what_a_test_prints_first_are_no_second(tmp_path, front):
    report = read_logs([write(tmp_path / "raw.txt", [*front, *in_us(headless())])], tmp_path / "out.parquet")
    assert report.content["rows"] == 1000


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (headless("DELETE", 7), "DELETE 7"),
        (in_us(headless("BATCH_READ", 1200)), "BATCH_READ 1,200"),
        ([*headless("CLEANUP", 2), *headless("DELETE", 3)], "DELETE 3, CLEANUP 2"),
    ],
)
def test_a_log_of_operations_without_a_place_names_them(tmp_path, lines, named):
    path = write(tmp_path / "raw.txt", lines)
    with pytest.raises(InputError, match=rf"it has {named}, .*READ, UPDATE"):
        read_logs([path], tmp_path / "out.parquet")
