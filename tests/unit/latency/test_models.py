"""Curves that were made with known parameters are found again, and judged by what they have not seen."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from cassbook import published
from cassbook.core.errors import InputError
from cassbook.latency import model_selection, models, regression

THREADS = np.array([10, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000])


def made(latency_us, threads=THREADS, noise=0.0, blocks=1, seed=1):
    rng = np.random.default_rng(seed)
    rows = []
    for block in range(blocks):
        values = np.asarray(latency_us) * np.exp(rng.normal(0, noise, len(threads)))
        throughput = threads / values * 1e6
        rows.append(
            pd.DataFrame({"threads": threads, "block": block, "latency_us": values, "throughput_per_s": throughput})
        )
    return pd.concat(rows, ignore_index=True)


def test_mva_of_one_queue_has_its_closed_forms():
    # without a delay every thread waits for all others: R(N) = N D
    assert models.latencies_us(100.0, 0.0, 50)[1:] == pytest.approx(100.0 * np.arange(1, 51))
    # one thread alone waits for nobody
    assert models.latencies_us(100.0, 900.0, 1)[1] == pytest.approx(1000.0)
    # many threads: N D - what the delay hides, R = N D exactly in the limit of throughput 1 / D
    many = models.latencies_us(100.0, 900.0, 2000)
    assert 2000 / many[-1] == pytest.approx(1 / 100.0, rel=1e-6)


def test_mva_agrees_with_the_machine_repairman():
    """Closed network of a delay Z and an exponential server D: state probabilities by birth and death."""
    demand, delay, n = 80.0, 1000.0, 20
    weights = [1.0]
    for k in range(1, n + 1):  # k at the server: arrivals (n - k + 1) / Z, departures 1 / D
        weights.append(weights[-1] * (n - k + 1) * demand / delay)
    p = np.array(weights) / sum(weights)
    throughput = (1 - p[0]) / demand
    assert models.latencies_us(demand, delay, n)[n] == pytest.approx(n / throughput)


@pytest.mark.parametrize("delay_us", [0.0, 1e-3, 90.0, 5e3, 69_900.0, 70_100.0, 1e7])
def test_the_closed_form_is_the_recursion(delay_us):
    queue = models.ClosedQueue(100.0, delay_us)
    assert queue.predict(np.arange(1001)) == pytest.approx(models.latencies_us(100.0, delay_us, 1000), rel=1e-9)


def test_the_closed_queue_is_found_again():
    true = models.ClosedQueue(120.0, 1500.0)
    fit = models.fit(made(true.predict(THREADS)), "mva")
    assert (fit.demand_us, fit.delay_us) == pytest.approx((120.0, 1500.0), rel=1e-3)
    assert fit.predict(150.5) == pytest.approx(true.predict([150.0, 151.0]).mean())


def test_the_scalability_law_is_found_again():
    true = models.Scalability(500.0, 0.05, 1e-5)
    fit = models.fit(made(true.predict(THREADS)), "usl")
    assert (fit.alone_per_s, fit.contention) == pytest.approx((500.0, 0.05), rel=1e-3)
    assert fit.coherency == pytest.approx(1e-5, rel=1e-2)
    assert fit.predict(100) == pytest.approx(100 / fit.throughput_per_s(100) * 1e6)


def test_the_scalability_law_goes_by_throughput_not_by_latency():
    points = made(models.Scalability(500.0, 0.05, 1e-5).predict(THREADS))
    points["latency_us"] *= 1.5
    assert models.fit(points, "usl").alone_per_s == pytest.approx(500.0, rel=1e-3)


@pytest.mark.parametrize("model", list(models.MODELS))
def test_every_model_meets_a_smooth_curve_between_its_points(model):
    smooth = models.ClosedQueue(90.0, 2000.0).predict(THREADS) if model == "mva" else 2000 + 90.0 * THREADS
    unseen = model_selection.left_out(made(smooth), model)
    between = unseen[unseen["where"] == "between"]["error_percent"].abs()
    assert between.median() < 6


def test_polynomials_are_those_of_the_regression_module():
    points = published.level_stats().query("operation == 'READ' and level == 'ALL'")
    for order, name in ((1, "linear"), (4, "order4")):
        ours = models.fit(points, name).predict(THREADS)
        assert ours == pytest.approx(regression.fit(points["threads"], points["latency_us"], order).predict(THREADS))


@pytest.mark.parametrize(
    ("points", "model", "wrong"),
    [
        (made(2000 + 90.0 * THREADS), "cubic", "model: 'cubic' is unknown; use one of linear"),
        (made(2000 + 90.0 * THREADS[:3], THREADS[:3]), "order4", "needs 5 distinct thread counts, got 3"),
        (made(-90.0 * THREADS), "mva", "must be positive and finite"),
    ],
)
def test_what_cannot_be_fitted_is_refused(points, model, wrong):
    with pytest.raises(InputError, match=wrong):
        models.fit(points, model)


def test_lack_of_fit_is_the_f_test_against_a_mean_for_each_thread_count():
    points = made(2000 + 90.0 * THREADS + 0.05 * THREADS**2, noise=0.03, blocks=3)
    for order, name in ((1, "linear"), (2, "order2")):
        x = model_selection.design(points["threads"], order, 1000.0)
        curve = sm.OLS(points["latency_us"].to_numpy(), x).fit()
        means = sm.OLS(points["latency_us"].to_numpy(), pd.get_dummies(points["threads"]).to_numpy(dtype=float)).fit()
        _, expected, _ = means.compare_f_test(curve)
        assert model_selection.judge(points, name)["lack_of_fit_p"] == pytest.approx(expected, rel=1e-6)


def test_lack_of_fit_is_seen_where_it_is_and_only_there():
    bent = made(2000 + 0.2 * THREADS**2.0, noise=0.02, blocks=3)
    assert model_selection.judge(bent, "linear")["lack_of_fit_p"] < 0.001
    assert model_selection.judge(bent, "order2")["lack_of_fit_p"] > 0.01
    assert np.isnan(model_selection.judge(made(2000 + 90.0 * THREADS, noise=0.02), "linear")["lack_of_fit_p"])


def test_the_prediction_interval_holds_one_more_measurement():
    inside = total = 0
    for seed in range(60):
        points = made(np.full(12, 5000.0) + 10 * THREADS, noise=0.0, seed=seed)
        rng = np.random.default_rng(seed)
        points["latency_us"] += rng.normal(0, 300, 12)
        bounds = model_selection.prediction_interval(points, 1, [450.0])
        again = 5000 + 4500 + rng.normal(0, 300)
        inside += bool(bounds["low_us"].iloc[0] <= again <= bounds["high_us"].iloc[0])
        total += 1
    assert 0.87 <= inside / total <= 1.0


def test_beyond_is_asked_only_of_higher_thread_counts():
    unseen = model_selection.left_out(made(2000 + 90.0 * THREADS), "linear")
    beyond = unseen[unseen["where"] == "beyond"]
    assert (beyond["threads"] > beyond["fitted_to"]).all()
    assert sorted(beyond["fitted_to"].unique()) == [400, 500, 600, 700, 800, 900]
    assert len(unseen[unseen["where"] == "between"]) == 10


def test_condition_of_raw_powers_is_what_it_is():
    figures = model_selection.judge(made(2000 + 90.0 * THREADS), "order4")
    assert figures["condition_raw"] > 1e10
    assert figures["condition_scaled"] < 1e4


def test_the_standing_counts_who_was_best():
    judged = model_selection.judge_all(
        pd.concat(
            [
                made(2000 + 90.0 * THREADS, noise=0.01, blocks=2, seed=k).assign(operation="READ", level=level)
                for k, level in enumerate(("ONE", "ALL"))
            ]
        )
    )
    standing = model_selection.standing(judged)
    assert list(standing.index) == list(models.MODELS)
    assert standing["best_between"].sum() == standing["best_beyond"].sum() == 2
    assert standing.loc["order4", "beyond_percent"] > standing.loc["linear", "beyond_percent"]


def test_points_without_a_column_are_refused():
    with pytest.raises(InputError, match="columns throughput_per_s are missing"):
        model_selection.judge_all(published.level_stats().drop(columns="throughput_per_s"))
