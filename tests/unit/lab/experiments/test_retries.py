"""Time-outs: what is observed sets them, and a request goes on to the next coordinator when one expires."""

import pytest

from cassbook.lab.experiments.distance.retries import MOST_S, ExpiredError, Fixed, Observed, attempt


class Clock:
    """Time that passes only where something takes it."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


def asking(clock, takes_s):
    """Coordinators that take so long; `inf` never answers. A late answer is heard."""

    def ask(coordinator, timeout_s, heard):
        clock.now_s += min(takes_s[coordinator], timeout_s)
        if takes_s[coordinator] < float("inf"):
            heard(takes_s[coordinator])
        if takes_s[coordinator] > timeout_s:
            raise ExpiredError

    return ask


def test_before_anything_is_observed_it_is_a_second():
    assert Observed().seconds() == 1.0


def test_the_first_answer_counts_thrice():
    # RFC 6298, 2.2: mean R, deviation R/2, so R + 4 R/2
    timeout = Observed()
    timeout.answered(0.2)
    assert timeout.seconds() == pytest.approx(0.6)


def test_steady_answers_bring_it_near_to_them_and_scatter_away():
    steady, scattered = Observed(), Observed()
    for k in range(200):
        steady.answered(0.2)
        scattered.answered(0.2 + 0.1 * (-1) ** k)
    assert steady.seconds() == pytest.approx(0.2, abs=0.001)
    assert scattered.seconds() == pytest.approx(0.6, abs=0.05)


def test_silence_teaches_nothing_and_a_late_answer_does():
    clock, timeouts = Clock(), [Observed(), Observed()]
    for _ in range(100):
        attempt(asking(clock, [0.1, 0.2]), timeouts, clock)
    before_s = timeouts[0].seconds()
    silent = [attempt(asking(clock, [float("inf"), 0.2]), timeouts, clock) for _ in range(10)]
    assert timeouts[0].seconds() == before_s
    assert all(done.answered and done.took_s < 0.35 + 1.0 for done in silent)
    attempt(asking(clock, [0.4, 0.2]), timeouts, clock)
    assert timeouts[0].seconds() > 0.4


def test_it_never_falls_below_the_least():
    timeout = Observed(least_s=0.05)
    for _ in range(100):
        timeout.answered(0.001)
    assert timeout.seconds() == 0.05


def test_a_request_goes_on_to_the_next_coordinator():
    clock = Clock()
    done = attempt(asking(clock, [float("inf"), 0.2]), [Fixed(0.5), Fixed(0.5)], clock)
    assert done.answered
    assert done.took_s == pytest.approx(0.7)
    assert done.expired == ((0, 0.5),)


def test_a_fixed_time_out_below_the_distance_is_never_met():
    clock = Clock()
    done = attempt(asking(clock, [0.11, 0.19]), [Fixed(0.1), Fixed(0.1)], clock)
    assert not done.answered
    assert done.took_s == pytest.approx(MOST_S)
    assert {coordinator for coordinator, _ in done.expired} == {0, 1}


def test_one_set_at_run_time_grows_beyond_a_distance_that_grew():
    clock, timeouts = Clock(), [Observed(), Observed()]
    for _ in range(50):
        attempt(asking(clock, [0.11, 0.19]), timeouts, clock)
    assert timeouts[0].seconds() < 0.12
    farther = [attempt(asking(clock, [0.33, 0.57]), timeouts, clock) for _ in range(20)]
    assert farther[0].answered
    assert farther[0].expired
    assert not any(done.expired for done in farther[10:])
