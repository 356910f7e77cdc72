"""Faults as values: what is refused, and what holds of every schedule that is combined of them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassbook.core.errors import InputError
from cassbook.lab.experiments.faults.experiment import EVERY
from cassbook.profile.fault_schedule import Fault, Schedule, at_random, repeated, sequence, together
from cassbook.profile.faults import FaultsSection
from cassbook.records.faults import FaultRun

NODES = 4
SECONDS = st.floats(0.01, 50)
MEANS = st.floats(2, 9)
few = settings(max_examples=40, deadline=None)
KILL = Fault("kill", (1,), at_s=5, for_s=10)


@st.composite
def faults(draw):
    """Any fault whose end is known; of links or of processes."""
    kind = draw(st.sampled_from(["kill", "stop", "pause", "replace", "cut", "slow", "clock", "fill"]))
    size = {"slow": {"delay_ms": 20.0}, "clock": {"by_ms": -300.0}}.get(kind, {})
    nodes = draw(st.lists(st.integers(1, NODES), min_size=1, max_size=2, unique=True))
    return Fault(kind, tuple(nodes), draw(SECONDS), draw(SECONDS), **size)


@st.composite
def drawn(draw):
    kinds = draw(st.lists(st.sampled_from(["kill", "stop", "pause", "cut"]), min_size=1, unique=True))
    return at_random(
        draw(st.integers(0, 99)), kinds, range(1, NODES + 1), draw(MEANS), draw(MEANS), draw(st.floats(1, 20)),
        at_once=draw(st.integers(1, 3)),
    )  # fmt: skip


def combined(parts):
    """Combinations that are never refused: one after the other, and the same again after its end."""
    sequences = st.lists(parts, min_size=1, max_size=4).map(lambda several: sequence(*several))
    again = st.tuples(parts, st.integers(1, 3), SECONDS).map(
        lambda one: repeated(one[0], one[1], together(one[0]).end_s + one[2])
    )
    return sequences | again


schedules = st.recursive(faults() | drawn(), combined, max_leaves=4)


def held(schedule):
    """Of each node, from when to when its process is held."""
    own = [fault for fault in schedule.faults if not fault.of_links and not fault.by_itself]
    return {
        node: sorted((fault.at_s, fault.end_s) for fault in own if node in fault.nodes) for node in range(1, NODES + 1)
    }


@few
@given(schedules)
def test_orders_are_in_time_and_no_fault_holds_a_node_that_another_holds(part):
    schedule = together(part)
    orders = schedule.orders(NODES)
    assert all(one.at_s <= other.at_s + 1e-6 for one, other in pairwise(orders))
    assert len(orders) == 2 * len(schedule.faults)
    for number in range(1, len(schedule.faults) + 1):
        assert [order.begins for order in orders if order.number == number] == [True, False]
    for spans in held(schedule).values():
        assert all(end_s <= begins_s + 1e-6 for (_, end_s), (begins_s, _) in pairwise(spans))


@few
@given(schedules)
def test_a_node_is_let_go_before_it_is_struck_again(part):
    down = set()
    for order in together(part).orders(NODES):
        for node in () if order.fault.of_links else order.fault.nodes:
            assert (node in down) is not order.begins
            (down.add if order.begins else down.discard)(node)
    assert not down


@few
@given(st.lists(schedules, min_size=1, max_size=4))
def test_a_sequence_lasts_as_long_as_its_parts_and_each_waits_for_the_one_before(parts):
    whole = sequence(*parts)
    assert whole.end_s == pytest.approx(sum(together(part).end_s for part in parts))
    assert [fault.kind for fault in whole.faults] == [fault.kind for part in parts for fault in together(part).faults]
    behind = sequence(*parts, Fault("pause", (1,), for_s=1)).faults[-1]
    assert behind.at_s == pytest.approx(whole.end_s)


@few
@given(schedules, st.integers(1, 4), SECONDS)
def test_a_repetition_is_the_same_each_time(part, times, pause_s):
    schedule = together(part)
    every_s = schedule.end_s + pause_s
    again = repeated(part, times, every_s)
    count = len(schedule.faults)
    assert len(again.faults) == times * count
    for turn in range(times):
        assert again.faults[turn * count : (turn + 1) * count] == schedule.later(turn * every_s).faults


@few
@given(st.integers(0, 2**32), st.integers(1, 4), SECONDS)
def test_a_seed_repeats_what_is_drawn_of_which_never_too_many_strike_at_once(seed, at_once, for_s):
    kinds, nodes = ["kill", "pause", "cut"], range(1, 5)
    one, same, other = (at_random(s, kinds, nodes, 3.0, 2.0, for_s, at_once) for s in (seed, seed, seed + 1))
    assert one == same
    assert one != other or not one.faults
    assert one == at_random(np.random.default_rng(seed), kinds, nodes, 3.0, 2.0, for_s, at_once)
    assert all(0 < fault.at_s < fault.end_s < for_s + 1e-6 for fault in one.faults)
    assert one.end_s == pytest.approx(for_s), "what follows does not depend on what was drawn"
    down = 0
    for order in one.orders(4):
        down += 1 if order.begins else -1
        assert 0 <= down <= at_once


@few
@given(st.lists(schedules, min_size=1, max_size=3))
def test_a_schedule_that_python_made_is_one_that_yaml_can_say(parts):
    made = sequence(*parts)
    if not made.faults:
        return
    section = FaultsSection(settings=["ONE/ONE"], rate_per_s=1, events=made)
    again = FaultsSection.model_validate(section.model_dump(mode="json"))
    assert again == section
    seen = [(order.at_s, order.number, order.begins, order.fault.kind) for order in made.orders(NODES)]
    kept = again.orders(math.inf, NODES, np.random.default_rng(1))
    assert [(order.at_s, order.number, order.begins, order.fault.kind) for order in kept] == seen


def test_together_keeps_times_and_numbers_those_that_are_drawn_behind():
    random = at_random(1, ["pause"], [2], 1.0, 1.0, 9.0)
    made = together(Fault("cut", (2,)), random, KILL)
    assert made.numbered()[1].kind == "cut"
    assert made.numbered()[2] == KILL
    assert made.end_s == math.inf
    assert {fault.drawn for number, fault in made.numbered().items() if number > 2} == {True}


def test_links_may_be_struck_by_several_and_what_is_over_by_itself_holds_nothing():
    together(Fault("cut", (1,), for_s=9), Fault("slow", (1,), for_s=9, delay_ms=5.0), KILL)
    together(Fault("repair", (1,)), KILL)
    sequence(KILL, Fault("restart", (1, 2)))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Fault("explode", (1,)), "kind: there is no 'explode'; use one of kill, stop"),
        (lambda: Fault("kill", ()), "nodes: name one or more"),
        (lambda: Fault("kill", (1, 1)), r"nodes: .* each once, from 1; got \[1, 1\]"),
        (lambda: Fault("kill", (0,)), "nodes: "),
        (lambda: Fault("kill", (1,), at_s=-1), "at_s: -1 is before the load"),
        (lambda: Fault("kill", (1,), for_s=0), "for_s: 0 is no time above 0"),
        (lambda: Fault("repair", (1,), for_s=3), "repair lasts until it is done; leave for_s out"),
        (lambda: Fault("kill", (1,), to=(2,)), r"to and way are of links \(cut, slow\), not of kill"),
        (lambda: Fault("cut", (1,), way="up"), "way: got 'up'; use both, in or out"),
        (lambda: Fault("slow", (1,)), "delay_ms goes with slow"),
        (lambda: Fault("slow", (1,), delay_ms=6000), "delay_ms: got 6000; use up to 5000"),
        (lambda: Fault("clock", (1,)), "by_ms goes with clock, and is not 0"),
        (lambda: Fault("cut", (1, 2), to=(2,)), "node 2 is in nodes and in to"),
        (lambda: together(KILL, KILL), "kill at 5 s strikes node 1, which kill holds since 5 s"),
        (lambda: sequence(Fault("kill", (1,)), KILL), "sequence: nothing can follow kill, whose end is not known"),
        (lambda: sequence(Fault("restart", (1,)), KILL), "sequence: nothing can follow restart"),
        (lambda: repeated(KILL, 2, 10), "a for_s shorter than every_s"),
        (lambda: repeated(KILL, 0, 20), "times: got 0; use 1 or more"),
        (lambda: at_random(1, ["clock"], [1], 1, 1, 9), "clock cannot be drawn at random; use some of kill, stop"),
        (lambda: at_random(1, [], [1], 1, 1, 9), "none cannot be drawn at random"),
        (lambda: at_random(1, ["kill"], [1], 1, 0, 9), "down_s: got 0; use a number above 0"),
        (lambda: Schedule((KILL,)).check(15, 3), "kill at 15 s is behind the end, load.steady_s 15"),
    ],
)
def test_what_cannot_be_is_refused_by_the_name_of_the_field(make, said):
    with pytest.raises(InputError, match=said):
        make()


@pytest.mark.parametrize("record", ["faults-2.1.20", "faults-5.0.9", "fault-tables-2.1.20", "fault-tables-5.0.9"])
def test_what_was_recorded_is_what_the_recorded_profiles_order(record):
    run = FaultRun(record)
    assert run.results.manifest["experiment"] != "faults-all" or run.setups == list(EVERY), "as its order was drawn"
    seed, columns = run.results.manifest["seed"], ["number", "fault", "begins", "node", "at_s"]
    for place, setup in enumerate(run.setups):
        profile = run.profile(setup)
        section = FaultsSection.model_validate(profile["faults"])
        nodes = profile["cluster"]["nodes"]
        for start, struck in run.struck[run.struck["setup"] == setup].groupby("start"):
            rng = np.random.default_rng([seed, start, place])
            orders = section.orders(run.length_s(setup), nodes, rng)
            ordered = {
                (order.number, order.fault.kind, order.begins, node, order.at_s)
                for order in orders for node in order.fault.nodes
            }  # fmt: skip
            ordered |= {
                (order.number, order.fault.kind, False, node, order.at_s)
                for order in orders if order.fault.by_itself for node in order.fault.nodes
            }  # fmt: skip
            assert set(struck[columns].itertuples(index=False, name=None)) <= ordered
            assert len(struck) >= len(ordered) / 2
