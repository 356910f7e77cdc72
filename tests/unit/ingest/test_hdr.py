"""HdrHistogram logs: units by tool, encodings, intervals without values, several logs in a file, decimal commas."""

import base64
import io
import struct
import zlib
from pathlib import Path

import pytest

from cassbook.core.errors import InputError
from cassbook.ingest import hdr
from cassbook.ingest.damage import Tally
from tests.helpers.data import LOGS
from tests.helpers.histogram_logs import COMMENTS, EMPTY, HEADING, header, line, payload

START_S = 1_700_000_000.0
VALUES = [100, 200, 200, 5_000, 70_000]


def read(lines, *, unit=None, skip=False):
    content = "\n".join(lines).encode() + b"\n"
    return hdr.read(io.BytesIO(content), Tally(Path("x.hlog"), skip, hdr.EXPECTED), unit)


def intervals(values=VALUES, encoding=2, **options):
    return [line(second, 1, payload(values, encoding), **options) for second in range(3)]


@pytest.mark.parametrize("tool", COMMENTS)
def test_a_unit_that_comments_tell_is_known(tool):
    comment, unit = COMMENTS[tool]
    histograms = read([*header(START_S, comment), *intervals()])
    assert (histograms.unit, histograms.assumed) == (unit, False)
    assert [row["max_us"] for row in histograms.table().to_pylist()] == pytest.approx(
        [70_000 * hdr.UNITS_US[unit]] * 3, rel=1e-3
    )
    assert not any("--unit" in remark for remark in histograms.remarks())


def test_a_unit_that_nothing_tells_is_said_to_be_assumed_in_what_show_prints():
    histograms = read([*header(START_S), *intervals()])
    assert (histograms.unit, histograms.assumed) == ("us", True)
    assert histograms.remarks()[0].startswith("taken as microseconds, for the log does not say; --unit")
    asked = read([*header(START_S), *intervals()], unit="ms")
    assert (asked.unit, asked.assumed, asked.remarks()) == ("ms", False, [])


def test_a_unit_that_was_asked_for_against_the_comments_is_warned_of():
    histograms = read([*header(START_S, COMMENTS["cassandra-stress"][0]), *intervals()], unit="us")
    assert histograms.unit == "us"
    assert "read in microseconds as --unit asks, but its comments (cassandra-stress)" in histograms.notes[0]
    assert read([*header(START_S, COMMENTS["YCSB"][0]), *intervals()], unit="us").notes == []


def test_comments_of_two_units_ask_for_one():
    lines = [*header(START_S, "#[Latencies in milliseconds]"), "#[Logging for: READ]", *intervals()]
    with pytest.raises(InputError, match=r"milliseconds \(line 1, .*microseconds \(YCSB\).*--unit"):
        read(lines)
    assert read(lines, unit="ms").unit == "ms"


def test_scylla_bench_has_the_comment_of_cassandra_stress_but_an_option_for_the_unit():
    """It writes the version first, the comment behind it."""
    version, *rest = header(START_S)
    lines = [version, COMMENTS["cassandra-stress"][0], *rest, *intervals(tag="raw")]
    histograms = read(lines)
    assert (histograms.unit, histograms.assumed) == ("ns", True)
    assert any("hdr-latency-units" in note for note in histograms.notes)
    assert read(lines, unit="us").notes == histograms.notes


@pytest.mark.parametrize(("tool", "word"), [("jHiccup", "pauses of a machine"), ("NoSQLBench", "is no time")])
def test_what_is_not_the_latency_of_requests_is_said(tool, word):
    assert any(word in note for note in read([*header(START_S, COMMENTS[tool][0]), *intervals()]).remarks())


@pytest.mark.parametrize("encoding", [0, 1, 2])
def test_every_encoding_holds_the_same(encoding):
    histograms = read([*header(START_S), *intervals(encoding=encoding)])
    for interval in histograms.intervals:
        found = interval.histogram
        assert found.total_count == len(VALUES)
        assert found.get_value_at_percentile(50) == 200
        assert found.get_max_value() == pytest.approx(70_000, rel=1e-3)


@pytest.mark.parametrize("content", [EMPTY, payload([], 1), payload([], 2), payload([], 0)])
def test_an_interval_without_values_is_one(content):
    histograms = read([*header(START_S), line(0.003, 0.5, content, "a.delay"), *intervals(tag="b")])
    rows = histograms.table().to_pylist()
    assert [row["operations"] for row in rows] == [0, 5, 5, 5]
    assert {rows[0][name] for name in ("min_us", "mean_us", "p50_us", "p999_us", "max_us")} == {None}
    assert (rows[0]["tag"], rows[0]["length_s"]) == ("a.delay", 0.5)
    assert histograms.tally.count == 0


def test_an_empty_histogram_with_a_wrong_checksum_is_damaged():
    packed = bytearray(base64.b64decode(EMPTY))
    packed[-1] ^= 1
    with pytest.raises(InputError, match="is damaged"):
        read([*header(START_S), line(0, 1, base64.b64encode(packed).decode())])


def test_doubles_are_refused_by_name():
    inner = zlib.compress(bytes(40))
    doubles = base64.b64encode(struct.pack(">ii", 0x0C72124F, len(inner)) + inner).decode()
    assert doubles.startswith("DHIST")
    lines = [*header(START_S), line(0, 1, doubles), *intervals()]
    with pytest.raises(InputError, match=r"x\.hlog, line 4: .*doubles"):
        read(lines)
    histograms = read(lines, skip=True)
    assert (len(histograms.intervals), histograms.tally.count) == (3, 1)


@pytest.mark.parametrize("later_s", [0.0, 3_600.0])
def test_two_logs_in_a_file_are_of_one_run_only_if_they_measured_at_the_same_time(later_s):
    """As two files of YCSB's operations are, put one behind the other; not two runs, by `>>`."""
    first = [*header(START_S, "#[Logging for: READ]"), *intervals()]
    second = [*header(START_S + later_s, "#[Logging for: UPDATE]"), *intervals()]
    if later_s:
        for skip in (False, True):
            with pytest.raises(InputError, match=rf"x\.hlog, line {len(first) + 1}: a second log"):
                read([*first, *second], skip=skip)
    else:
        histograms = read([*first, *second])
        assert [interval.tag for interval in histograms.intervals] == ["READ"] * 3 + ["UPDATE"] * 3


def test_two_logs_whose_times_both_begin_at_nothing_are_refused():
    undated = [HEADING, *intervals()]
    with pytest.raises(InputError, match=r"x\.hlog, line 5: a second log"):
        read([*undated, *undated])


def test_a_base_time_is_that_of_its_own_log():
    based = ["#[Histogram log format version 1.3]", f"#[BaseTime: {START_S:.3f} (seconds since epoch)]", HEADING]
    absolute = [line(START_S + second, 1, payload(VALUES, 2)) for second in range(3)]
    starts = [interval.started_s for interval in read([*based, *intervals(), HEADING, *absolute]).intervals]
    assert starts == [START_S, START_S + 1, START_S + 2] * 2


def test_decimal_commas_are_read():
    lines = [*intervals(tag="READ-st", comma=True), *intervals(comma=True)]
    started = header(START_S)
    started[1] = started[1].replace(f"{START_S:.3f}", f"{START_S:.3f}".replace(".", ","))
    histograms = read([*started, *lines])
    assert [interval.started_s for interval in histograms.intervals] == [START_S, START_S + 1, START_S + 2] * 2
    assert {interval.length_s for interval in histograms.intervals} == {1.0}
    assert any("decimal commas" in note for note in histograms.notes)
    with pytest.raises(InputError, match="is damaged"):
        read([*started, "0,0,1,0,0,0," + payload(VALUES, 2)])


@pytest.mark.parametrize("what", ["StartTime", "BaseTime"])
def test_a_time_that_is_no_date_is_named(what):
    lines = [f"#[{what}: 1700000000123.000 (seconds since epoch)]", HEADING, *intervals()]
    assert read(lines).notes == [f"line 1: {what} 1700000000123.000 s is no date between the years 2000 and 2100"]


def test_a_real_log_behind_itself_is_refused():
    lines = (LOGS / "ycsb-0.17.0" / "READ.hdr").read_text().splitlines()
    with pytest.raises(InputError, match=rf"line {len(lines) + 1}: a second log"):
        read(lines + lines)


def test_the_logs_that_ycsb_wrote_of_two_operations_are_of_one_run():
    logs = [(LOGS / "ycsb-0.17.0" / f"{name}.hdr").read_text().splitlines() for name in ("READ", "UPDATE")]
    together = read(logs[0] + logs[1])
    assert [i.tag for i in together.intervals] == [i.tag for log in logs for i in read(log).intervals]
