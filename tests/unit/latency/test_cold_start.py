"""The end of a cold start, by its rule, on series made for it."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import CassbookWarning, InputError
from cassbook.latency import cold_start
from tests.helpers.cold_cells import SampledRun, cold, noise, samples_of
from tests.helpers.made_cells import make_cells


@pytest.fixture
def settled_us():
    """Forty bin means that scatter around 1000 us by about 1 %."""
    return 1000 + np.random.default_rng(7).normal(0, 10, 40)


def test_series_of_known_bins():
    df = cold_start.series(samples_of([4000, 2000, 1000]), bin_ms=50)
    assert df.columns.tolist() == ["since_start_ms", "mean_us", "median_us", "n"]
    assert df["since_start_ms"].tolist() == [0, 50, 100]
    assert df["mean_us"].tolist() == pytest.approx([4000, 2000, 1000])
    assert df["n"].tolist() == [20, 20, 20]


def test_series_has_the_median_and_leaves_failures_and_empty_bins_out():
    samples = pd.DataFrame(
        {
            "started_s": [5.0, 5.01, 5.02, 5.03, 5.2],
            "latency_us": [1.0, 2.0, 9.0, 1e9, 7.0],
            "outcome": ["ok", "ok", "ok", "read_timeout", "ok"],
        }
    )
    df = cold_start.series(samples, bin_ms=100)
    assert df.to_numpy().tolist() == [[0, 4, 2, 3], [200, 7, 7, 1]]


def test_series_lays_cells_over_each_other():
    one = samples_of([4000, 1000], start_s=0)
    two = samples_of([2000, 3000], start_s=100).assign(cell_id="b")
    df = cold_start.series(pd.concat([one, two], ignore_index=True))
    assert df["mean_us"].tolist() == pytest.approx([3000, 2000])
    assert df["n"].tolist() == [40, 40]


def test_series_takes_categories():
    samples = samples_of([4000, 1000]).astype({"cell_id": "category", "outcome": "category"})
    assert cold_start.series(samples)["n"].tolist() == [20, 20]


def test_the_end_and_the_factor_are_found(settled_us):
    means = np.concatenate([np.full(10, 6000.0), settled_us])
    start = cold_start.cold_start(samples_of(means))
    assert start.ends_ms == 500
    assert start.factor == pytest.approx(6000 / settled_us.mean(), rel=1e-3)
    assert start.settled_us == pytest.approx(1000, rel=0.01)
    assert start.settled
    assert start.bins == 50


def test_none_is_an_answer(settled_us):
    start = cold_start.cold_start(samples_of(settled_us))
    assert start.ends_ms is None
    assert np.isnan(start.factor)
    assert start.settled


def test_two_good_bins_are_not_the_end(settled_us):
    means = np.concatenate([[6000, 1000, 1000, 6000], settled_us])
    assert cold_start.cold_start(samples_of(means)).ends_ms == 200


def test_a_late_stall_does_not_move_the_end(settled_us):
    means = np.concatenate([np.full(4, 6000.0), settled_us])
    means[30:33] = 50_000
    assert cold_start.cold_start(samples_of(means)).ends_ms == 200


def test_a_fast_beginning_is_no_cold_start(settled_us):
    means = np.concatenate([np.full(6, 300.0), settled_us])
    assert cold_start.cold_start(samples_of(means)).ends_ms is None


def test_a_beginning_that_fades_is_cut_off_until_it_has_faded(settled_us):
    fading = 1000 * (1 + 6 * np.exp(-np.arange(120) / 4))
    start = cold_start.cold_start(samples_of(fading * np.tile(settled_us / 1000, 3)))
    assert 12 * 50 <= start.ends_ms <= 28 * 50  # where it adds 30 % and 0.5 %
    assert start.settled


def test_a_flat_series_has_no_spread_and_no_cold_start():
    assert cold_start.cold_start(samples_of(np.full(12, 1234.5))).ends_ms is None
    start = cold_start.cold_start(samples_of(np.r_[np.full(3, 9000.0), np.full(12, 1234.5)]))
    assert start.ends_ms == 150


def test_factor_weighs_operations_not_bins():
    slow, fast = samples_of(np.full(4, 8000.0), per_bin=5), samples_of(np.full(16, 1000.0), start_s=3.2)
    slow.loc[:4, "latency_us"] = 4000.0  # the first bin
    slow = slow.drop(index=[1, 2, 3, 4])  # keeps a single operation
    start = cold_start.cold_start(pd.concat([slow, fast], ignore_index=True))
    assert start.ends_ms == 200
    assert start.factor == pytest.approx((4000 + slow["latency_us"].iloc[1:].sum()) / 16 / 1000)


def test_bins_may_be_of_another_width(settled_us):
    means = np.concatenate([np.full(10, 6000.0), settled_us])
    assert cold_start.cold_start(samples_of(means), bin_ms=100).ends_ms == 500


@pytest.mark.parametrize("shape", ["reaches the middle", "falls to the end"])
def test_a_series_that_never_settles_says_so(settled_us, shape):
    if shape == "reaches the middle":
        means = np.r_[np.full(22, 6000.0), settled_us[:20]]
    else:
        means = settled_us * np.linspace(4, 1, 40)
    with pytest.warns(CassbookWarning, match="not settled by the middle"):
        start = cold_start.cold_start(samples_of(means))
    assert start.ends_ms is None
    assert np.isnan(start.factor)
    assert not start.settled


def test_short_series_and_bad_bins_are_refused(settled_us):
    with pytest.raises(InputError, match="needs 12 bins, got 11"):
        cold_start.cold_start(samples_of(settled_us[:11]))
    with pytest.raises(InputError, match="positive"):
        cold_start.series(samples_of(settled_us), bin_ms=0)


def test_the_drain_tells_nothing_of_the_beginning():
    drain = samples_of(np.linspace(1000, 100, 55)).assign(phase="drain")
    drain["started_s"] += 3.0
    steady = samples_of(noise(60)).assign(phase="steady")
    run = SampledRun(make_cells(cold("warm", "warm")), {"warm": pd.concat([steady, drain], ignore_index=True)})
    assert len(cold_start.series_of(run, run.cells, 50)["warm"]) == 60


def test_a_cold_cell_is_held_against_the_warm_one_of_its_block():
    cells = make_cells(cold("warm", "warm"), cold("slow", "restarted_server"), cold("other", "cold_pages", block=1))
    times = {"warm": 1, "slow": 5, "other": 7}
    run = SampledRun(cells, {name: samples_of(noise(60) * factor) for name, factor in times.items()})
    times_warm = cold_start.against_warm(run).set_index("cell_id")["times_warm"]
    assert times_warm["slow"] == pytest.approx(5, rel=0.02)
    assert times_warm[["warm", "other"]].isna().all()


def test_the_first_and_the_last_second_of_a_warm_up():
    cells = make_cells({"cell_id": "up", "kind": "warmup"})
    slow_first = samples_of(np.r_[np.full(20, 6000.0), np.full(60, 1000.0)])
    (series,) = cold_start.warm_ups(SampledRun(cells, {"up": slow_first}))
    assert cold_start.first_and_last_us(series) == pytest.approx((6000, 1000))
