"""What the chapter on decisions shows is what the replays say, policy by policy and service by service."""

from dataclasses import replace

import pytest

from cassbook.advisor import replay
from cassbook.advisor.decision import Limits
from cassbook.advisor.question import Question
from cassbook.book.chapters import decisions
from cassbook.core.errors import InputError, LackingError
from cassbook.latency.open_choices import Mix
from cassbook.latency.open_loads import OpenLoads
from cassbook.records.run import RecordedRun
from tests.helpers import open_runs
from tests.helpers.made_services import P99, service
from tests.helpers.open_curves import curves


@pytest.fixture(scope="module")
def answered():
    return decisions.answers([service(), service(stale=5, seed=3)], rounds=12, times=1)


def test_each_policy_has_a_row_in_percent(answered):
    table, summary = decisions.policies_shown(answered), replay.summary(answered)
    assert list(table.index) == list(replay.policies(12))
    share = summary.loc["always QUORUM", "broken"]
    assert table.loc["always QUORUM", "breaks a limit, %"].startswith(f"{100 * share.value:.1f}")


def test_services_are_those_of_all_their_starts(answered):
    table = decisions.by_service(answered)
    assert list(table.index) == ["mine"]
    own = answered[answered["policy"] == replay.DECIDE]
    unknown = table.loc["mine", "unknown"]
    assert (table.loc["mine", "asked"], unknown.yes, unknown.of) == (len(own), (~own["known"]).sum(), len(own))
    assert unknown.groups == own["start"].nunique() == 2
    assert decisions.by_service_shown(table).loc["mine", "decisions"] == f"{len(own):,}"


def test_who_breaks_limits_is_drawn_over_how_long_it_takes(answered):
    (axes,) = decisions.wrong_and_slow(answered).axes
    assert {text.get_text() for text in axes.get_legend().get_texts()} == set(replay.policies(12))


def test_what_is_quoted_is_of_the_table(answered):
    found = decisions.quoted(answered)
    summary = replay.summary(answered)
    assert found["decide_broken"] == summary.loc[replay.DECIDE, "broken"].text()
    assert found["decisions"] == f"{(answered['policy'] == replay.DECIDE).sum():,}"
    assert found["services"] == "1"


def test_records_of_services_are_found_by_version(monkeypatch):
    notes = [("service-b-5.0.9", {"engine": "5.0.9"}), ("service-a-2.1.20", {"engine": "2.1.20"}), ("load", {})]
    monkeypatch.setattr(decisions.manifest, "recorded", lambda: iter(notes))
    monkeypatch.setattr(decisions, "RecordedRun", str)
    assert decisions.recorded("2.1.20", "5.0.9") == ["service-b-5.0.9", "service-a-2.1.20"]
    assert decisions.recorded("5.0.9") == ["service-b-5.0.9"]
    with pytest.raises(LackingError, match=r"no record of a service \(service-\*\) on 4\.1\.0"):
        decisions.recorded("4.1.0")
    with pytest.raises(LackingError, match=r"no record of a service \(decide-service-\*\) on 5\.0\.9"):
        decisions.decided("5.0.9")


RATE = 800.0


@pytest.fixture
def starts():
    advice = OpenLoads(curves(scales=(1.0,)), "mine", 3, "p99").advise(Mix(0.5), rate_per_s=RATE)
    slow = {"QUORUM/QUORUM": 6.0, "ONE/ALL": 3.0, "ONE/ONE": 1.0}
    named = {"name": "service-mine-5.0.9", "advice": advice, "processors": ("made", 2)}
    return [replace(one, **named) for one in (service(), service(slow, seed=2))]


def a_decision(folder, bound_ms, scales=(1.0, 1.1, 0.9), rate_per_s=RATE, survive=1):
    rows = open_runs.open_cells(
        shares=(), own=(), rates=(400.0, RATE), scales=scales, changes=lambda row: {"ended_s": 600.0 * row["block"]}
    )
    run = open_runs.write_run(folder / "decide-service-mine-5.0.9", rows)
    limits = Limits(bound_ms=bound_ms, survive=survive)
    Question(limits=limits, by="p99", rate_per_s=rate_per_s, reads=0.5).note(run)
    return RecordedRun(run)


@pytest.mark.parametrize(
    ("bound_ms", "wrong"),
    [(30.0, (0, 0)), (23.0, (1, 0)), (17.0, (2, 1))],
    ids=["it keeps the bound", "one start breaks it", "one start breaks it clearly"],
)
def test_a_live_decision_is_held_against_each_start_of_its_record(starts, tmp_path, bound_ms, wrong):
    table = decisions.confirmed([a_decision(tmp_path, bound_ms)], starts)
    assert list(table["start"]) == [1, 2]
    assert set(table["levels"]) == {"QUORUM/QUORUM"}
    assert list(table["in_record_ms"]) == pytest.approx([4 * P99, 6 * P99], rel=0.1)
    assert (table["broken"].sum(), table["beyond"].sum()) == wrong
    assert set(table["minutes"]) == {30.0}
    (row,) = decisions.confirmed_shown(table).to_dict("records")
    assert (row["asked"], row["answer"]) == (f"{bound_ms:g} ms, none stale, 1 dead replica", "QUORUM/QUORUM")
    said = row["breaks a limit in"], row["by more than 1.25 times in"]
    assert said == tuple(f"{number} of 2 starts" for number in wrong)
    assert decisions.confirmed_quoted(table) == {
        "live": "1", "live_unknown": "0", "live_broken": f"{min(wrong[0], 1)}", "live_beyond": f"{min(wrong[1], 1)}",
        "live_missed": "0",
    }  # fmt: skip


def test_a_live_answer_of_none_or_not_known_names_no_setting(starts, tmp_path):
    none = decisions.confirmed([a_decision(tmp_path / "none", 1.0)], starts)
    assert (set(none["levels"]), none["known"].all(), none["missed"].any()) == ({""}, True, False)
    none_though = decisions.confirmed([a_decision(tmp_path / "though", 100.0, survive=2)], starts)
    assert decisions.confirmed_shown(none_though)["answer"].item() == "none"
    unknown = decisions.confirmed([a_decision(tmp_path / "few", 30.0, scales=(1.0, 1.1))], starts)
    (row,) = decisions.confirmed_shown(unknown).to_dict("records")
    assert (row["answer"], row["as decided, ms"], row["in the record, ms"]) == ("not known", "-", "-")
    assert decisions.confirmed_quoted(unknown)["live_unknown"] == "1"


def test_a_live_decision_is_held_against_the_record_of_its_question_alone(starts, tmp_path):
    run = a_decision(tmp_path, 30.0, rate_per_s=400.0)
    with pytest.raises(InputError, match=r"asked for \(400.0, 'p99', None\).*its record has \(800.0, 'p99', None\)"):
        decisions.confirmed([run], starts)
    with pytest.raises(LackingError, match=r"there is no record of service-mine-5\.0\.9"):
        decisions.confirmed([run], [service()])
    with pytest.raises(LackingError, match=r"no record of service-mine-5\.0\.9 on made, 2 cores"):
        decisions.confirmed([run], [replace(start, processors=("another", 2)) for start in starts])
