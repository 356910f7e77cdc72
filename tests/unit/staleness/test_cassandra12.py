"""The predictor of Cassandra 1.2, done again: by hand where that can be done."""

import numpy as np
import pytest

from cassbook.core.errors import InputError
from cassbook.staleness.cassandra12 import Logged, p_consistent


def logged(w, a, r, s, requests=50):
    return Logged(*(np.tile(np.asarray(times, dtype=float), (requests, 1)) for times in (w, a, r, s)))


def test_its_ranks_are_off_by_one():
    """Writes reach replicas after 0, 10 and 20 ms; ranks 0, 1 and 2 are any, the first and the second."""
    latencies = logged((0, 10, 20), (0, 0, 0), (0,), (0,))
    # Rank 1 is there at 0, so that every write commits at once; the read asks rank 0: 0, 10 or 20 ms, by chance.
    p = p_consistent(latencies, 3, 1, 1, [0.0, 9.0, 10.0, 19.0, 20.0], trials=60_000)
    assert p == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3, 1.0], abs=0.01)
    # A read of two asks rank 1 too, which always has it.
    assert p_consistent(latencies, 3, 2, 1, 0.0) == 1.0
    # The slowest rank is waited for only where it stands in for rank 0.
    assert p_consistent(latencies, 3, 1, 3, 0.0) == 1.0


def test_versions_are_taken_to_be_independent():
    latencies = logged((0, 10, 20), (0, 0, 0), (0,), (0,))
    one = p_consistent(latencies, 3, 1, 1, 0.0)
    assert p_consistent(latencies, 3, 1, 1, 0.0, k=3) == pytest.approx(1 - (1 - one) ** 3)


def test_clocks_of_whole_ms_lose_what_is_shorter_but_not_on_average():
    rng = np.random.default_rng(1)
    seen = logged((0.25,), (0.5,), (0.25,), (0.5,), requests=20_000).in_whole_ms(rng)
    assert set(np.unique(seen.w_ms)) == {0.0, 1.0}
    assert seen.w_ms.mean() == pytest.approx(0.25, abs=0.02)
    assert seen.a_ms.mean() == pytest.approx(0.5, abs=0.02)


def test_requests_with_fewer_answers_count_where_they_have_one():
    w = np.array([[1.0, np.nan], [3.0, 5.0]])
    latencies = Logged(w, np.zeros_like(w), np.zeros((1, 1)), np.zeros((1, 1)))
    assert p_consistent(latencies, 2, 1, 1, 10.0) == 1.0


@pytest.mark.parametrize(("r", "w", "k"), [(0, 1, 1), (4, 1, 1), (1, 4, 1), (1, 1, 0)])
def test_what_does_not_fit_is_refused(r, w, k):
    with pytest.raises(InputError, match="must be 1 to 3"):
        p_consistent(logged((1,), (1,), (1,), (1,)), 3, r, w, 0.0, k)


def test_without_latencies_there_is_no_answer():
    nothing = np.full((2, 3), np.nan)
    with pytest.raises(InputError, match="no latencies were logged"):
        p_consistent(Logged(nothing, nothing, nothing, nothing), 3, 1, 1, 0.0)
