"""What the model says of deployments whose answer is known."""

from dataclasses import replace

import pytest

from cassbook.core.errors import InputError
from cassbook.deployment.distances import Distances, placed
from cassbook.deployment.link import Link
from cassbook.deployment.model import Model, table
from cassbook.deployment.notation import parse

D = parse("{C}, ({R1}, {R2}, {R3})")


def known(client_ms=(20.0, 30.0, 40.0), between_ms=(100.0, 160.0, 200.0)):
    """Round trips from the client to R1, R2, R3; and 1-2, 1-3, 2-3."""
    pairs = {("c", "r1"): client_ms[0], ("c", "r2"): client_ms[1], ("c", "r3"): client_ms[2]}
    pairs |= {("r1", "r2"): between_ms[0], ("r1", "r3"): between_ms[1], ("r2", "r3"): between_ms[2]}
    links = {pair: Link(ms / 2) for pair, ms in pairs.items()}
    return Distances("known", links | {(b, a): link for (a, b), link in links.items()})


def placement(distances=None):
    return placed(D, ("c", "r1", "r2", "r3"), distances or known())


@pytest.mark.parametrize(
    ("level", "alone_ms"), [("ONE", 20), ("TWO", 120), ("QUORUM", 120), ("THREE", 180), ("ALL", 180)]
)
def test_a_level_waits_for_the_kth_nearest_replica(level, alone_ms):
    assert Model(placement(), level).alone_ms() == pytest.approx(alone_ms)
    assert Model(placement(), level, service_ms=5).alone_ms() == pytest.approx(alone_ms + 5)


def test_coordinators_that_take_turns_are_each_at_their_own_distance():
    # R1: 20 + 100; R2: 30 + 100; R3: 40 + 160
    assert Model(placement(), "QUORUM", "round_robin").alone_ms() == pytest.approx((120 + 130 + 200) / 3)
    assert Model(placement(), "QUORUM", "R3").alone_ms() == pytest.approx(200)


def test_a_coordinator_holds_so_many_requests_and_no_more():
    model = Model(placement(), "QUORUM")
    assert model.latency_ms(128) == pytest.approx(120)  # 100 of them at the coordinator
    assert model.latency_ms(1000) == pytest.approx(1000 * 100 / 128)
    assert model.throughput_per_s(1000) == pytest.approx(1280)
    assert replace(model, in_flight=512).latency_ms(1000) == pytest.approx(1000 * 100 / 512)


def test_processors_are_a_bound_of_their_own():
    model = Model(placement(), "ONE", most_per_s=5000)
    assert model.latency_ms(50) == pytest.approx(20)
    assert model.latency_ms(1000) == pytest.approx(200)
    assert list(table([model], [50, 1000])["bound"]) == ["distance", "processors"]


def test_levels_of_data_centres():
    two = parse("{C, (R1, R2, R3}, {R4, R5, R6})")
    links = {("x", "y"): Link(50), ("y", "x"): Link(50), ("x", "x"): Link(1), ("y", "y"): Link(1)}
    there = placed(two, ("x", "y"), Distances("two", links, same_zone=Link(0.5)))
    alone = {
        level: Model(there, level, "R1", replication=6).alone_ms()
        for level in ("LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM", "QUORUM")
    }
    assert alone["LOCAL_ONE"] == pytest.approx(1)
    assert alone["LOCAL_QUORUM"] == pytest.approx(2)
    assert alone["EACH_QUORUM"] == pytest.approx(101)
    assert alone["QUORUM"] == pytest.approx(101)  # four of six


def test_the_nodes_of_the_nearest_region_take_turns():
    deployment = parse("{C}, ({[R1, R2]}, {R3})")
    there = placed(deployment, ("c", "r1", "r2"), known())
    assert [way.coordinator for way in Model(there, "ONE").ways()] == ["R1", "R2"]
    assert [way.coordinator for way in Model(there, "ONE", "nearest").ways()] == ["R1"]


def test_rows_on_some_nodes_only_are_met_where_they_are():
    # with one replica, a third of the rows is at the coordinator, the rest 100 and 160 ms away
    assert Model(placement(), "ONE", "R1", replication=1).alone_ms() == pytest.approx(20 + 260 / 3)


def test_jitter_makes_the_faster_of_two_faster_than_either():
    links = {pair: replace(link, jitter_ms=10.0) for pair, link in known(between_ms=(100, 100, 200)).links.items()}
    jittery = Model(placement(Distances("jittery", links)), "QUORUM", "R1").alone_ms()
    assert 110 < jittery < 119  # the mean of the lesser of two sums of two uniforms, about 6 ms below


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": "SOME"}, "level: 'SOME' is unknown"),
        ({"policy": "R9"}, "policy: 'R9' is unknown"),
        ({"replication": 4}, "4 replicas do not fit on 3 nodes"),
        ({"level": "THREE", "replication": 2}, "waits for 3 replicas, 2 are there"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        Model(**({"placement": placement(), "level": "ONE"} | change))
