"""What the chapter on decisions shows is what the replays say, policy by policy and service by service."""

import pytest

from cassbook.advisor import replay
from cassbook.book.chapters import decisions
from cassbook.core.errors import LackingError
from tests.helpers.made_services import service


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
