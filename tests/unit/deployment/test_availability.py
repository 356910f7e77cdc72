"""How likely enough replicas are up, against enumeration and closed forms."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassbook.core.errors import InputError
from cassbook.deployment.availability import at_least, of_level, of_node, survives
from cassbook.deployment.distances import placed, printed
from cassbook.deployment.model import Model
from cassbook.deployment.notation import parse

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=6)
TWO_CENTRES = "{[C], ([R1..R6]}, {R7..R12})"


@settings(max_examples=60, deadline=None)
@given(PROBABILITIES, st.integers(0, 7))
def test_it_is_the_sum_over_all_states_with_enough_nodes_up(up, k):
    total = 0.0
    for states in product((True, False), repeat=len(up)):
        chance = 1.0
        for a, is_up in zip(up, states, strict=True):
            chance *= a if is_up else 1 - a
        total += chance * (sum(states) >= k)
    assert at_least(k, up) == pytest.approx(total, abs=1e-12)


def test_the_levels_of_three_replicas_have_their_closed_forms():
    a = 0.99
    nodes = {"one": [a] * 3}
    assert of_level("ONE", nodes) == pytest.approx(1 - (1 - a) ** 3)
    assert of_level("QUORUM", nodes) == pytest.approx(3 * a**2 - 2 * a**3)
    assert of_level("ALL", nodes) == pytest.approx(a**3)
    assert of_level("ANY", nodes) == pytest.approx(1)


def test_local_levels_know_no_other_centre_and_each_quorum_needs_all():
    centres = {"eu": [0.9] * 3, "us": [0.5] * 3}
    quorum = {name: 3 * a**2 - 2 * a**3 for name, a in (("eu", 0.9), ("us", 0.5))}
    assert of_level("LOCAL_QUORUM", centres) == pytest.approx(quorum["eu"])
    assert of_level("LOCAL_QUORUM", centres, "us") == pytest.approx(quorum["us"])
    assert of_level("LOCAL_ONE", centres, "us") == pytest.approx(1 - 0.5**3)
    assert of_level("EACH_QUORUM", centres) == pytest.approx(quorum["eu"] * quorum["us"])
    assert of_level("QUORUM", centres) == pytest.approx(at_least(4, [0.9] * 3 + [0.5] * 3))


def test_a_centre_that_fails_takes_all_its_nodes_with_it():
    """Nodes that never fail by themselves: two of three centres make a quorum of nine replicas."""
    centres = {name: [1.0] * 3 for name in "abc"}
    up = dict.fromkeys("abc", 0.9)
    assert of_level("QUORUM", centres, centre_up=up) == pytest.approx(at_least(2, [0.9] * 3))
    assert of_level("LOCAL_QUORUM", centres, centre_up=up) == pytest.approx(0.9)
    assert of_level("EACH_QUORUM", centres, centre_up=up) == pytest.approx(0.9**3)
    assert of_level("ONE", centres, centre_up=up) == pytest.approx(1 - 0.1**3)


def test_repair_takes_its_part_of_the_time():
    assert of_node(99, 1) == pytest.approx(0.99)
    assert of_node(5, 0) == 1


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: of_node(0, 1), "up for 0 s and repaired in 1 s"),
        (lambda: at_least(1, [1.2]), r"1\.2 is no probability"),
        (lambda: of_level("ONE", {"eu": [1.0]}, "us"), "no data centre 'us'; there are eu"),
        (lambda: of_level("ONE", {"eu": [1.0]}, centre_up={"us": 1.0}), "no data centre 'us'"),
    ],
)
def test_what_cannot_be_is_refused(ask, said):
    with pytest.raises(InputError, match=said):
        ask()


def model(notation, level, replication, names=("us_west_2", "ca_central_1")):
    placement = placed(parse(notation), list(names), printed())
    if isinstance(replication, dict):
        replication = dict(zip(placement.data_centres(), replication.values(), strict=True))
    return Model(placement, level, replication=replication)


@pytest.mark.parametrize(
    ("level", "replication", "dead"),
    [
        ("QUORUM", {"a": 3, "b": 3}, 2),  # 4 of 6 are waited for
        ("LOCAL_QUORUM", {"a": 3, "b": 3}, 1),  # 2 of 3 in the coordinator's centre
        ("LOCAL_QUORUM", {"a": 5, "b": 3}, 2),
        ("LOCAL_ONE", {"a": 3, "b": 1}, 2),
        ("EACH_QUORUM", {"a": 5, "b": 3}, 1),  # the smaller centre decides
        ("EACH_QUORUM", {"a": 5, "b": 2}, 0),
        ("ALL", {"a": 3, "b": 3}, 0),
        ("ONE", {"a": 3, "b": 3}, 5),
        ("QUORUM", 3, 1),
        ("EACH_QUORUM", 3, 1),  # no data centres: 2 of 3
        ("QUORUM", 12, 5),
        ("LOCAL_QUORUM", 12, 2),  # every node: 4 of 6 in the coordinator's centre
    ],
)
def test_a_level_survives_the_replicas_it_does_not_wait_for(level, replication, dead):
    assert survives(model(TWO_CENTRES, level, replication)) == dead


def test_rows_with_too_few_replicas_near_the_coordinator_survive_less_than_none():
    """Of four replicas in the ring R1 to R4, two near, LOCAL_QUORUM wants three near; some rows have one."""
    few = model("{C, ([R1..R3]}, {R4, R5})", "LOCAL_QUORUM", 4)
    assert survives(few) < 0
