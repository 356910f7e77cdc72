"""HdrHistograms against the package's own recording, numpy's quantiles, and their way through a log."""

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from cassbook.core.errors import InputError
from cassbook.latency import histograms
from tests.helpers.steps import lines_run

QUANTILES = (0.0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0)


@pytest.fixture
def latency_us():
    return np.random.default_rng(3).lognormal(9, 1.2, 40_000)


def test_counting_at_once_equals_recording_one_by_one(latency_us):
    edges = np.r_[0, 0.4, 1, 2047, 2048, 2049, 4095, 4096, 1e6, 3.6e9, latency_us[:3000]]
    one_by_one = HdrHistogram(1, 3_600_000_000, 3)
    for value in edges:
        assert one_by_one.record_value(round(float(value)))
    assert histograms.histogram(edges).equals(one_by_one)
    assert histograms.histogram(edges).get_mean_value() == pytest.approx(edges.mean(), rel=1e-3)


@pytest.mark.parametrize("digits", [histograms.KEPT_DIGITS, histograms.DIGITS])
@pytest.mark.parametrize("q", QUANTILES)
def test_quantiles_agree_with_numpy_within_the_precision(latency_us, q, digits):
    quantile = histograms.quantile_us(histograms.histogram(latency_us, digits), q)
    expected = np.quantile(latency_us, q, method="inverted_cdf")
    assert quantile == pytest.approx(expected, rel=10.0**-digits, abs=0.5)


def test_a_sum_has_the_digits_of_the_coarsest(latency_us):
    """As where an older record meets one of today: nothing is told finer than the coarser one told it."""
    coarse = histograms.KEPT_DIGITS
    fine, other = histograms.histogram(latency_us[:900]), histograms.histogram(latency_us[900:1800], coarse)
    assert histograms.merged([fine, other]).equals(histograms.histogram(latency_us[:1800], coarse))


@pytest.mark.parametrize("q", QUANTILES)
def test_quantiles_are_the_packages_own(latency_us, q):
    counted = histograms.histogram(latency_us)
    if q > 0:  # there the package answers with the least value of the counter, not the highest
        assert histograms.quantile_us(counted, q) == counted.get_value_at_percentile(100 * q)


def test_nothing_has_no_quantile():
    assert np.isnan(histograms.quantile_us(histograms.histogram([]), 0.5))


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, 3.7e9])
def test_what_is_no_latency_is_refused(wrong):
    with pytest.raises(InputError, match=r"latency_us: .* 0 and 3600000000 "):
        histograms.histogram([5.0, wrong])


@pytest.mark.parametrize("q", [-0.1, 99.0])
def test_a_percentage_is_no_quantile(q):
    with pytest.raises(InputError, match="from 0 to 1"):
        histograms.quantile_us(histograms.histogram([1.0]), q)


def test_merged_counts_both(latency_us):
    parts = [histograms.histogram(part) for part in np.split(latency_us, 4)]
    assert histograms.merged(parts).equals(histograms.histogram(latency_us))
    assert parts[0].get_total_count() == 10_000


def test_a_log_comes_back_as_it_was_written(tmp_path, latency_us):
    reads, writes = histograms.histogram(latency_us), histograms.histogram(latency_us * 3)
    path = tmp_path / "histograms.hlog"
    silent = histograms.histogram([])
    histograms.write_log(path, {"a.READ": (reads, 0.0, 2.5), "a.UPDATE": (writes, 0.0, 2.5), "b.READ": (silent, 3, 4)})
    read = histograms.read_log(path)
    assert list(read) == ["a.READ", "a.UPDATE", "b.READ"]
    assert read["a.READ"].equals(reads)
    assert read["a.UPDATE"].equals(writes)
    assert read["b.READ"].get_total_count() == 0
    assert [p.name for p in tmp_path.iterdir()] == ["histograms.hlog"]


def test_the_packages_own_reader_takes_the_log(tmp_path, latency_us):
    counted = histograms.histogram(latency_us)
    path = tmp_path / "histograms.hlog"
    histograms.write_log(path, {"b1-c2.READ": (counted, 10.0, 12.5)})
    line = path.read_text().splitlines()[-1].split(",")
    assert line[:3] == ["Tag=b1-c2.READ", "10.000000", "2.500000"]
    assert float(line[3]) == counted.get_max_value()
    reader = HistogramLogReader(str(path), histograms.empty())
    read = reader.get_next_interval_histogram()
    reader.close()
    assert read.get_tag() == "b1-c2.READ"
    assert read.equals(counted)


def test_lines_of_one_tag_are_added(tmp_path, latency_us):
    path = tmp_path / "histograms.hlog"
    half = histograms.histogram(latency_us[:20_000])
    histograms.write_log(path, {"a": (half, 0.0, 1.0)})
    last = path.read_text().splitlines()[-1]
    path.write_text(path.read_text() + last + "\n" + last.removeprefix("Tag=a,") + "\n")
    read = histograms.read_log(path)
    assert {tag: counted.get_total_count() for tag, counted in read.items()} == {"a": 40_000, "": 20_000}


@pytest.mark.parametrize("tag", ["", "a,b", "a b", "a\nb"])
def test_a_tag_that_would_break_its_line_is_refused(tmp_path, tag):
    with pytest.raises(InputError, match="cannot be written"):
        histograms.write_log(tmp_path / "log", {tag: (histograms.empty(), 0, 1)})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", [lambda line: line[:-40], lambda line: "nonsense", lambda line: line[:40] + "!!!!"])
def test_a_damaged_line_is_named(tmp_path, latency_us, damage):
    path = tmp_path / "histograms.hlog"
    histograms.write_log(path, {"a": (histograms.histogram(latency_us), 0.0, 1.0)})
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], damage(lines[-1])]))
    with pytest.raises(InputError, match=rf"line {len(lines)}: is damaged"):
        histograms.read_log(path)


def test_a_missing_log_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.hlog: cannot be read"):
        histograms.read_log(tmp_path / "none.hlog")


def test_latencies_are_counted_all_at_once():
    def steps(n):
        latency_us = np.random.default_rng(1).lognormal(9, 1, n)
        return lines_run(lambda: histograms.histogram(latency_us))

    assert steps(10_000) == steps(1000)
