"""Whether a backlog grows: on queues made by Lindley's recursion, of which it is known."""

import numpy as np
import pytest
from scipy import stats

from cassbook.latency.backlog import backlog

PER_S, LENGTH_S, LEAD_IN_S = 3000.0, 20.0, 2.0
_SEEDS = 100


def queue(utilisation, seed, capacity_per_s=PER_S, exponential=True):
    """When requests of a queue with one server are due, and when each is answered; from the lead-in on, at 0."""
    rng = np.random.default_rng([seed, round(utilisation * 1000)])
    rate_per_s = utilisation * capacity_per_s
    count = int((LENGTH_S + LEAD_IN_S) * rate_per_s * 1.1) + 100
    due_s = np.cumsum(rng.exponential(1 / rate_per_s, count))
    due_s = due_s[due_s < LENGTH_S + LEAD_IN_S]
    service_s = (rng.exponential(size=len(due_s)) if exponential else np.ones(len(due_s))) / capacity_per_s
    done_s = np.cumsum(service_s)
    answered_s = done_s + np.maximum.accumulate(due_s - (done_s - service_s))
    return due_s, answered_s


def looked_at(utilisation, seed, **changes):
    return backlog(*queue(utilisation, seed, **changes), 0, LEAD_IN_S, LEAD_IN_S + LENGTH_S)


@pytest.mark.parametrize("capacity_per_s", [300.0, 3000.0])
@pytest.mark.parametrize("utilisation", [0.3, 0.6, 0.8, 0.9])
def test_a_stable_queue_has_no_trend(utilisation, capacity_per_s):
    alarms = sum(looked_at(utilisation, seed, capacity_per_s=capacity_per_s).grows for seed in range(_SEEDS))
    assert alarms < 0.05 * _SEEDS


@pytest.mark.parametrize("exponential", [True, False])
@pytest.mark.parametrize("utilisation", [1.03, 1.1, 1.5, 3.0])
def test_an_overloaded_one_has(utilisation, exponential):
    found = [looked_at(utilisation, seed, exponential=exponential) for seed in range(_SEEDS)]
    assert sum(one.grows for one in found) > 0.95 * _SEEDS
    mean = np.mean([one.growth_share for one in found])
    assert mean == pytest.approx(1 - 1 / utilisation, rel=0.15)
    assert np.mean([one.answered_per_s for one in found]) == pytest.approx(PER_S, rel=0.01)


def test_what_is_answered_at_a_rate_that_is_carried_is_the_rate():
    answered_per_s = looked_at(0.5, 1).answered_per_s
    assert abs(answered_per_s - 0.5 * PER_S) < stats.norm.isf(5e-4) * np.sqrt(0.5 * PER_S / (LENGTH_S / 2))


@pytest.mark.parametrize("sent", [0.0, 0.3, 0.7])
def test_what_was_never_sent_is_backlog(sent):
    due_s, answered_s = queue(0.5, 2)
    leaves = due_s < LEAD_IN_S + sent * LENGTH_S
    unsent = np.count_nonzero(~leaves)
    found = backlog(due_s[leaves], answered_s[leaves], unsent, LEAD_IN_S, LEAD_IN_S + LENGTH_S)
    assert found.grows
    assert not backlog(due_s, answered_s, 0, LEAD_IN_S, LEAD_IN_S + LENGTH_S).grows


def test_a_few_that_found_no_slot_are_no_trend():
    due_s, answered_s = queue(0.5, 3)
    assert not backlog(due_s[:-5], answered_s[:-5], 5, LEAD_IN_S, LEAD_IN_S + LENGTH_S).grows


def test_silence_is_a_backlog_and_nothing_due_is_none():
    due_s, _ = queue(0.5, 4)
    silent = backlog(due_s, np.full(len(due_s), 1e9), 0, LEAD_IN_S, LEAD_IN_S + LENGTH_S)
    assert (silent.grows, silent.answered_per_s) == (True, 0)
    assert not backlog(np.array([]), np.array([]), 0, 0.0, LENGTH_S).grows
    assert backlog(np.array([]), np.array([]), 100, 0.0, LENGTH_S).grows


def test_order_does_not_matter():
    due_s, answered_s = queue(0.9, 5)
    mixed = np.random.default_rng(5).permutation(len(due_s))
    assert backlog(due_s[mixed], answered_s[mixed], 0, 2.0, 22.0) == backlog(due_s, answered_s, 0, 2.0, 22.0)
