"""The curve with knobs: its random numbers, what must hold, and the book's own prediction."""

import numpy as np
import pytest

from cassbook.core.errors import InputError
from cassbook.staleness import pbs, wars
from cassbook.staleness.explorer import Knobs, draws, needed_ms


def mulberry32(count):
    """The generator as its author gives it, number by number."""
    state, found = 0, []
    for _ in range(count):
        state = (state + 0x6D2B79F5) & 0xFFFFFFFF
        mixed = ((state ^ state >> 15) * (1 | state)) & 0xFFFFFFFF
        mixed = (mixed ^ (mixed + ((mixed ^ mixed >> 7) * (61 | mixed)))) & 0xFFFFFFFF
        found.append((mixed ^ mixed >> 14) / 2**32)
    return found


def test_random_numbers_are_those_of_the_counter():
    assert draws(3, 4).ravel().tolist() == mulberry32(12)


def test_random_numbers_are_spread_evenly():
    found = draws(20_000, 12).ravel()
    assert abs(found.mean() - 0.5) < 0.002
    assert np.histogram(found, bins=10, range=(0, 1))[0] == pytest.approx(len(found) / 10, rel=0.03)


def test_overlapping_quorums_are_consistent_at_once():
    for n in range(1, 6):
        for r in range(1, n + 1):
            for w in range(n - r + 1, n + 1):
                assert not needed_ms(Knobs(n=n, r=r, w=w), 2_000).any()


@pytest.mark.parametrize(("r", "w"), [(1, 1), (2, 1), (1, 2)])
def test_it_says_what_the_books_prediction_says(r, w):
    knobs = Knobs(r=r, w=w, write_ms=8.0, other_ms=2.0)
    delays = wars.Wars(*(wars.exponential(1 / mean) for mean in (8.0, 2.0, 2.0, 2.0)))
    predicted = pbs.predict(delays, 3, r, w)
    needed = needed_ms(knobs)
    for t_ms in (0.0, 2.0, 10.0):
        share = np.searchsorted(needed, t_ms, side="right") / len(needed)
        assert share == pytest.approx(predicted.p_consistent(t_ms), abs=0.012)


def test_distance_makes_a_read_of_any_replica_staler():
    near = (needed_ms(Knobs()) == 0).mean()
    assert (needed_ms(Knobs(far=2, far_ms=75.0)) == 0).mean() > near  # the near replica answers first, and has it
    assert (needed_ms(Knobs(r=2, far=2, far_ms=75.0)) == 0).mean() > near


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        (Knobs(r=4), r"r: 4 of 3 replicas; use 1 to 3"),
        (Knobs(write_ms=0.0), "must be positive"),
        (Knobs(far=4), r"far: 4 of 3 replicas cannot be far away"),
    ],
)
def test_what_no_cluster_can_be_is_refused(knobs, message):
    with pytest.raises(InputError, match=message):
        needed_ms(knobs)
