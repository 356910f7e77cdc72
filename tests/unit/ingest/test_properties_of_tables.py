"""Logs of cassandra-stress and HdrHistogram made of known figures: what is read is what was printed, or is refused."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassbook.core.errors import InputError
from cassbook.ingest import hdr
from cassbook.ingest.damage import Tally
from tests.helpers.console_of_stress import LATENCIES, LOCALES, RELEASES, Measured, Numbers, log, read_stress
from tests.helpers.histogram_logs import COMMENTS, EMPTY, header, line, payload

QUIET = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
count = st.integers(1, 10**9)
latencies = st.lists(st.integers(0, 10**8), min_size=6, max_size=6).map(tuple)
measured = st.builds(Measured, rate=count, tenths=latencies, partitions=count, errors=st.integers(0, 10**7))
names = st.lists(
    st.sampled_from(["READ", "WRITE", "insert", "by-user", "simple1", "MIXED_2"]), min_size=1, max_size=3, unique=True
)
threads = st.lists(st.integers(1, 2000), min_size=1, max_size=3, unique=True).map(sorted)
notations = st.sampled_from(sorted(LOCALES.values())).map(lambda signs: Numbers(*signs))
TEXTS = [
    "WARN  10:12:01,123 Query [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] generated a warning", "$ nodetool status",
    "\tat org.apache.cassandra.stress.Operation.error(Operation.java:136)", "real\t0m33.1s", "Sleeping for 15s",
    "com.datastax.driver.core.exceptions.WriteTimeoutException: Cassandra timeout (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)",
]  # fmt: skip
FAILED = "Operation x10 on key(s) [4b30]: Error executing: (WriteTimeoutException): Cassandra timeout"


@st.composite
def runs(draw, most):
    by_threads = []
    for number in draw(threads)[:most]:
        by_tag = {tag: draw(measured) for tag in draw(names)}
        by_threads.append((number, by_tag, draw(measured)))
    return by_threads


def printed(tests):
    """Every figure of the results, by thread count, operation and name."""
    found = {}
    for number, by_tag, total in tests:
        for tag, one in {**by_tag, "total": total}.items():
            values = {"throughput": one.rate, "partitions": one.partitions, "errors": one.errors}
            values |= {name: tenths * 100 for name, tenths in zip(LATENCIES, one.tenths, strict=True)}
            found |= {(number, tag, statistic): value for statistic, value in values.items()}
    return found


@QUIET
@given(runs(3), notations, st.sampled_from(RELEASES), st.data())
def test_a_console_log_is_read_as_it_was_printed(tests, say, release, data):
    lines = log(tests, say, release)
    plain = read_stress(lines).tally.texts
    texts = data.draw(st.lists(st.sampled_from([*TEXTS, FAILED]), max_size=8))
    for text in texts:
        lines.insert(data.draw(st.integers(0, len(lines))), text)
    figures = read_stress(lines)
    assert (figures.tally.count, figures.tally.texts) == (0, plain + len(texts))
    found = {(row.threads, row.tag, row.statistic): row.value for row in figures.rows if row.at_s is None}
    for key, value in printed(tests).items():
        assert found[key] == pytest.approx(value), key
    in_rows = {(row.threads, row.tag): row.value for row in figures.rows if row.statistic == "max" and row.at_s == 2}
    for number, by_tag, total in tests:
        for tag, one in {**by_tag, "total": total}.items():
            assert in_rows[number, tag] == pytest.approx(one.tenths[-1] * 100)
    said = sum(total.errors for _, _, total in tests)
    assert any("tell of an operation that failed" in note for note in figures.notes) == (texts.count(FAILED) > said)


@QUIET
@given(runs(3), notations, st.sampled_from(RELEASES), st.data())
def test_a_line_of_a_console_log_that_lost_a_character_is_never_another_figure(tests, say, release, data):
    """A digit more or less is another number; everything else is damaged, refused, or reads the same."""
    lines = log(tests, say, release)
    place = data.draw(st.integers(0, len(lines) - 1))
    at = data.draw(st.integers(0, max(len(lines[place]) - 1, 0)))
    gone = lines[place][at : at + 1]
    if gone.isdigit():
        return
    lines[place] = lines[place][:at] + lines[place][at + 1 :]
    try:
        figures = read_stress(lines, skip=True)
    except InputError:
        return
    known = printed(tests)
    for row in figures.rows:
        key = (row.threads, row.tag, row.statistic)
        if row.at_s is None and key in known and row.line == place + 1:
            assert row.value == pytest.approx(known[key]) or gone == say.decimal, (lines[place], row)


@QUIET
@given(runs(1), runs(1), notations, st.sampled_from(RELEASES), st.booleans(), st.booleans())
def test_two_console_logs_in_one_are_refused(first, second, say, release, ended, skip):
    before = log(first, say, release)[: None if ended else -1]
    with pytest.raises(InputError, match=r"line (\d+): a second test") as refused:
        read_stress(before + log(second, say, release), skip=skip)
    assert f"line {len(before) + (1 if ended else 2)}:" in str(refused.value)


values = st.lists(st.integers(1, 10**9), max_size=20)
spans = st.lists(st.tuples(st.sampled_from(["", "READ", "a.b"]), st.integers(0, 10**5), values), min_size=1, max_size=5)


@QUIET
@given(spans, st.sampled_from(sorted(COMMENTS)), st.sampled_from([0, 1, 2]), st.booleans())
def test_a_histogram_log_is_read_as_it_was_recorded(recorded, tool, encoding, comma):
    comment, unit = COMMENTS[tool]
    lines = header(1_700_000_000.0, comment)
    for tag, ms, some in recorded:
        lines.append(line(ms / 1000, 0.5, payload(some, encoding) if some else EMPTY, tag, comma=comma))
    content = "\n".join(lines).encode()
    found = hdr.read(io.BytesIO(content), Tally(Path("log"), False, hdr.EXPECTED)).table().to_pylist()
    scale = hdr.UNITS_US[unit]
    for row, (tag, ms, some) in zip(found, recorded, strict=True):
        assert row["tag"] == (tag or ("READ" if tool == "YCSB" else ""))
        assert (row["operations"], row["unit"], row["length_s"]) == (len(some), unit, 0.5)
        assert row["started_s"] == pytest.approx(1_700_000_000 + ms / 1000)
        if some:
            ranked = np.sort(some)
            assert row["max_us"] == pytest.approx(ranked[-1] * scale, rel=2e-3)
            assert row["mean_us"] == pytest.approx(np.mean(some) * scale, rel=2e-3)
            assert row["p50_us"] == pytest.approx(ranked[(len(some) + 1) // 2 - 1] * scale, rel=2e-3)
