import numpy as np
import pytest
from scipy import stats

from cassbook import Estimate


def test_mean_has_students_interval():
    x = [3.0, 5.0, 4.0]
    estimate = Estimate.mean(x)
    reference = stats.t.interval(0.95, 2, loc=4.0, scale=stats.sem(x))
    assert (estimate.low, estimate.high) == pytest.approx(reference)
    assert estimate.n == 3


def test_one_observation_has_no_interval():
    estimate = Estimate.mean([7.0])
    assert estimate.value == 7.0
    assert np.isnan(estimate.low)
    assert np.isnan(estimate.high)
    assert "n=1" in str(estimate)


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")], [float("inf")]])
def test_nothing_or_not_finite_is_refused(bad):
    with pytest.raises(ValueError, match="finite"):
        Estimate.mean(bad)
