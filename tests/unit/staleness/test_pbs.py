"""Predictions whose answer is known: closed forms, quorums that meet, and the fast path against a plain one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from cassbook.bench.staleness import plain
from cassbook.core.errors import InputError
from cassbook.staleness import pbs, wars
from cassbook.staleness.pbs import k_staleness, k_staleness_simulated, predict
from cassbook.staleness.wars import constant, empirical, exponential, mixture, pareto, uniform

NOW = constant(0.0)


def within(estimate, value, widths=4):
    """A true value may be outside of 95 %, not far outside."""
    half = (estimate.high - estimate.low) / 2
    return abs(estimate.value - value) <= widths * half + 1e-12


@pytest.mark.parametrize("t", [0.0, 1.0, 5.0, 20.0])
def test_one_of_three_by_its_closed_form(t):
    # Acknowledgements and reads take no time: the write commits at the least of three exponentials, and the replica
    # that is asked is that one, or one that is still as far away as ever.
    prediction = predict((exponential(0.1), NOW, NOW, NOW), 3, 1, 1, trials=400_000, seed=1, ask="r")
    assert within(prediction.p_consistent_estimate(t), 1 / 3 + 2 / 3 * (1 - np.exp(-0.1 * t)))


@pytest.mark.parametrize("t", [0.0, 2.0, 10.0])
def test_two_replicas_by_integration(t):
    """W, R exponential, one of two asked: missed if W1 > min(W1, W2) + t + R, that is W1 > W2 + t + R."""
    w, r = 0.2, 0.5
    prediction = predict((exponential(w), NOW, exponential(r), NOW), 2, 1, 1, trials=400_000, seed=2, ask="r")
    missed, _ = integrate.quad(lambda read: r * np.exp(-r * read) * 0.5 * np.exp(-w * (t + read)), 0, np.inf)
    assert within(prediction.p_consistent_estimate(t), 1 - missed)


@given(
    n=st.integers(1, 7),
    r=st.integers(1, 7),
    w=st.integers(1, 7),
    ask=st.sampled_from(["all", "r"]),
    seed=st.integers(0, 9),
)
@settings(max_examples=30, deadline=None)
def test_quorums_that_meet_never_miss(n, r, w, ask, seed):
    if max(r, w) > n or r + w <= n:
        return
    prediction = predict("YMMR", n, r, w, trials=2000, seed=seed, ask=ask)
    assert prediction.p_consistent(0.0) == 1.0
    assert prediction.t_visibility(0.999) == 0.0
    assert prediction.t_visibility(1) == 0.0


@pytest.mark.parametrize("ask", ["all", "r"])
@pytest.mark.parametrize(("n", "r", "w"), [(3, 1, 1), (3, 2, 1), (5, 2, 2), (3, 1, 2)])
@pytest.mark.parametrize("name", list(wars.PRODUCTION))
def test_the_fast_path_says_what_plain_numpy_says(name, n, r, w, ask):
    model = wars.PRODUCTION[name]
    sampled = [lambda random, shape, leg=leg: pbs._mixed(leg, random, shape) for leg in model.delays]
    slow = predict(wars.Wars(*sampled, far_ms=model.far_ms), n, r, w, trials=100_000, seed=3, ask=ask)
    fast = predict(model, n, r, w, trials=400_000, seed=4, ask=ask)
    for t in (0.0, 1.0, 10.0, 80.0):
        a, b = slow.p_consistent_estimate(t), fast.p_consistent_estimate(t)
        assert abs(a.value - b.value) <= 3 * ((a.high - a.low) / 2 + (b.high - b.low) / 2)
    for q in (0.1, 0.5, 0.9):
        for what in ("read_latency_estimate", "write_latency_estimate"):
            a, b = getattr(slow, what)(q), getattr(fast, what)(q)
            assert abs(a.value - b.value) <= 3 * ((a.high - a.low) / 2 + (b.high - b.low) / 2) + a.value / 256


@pytest.mark.parametrize(("n", "r", "w"), [(3, 1, 1), (3, 2, 1), (5, 1, 2)])
def test_the_fast_path_says_what_one_pass_of_the_benchmark_says(n, r, w):
    fast, slow = predict((exponential(1.0),) * 4, n, r, w, trials=400_000, seed=5).counts, plain(400_000, n, r, w)
    for one, other in zip(fast, slow, strict=True):
        assert np.abs(np.cumsum(one) - np.cumsum(other)).max() < 4 * np.sqrt(400_000 / 2)  # Kolmogorov and Smirnov


@pytest.mark.parametrize(
    ("leg", "mean", "quantile"),
    [
        (exponential(0.25), 4.0, 4 * np.log(2)),
        (pareto(3.0, 3.35), 3.0 * 3.35 / 2.35, 3.0 * 2 ** (1 / 3.35)),
        (uniform(2.0, 6.0), 4.0, 4.0),
        (constant(7.0), 7.0, 7.0),
        (constant(7.0).later(3.0), 10.0, 10.0),
    ],
)
def test_legs_are_what_they_are_called(leg, mean, quantile):
    prediction = predict((leg, NOW, leg, NOW), 1, 1, 1, trials=200_000, seed=5)
    assert prediction.write_latency(0.5) == pytest.approx(quantile, rel=0.01)
    assert prediction.read_latency(0.5) == pytest.approx(quantile, rel=0.01)
    assert pbs._mixed(leg, np.random.default_rng(6), (200_000,)).mean() == pytest.approx(mean, rel=0.02)


def test_a_mixture_and_samples_are_drawn_by_their_weights():
    mixed = mixture((1.0, constant(1.0)), (3.0, empirical([10.0, 20.0, 30.0])))
    prediction = predict((mixed, NOW, NOW, NOW), 1, 1, 1, trials=300_000, seed=7)
    assert prediction.counts[2].sum() == 300_000
    at = {ms: prediction._part(2, ms * 1.01) for ms in (1.0, 10.0, 20.0, 30.0)}
    assert [at[ms] for ms in (1.0, 10.0, 20.0, 30.0)] == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=0.005)


def test_replicas_that_are_farther_answer_later():
    model = wars.Wars(constant(1.0), constant(1.0), constant(1.0), constant(1.0), offsets_ms=(0.0, 10.0, 20.0))
    prediction = predict(model, 3, 2, 2, trials=1000, seed=8)
    assert prediction.write_latency(0.5) == pytest.approx(22.0, rel=0.01)
    assert prediction.read_latency(0.5) == pytest.approx(22.0, rel=0.01)


def test_a_seed_says_it_all():
    first, again, other = (predict("LNKD-DISK", 3, 1, 1, trials=10_001, seed=s) for s in (1, 1, 2))
    assert (first.counts == again.counts).all()
    assert (first.counts != other.counts).any()
    assert first.counts.sum(axis=1).tolist() == [10_001] * 3


def test_quantiles_and_probabilities_are_each_others_inverse():
    prediction = predict("LNKD-DISK", 3, 1, 1, trials=1_000_000, seed=9)
    for p in (0.7, 0.9, 0.99, 0.999):
        t = prediction.t_visibility(p)
        assert prediction.p_consistent(t) == pytest.approx(p, abs=2e-6)
        bounds = prediction.t_visibility_estimate(p)
        assert bounds.low <= bounds.value <= bounds.high


@pytest.mark.parametrize(("n", "r", "w", "k"), [(3, 1, 1, 1), (3, 1, 1, 5), (3, 2, 1, 2), (5, 1, 2, 3), (3, 2, 2, 1)])
def test_versions_by_formula_and_by_drawing(n, r, w, k):
    assert within(k_staleness_simulated(n, r, w, k, seed=10), k_staleness(n, r, w, k))


def test_the_papers_example_of_versions():
    # Bailis et al., section 3.1: N = 3, R = W = 1: within 2 versions 0.56, 3: 0.703, 5: 0.868, 10: 0.98
    assert [k_staleness(3, 1, 1, k) for k in (2, 3, 5, 10)] == pytest.approx([0.556, 0.704, 0.868, 0.983], abs=5e-4)


def test_versions_and_time():
    prediction = predict((exponential(0.1), NOW, NOW, NOW), 3, 1, 1, trials=400_000, seed=1, ask="r")
    p = prediction.p_consistent(3.0)
    assert pbs.k_t_staleness(prediction, 1, 3.0) == pytest.approx(p)
    assert pbs.k_t_staleness(prediction, 2, 3.0) == pytest.approx(1 - (1 - p) ** 2)
    assert pbs.k_t_staleness(prediction, 2, 3.0, between_ms=5.0) > pbs.k_t_staleness(prediction, 2, 3.0)
    assert pbs.monotonic_reads(3, 1, 1, 0.0) == pytest.approx(k_staleness(3, 1, 1, 1))
    assert pbs.monotonic_reads(3, 1, 1, 2.0) == pytest.approx(k_staleness(3, 1, 1, 3))


def test_read_repair_makes_some_reads_ask_all():
    legs = (exponential(0.05), exponential(0.5), exponential(0.5), exponential(0.5))
    ask = {chance: predict(legs, 3, 1, 1, 400_000, 11, "r", chance).p_consistent(1.0) for chance in (0.0, 0.5, 1.0)}
    every = predict(legs, 3, 1, 1, 400_000, 12).p_consistent(1.0)
    assert ask[1.0] == pytest.approx(every, abs=0.005)
    assert ask[0.5] == pytest.approx((ask[0.0] + ask[1.0]) / 2, abs=0.005)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: predict("NOBODY", 3, 1, 1), "wars: 'NOBODY' is unknown; use one of LNKD-SSD"),
        (lambda: predict((NOW, NOW), 3, 1, 1), "four distributions are needed"),
        (lambda: predict("YMMR", 3, 4, 1), "r: 4 of 3 replicas"),
        (lambda: predict("YMMR", 0, 1, 1), "n: 0 replicas"),
        (lambda: predict("YMMR", 3, 1, 1, trials=0), "trials: 0"),
        (lambda: predict("YMMR", 3, 1, 1, ask="some"), "ask: 'some'"),
        (lambda: predict(wars.Wars(NOW, NOW, NOW, NOW, offsets_ms=(1.0,)), 3, 1, 1), "offsets_ms: 1 for 3"),
        (lambda: predict((NOW, NOW, NOW, lambda random, shape: np.zeros(3)), 3, 1, 1), r"returned shape \(3,\)"),
        (lambda: predict((NOW, NOW, NOW, lambda random, shape: -np.ones(shape)), 3, 1, 1), "negative or not finite"),
        (lambda: exponential(0.0), "rate: 0.0 must be positive"),
        (lambda: pareto(1.0, -2.0), "must be positive"),
        (lambda: uniform(3.0, 1.0), "no interval"),
        (lambda: empirical([]), "no samples"),
        (lambda: empirical([1.0, -1.0]), "not negative"),
        (lambda: mixture((0.0, NOW)), "weights"),
        (lambda: k_staleness(3, 1, 1, 0), "k: 0"),
        (lambda: predict("YMMR", 3, 1, 1, 10).p_consistent(-1.0), "no time after a commit"),
        (lambda: predict("YMMR", 3, 1, 1, 10).t_visibility(1.0), "not between 0 and 1"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
