"""The shifting load's actors: what the loop follows, and what an epoch waits for."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from cassbook.advisor.latency_map import LatencyMap
from cassbook.lab.experiments.adviser.actors import Advising, Fixed, Naive
from cassbook.lab.experiments.adviser.shift import SCHEDULE
from cassbook_advisor.member import Member
from cassbook_advisor.policy import Policy, Terms
from cassbook_advisor.regime import Regime
from cassbook_advisor.register import Epoch, InMemory
from cassbook_advisor.window import Window
from tests.helpers import made_runs
from tests.helpers.simulated_cluster import IDLE, Time


@pytest.fixture
def scene():
    moment, register = Time(), InMemory()
    register.open(Epoch(0, Regime.settled(3, 3, 1), (3, 1)))
    member = Member("a", register, 3, 10.0, moment.clock(1.0))
    member.tick(IDLE)
    actor = Advising(SimpleNamespace(member=member, window=Window(5.0)))
    return SimpleNamespace(time=moment, register=register, member=member, actor=actor)


def entered(scene):
    scene.member.tick(IDLE)
    return scene.register.look().members["a"].entered


def test_an_epoch_is_entered_only_when_the_loop_has_followed_and_its_old_requests_are_over(scene):
    assert scene.actor.levels() == (3, 1)
    scene.register.advance(Epoch(1, Regime(3, 3, 3, 1), (1, 3)))
    assert entered(scene) == 0  # the loop still writes at the old level
    assert scene.actor.levels() == (3, 3)
    assert entered(scene) == 0  # its requests of before are under way
    scene.actor.drained(time.perf_counter() - 60)
    assert entered(scene) == 0
    scene.actor.drained(time.perf_counter() + 1)
    assert entered(scene) == 1


def test_without_a_lease_the_loop_goes_to_all_and_comes_back(scene):
    scene.time.s = 20.0
    assert scene.actor.levels() == (3, 3)
    scene.member.tick(IDLE)
    assert scene.actor.levels() == (3, 1)


def test_a_fixed_actor_stays():
    assert Fixed(None, "1R-3W", Window(5.0)).levels() == (1, 3)


def test_the_naive_one_switches_both_levels_at_once_when_the_policy_says_so():
    policy = Policy(LatencyMap(made_runs.run(noise=0.0), "known"), 3, Terms(dwell_s=0.0, survive=0))
    actor = Naive(None, "3R-1W", Window(5.0), policy, 0.0)
    actor.window.load(time.monotonic() - 1)
    for _ in range(2000):
        actor.window.add(True, 0.1)
    assert actor.levels() == (1, 3)
    assert [name for _, name in actor.history] == ["3R-1W", "1R-3W"]


def test_the_schedule_lasts_ten_minutes_and_lies_inside_the_recorded_maps():
    assert sum(phase.seconds for phase in SCHEDULE) == 600
    for name in ("standard-2.1.20", "standard-5.0.9"):
        latency_map = LatencyMap.of_run(name)
        for phase in SCHEDULE:
            assert latency_map.advise(phase.threads, phase.read_share)
        bests = [latency_map.advise(phase.threads, phase.read_share).fastest.setting.name for phase in SCHEDULE]
        assert len(np.unique(bests)) > 1  # there is something to adapt to
