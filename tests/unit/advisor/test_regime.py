"""The rule for levels in force together, by exhaustion: there are few regimes of three and of five replicas."""

from itertools import pairwise, permutations, product

import pytest

from cassbook_advisor.errors import InputError
from cassbook_advisor.regime import (
    Regime,
    Step,
    bound_by_others,
    breaks,
    escape,
    lower_writes,
    may_follow,
    safe_together,
    transition,
)


def strong(n):
    return [(r, w) for r, w in product(range(1, n + 1), repeat=2) if r + w > n]


def regimes(n):
    safe = []
    for r, w, f in product(range(1, n + 1), repeat=3):
        try:
            safe.append(Regime(n, r, w, f))
        except InputError:
            continue
    return safe


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_every_transition_arrives_by_safe_steps(n):
    for now, wanted in product(regimes(n), strong(n)):
        steps = transition(now, *wanted)
        on_the_way = [now, *(regime for _, regime in steps)]
        end = on_the_way[-1]
        assert (end.reads, end.writes) == wanted
        for (before, after), (step, _) in zip(pairwise(on_the_way), steps, strict=True):
            assert may_follow(before, after, swept=step is Step.SETTLE), (now, wanted, step)
            # read and write levels never change in one step: the others could not tell which to wait for
            assert (before.reads == after.reads) or (before.writes == after.writes)
        assert [s for s, _ in steps].count(Step.SETTLE) <= 1


def chains(n, length):
    """Regimes in a row, each with whether a sweep lies before it, over transitions to any strong settings."""
    for first, *wanted in product([Regime.settled(n, *s) for s in strong(n)], *[strong(n)] * length):
        chain = [(first, False)]
        for setting in wanted:
            steps = transition(chain[-1][0], *setting)
            chain += [(regime, step is Step.SETTLE) for step, regime in steps]
        yield chain


@pytest.mark.parametrize(("n", "length"), [(2, 3), (3, 3), (4, 2)])
def test_a_read_meets_every_write_of_any_history(n, length):
    """A read in regime i and a write in any regime up to the next, which a sweep after its end put on all replicas."""
    for chain in chains(n, length):
        swept_in = [place - 1 for place, (_, swept) in enumerate(chain) if swept]
        for i, (reading, _) in enumerate(chain):
            for j, (writing, _) in enumerate(chain[: i + 2]):
                on_all = any(j < k < i for k in swept_in)
                assert reading.reads + (n if on_all else writing.writes) > n, (chain, i, j)


def test_the_steps_of_the_papers_settings():
    def names(now, wanted):
        return [(step.value, regime.name) for step, regime in transition(Regime.settled(3, *now), *wanted)]

    assert names((3, 1), (1, 3)) == [("change writes", "3R-3W"), ("settle", "3R-3W"), ("lower reads", "1R-3W")]
    assert names((1, 3), (3, 1)) == [("raise reads", "3R-3W"), ("change writes", "3R-1W")]
    assert names((2, 2), (1, 3)) == [("change writes", "2R-3W"), ("settle", "2R-3W"), ("lower reads", "1R-3W")]
    assert names((1, 3), (2, 2)) == [("raise reads", "2R-3W"), ("change writes", "2R-2W")]
    assert names((2, 2), (3, 1)) == [("raise reads", "3R-2W"), ("change writes", "3R-1W")]
    assert names((3, 1), (2, 2)) == [("change writes", "3R-2W"), ("settle", "3R-2W"), ("lower reads", "2R-2W")]
    assert names((2, 2), (2, 2)) == []


def test_what_the_papers_rule_breaks_between_its_settings():
    settings = [(1, 3), (2, 2), (3, 1)]
    broken = {(a, b): breaks(a, b, 3) for a, b in permutations(settings, 2)}
    assert broken == {
        ((3, 1), (1, 3)): ["old writes"],
        ((3, 1), (2, 2)): ["old writes"],
        ((2, 2), (1, 3)): ["old writes"],
        ((1, 3), (3, 1)): ["other clients"],
        ((1, 3), (2, 2)): ["other clients"],
        ((2, 2), (3, 1)): ["other clients"],
    }


def test_between_wider_settings_there_are_safe_switches():
    assert breaks((2, 3), (1, 3), 3) == []
    assert breaks((3, 3), (2, 2), 3) == []


@pytest.mark.parametrize(
    ("levels", "wrong"),
    [
        ((1, 3, 2), "can miss a write"),
        ((3, 1, 2), "no write is on 2"),
        ((4, 1, 1), "not from 1 to 3"),
        ((0, 3, 3), "reads 0"),
    ],
)
def test_an_unsafe_regime_cannot_be_made(levels, wrong):
    with pytest.raises(InputError, match=wrong):
        Regime(3, *levels)


def test_all_at_all_is_safe_beside_everything():
    safest = Regime(3, 3, 3, 1)
    for other in regimes(3):
        assert safe_together(safest, other)
        assert safe_together(other, safest)


def test_a_floor_does_not_rise_by_itself():
    before = Regime(3, 3, 3, 1)
    after = Regime(3, 3, 3, 3)
    assert not may_follow(before, after)
    assert may_follow(before, after, swept=True)


def test_clients_outside_the_register_bound_both_levels():
    assert bound_by_others(3, []) == (1, 1)
    assert bound_by_others(3, [(2, 2)]) == (2, 2)
    assert bound_by_others(3, [(1, 3), (3, 3)]) == (1, 3)


def reachable_without_a_sweep(start, least=(1, 1)):
    """Every regime to which some row of safe steps leads, none of which is a sweep."""
    everything = [one for one in regimes(start.replicas) if one.reads >= least[0] and one.writes >= least[1]]
    found, left = {start}, [start]
    while left:
        now = left.pop()
        for following in everything:
            if following not in found and may_follow(now, following):
                found.add(following)
                left.append(following)
    return found


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_there_is_an_escape_exactly_where_any_safe_row_of_steps_leads_to_what_the_living_can_serve(n):
    for start, alive in product(regimes(n), range(n + 1)):
        to = escape(start, alive)
        possible = {
            (one.reads, one.writes) for one in reachable_without_a_sweep(start) if max(one.reads, one.writes) <= alive
        }
        assert (to is not None) == bool(possible), (start, alive)
        if to is not None:
            assert to in possible
            assert max(to) == min(map(max, possible))
            assert Step.SETTLE not in [step for step, _ in transition(start, *to)]


def test_the_escapes_from_the_papers_settings():
    one, two, three = (Regime.settled(3, *levels) for levels in ((1, 3), (2, 2), (3, 1)))
    assert [escape(one, alive) for alive in (3, 2, 1, 0)] == [(2, 2), (2, 2), None, None]
    assert escape(two, 2) == (2, 2)
    assert escape(two, 1) is None
    # An acknowledged write may be on the dead replica alone: reads of the two others would miss it.
    assert escape(three, 2) is None
    # On the way from 3R-1W to 1R-3W, before the sweep: the same.
    assert escape(Regime(3, 3, 3, 1), 2) is None
    # Behind the sweep all is on three.
    assert escape(Regime(3, 3, 3, 3), 2) == (2, 2)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_writes_are_lowered_by_safe_steps_and_only_where_the_living_can_serve_them(n):
    for now, alive in product(regimes(n), range(n + 1)):
        to = lower_writes(now, alive)
        if to is not None:
            assert to[0] == now.reads
            assert now.replicas - now.reads < to[1] <= min(alive, now.writes)
            assert {step for step, _ in transition(now, *to)} <= {Step.CHANGE_WRITES}
        else:
            assert min(alive, now.writes) + now.reads <= n


def test_lowered_writes_have_levels_and_meet_clients_outside_the_register():
    assert lower_writes(Regime(3, 3, 3, 1), 2) == (3, 2)
    assert lower_writes(Regime(5, 4, 5, 2), 4, known=(1, 2, 3, 5)) == (5, 3)
    assert lower_writes(Regime(3, 3, 3, 1), 1, least=(1, 2)) is None


def test_escapes_go_to_levels_that_there_are_and_meet_clients_outside_the_register():
    start = Regime.settled(5, 1, 5)
    assert escape(start, 4) == (3, 3)
    assert escape(start, 4, known=(1, 2, 3, 5)) == (3, 3)
    assert escape(start, 4, least=(2, 4)) == (2, 4)
    assert escape(start, 4, least=(2, 4), known=(1, 2, 3, 5)) is None
