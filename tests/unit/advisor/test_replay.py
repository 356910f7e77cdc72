"""Decisions replayed on a service whose truth is known: who breaks limits, who does not know, who takes how long."""

from dataclasses import replace

import numpy as np
import pytest

from cassbook.advisor import replay
from cassbook.advisor.decision import Limits
from cassbook.records.run import RecordedRun
from tests.helpers import open_runs
from tests.helpers.made_services import P99, SETTINGS, service


def test_each_cluster_start_of_a_record_is_a_service_on_its_processors(tmp_path):
    rows = open_runs.open_cells(
        shares=(), own=(), rates=(400.0, 800.0), workload="orders", scales=(1.0, 1.1),
        changes=lambda row: {"slices": 4, "marks": "elsewhere" if row["block"] == 2 else ""},
    )  # fmt: skip
    profile = open_runs.MANIFEST["profile"] | {"open": [{"workloads": ["orders"], "segment_s": 5.0, "lead_in_s": 2.0}]}
    run = RecordedRun(open_runs.write_run(tmp_path / "service-orders", rows, profile=profile))
    starts = replay.services(run)
    assert [(one.name, one.start, one.turn_s) for one in starts] == [("service-orders", n, 7.0) for n in (1, 2)]
    assert [one.processors for one in starts] == [("made", 2), None]
    for one, scale in zip(starts, (1.0, 1.1), strict=True):
        assert (one.advice.rate_per_s, set(one.choices)) == (400.0, set(open_runs.CARRIED))
        p99_ms = open_runs.mean_us("QUORUM/QUORUM", 400.0, scale) * P99 / 1e3
        assert one.figure_ms("QUORUM/QUORUM") == pytest.approx(p99_ms, rel=0.05)
        assert one.segments["ONE/ONE"].requests == open_runs.REQUESTS


def test_the_truth_is_that_of_all_segments():
    one, loose = service(), Limits(bound_ms=100.0)
    assert one.figure_ms("QUORUM/QUORUM") == pytest.approx(4 * P99, rel=0.05)
    assert [levels for levels in SETTINGS if one.broken(levels, loose)] == ["ONE/ALL", "ONE/ONE"]  # survives none; weak
    assert one.best_ms(loose) == one.figure_ms("QUORUM/QUORUM")
    assert not one.broken("ONE/ONE", Limits(bound_ms=100.0, stale=1e-3, after_ms=20.0))
    assert service(stale=5).broken("ONE/ONE", Limits(bound_ms=100.0, stale=1e-3, after_ms=20.0))
    assert one.best_ms(Limits(bound_ms=1.0)) == np.inf


def test_what_is_far_from_its_limit_ends_at_the_first_look():
    rng = np.random.default_rng(1)
    far = replay.replayed(service(), Limits(bound_ms=100.0), 48, rng)
    assert far.turns == 12 * len(SETTINGS)
    assert far.decision.winner.choice.setting.levels == "QUORUM/QUORUM"
    near = replay.replayed(service(), Limits(bound_ms=4 * P99), 48, rng)
    assert near.turns >= 12 * len(SETTINGS)
    broken = replay.replayed(service({**SETTINGS, "QUORUM/QUORUM": 900.0}), Limits(bound_ms=30.0), 48, rng)
    assert broken.turns == 12 * 2 + 3
    assert broken.decision.winner is None


def test_each_policy_answers_and_is_held_against_the_truth():
    found = replay.compare([service(), service(seed=2)], rounds=12, times=1, seed=1)
    assert set(found["policy"]) == set(replay.policies(12))
    assert len(found) == 2 * 7 * 4 * len(replay.policies(12))
    table = replay.summary(found)
    assert table.loc["cassbook decide", "beyond"].value == 0
    assert table.loc["cassbook decide", "unknown"].value > 0
    thumb = found[found["policy"] == "always QUORUM"]
    assert (thumb["broken"] == (thumb["bound_ms"] < 4 * P99)).mean() > 0.95
    closed = found[found["policy"] == "the fastest in a closed loop"]
    assert set(closed["levels"]) == {"ONE/ALL"}
    assert closed["broken"].all()  # it survives no dead replica
    assert (found.loc[found["regret"].notna(), "regret"] >= -1e-9).all()
    assert (found.loc[found["broken"], "regret"].isna()).all()


def test_starts_of_one_service_are_one_observation():
    found = replay.compare([service(seed=seed) for seed in (1, 2, 3)], rounds=12, times=1, seed=1)
    together = replay.summary(found).loc["always QUORUM", "broken"]
    assert (together.groups, np.isnan(together.low)) == (1, True)
    apart = replay.summary(found.assign(service=found["start"])).loc["always QUORUM", "broken"]
    assert (apart.groups, apart.counts) == (3, together.counts)
    assert apart.low < apart.value < apart.high


def test_a_service_of_which_nobody_probed_staleness_is_asked_for_none():
    plain = replace(service(), stale={})
    assert {limits.stale for limits in replay.questions(plain)} == {None}
