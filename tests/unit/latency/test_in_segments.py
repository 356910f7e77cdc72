"""Figures of a running cluster: how often their intervals hold, and how often a verdict beyond the zone is wrong."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core import paths
from cassbook.core.estimate import ERROR
from cassbook.latency.histograms import KEPT_DIGITS, empty
from cassbook.latency.in_segments import CountedSegments, InSegments
from cassbook.latency.verdicts import FAIL, PASS, ZONE, against, is_settled, looks, share_of_error
from cassbook.records.digest import segment_histograms

DRAWS = 300
#: How p99 differs from segment to segment, about, in the open cells that we recorded: 0.36 on a logarithmic scale.
SPREAD = 0.3


def segments(rng, count=24, requests=400, spread=SPREAD):
    """Segments of different levels."""
    return [np.exp(spread * level + rng.normal(0, 0.6, requests)) for level in rng.normal(size=count)]


def truth(by, spread=SPREAD):
    """Return the figure of all segments that might have been: their level and a request's own are both normal."""
    sigma = np.hypot(spread, 0.6)
    return np.exp(sigma**2 / 2) if by == "mean" else np.exp(2.3263 * sigma)


def test_a_percentile_lies_in_its_interval_and_failures_are_beyond_every_bound():
    made = InSegments((np.arange(1.0, 101), np.arange(1.0, 101), np.arange(1.0, 101)))
    figure = made.estimate("p95")
    assert (figure.value, figure.n) == (95.0, 3)
    assert figure.low < 95 < figure.high
    broken = InSegments(tuple(np.r_[segment[:-2], [np.inf] * 2] for segment in made.segments_ms))
    assert broken.failed == 6
    assert np.isinf(broken.estimate("p99").value)
    assert against(broken.estimate("p99"), 1e9) != PASS


def test_a_mean_is_of_what_was_answered():
    one = np.r_[np.full(199, 2.0), np.inf]
    exact, counted = InSegments((one, one, one)), CountedSegments(np.array([[199, 0, 1]] * 3), np.array([2, 4, np.inf]))
    for made in (exact, counted):
        figure = made.estimate("mean")
        assert (figure.value, figure.low, figure.high, made.failed) == (2.0, 2.0, 2.0, 3)
        assert made.figure("mean") == 2.0
        assert not made.breaks_down("mean", 1.0)
    nothing = InSegments((np.full(5, np.inf),) * 3)
    assert np.isinf(nothing.estimate("mean").value)
    assert nothing.breaks_down("mean", 1.0)


def test_a_figure_is_that_of_its_estimate():
    made = InSegments(tuple(segments(np.random.default_rng(2))))
    for by in ("mean", "p50", "p99"):
        assert made.figure(by) == made.estimate(by).value


def test_histograms_of_segments_say_what_samples_say():
    rng = np.random.default_rng(3)
    latency_us = np.exp(rng.normal(8, 0.5, 3000)).round()
    samples = pd.DataFrame({
        "cell_id": "c", "phase": "steady", "outcome": np.where(np.arange(3000) % 100 == 7, "read_timeout", "ok"),
        "latency_us": latency_us, "started_s": 1.0, "intended_s": 0.999, "slice": np.arange(3000) // 1000,
    })  # fmt: skip
    exact = InSegments.of_samples(samples)
    counted = segment_histograms(samples, digits=KEPT_DIGITS)
    assert list(counted) == ["c.0", "c.1", "c.2"]
    kept = CountedSegments.of_histograms([one for one, _, _ in counted.values()], [10, 10, 10])
    assert (kept.requests, kept.failed) == (exact.requests, exact.failed) == (3000, 30)
    for by in ("p50", "p95"):
        ours, theirs = (one.estimate(by) for one in (kept, exact))
        assert [ours.value, ours.low, ours.high] == pytest.approx([theirs.value, theirs.low, theirs.high], rel=0.02)
    assert CountedSegments.of_histograms([empty()], [2]).failed == 2
    assert np.isinf(kept.estimate("p99.9").value)
    answered = samples[samples["outcome"] == "ok"]
    counted = [one for one, _, _ in segment_histograms(answered, digits=KEPT_DIGITS).values()]
    mean, exactly = CountedSegments.of_histograms(counted, [0, 0, 0]).estimate("mean"), InSegments.of_samples(answered)
    assert mean.value == pytest.approx(exactly.estimate("mean").value, rel=0.02)
    assert [one.first(2).requests for one in (kept, exact)] == [2000, 2000]


def test_segments_are_drawn_again_in_runs_as_they_came():
    made = InSegments(tuple(np.full(2, float(number)) for number in range(5)))
    drawn = [segment[0] for segment in made.drawn(7, 2, np.random.default_rng(1)).segments_ms]
    assert len(drawn) == 7
    assert all((after - before) % 5 == 1 for before, after in zip(drawn[::2], drawn[1::2], strict=False))
    assert made.first(2).requests == 4


def test_two_segments_have_no_interval():
    figure = InSegments((np.ones(50), np.ones(50) * 2)).estimate("p95")
    assert np.isnan(figure.low)


@pytest.mark.parametrize("by", ["p99", "mean"])
def test_intervals_hold_the_truth_about_as_often_as_is_said(by):
    rng = np.random.default_rng(5)
    figures = [InSegments(tuple(segments(rng))).estimate(by) for _ in range(DRAWS)]
    held = sum(figure.low <= truth(by) <= figure.high for figure in figures)
    assert held / DRAWS >= 0.90  # few segments hardly know their own tail


@pytest.mark.parametrize(("bound", "wrong"), [(1 / ZONE, PASS), (ZONE, FAIL)])
def test_who_looks_again_and_again_is_hardly_ever_wrong_beyond_the_zone(bound, wrong):
    """Six settings, all just beyond it: a screen of them errs less often than it says."""
    rng, rounds, settings = np.random.default_rng(7), 24, 6
    error = share_of_error(2 * settings, len(looks(rounds)))
    screens = 40
    errors = 0
    for _ in range(screens * settings):
        made = segments(rng, rounds)
        for at in looks(rounds):
            figure = InSegments(tuple(made[:at])).estimate("p99", error)
            if is_settled(figure, bound * truth("p99")):
                errors += against(figure, bound * truth("p99")) == wrong
                break
    assert errors <= ERROR * screens


def recorded_screens():
    """Return, of each rate in each start of the pilot, the segments of each setting: (median, p99) in ms, in order."""
    table = pd.read_csv(paths.records_dir() / "load-pilot-5.0.9" / "slices.csv")
    table = table[table["cell_id"].str.contains("-open-.*-share")]
    screens = {}
    for cell_id, own in table.groupby("cell_id"):
        middle, tail = (own[name].to_numpy() / 1e3 for name in ("response_p50_us", "response_p99_us"))
        screens.setdefault(cell_id.rpartition("-")[0], []).append(np.column_stack([middle, tail]))
    return screens


def like(middle_ms, tail_ms, rng, requests=400):
    """Requests of a segment that has this median and this p99."""
    return np.exp(np.log(middle_ms) + np.log(tail_ms / middle_ms) / 2.3263 * rng.normal(size=requests))


def resampled(pool, rng, count=24, block=2):
    """Segments drawn from recorded ones, neighbours in time together."""
    begins = rng.integers(0, len(pool) - block + 1, -(-count // block))
    return [like(*pool[begin + k], rng) for begin in begins for k in range(block)][:count]


@pytest.mark.parametrize("rounds", [9, 24])
@pytest.mark.parametrize(("bound", "wrong"), [(1 / ZONE, PASS), (ZONE, FAIL)])
def test_a_screen_of_recorded_segments_is_wrong_no_more_often_than_it_says(bound, wrong, rounds):
    """All settings of a screen are just beyond the zone, on one side; recorded segments come in blocks."""
    rng, errors, screens = np.random.default_rng(11), 0, 0
    for pools in recorded_screens().values():
        truths = [np.quantile(np.concatenate([like(*one, rng, 5_000) for one in pool]), 0.99) for pool in pools]
        error = share_of_error(2 * len(pools), len(looks(rounds)))
        for _ in range(8):
            said = set()
            for pool, true in zip(pools, truths, strict=True):
                made = resampled(pool, rng, rounds)
                for at in looks(rounds):
                    figure = InSegments(tuple(made[:at])).estimate("p99", error)
                    if is_settled(figure, bound * true):
                        said.add(against(figure, bound * true))
                        break
            errors, screens = errors + (wrong in said), screens + 1
    assert screens >= 100
    assert errors <= ERROR * screens, (errors, screens)


def test_requests_that_share_their_luck_count_for_less():
    rng = np.random.default_rng(6)
    alike = InSegments(tuple(segments(rng, spread=1.0))).estimate("p99")
    own = InSegments(tuple(segments(rng, spread=0.0))).estimate("p99")
    assert np.log(alike.high / alike.low) > 2 * np.log(own.high / own.low)


def test_samples_are_taken_by_segment_from_when_requests_were_due():
    samples = pd.DataFrame({
        "phase": ["guard", "steady", "steady", "steady", "drain"], "outcome": ["ok", "ok", "ok", "read_timeout", "ok"],
        "intended_s": [0.0, 1.0, 2.0, 3.0, 4.0], "started_s": [0.0, 1.001, 2.0, 3.0, 4.0],
        "latency_us": [9.0, 2000.0, 3000.0, 4000.0, 9.0], "slice": [0, 0, 1, 1, None],
    })  # fmt: skip
    made = InSegments.of_samples(samples)
    assert [segment.tolist() for segment in made.segments_ms] == [[pytest.approx(3.0)], [3.0, np.inf]]
    assert made.requests == 3
