"""How many replicas are alive, by what requests that fail and the driver say."""

import pytest
from cassandra import OperationTimedOut, ReadTimeout, Unavailable, WriteTimeout

from cassbook_advisor.escapes import Escapes
from cassbook_advisor.health import Health
from cassbook_advisor.regime import Regime
from cassbook_advisor.register import Epoch


class Clock:
    now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def health(clock):
    health = Health(3, clock)
    assert health.alive(0, 3) == 3
    return health


def unavailable(alive, required=3):
    return Unavailable("x", required_replicas=required, alive_replicas=alive)


def write_timeout(received, required=3):
    return WriteTimeout("x", write_type=0, required_responses=required, received_responses=received)


def test_a_coordinators_word_is_enough_and_is_forgotten(health, clock):
    assert health.failed(unavailable(2))
    assert health.alive(0, 3) == 2
    assert health.failed(unavailable(1))
    assert health.alive(0, 3) == 1
    clock.now_s += 5.1
    assert health.alive(0, 3) == 3


def test_time_outs_count_where_there_are_several(health):
    for _ in range(2):
        assert health.failed(write_timeout(2))
        assert health.alive(0, 3) == 3
    health.failed(write_timeout(1))  # one that is slow besides
    assert health.alive(0, 3) == 2


def test_a_time_out_is_enough_where_the_driver_misses_a_node(health):
    assert health.alive(1, 3) == 3  # for a moment
    health.failed(ReadTimeout("x", required_responses=3, received_responses=2))
    assert health.alive(1, 3) == 2


def test_a_node_that_is_missed_for_long_enough_counts_without_a_failure(health, clock):
    assert health.alive(1, 3) == 3
    clock.now_s += 1.9
    assert health.alive(1, 3) == 3
    clock.now_s += 0.1
    assert health.alive(1, 3) == 2
    assert health.alive(0, 3) == 3  # back
    assert health.alive(1, 3) == 3  # missed anew


def test_a_node_that_is_missed_from_the_beginning_counts_at_once(clock):
    assert Health(3, clock).alive(1, 3) == 2


def test_in_a_larger_cluster_a_row_has_lost_one_replica_and_perhaps_not_more(clock):
    health = Health(3, clock)
    assert health.alive(4, 12) == 2
    health.failed(unavailable(0))
    assert health.alive(4, 12) == 0
    assert Health(3, clock).alive(3, 3) == 0


@pytest.mark.parametrize(
    "error", [OperationTimedOut(), ValueError("x"), None, Unavailable("x"), write_timeout(3), write_timeout(None)]
)
def test_what_tells_nothing_of_replicas_is_no_evidence(health, error):
    assert not health.failed(error)
    for _ in range(5):
        health.failed(error)
    assert health.alive(0, 3) == 3


@pytest.mark.parametrize(
    ("regime", "wanted", "others", "hurries"),
    [
        (Regime.settled(3, 1, 3), (1, 3), [3, None], False),
        (Regime.settled(3, 1, 3), (1, 3), [2], True),  # another knows of a dead replica: the way out is about to begin
        (Regime.settled(3, 2, 2), (2, 2), [2], False),  # nothing to leave
        (Regime.settled(3, 2, 2), (2, 2), [1], False),  # and here no way out
        (Regime.settled(3, 3, 1), (3, 1), [2], False),
        (Regime(3, 3, 3, 1), (3, 3), [2], True),  # writes may be lowered
        (Regime(3, 2, 3, 3), (2, 2), [2], True),  # on the way
        (Regime(3, 2, 3, 3), (2, 2), [3], False),
    ],
)
def test_a_member_looks_oftener_while_a_step_out_of_a_failing_setting_is_due(clock, regime, wanted, others, hurries):
    escapes = Escapes(3, (1, 1), clock)
    assert escapes.hurries(Epoch(4, regime, wanted), others) is hurries


@pytest.mark.parametrize(
    ("regime", "wanted", "alive", "to", "reason"),
    [
        (Regime.settled(3, 1, 3), (1, 3), 2, (2, 2), "to 2R-2W: 2 of 3 replicas are alive, too few for 1R-3W"),
        # Before the sweep of a switch out of 3R-1W: reads stay, writes are lowered, or go on towards what is wanted.
        (Regime(3, 3, 3, 1), (1, 3), 2, (3, 2), "too few for 1R-3W; reads have no safe way out until more are back, "
         "writes go on in 3R-2W"),
        (Regime(3, 3, 3, 1), (1, 3), 1, (3, 1), "writes go on in 3R-1W"),
        (Regime(3, 3, 2, 1), (2, 2), 2, None, "too few for 3R-2W; reads have no safe way out until more are back, "
         "writes go on in 3R-2W"),
        (Regime.settled(3, 3, 1), (3, 1), 2, None, "writes go on in 3R-1W"),
        (Regime.settled(3, 2, 2), (2, 2), 1, None, "too few for 2R-2W; there is no safe way out until more are back"),
        (Regime.settled(3, 1, 3), (1, 3), 1, None, "too few for 1R-3W; there is no safe way out until more are back"),
    ],
)  # fmt: skip
def test_a_way_out_says_what_goes_on(clock, regime, wanted, alive, to, reason):
    way = Escapes(3, (1, 1), clock).way(Epoch(4, regime, wanted), [alive])
    assert way.to == to
    assert reason in way.reason


def test_what_was_left_first_is_gone_back_to_however_often_it_was_left_on_the_way(clock):
    escapes = Escapes(3, (1, 1), clock)
    before_the_sweep = Regime(3, 3, 3, 1)
    assert escapes.way(Epoch(4, before_the_sweep, (1, 3)), [2]).to == (3, 2)
    assert escapes.way(Epoch(5, Regime(3, 3, 2, 1), (3, 2)), [1]).to == (3, 1)
    assert escapes.back(0.0) == (1, 3)
    assert escapes.back(0.0) is None
