"""A percentile of a mix is that of the pooled operations, whatever its parts are like."""

import numpy as np
import pytest

from cassbook.latency import histograms, percentile_mixing, percentiles
from cassbook.latency.percentile_mixing import GRID, cell_curves, curve, mixed_quantiles, quantiles

SHARES = list(percentiles.SHARES.values())


def parts(seed=27, n=200_000):
    rng = np.random.default_rng(seed)
    return rng.lognormal(7.0, 0.8, n), rng.lognormal(8.5, 0.4, n)


@pytest.mark.parametrize("read_share", [0.02, 0.3, 0.5, 0.9, 0.999])
def test_it_is_the_percentile_of_as_many_operations_pooled(read_share):
    reads, writes = parts()
    kept = round(read_share * reads.size)
    pooled = np.concatenate([reads[:kept], writes[: reads.size - kept]])
    curves = np.stack([curve(histograms.histogram(part)) for part in (reads, writes)])
    found = np.exp(mixed_quantiles(curves, [read_share, 1 - read_share], SHARES))
    assert found == pytest.approx(np.quantile(pooled, SHARES), rel=0.04)


def test_it_is_no_weighted_mean_of_percentiles():
    """Of 98 % reads at 1 ms and 2 % writes at 100 ms, two in a hundred take 100 ms."""
    curves = np.stack([curve(histograms.histogram([us] * 5000)) for us in (1000.0, 100_000.0)])
    median, p99 = np.exp(mixed_quantiles(curves, [0.98, 0.02], [0.5, 0.99]))
    assert (median, p99) == pytest.approx((1000, 100_000), rel=1e-3)
    assert pytest.approx(2980) == 0.98 * 1000 + 0.02 * 100_000  # what the mean of the p99s would say


def test_parts_that_are_alike_mix_to_themselves():
    (reads, _) = parts()
    one = curve(histograms.histogram(reads))
    assert mixed_quantiles(np.stack([one, one]), [0.3, 0.7], SHARES) == pytest.approx(quantiles(one, SHARES), abs=1e-3)


def test_a_curve_holds_what_the_histogram_says_at_every_share():
    (reads, _) = parts(n=3000)
    counted = histograms.histogram(reads)
    assert np.exp(curve(counted)) == pytest.approx([histograms.quantile_us(counted, share) for share in GRID])
    assert np.isnan(histograms.quantiles_us(histograms.empty(), GRID)).all()
    assert np.exp(curve(histograms.histogram([0.0, 0.0, 5.0])))[0] == 0.5  # the logarithm of 0 us is none


def test_an_unknown_part_leaves_the_mix_unknown():
    one = curve(histograms.histogram([1000.0]))
    mixed = mixed_quantiles(np.stack([one, np.full(GRID.shape, np.nan)]), [0.5, 0.5], SHARES)
    assert np.isnan(mixed).all()


def test_a_cells_curve_is_of_all_its_operations_in_service_time():
    recorded = {
        "b1-x.READ": histograms.histogram([100.0] * 90),
        "b1-x.UPDATE": histograms.histogram([900.0] * 10),
        "b1-x.READ.response": histograms.histogram([9000.0] * 90),
        "b1-y.READ": histograms.histogram([5.0]),
    }
    found = cell_curves(recorded, ["b1-x", "b1-z"])
    assert list(found) == ["b1-x"]
    assert np.exp(percentile_mixing.quantiles(found["b1-x"], [0.5, 0.95])) == pytest.approx([100, 900], rel=1e-3)
