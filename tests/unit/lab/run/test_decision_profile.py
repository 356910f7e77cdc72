"""The profile that measures a decision: which settings, at which rates, in how much time."""

import pytest

from cassbook.core.consistency import Replicas
from cassbook.core.errors import InputError
from cassbook.lab.run import decision_profile
from cassbook.lab.run.plan import plan
from cassbook.profile.profile import Profile

OWN = """
name: shop
cluster: {nodes: 3, replication_factor: 3}
table: {record_count: 10}
workloads:
  own:
    - name: rows
      create: ["CREATE TABLE b (c int PRIMARY KEY, a int)"]
      operations: [{share: 1, statement: "SELECT a FROM b WHERE c = ?"}]
      values: {c: {distribution: uniform, count: 10}}
"""


@pytest.fixture
def given(tmp_path):
    (tmp_path / "shop.yaml").write_text(OWN)
    return decision_profile.read(str(tmp_path / "shop.yaml"), None)


def made(given, **how):
    how = {"workload": "rows", "rate_per_s": 2000.0, "by": "p99", "bound_ms": 20.0, "minutes": 20, "ours": False} | how
    return decision_profile.profile_for(given, **how)


def test_on_hosts_nothing_is_above_a_quarter_more_than_the_rate(given):
    wanted = made(given, after_ms=100.0)
    rates = [rate for part in wanted.open for rate in part.rates_per_s]
    assert max(rates) == 2500
    assert all(part.rates_bound for part in wanted.open)
    probed = wanted.open[1]
    assert probed.rates_per_s[0] + 2 * probed.probes_per_s == 2000
    assert probed.settings == ["ONE/ONE", "ONE/QUORUM", "QUORUM/ONE"]
    assert wanted.open[0].until_known == "p99"
    assert made(given, ours=True, minutes=30).open[0].until_known == "p99"


def test_it_is_a_profile_that_can_be_measured_and_fills_its_time(given):
    for ours, minutes in ((False, 20), (True, 30)):
        wanted = made(given, ours=ours, minutes=minutes, after_ms=50.0)
        again = Profile.model_validate(wanted.model_dump())
        assert again == wanted
        blocks = plan(wanted)
        assert len(blocks) == (3 if ours else 1)
        turns_s = sum(
            part.measured_s / part.segment_s * (part.segment_s + part.lead_in_s) * len(part.settings)
            * len(part.rates_per_s) * part.repeats for part in wanted.open
        )  # fmt: skip
        assert 0.5 * 60 * minutes < turns_s < 60 * minutes


@pytest.mark.parametrize("replicas", [1, 2, 3, 5])
def test_each_pair_of_levels_is_measured_once_and_none_waits_for_more_than_it_takes(replicas):
    found = decision_profile.candidates(Replicas((replicas,)))
    waits = [one.waits(replicas) for one in found]
    assert len(set(waits)) == len(waits)
    assert all(r + w <= replicas + 1 for r, w in waits)
    assert any(one.strong(replicas) for one in found)


@pytest.mark.parametrize("by_centre", [(3, 3), (2, 3, 3), (1, 1)])
def test_in_several_data_centres_levels_that_know_of_them_are_candidates(by_centre):
    replicas = Replicas(by_centre)
    found = decision_profile.candidates(replicas)
    waits = [(replicas.needed(one.read_cl), replicas.needed(one.write_cl)) for one in found]
    assert len(set(waits)) == len(waits)
    assert {"LOCAL_QUORUM/LOCAL_QUORUM", "QUORUM/QUORUM"} <= {one.levels for one in found}
    assert any(not one.strong(replicas) for one in found) == (by_centre != (1, 1))


DEPLOYMENTS = {
    "near": {"notation": "{[C], ([R1], [R2], [R3]}, {[R4], [R5], [R6]})", "regions": ["here", "near"]},
    "far": {"notation": "{[C], ([R1], [R2], [R3]}, {[R4], [R5], [R6]})", "regions": ["here", "far"]},
}


def test_a_deployment_of_ones_own_in_two_data_centres_can_be_decided(given):
    def apart(*names):
        rows = [{"from": "here", "to": name, "rtt_ms": 10} for name in ("here", *names)]
        rows += [{"from": name, "to": name, "rtt_ms": 1} for name in names]
        distance = {"deployments": {name: DEPLOYMENTS[name] for name in names}, "distances": rows}
        cluster = {"nodes": 6, "replication_factor": 6}
        content = given.model_dump() | {"cluster": cluster, "distance": distance}
        content["workloads"] |= {"settings": ["QUORUM/QUORUM"]}
        return Profile.model_validate(content)

    wanted = made(apart("near"), ours=True, minutes=40, after_ms=50.0)
    assert Profile.model_validate(wanted.model_dump()) == wanted
    assert wanted.open[0].settings[:2] == ["LOCAL_QUORUM/LOCAL_QUORUM", "QUORUM/QUORUM"]
    assert wanted.open[1].settings == ["LOCAL_ONE/LOCAL_ONE", "LOCAL_ONE/LOCAL_QUORUM", "LOCAL_QUORUM/LOCAL_ONE"]
    assert {cell.deployment for cell in plan(wanted)[0]} == {"near"}
    assert wanted.load.coordinator == "nearest_dc"
    with pytest.raises(InputError, match=r"distance\.deployments: a decision is for one deployment of near, far"):
        made(apart("near", "far"), ours=True, minutes=40)


def test_of_an_existing_cluster_the_other_data_centres_hold_as_many(given):
    wanted = made(given, data_centres=2)
    assert wanted.replicas == Replicas((3, 3))
    assert Profile.model_validate(wanted.model_dump()) == wanted
    assert wanted.open[0].settings[0] == "LOCAL_QUORUM/LOCAL_QUORUM"
    assert wanted.load.coordinator == "token_aware"  # of those nodes that are asked: of one data centre


def test_traced_requests_are_a_part_of_the_rate(given):
    plain, traced = (made(given, after_ms=50.0, traces=traces).open[1] for traces in (False, True))
    assert (plain.probe_traces, traced.probe_traces) == (0, 1)
    for part in (plain, traced):
        assert part.rates_per_s[0] + part.probing_per_s == pytest.approx(2000, abs=0.1)
    with pytest.raises(InputError, match="leave --traces out"):
        made(given, after_ms=50.0, traces=True, rate_per_s=5.0)


@pytest.mark.parametrize(
    ("by_centre", "survive", "any_stale", "said"),
    [
        ((3,), 2, False, "--survive: no setting whose reads see each write survives 2 dead replicas of 3; give 1 or"),
        ((3,), 3, True, "--survive: no setting survives 3 dead replicas of 3; give 2 or less"),
        ((3,), 2, True, ""),
        ((3, 3), 2, False, ""),
    ],
)
def test_limits_that_no_setting_can_meet_are_refused_before_anything_is_measured(by_centre, survive, any_stale, said):
    if not said:
        decision_profile.check_limits(Replicas(by_centre), survive, any_stale)
        return
    with pytest.raises(InputError, match=said):
        decision_profile.check_limits(Replicas(by_centre), survive, any_stale)


def test_settings_that_cannot_win_take_few_turns_and_are_not_probed(given):
    strict = made(given, survive=1).open
    assert strict[0].briefly == ["ONE/ALL", "ALL/ONE", "ONE/ONE", "ONE/QUORUM", "QUORUM/ONE"]
    loose = made(given, survive=1, after_ms=50.0).open
    assert loose[0].briefly == ["ONE/ALL", "ALL/ONE"]
    assert loose[1].settings == ["ONE/ONE", "ONE/QUORUM", "QUORUM/ONE"]
    assert made(given, survive=2, after_ms=50.0).open[1].settings == ["ONE/ONE"]
    assert made(given, after_ms=50.0).open[0].briefly == []


def test_too_short_a_time_says_how_long_it_takes(given):
    with pytest.raises(
        InputError, match=r"--minutes: too short for 3 turns of each setting; give (\d+) or more"
    ) as said:
        made(given, minutes=1)
    enough = int(str(said.value).split("give ")[1].split()[0])
    made(given, minutes=enough)
    with pytest.raises(InputError, match="too short"):
        made(given, minutes=enough - 1)


def test_a_rate_that_nobody_sends_and_an_age_that_no_turn_lasts_are_refused(given):
    with pytest.raises(InputError, match=r"--rate: 900000 is too high, .* give 800000 or less"):
        made(given, rate_per_s=9e5)
    with pytest.raises(InputError, match="give 625000 or less"):
        made(given, rate_per_s=7e5, ours=True)
    made(given, rate_per_s=8e5, after_ms=4999.0)
    with pytest.raises(InputError, match=r"--after-ms: 60000 is too long: .* give less than 5000"):
        made(given, after_ms=60_000.0)


def test_the_workload_is_named_where_it_is_not_the_only_one(given):
    assert decision_profile.workload_of(given, None) == "rows"
    with pytest.raises(InputError, match="it has rows"):
        decision_profile.workload_of(given, "other")
    with pytest.raises(InputError, match="it has rows"):
        decision_profile.workload_of(given, "rows, other")
    with pytest.raises(InputError, match="it has none"):
        decision_profile.workload_of(given.model_copy(update={"workloads": None}), None)


def test_nothing_that_is_only_written_can_be_stale(given):
    own = given.workloads.own[0]
    write = own.operations[0].model_copy(update={"kind": "UPDATE"})
    only = given.workloads.model_copy(update={"own": [own.model_copy(update={"operations": [write]})]})
    written = given.model_copy(update={"workloads": only})
    assert decision_profile.workload_of(written, None) == "rows"
    with pytest.raises(InputError, match="--stale: workload rows reads nothing"):
        decision_profile.workload_of(written, None, reads=True)


def test_replicas_are_struck_by_us_or_by_a_person(given):
    how = {"workload": "rows", "rate_per_s": 200.0, "settings": ["ONE/ONE", "QUORUM/QUORUM"], "engine": "5.0.9"}
    ours = decision_profile.trouble_for(given, **how)
    theirs = decision_profile.trouble_for(given, **how, by_hand=True)
    assert [part.trouble for part in ours.open] == ["", "kill", "pause"]
    assert [part.trouble for part in theirs.open] == ["", "stop"]
    for wanted in (ours, theirs):
        assert Profile.model_validate(wanted.model_dump()) == wanted
        assert {cell.condition for cell in plan(wanted)[0]} > {""}
    careful = theirs.model_copy(update={"open": [one.model_copy(update={"rising": True}) for one in theirs.open]})
    assert Profile.model_validate(careful.model_dump()) == careful
