"""Console logs of cassandra-stress: every release's numbers, locales, several tests in a file, console text, errors."""

import re

import pytest

from cassbook.core.errors import InputError
from tests.helpers.command import cassbook
from tests.helpers.console_of_stress import LOCALES, RELEASES, Measured, Numbers, heading, log, read_stress, row
from tests.helpers.data import LOGS

ENGLISH, GERMAN = Numbers(), Numbers(",", ".")
WRITES = Measured(12_345, (31, 22, 61, 9_953, 12_017, 24_173), 1_234_567, 4_321)
READS = Measured(999, (8, 6, 19, 41, 223, 1_019), 72_556)
BOTH = Measured(13_344, (25, 20, 58, 8_000, 11_000, 24_173), 1_307_123, 4_321)


def whole(figures, threads=None):
    rows = [row for row in figures.rows if row.at_s is None and (threads is None or row.threads == threads)]
    return {(row.tag, row.statistic): row.value for row in rows}


def one_test(say=ENGLISH, release="4.0", threads=40, tag="WRITE", measured=WRITES):
    return log([(threads, {tag: measured}, measured)], say, release)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("locale", LOCALES)
def test_numbers_of_every_release_in_every_locale(locale, release):
    say = Numbers(*LOCALES[locale])
    figures = read_stress(log([(40, {"READ": READS, "WRITE": WRITES}, BOTH)], say, release))
    found = whole(figures)
    for tag, one in (("READ", READS), ("WRITE", WRITES), ("total", BOTH)):
        assert found[tag, "throughput"] == one.rate
        assert found[tag, "partitions"] == one.partitions
        assert found[tag, "errors"] == one.errors
        shown = [found[tag, statistic] for statistic in ("mean", "p50", "p95", "p99", "p99.9", "max")]
        assert shown == pytest.approx([tenths * 100 for tenths in one.tenths])
        at_1 = {row.statistic: row.value for row in figures.rows if row.tag == tag and row.at_s == 1}
        assert at_1["operations"] == one.partitions
        assert at_1["max"] == pytest.approx(one.tenths[-1] * 100)
    assert found["total", "run time"] == 2
    if release != "2.1":
        assert found["total", "gc memory"] == 1.234
    assert any("decimal comma" in note for note in figures.notes) == (say.decimal == ",")


def test_each_figure_knows_its_line():
    lines = one_test()
    for figure in read_stress(lines).rows:
        if figure.statistic == "p99.9" and figure.at_s is None:
            assert lines[figure.line - 1].startswith("Latency 99.9th")


def test_a_full_stop_that_may_be_either_is_refused_and_not_skipped():
    lines = ["Results:", "Op rate                   :    4.658 op/s  [insert: 4.658 op/s]", "END"]
    for skip in (False, True):
        with pytest.raises(InputError, match=r"x\.log, line 2: 4\.658 .*LC_ALL=C"):
            read_stress(lines, skip=skip)


def test_a_log_that_shows_both_signs_alike_is_refused_and_not_skipped():
    lines = ["Results:", "Latency mean              :    0.8 ms", "Latency median            :    0,6 ms", "END"]
    for skip in (False, True):
        with pytest.raises(InputError, match=r"x\.log, line 3: .*decimal comma, line 2 "):
            read_stress(lines, skip=skip)


@pytest.mark.parametrize(
    ("say", "wrong"),
    [(ENGLISH, "4.658 op/s"), (ENGLISH, "12,20 op/s"), (GERMAN, "4,658 op/s"), (GERMAN, "1.2.3 op/s")],
)
def test_a_number_in_another_notation_than_the_log_s_is_damaged(say, wrong):
    lines = [re.sub(r"^(Op rate +: +).*", rf"\g<1>{wrong}", line) for line in one_test(say)]
    place = next(n for n, line in enumerate(lines, start=1) if line.startswith("Op rate"))
    with pytest.raises(InputError, match=rf"x\.log, line {place}: 'Op rate.*notation"):
        read_stress(lines)
    figures = read_stress(lines, skip=True)
    assert ("total", "throughput") not in whole(figures)
    assert whole(figures)["total", "p99.9"] == 1_201_700
    assert figures.tally.count == 1


@pytest.mark.parametrize(
    "line", ["Latency mean              :    3.1 s", "Latency mean              :    3.1 ms [WRITE: 3.1 us]"]
)
def test_a_unit_that_cassandra_stress_does_not_print_is_damaged(line):
    lines = [line if text.startswith("Latency mean") else text for text in one_test()]
    with pytest.raises(InputError, match=r"'Latency mean"):
        read_stress(lines)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Latency max   ", "Latency mex   "), ("Results:", "Resuls:"), ("Latency max               : ", "")],
)
def test_what_looks_like_a_figure_and_cannot_be_read_is_damaged(old, new):
    """A line without a name is console text: nothing says that it is a figure."""
    lines = [line.replace(old, new, 1) for line in one_test()]
    if new:
        with pytest.raises(InputError, match="is damaged"):
            read_stress(lines)
    else:
        assert ("total", "max") not in whole(read_stress(lines))
        assert read_stress(lines).tally.texts == read_stress(one_test()).tally.texts + 1


def test_an_interval_without_a_heading_is_damaged():
    lines = [line for line in one_test() if line != heading("4.0")]
    with pytest.raises(InputError, match=r"'total, "):
        read_stress(lines)


def test_a_row_of_a_decimal_comma_that_lost_a_digit_is_damaged():
    lines = one_test(GERMAN)
    place = lines.index(row("total", 2, WRITES, GERMAN))
    lines[place] = lines[place].replace("2,0,", "2,,", 1)
    with pytest.raises(InputError, match=rf"line {place + 1}: 'total, "):
        read_stress(lines)
    assert {figure.at_s for figure in read_stress(lines, skip=True).rows if figure.tag == "total"} == {None, 1}


SETTINGS = ["******************** Stress Settings ********************", "Command:", "  Type: write", "  Count: -1"]
SECOND = {
    "the same threads": one_test(),
    "other threads": one_test(threads=80),
    "another command": one_test(tag="READ", measured=READS),
    "with its settings": [*SETTINGS, *one_test()],
    "results alone": one_test()[one_test().index("Results:") :],
    "a series": log([(4, {"READ": READS}, READS), (8, {"READ": READS}, READS)], ENGLISH, "4.0"),
}


@pytest.mark.parametrize("kind", SECOND)
@pytest.mark.parametrize("ended", [True, False])
def test_a_second_test_is_refused_with_its_line_and_not_skipped(kind, ended):
    first = one_test() if ended else one_test()[:-1]
    first += ["", "real\t0m33.1s", "$ cassandra-stress write n=1000000"]
    for skip in (False, True):
        with pytest.raises(InputError, match="a second test") as refused:
            read_stress(first + SECOND[kind], skip=skip)
        line = int(re.search(r"line (\d+): a second", str(refused.value))[1])
        assert len(first) < line <= len(first) + 3
        assert f"lines 1 to {line - 1}, and those from {line} on" in str(refused.value)


def test_intervals_alone_of_two_tests_are_refused():
    rows = [heading("4.0"), *(row("total", second, WRITES, ENGLISH) for second in (1, 2, 3, 1, 2))]
    with pytest.raises(InputError, match=r"x\.log, line 5: a second test"):
        read_stress(rows, skip=True)


def test_two_series_one_behind_the_other_are_refused():
    series = log([(4, {"READ": READS}, READS), (8, {"READ": READS}, READS)], ENGLISH, "4.0")
    with pytest.raises(InputError, match=rf"line {len(series) + 1}: a second test"):
        read_stress(series + series)


def test_a_series_behind_a_single_test_that_was_cut_short_is_refused():
    first = one_test(threads=4)[2:-1]
    series = log([(8, {"READ": READS}, READS), (16, {"READ": READS}, READS)], ENGLISH, "4.0")[2:]
    with pytest.raises(InputError, match=rf"line {len(first) + 1}: a second test"):
        read_stress(first + series, skip=True)


def test_a_series_is_one_test_of_each_thread_count():
    tests = [(4, {"READ": READS}, READS), (8, {"READ": WRITES}, WRITES), (16, {"READ": BOTH}, BOTH)]
    lines = log(tests, ENGLISH, "4.0")
    lines.insert(lines.index("Running with 8 threadCount"), "Sleeping for 15s")
    figures = read_stress(lines)
    for threads, _, measured in tests:
        assert whole(figures, threads)["total", "p99.9"] == measured.tenths[4] * 100
        assert whole(figures, threads)["READ", "throughput"] == measured.rate


def test_console_text_is_passed_over_and_counted():
    texts = [
        "WARN  10:12:01,123 Query [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] generated a warning", "user@host:~$ date",
        "10:12:01.123 [cluster1-nio-worker-2] INFO com.datastax.driver.core - a, b, c, d, e, f, g, h, i, j, k, l",
        "\tat org.apache.cassandra.stress.Operation.error(Operation.java:136)", "Improvement over 4 threadCount: 8%",
        "Failed to connect over JMX; not collecting these stats", "Server is overloaded, retry 3/10 times",
    ]  # fmt: skip
    lines = one_test()
    before = read_stress(lines)
    for place in range(len(lines) - 1, 3, -1):
        lines[place:place] = texts
    figures = read_stress([*SETTINGS, *lines, "real\t0m33.1s", "user\t0m1.0s"])
    assert [str(figure[:-1]) for figure in figures.rows] == [str(figure[:-1]) for figure in before.rows]
    assert figures.tally.texts == before.tally.texts + len(SETTINGS) + len(texts) * (len(one_test()) - 4) + 2
    assert f"{figures.tally.texts:,} lines of console text passed over" in "\n".join(figures.report())


FAILED = "Operation x10 on key(s) [4b30]: Error executing: (WriteTimeoutException): Cassandra timeout"


def test_errors_are_counted_from_every_line_that_tells_of_them():
    assert whole(read_stress(one_test()))["total", "errors"] == WRITES.errors
    without = [line for line in one_test() if not line.startswith("Total errors")]
    assert whole(read_stress(without))["total", "errors"] == 2 * WRITES.errors  # of two intervals
    no_column = [line for line in without if not line.startswith(("total,", "type"))]
    lines = [*no_column[:4], FAILED, FAILED, FAILED, *no_column[4:]]
    assert whole(read_stress(lines))["total", "errors"] == 3
    none = one_test(measured=READS)
    assert "2 lines tell of an operation that failed" in " ".join(
        read_stress([none[0], FAILED, FAILED, *none[1:]]).notes
    )


@pytest.mark.parametrize(
    "line",
    ["total,interval_op_rate,interval_key_rate,latency,95th,99.9th,elapsed_time", "ops       ,    op/s,   key/s, mean"],
)
def test_a_log_of_a_release_before_2_1_is_refused_by_name(line):
    lines = ["Created keyspaces. Sleeping 1s for propagation.", line, "22479,2247,2247,20.2,50.6,329.4,10", "END"]
    with pytest.raises(InputError, match=r"x\.log, line 2: .*before 2\.1"):
        read_stress(lines)


def test_the_command_refuses_and_reads(tmp_path):
    (tmp_path / "german.log").write_text("\n".join(one_test(GERMAN)) + "\n")
    done = cassbook("show", tmp_path / "german.log")
    assert done.exit_code == 0
    assert "12345" in done.output
    (tmp_path / "two.log").write_text("\n".join(one_test() + one_test()) + "\n")
    done = cassbook("show", tmp_path / "two.log")
    assert done.exit_code == 2
    assert "a second test begins here" in done.output


@pytest.mark.parametrize("name", ["stress-2.1.20/mixed.log", "stress-3.11.4/fixed.log"])
def test_a_real_log_behind_itself_is_refused(name):
    lines = (LOGS / name).read_text().splitlines()
    assert read_stress(lines).rows
    with pytest.raises(InputError, match="a second test"):
        read_stress(lines + lines)
