"""Whether a switch pays, and what a window says of a load."""

import pytest

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.consistency import strong_settings
from cassbook_advisor.errors import InputError
from cassbook_advisor.policy import Policy, SweepCost, SweepMeter, Terms
from cassbook_advisor.regime import Regime
from cassbook_advisor.sweep import Swept
from cassbook_advisor.window import Load, Window
from tests.helpers import made_runs

SHORT = SweepCost(1.0)


@pytest.fixture
def policy():
    return Policy(LatencyMap(made_runs.run(noise=0.0), "known"), 3, Terms(survive=0))


def busy(share, in_flight=300.0, per_s=2000.0):
    return Load(per_s, share, in_flight)


def test_it_goes_where_the_map_is_faster(policy):
    forecast = policy.best(busy(0.9), Regime.settled(3, 3, 1), SHORT)
    assert forecast.setting.name == "1R-3W"
    assert forecast.then_us < forecast.now_us
    assert forecast.pays
    assert policy.best(busy(0.05), Regime.settled(3, 1, 3), SHORT).setting.name == "3R-1W"


def test_it_stays_where_it_is_best_already(policy):
    assert policy.best(busy(0.9), Regime.settled(3, 1, 3), SHORT) is None


def test_a_small_gain_is_within_the_margin():
    latency_map = LatencyMap(made_runs.run(noise=0.0), "known")
    load, now = busy(0.4), Regime.settled(3, 2, 2)  # 136 against 144 a thread
    assert Policy(latency_map, 3, Terms(margin=0.02, survive=0)).best(load, now, SHORT).setting.name == "1R-3W"
    assert Policy(latency_map, 3, Terms(margin=0.10, survive=0)).best(load, now, SHORT) is None


def test_a_sweep_that_costs_more_than_the_switch_saves_is_not_made(policy):
    now = Regime.settled(3, 3, 1)
    assert policy.best(busy(0.9), now, SweepCost(10.0)) is not None
    assert policy.best(busy(0.9), now, SweepCost(10.0, slowdown=40.0)) is None
    patient = Policy(policy._map, 3, Terms(horizon_s=36_000.0, survive=0))
    assert patient.best(busy(0.9), now, SweepCost(10.0, slowdown=40.0)) is not None


def test_a_sweep_is_weighed_as_the_last_one_went():
    meter = SweepMeter(SweepCost(60.0))
    meter.look(Load(1000.0, 0.5, 100.0), settled=True, sweeping=False)
    for latency_s in (0.15, 0.25):
        meter.look(Load(100.0 / latency_s, 0.5, 100.0), settled=False, sweeping=True)
    meter.look(Load(10.0, 0.5, 100.0), settled=False, sweeping=False)  # before the sweep began: not its doing
    meter.look(Load(0.0, float("nan"), 0.0), settled=False, sweeping=True)
    assert meter.cost == SweepCost(60.0)
    meter.swept(Swept(12.0, 1000))
    assert meter.cost == SweepCost(12.0, pytest.approx(2.0))
    meter.swept(Swept(20.0, 1000))  # nothing was asked meanwhile
    assert meter.cost == SweepCost(20.0, pytest.approx(2.0))


def test_the_way_to_lower_writes_needs_no_sweep_and_costs_nothing(policy):
    forecast = policy.best(busy(0.05), Regime.settled(3, 1, 3), SweepCost(1e9, 1e9))
    assert forecast.cost_s == 0


@pytest.mark.parametrize(
    "load", [busy(0.9, in_flight=5000), busy(0.9, in_flight=1), Load(3.0, 0.9, 300.0), Load(0, float("nan"), 0)]
)
def test_outside_the_map_or_idle_it_stays(policy, load):
    assert policy.best(load, Regime.settled(3, 3, 1), SHORT) is None


def test_clients_outside_the_register_bound_the_choice():
    latency_map = LatencyMap(made_runs.run(noise=0.0), "known")
    bound = Policy(latency_map, 3, Terms(survive=0), least=(2, 2))
    assert bound.best(busy(0.9), Regime.settled(3, 3, 1), SHORT).setting.name == "2R-2W"
    with pytest.raises(InputError, match=r"reads at least 3 .*writes at least 3"):
        Policy(latency_map, 3, least=(3, 3))


def test_terms_are_checked():
    with pytest.raises(InputError, match=r"margin: -0\.1 must be 0 or more"):
        Terms(margin=-0.1)


def test_a_window_counts_rate_share_and_requests_in_flight():
    window = Window(5.0)
    window.load(0.0)
    for _ in range(300):
        window.add(True, 0.02)
    for _ in range(100):
        window.add(False, 0.04)
    load = window.load(2.0)
    assert load.per_s == pytest.approx(200)
    assert load.read_share == pytest.approx(0.75)
    assert load.in_flight == pytest.approx((300 * 0.02 + 100 * 0.04) / 2)


def test_a_window_forgets_what_is_older_than_itself():
    window = Window(5.0)
    for second in range(20):
        window.load(float(second))
        if second < 10:
            window.add(True, 0.01)
    assert window.load(20.0).per_s == 0


def test_loads_of_several_clients_add_up():
    both = Load.together([Load(100, 1.0, 5.0), Load(300, 0.0, 10.0), Load(0.0, float("nan"), 0.0)])
    assert (both.per_s, both.read_share, both.in_flight) == (400, 0.25, 15.0)
    assert Load.together([]).per_s == 0


def test_of_three_replicas_only_quorum_survives_one():
    """By default there is nothing to switch, at any load; a setting that survives none is left."""
    policy = Policy(LatencyMap(made_runs.run(noise=0.0), "known"), 3)
    assert [s.name for s in policy.choice] == ["2R-2W"]
    assert "only 2R-2W (QUORUM/QUORUM) survives 1 dead replica of 3" in policy.nothing_to_switch()
    assert "Terms(survive=0)" in policy.nothing_to_switch()
    stays = policy.consider(busy(0.9), Regime.settled(3, 2, 2), SHORT)
    assert (stays.wanted, stays.kind) == (None, "nothing to switch")
    leaves = policy.consider(Load(0.0, float("nan"), 0.0), Regime.settled(3, 1, 3), SHORT, missing=["127.0.0.3"])
    assert (leaves.wanted, leaves.kind) == ((2, 2), "survives more")
    assert leaves.reason == "1R-3W stops writing with one replica down; 2R-2W does not"


def test_what_nothing_survives_is_stayed_in():
    policy = Policy(LatencyMap(made_runs.run(noise=0.0), "known"), 3, Terms(survive=2))
    assert policy.choice == ()
    assert policy.nothing_to_switch().startswith("there is nothing to switch: no setting measured survives 2 dead")
    assert policy.consider(busy(0.9), Regime.settled(3, 1, 3), SHORT).wanted is None


def test_of_four_replicas_two_settings_survive_one():
    cells = made_runs.run(noise=0.0, settings=strong_settings(4), levels=made_runs.READ_US)
    policy = Policy(LatencyMap(cells, "four", 4), 4)
    assert [s.name for s in policy.choice] == ["2R-3W", "3R-2W"]
    assert policy.nothing_to_switch() == ""
    assert policy.consider(busy(0.95), Regime.settled(4, 3, 2), SHORT).wanted == (2, 3)
    assert policy.consider(busy(0.05), Regime.settled(4, 2, 3), SHORT).wanted == (3, 2)


def test_a_map_of_another_replication_factor_is_refused():
    with pytest.raises(InputError, match=r"known .*replication 3, .* 5"):
        Policy(LatencyMap(made_runs.run(noise=0.0), "known"), 5)


def test_it_goes_only_where_the_map_can_tell_the_difference():
    now = Regime.settled(3, 2, 2)
    noisy = Policy(LatencyMap(made_runs.run(blocks=3, noise=0.4), "noisy"), 3, Terms(survive=0))
    stays = noisy.consider(busy(0.9), now, SHORT)
    assert (stays.wanted, stays.kind) == (None, "not significant")
    assert stays.reason == "1R-3W does not differ significantly from 2R-2W at this load"
    one = Policy(LatencyMap(made_runs.run(blocks=1, noise=0.0), "lone"), 3, Terms(survive=0))
    stays = one.consider(busy(0.9), now, SHORT)
    assert (stays.wanted, stays.kind) == (None, "not significant")
    assert stays.reason.startswith("lone has one cluster start")


def test_of_several_faster_settings_it_takes_the_fastest_that_can_be_told_apart(policy):
    """At 3R-1W both others are faster; the fastest is noise from start to start, the next is not."""
    cells = made_runs.run(noise=0.0)
    fastest = (cells["kind"] == "mixed") & (cells["read_cl"] == "ONE")
    swing = cells["block"].map({0: 0.2, 1: 0.6, 2: 2.6})
    cells = cells.assign(latency_us=cells["latency_us"].where(~fastest, cells["latency_us"] * swing))
    noisy = Policy(LatencyMap(cells, "noisy"), 3, Terms(survive=0))
    found = noisy.consider(busy(0.9), Regime.settled(3, 3, 1), SHORT)
    assert (found.kind, found.wanted) == ("faster", (2, 2))
    assert policy.consider(busy(0.9), Regime.settled(3, 3, 1), SHORT).wanted == (1, 3)


@pytest.mark.parametrize(
    ("load", "missing", "kind"),
    [
        (busy(0.9), ["127.0.0.3"], "nodes missing"),
        (Load(2000.0, 0.9, 300.0, failing_share=0.05), [], "requests failing"),
        (Load(2000.0, 0.9, 300.0, failing_share=0.005), [], "faster"),
        (Load(1.0, 0.9, 300.0), [], "idle"),
        (busy(0.9, in_flight=5000), [], "unknown load"),
    ],
)
def test_it_never_switches_for_speed_while_something_is_wrong(policy, load, missing, kind):
    decision = policy.consider(load, Regime.settled(3, 3, 1), SHORT, missing)
    assert decision.kind == kind
    assert (decision.wanted is None) == (kind != "faster")


def test_why_it_stays_is_said(policy):
    assert policy.consider(busy(0.9), Regime.settled(3, 1, 3), SHORT).reason == "1R-3W is the fastest here"
    assert policy.consider(busy(0.4), Regime.settled(3, 2, 2), SHORT).kind == "small gain"
    dear = policy.consider(busy(0.9), Regime.settled(3, 3, 1), SweepCost(10.0, slowdown=40.0))
    assert dear.kind == "dear way"


def test_a_window_knows_what_part_of_requests_fails():
    window = Window(5.0)
    window.load(0.0)
    for number in range(100):
        window.add(True, 0.01)
        if number % 4 == 0:
            window.fail()
    assert window.load(1.0).failing_share == 0.25
    assert window.load(9.0).failing_share == 0
    both = Load.together([Load(100, 1.0, 5.0, 0.1), Load(300, 0.0, 10.0)])
    assert both.failing_share == pytest.approx(0.025)
