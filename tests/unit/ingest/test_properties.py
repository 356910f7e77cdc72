"""The raw reader against a plain one: any blocks in any order, any damage, any cut into blocks of bytes."""

import io
import re
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cassbook.core.errors import InputError
from cassbook.ingest import ycsb_lines, ycsb_raw
from cassbook.ingest.damage import Tally
from cassbook.ingest.formats import Format
from cassbook.ingest.log import Log
from cassbook.ingest.on_dask import Partition, partitions
from cassbook.ingest.ycsb_texts import is_text

NAMES = [
    "READ",
    "UPDATE",
    "INSERT",
    "SCAN",
    "READ-MODIFY-WRITE",
    "READ-FAILED",
    "UPDATE-NOT_FOUND",
    "CLEANUP",
    "RawREAD",
    "VERIFY",
    "TOTAL",
    "READ_ERROR",
    "READ_MODIFY_WRITE",
    "BATCH_READ",
]
TEXTS = [
    "[OVERALL], RunTime(ms), 70", "[READ], Average, 0.5", "", "YCSB Client 0.17.0", "Starting test.",
    "2026-11-21 12:47:07:089 0 sec: 2000 operations; [READ: Count=1006, Max=15975]", "real\t0m7.3s",
    "java.lang.NullPointerException", "operation,timestamp_us,latency_us", "$ bin/ycsb.sh run basic",
]  # fmt: skip
#: Milliseconds since 1970 of the years 2000 and 2100.
FIRST_MS, LAST_MS = 946_684_800_000, 4_102_444_800_000
#: Times that are no date between in any unit.
no_date = st.one_of(
    st.integers(0, FIRST_MS // 1000 - 1), st.integers(LAST_MS // 1000, FIRST_MS - 1),
    st.integers(LAST_MS, FIRST_MS * 1000 - 1), st.integers(LAST_MS * 10**6, 10**19),
)  # fmt: skip
at = st.one_of(*[st.integers(FIRST_MS, LAST_MS - 1)] * 7, no_date)
row = st.tuples(st.sampled_from(NAMES), at, st.integers(0, 2**31 - 1)).map(lambda parts: ",".join(map(str, parts)))
header = st.sampled_from(NAMES).map(lambda name: f"{name} latency raw data: op, timestamp(ms), latency(us)")
good = st.one_of(row, row, row, header, st.sampled_from(TEXTS))
#: A row with one character put in, taken out or changed, or any short text at all.
changed = st.tuples(
    row, st.integers(0, 40), st.sampled_from(["", "x", " ", ",", "-", "\t", "0x", ".", "\x00", "é", "+"])
).map(lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :])
anything = st.one_of(changed, st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=12))


def plainly(lines):
    """Rows and damaged line numbers, by the rule of the documentation, one line at a time."""
    rows, damaged = [], []
    for number, line in enumerate(lines, start=1):
        parts = re.fullmatch(
            r"((?:Raw)?(?:Intended-)?(?:READ-MODIFY-WRITE|READ_MODIFY_WRITE|(?:BATCH_)?(?:READ|UPDATE|INSERT|DELETE)|SCAN|CLEANUP|VERIFY|"
            r"TOTAL)(?:-[A-Z][A-Z_]*|_ERROR)?),([0-9]{1,19}),([0-9]{1,10})",
            line,
        )
        if parts and int(parts[3]) < 2**31 and FIRST_MS <= int(parts[2]) < LAST_MS:
            rows.append((parts[1], int(parts[2]), int(parts[3])))
        elif line.encode().strip() and not (line.startswith("[") and "], " in line) and not is_text(line.encode()):
            damaged.append(number)
    return rows, damaged


def in_one_unit(lines):
    """Whether no row has a date in another unit than milliseconds, as one may that was changed."""
    times = [int(found) for found in re.findall(r",([0-9]{9,19}),[0-9]", "\n".join(lines))]
    return not any(
        FIRST_MS <= time * ms < LAST_MS or FIRST_MS <= time // ms < LAST_MS for time in times for ms in (1000, 10**6)
    )


def begun_again(lines):
    """Whether a line that each test has once is there a second time."""
    marks = [line for line in lines if re.search(r"latency raw data: op|^operation,timestamp_us|RunTime\(ms\)", line)]
    return len(set(marks)) < len(marks)


def ours(content, size):
    """Rows and damaged lines as our reader finds them, `size` bytes at a time."""
    rows, damaged, lines = [], [], 0
    for block in ycsb_lines.blocks(io.BytesIO(content), size):
        parsed = ycsb_lines.parse(block)
        rows += [
            (parsed.names[n], int(a), int(us))
            for n, a, us in zip(parsed.name, parsed.at, parsed.latency_us, strict=True)
        ]
        damaged += [lines + damage.line for damage in parsed.damaged]
        lines += parsed.lines
    return rows, sorted(damaged)


@settings(max_examples=300, deadline=None)
@given(st.lists(good, max_size=30), st.integers(1, 400), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_blocks_of_any_operation_in_any_order(lines, size, ended, end):
    content = (end.join(lines) + (end if ended else "")).encode()
    assert ours(content, size) == plainly(lines)


@settings(max_examples=500, deadline=None)
@example(["CLEANUP,0x6000000,0"], 400)
@example(["READ,1600000000000,0X6000000"], 400)
@given(st.lists(st.one_of(good, good, anything), max_size=30), st.integers(1, 400))
def test_every_damaged_line_is_found_and_no_other(lines, size):
    assume(in_one_unit(lines))
    content = "".join(line + "\n" for line in lines).encode()
    assert ours(content, size) == plainly(lines)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(good, good, anything), min_size=1, max_size=20))
def test_the_first_damaged_line_is_the_one_that_is_named(lines):
    assume(in_one_unit(lines))
    content = "".join(line + "\n" for line in lines).encode()
    rows, damaged = plainly(lines)
    with tempfile.TemporaryDirectory() as folder:
        if damaged:
            with pytest.raises(InputError, match=rf"log, line {damaged[0]}: "):
                ycsb_raw.read(io.BytesIO(content), Tally(Path("log"), False, "rows"), Path(folder))
        if begun_again(lines):
            with pytest.raises(InputError, match="a second test"):
                ycsb_raw.read(io.BytesIO(content), Tally(Path("log"), True, "rows"), Path(folder))
            return
        log = ycsb_raw.read(io.BytesIO(content), Tally(Path("log"), True, "rows"), Path(folder))
        assert log.tally.count == len(damaged)
        assert log.counts == Counter(name for name, _, _ in rows)
        assert log.rows + log.left_out.total() == len(rows)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(good, good, anything), min_size=1, max_size=30), st.integers(1, 300), st.booleans())
def test_partitions_hold_every_line_once(lines, size, ended):
    assume(in_one_unit(lines))
    content = "\n".join(lines).encode() + (b"\n" if ended else b"")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(content)
        parts = partitions({path: Format.YCSB_RAW}, size)
        assert b"".join(block for part in parts for block in part.blocks()) == content
        total = Log(Tally(path, True, ""), "", None)
        for part in parts:
            ycsb_raw.gather(total, map(ycsb_lines.parse, part.blocks()))
        assert total.counts == Counter(name for name, _, _ in plainly(lines)[0])


def test_a_partition_that_no_line_begins_in_is_empty(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"READ,1600000000000,5\nREAD,1600000000001,6\n")
    assert list(Partition(path, Format.YCSB_RAW, 3, 12).blocks()) == []
    assert list(Partition(path, Format.YCSB_RAW, 21, 30).blocks()) == [b"READ,1600000000001,6\n"]
