"""Which percentiles operations support, and how far one can be trusted."""

import numpy as np
import pandas as pd
import pytest

from cassbook.latency import percentiles
from cassbook.latency.histograms import histogram


@pytest.mark.parametrize(("name", "needed"), [("mean", 1), ("p50", 20), ("p95", 200), ("p99", 1000), ("p99.9", 10_000)])
def test_ten_operations_lie_beyond_a_percentile_that_is_supported(name, needed):
    assert percentiles.needed(name) == needed
    assert percentiles.supported(name, needed)
    assert not percentiles.supported(name, needed - 1)


def test_order_statistics_hold_the_quantile_in_95_of_100_cells():
    rng, share, n = np.random.default_rng(27), 0.99, 3000
    low, high = percentiles.order_bounds(share, n)
    values = np.sort(rng.exponential(size=(2000, n)), axis=1)
    truth = -np.log(1 - share)
    held = (values[:, int(low * n)] <= truth) & (truth <= values[:, int(np.ceil(high * n)) - 1])
    assert 0.945 <= held.mean() <= 0.98


def test_p999_is_of_all_operations_of_a_cell_and_of_the_service_and_the_response_time():
    rng = np.random.default_rng(1)
    reads, writes = rng.lognormal(6, 1, 15_000), rng.lognormal(7, 1, 15_000)
    table = pd.DataFrame({"cell_id": ["a", "few", "none"], "n_ok": [30_000, 9_000, 30_000], "n_errors": [0, 900, 0]})
    recorded = {"a.READ": histogram(reads), "a.UPDATE": histogram(writes), "few.READ": histogram(reads[:9000]),
                "a.READ.response": histogram(reads + 1e5), "a.UPDATE.response": histogram(writes + 1e5)}  # fmt: skip
    got = percentiles.with_tails(table, recorded).set_index("cell_id")
    exact = np.quantile(np.concatenate([reads, writes]), 0.999)
    assert got.loc["a", "p999_us"] == pytest.approx(exact, rel=2e-3)
    assert got.loc["a", "response_p999_us"] == pytest.approx(exact + 1e5, rel=2e-3)
    assert got.loc["a", "p999_low_us"] < exact < got.loc["a", "p999_high_us"]
    assert got.loc[["few", "none"], "p999_us"].isna().all()
