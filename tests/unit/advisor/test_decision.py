"""Limits held against settings: what passes, fails and is not known, who wins, and what would change that."""

import numpy as np
import pytest

from cassbook.advisor.decision import (
    FAIL,
    FOUND,
    NONE,
    NOT_KNOWN,
    PASS,
    RESPONSE,
    STALE,
    SURVIVE,
    UNKNOWN,
    Limits,
    Live,
    Predicted,
    changes,
    decide,
)
from cassbook.advisor.freshness import of_run
from cassbook.core.errors import InputError
from cassbook.core.estimate import ERROR, Estimate
from cassbook.latency.open_choices import Mix
from cassbook.latency.open_loads import OpenLoads
from tests.helpers.open_curves import curves, not_carried

HALF = Mix(0.5)
ANY = {"stale": 1.0, "after_ms": 0.0}


@pytest.fixture(scope="module")
def probed():
    return of_run("stale-three-5.0.9")


def advice_of(share=0.4, bound_ms=6.0, survive=1, **how):
    loads = OpenLoads(curves(**how), "mine", 3, "p99")
    return loads.advise(HALF, of_capacity=share, bound_ms=bound_ms, survive=survive)


def levels(option):
    return f"{option.choice.setting.read_cl}/{option.choice.setting.write_cl}"


def held_by(decision, name, limit):
    (held,) = (option.held[limit] for option in decision.options if levels(option) == name)
    return held


def verdicts(decision):
    return {levels(option): {limit: held.verdict for limit, held in option.held.items()} for option in decision.options}


def noisy(factors):
    """Change a setting's percentile from block to block."""
    return lambda row: {"response_p99_us": row["response_p99_us"] * factors[row["block"]]}


def test_the_fastest_setting_that_meets_all_limits_wins():
    found = decide(advice_of(), Limits(bound_ms=6.0))
    assert verdicts(found) == {
        "QUORUM/QUORUM": {RESPONSE: PASS, SURVIVE: PASS, STALE: PASS},
        "ONE/ALL": {RESPONSE: PASS, SURVIVE: FAIL, STALE: PASS},
        "ONE/ONE": {RESPONSE: PASS, SURVIVE: PASS, STALE: FAIL},
    }
    assert found.winner is not None
    assert found.winner.choice.setting.name == "2R-2W"
    assert found.outcome == FOUND
    assert found.options[0] is found.winner


def test_without_a_dead_replica_to_survive_and_with_any_staleness_the_fastest_wins(probed):
    found = decide(advice_of(survive=0), Limits(bound_ms=6.0, survive=0, **ANY), probed)
    assert found.winner.choice.setting.name == "ONE/ONE"


def test_none_says_which_limit_hurts_and_what_comes_nearest():
    found = decide(advice_of(bound_ms=0.5), Limits(bound_ms=0.5))
    assert (found.winner, found.outcome) == (None, NONE)
    limit, nearest = found.hurting
    assert limit == RESPONSE
    assert nearest.choice.setting.name in {"2R-2W", "ONE/ONE"}
    nothing = decide(advice_of(survive=3), Limits(bound_ms=6.0, survive=3))
    assert nothing.hurting[0] == SURVIVE


def test_an_interval_that_holds_the_bound_is_not_known_and_says_how_many_starts_would_tell():
    stats = advice_of(changes=noisy((1.0, 1.6, 0.6)), bound_ms=4.0)
    found = decide(stats, Limits(bound_ms=4.0))
    held = held_by(found, "QUORUM/QUORUM", RESPONSE)
    assert held.verdict == UNKNOWN
    assert held.figure.low < 4.0 < held.figure.high
    assert held.lacking.startswith("about ")
    assert held.lacking.endswith(" cluster starts, of 3")
    assert found.outcome == NOT_KNOWN


def test_few_starts_decide_nothing():
    found = decide(advice_of(scales=(1.0, 1.1)), Limits(bound_ms=600.0))
    held = found.options[0].held[RESPONSE]
    assert (held.verdict, held.lacking) == (UNKNOWN, "3 cluster starts at least, of 2")


def test_what_is_not_carried_fails_and_what_some_starts_do_not_carry_is_not_known():
    for above_per_s, expected in ((1000.0, FAIL), (1650.0, UNKNOWN)):
        stats = advice_of(0.8, changes=not_carried("ONE/ALL", above_per_s), survive=0)
        found = decide(stats, Limits(bound_ms=90.0, survive=0))
        assert verdicts(found)["ONE/ALL"][RESPONSE] == expected


def test_the_error_is_shared_by_all_that_is_shown(probed):
    stats = advice_of(changes=noisy((1.0, 1.2, 0.9)))
    assert decide(stats, Limits(bound_ms=6.0)).error == pytest.approx(ERROR / 3)  # three response times
    many = decide(stats, Limits(bound_ms=6.0, survive=0, stale=1e-3, after_ms=100), probed)
    assert many.error == pytest.approx(ERROR / 4)  # and the staleness of ONE/ONE
    narrow = held_by(decide(stats, Limits(bound_ms=6.0)), "QUORUM/QUORUM", RESPONSE)
    assert held_by(many, "QUORUM/QUORUM", RESPONSE).figure.high > narrow.figure.high


def test_bounds_hold_together_as_often_as_is_said():
    """A setting just on its bound rarely gets a verdict: each would be wrong."""
    random, wrong = np.random.default_rng(7), 0
    for _ in range(100):
        factors = np.exp(random.normal(0, 0.2, 7))
        factors /= np.exp(np.log(factors).mean() - random.normal(0, 0.2 / np.sqrt(7)))
        stats = advice_of(scales=(1.0,) * 7, changes=noisy(factors))
        truth = next(option for option in stats.choices if option.setting.name == "2R-2W")
        bound = truth.response_us.value / 1e3 / np.exp(np.log(factors).mean())
        verdict = verdicts(decide(stats, Limits(bound_ms=bound)))["QUORUM/QUORUM"][RESPONSE]
        wrong += verdict != UNKNOWN
    assert wrong / 100 <= ERROR


def test_staleness_is_judged_by_counts_and_says_how_many_reads_are_lacking(probed):
    stats = advice_of()
    passed = held_by(decide(stats, Limits(bound_ms=6.0, stale=0.9, after_ms=250.0), probed), "ONE/ONE", STALE)
    assert (passed.verdict, passed.source) == (PASS, "counted by the probe")
    tight = held_by(decide(stats, Limits(bound_ms=6.0, stale=1e-3, after_ms=250.0), probed), "ONE/ONE", STALE)
    assert tight.verdict == FAIL or tight.lacking.startswith("about ")
    at_once = decide(stats, Limits(bound_ms=6.0, stale=1e-4, after_ms=0.0), probed)
    assert verdicts(at_once)["ONE/ONE"][STALE] == FAIL
    unknown = decide(stats, Limits(bound_ms=6.0, stale=1e-4, after_ms=0.0))
    assert verdicts(unknown)["ONE/ONE"][STALE] == UNKNOWN


def test_a_figure_near_its_limit_is_marked():
    stats = advice_of()
    quorum = next(choice for choice in stats.choices if choice.setting.name == "2R-2W").response_us.value / 1e3
    near = decide(stats, Limits(bound_ms=quorum * 1.2))
    far = decide(stats, Limits(bound_ms=quorum * 1.3))
    assert [found.options[0].held[RESPONSE].near for found in (near, far)] == [True, False]


def test_what_would_change_the_answer_names_other_winners_alone(probed):
    stats = advice_of()
    found = decide(stats, Limits(bound_ms=6.0))
    said = dict(changes([("at 0.2 of capacity", advice_of(0.2))], found))
    assert "at 0.2 of capacity" not in said  # the same
    assert said["with 2 dead replicas to survive"].winner is None
    any_staleness = decide(stats, Limits(bound_ms=6.0, **ANY), probed)
    assert any_staleness.winner.choice.setting.name == "ONE/ONE"
    said = dict(changes([], any_staleness, probed))
    assert said["where no read may be stale"].winner.choice.setting.name == "2R-2W"


def test_other_limits_are_held_against_the_same_intervals_and_other_loads_share_an_error_of_their_own():
    found = decide(advice_of(bound_ms=3.5), Limits(bound_ms=3.5))
    others = [("lighter", advice_of(0.2)), ("heavier", advice_of(0.8, bound_ms=3.5))]
    said = dict(changes(others, found))
    assert said["heavier"].error == pytest.approx(ERROR / 6)  # three response times at either load
    assert said["with 2 dead replicas to survive"].error == found.error == pytest.approx(ERROR / 3)


def test_a_prediction_stands_next_to_counts_that_do_not_decide_and_decides_nothing(probed):
    counts, limits = {"ONE/ONE": [(0, 40)] * 5}, {"stale": 1e-3, "after_ms": 250.0}
    predicted = {"ONE/ONE": Predicted(2e-5, 400, 40)}
    found = decide(advice_of(), Limits(bound_ms=6.0, **limits), probed, live=Live(stale=counts, predicted=predicted))
    held = held_by(found, "ONE/ONE", STALE)
    assert (held.verdict, held.predicted) == (UNKNOWN, "message delays of 40 traced requests predict 2e-05")
    assert found.prediction_off.startswith("such predictions were off by up to ")
    assert found.prediction_off.endswith(" of stale-three-5.0.9")
    nobody = decide(advice_of(), Limits(bound_ms=6.0, **limits), live=Live(stale=counts, predicted=predicted))
    assert nobody.prediction_off == "how far such predictions are off with this release is not recorded"
    enough = Live(stale={"ONE/ONE": [(0, 40_000)] * 5}, predicted=predicted)
    decided = decide(advice_of(), Limits(bound_ms=6.0, **limits), probed, live=enough)
    assert (held_by(decided, "ONE/ONE", STALE).predicted, decided.prediction_off) == ("", "")


def test_a_dead_replica_is_shown_where_it_was_measured():
    dead = {"QUORUM/QUORUM": {"noticed": Estimate(5.0, 4.0, 6.0, 3)}}
    found = decide(advice_of(), Limits(bound_ms=6.0), dead=dead)
    assert {option.choice.setting.read_cl for option in found.options if option.dead} == {"QUORUM"}


def test_what_our_record_says_of_a_dead_replica_stands_where_it_was_not_measured():
    dead = {"QUORUM/QUORUM": {"noticed": Estimate(5.0, 4.0, 6.0, 3)}}
    times = {level: {"noticed": Estimate(1.2, 1.1, 1.3, 4), "hangs": Estimate(5.0, 4.0, 6.0, 3)}
             for level in ("QUORUM/QUORUM", "ONE/ONE")}  # fmt: skip
    found = decide(advice_of(), Limits(bound_ms=6.0), dead=dead, recorded=("load-5.0.9", times))
    shown = {option.choice.setting.levels: (set(option.dead), set(option.dead_times)) for option in found.options}
    assert shown["QUORUM/QUORUM"] == ({"noticed"}, {"hangs"})
    assert shown["ONE/ONE"] == (set(), {"noticed", "hangs"})
    assert found.dead_from == "load-5.0.9"
    assert decide(advice_of(), Limits(bound_ms=6.0)).dead_from == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bound_ms": 0.0}, "--bound-ms: 0 is not above 0"),
        ({"stale": 1e-4}, "--stale and --after-ms: go together; --after-ms, how long"),
        ({"after_ms": 10.0}, "--stale and --after-ms: go together; --stale, the largest"),
        ({"stale": 0.0, "after_ms": 1.0}, "--stale: 0 is no share above 0"),
        ({"stale": 2.0, "after_ms": 1.0}, "--stale: 2 is no share"),
        ({"stale": 1e-4, "after_ms": -1.0}, "--after-ms: -1 is no time after a write"),
    ],
)
def test_limits_that_are_none_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        Limits(**({"bound_ms": 6.0} | given))


def test_staleness_of_what_reads_nothing_is_refused():
    stats = OpenLoads(curves(read_share=0.0), "mine", 3, "p99").advise(Mix(0.0), of_capacity=0.4, bound_ms=6.0)
    with pytest.raises(InputError, match="--stale: 0% reads reads nothing"):
        decide(stats, Limits(bound_ms=6.0, stale=1e-4, after_ms=1.0))
