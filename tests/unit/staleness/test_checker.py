"""The checker against histories whose violations are known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassbook.core.errors import InputError
from cassbook.staleness.checker import judge, lost, timeline, went_back

NAN = float("nan")


def writes(*rows):
    return pd.DataFrame(rows, columns=["key", "version", "sent_s", "acked_s"])


def reads(*rows):
    return pd.DataFrame(rows, columns=["key", "sent_s", "returned_s", "version"])


def test_one_that_returns_the_last_acknowledged_version_is_consistent():
    verdict = judge(writes(("a", 1, 0.0, 0.1), ("a", 2, 0.2, 0.3)), reads(("a", 0.4, 0.5, 2))).iloc[0]
    assert verdict["consistent"]
    assert (verdict["newest"], verdict["versions_behind"], verdict["behind_ms"]) == (2, 0, 0.0)
    assert verdict["t_ms"] == pytest.approx(100)


def test_one_that_misses_two_is_two_behind_since_the_first_of_them():
    history = writes(("a", 1, 0.0, 0.1), ("a", 2, 0.2, 0.3), ("a", 3, 0.4, 0.5))
    verdict = judge(history, reads(("a", 0.6, 0.7, 1))).iloc[0]
    assert not verdict["consistent"]
    assert verdict["versions_behind"] == 2
    assert verdict["behind_ms"] == pytest.approx(300)
    assert verdict["t_ms"] == pytest.approx(100)


def test_nothing_of_a_row_that_was_acknowledged_is_a_version_behind():
    verdict = judge(writes(("a", 1, 0.0, 0.1)), reads(("a", 0.2, 0.3, 0))).iloc[0]
    assert (verdict["consistent"], verdict["versions_behind"]) == (False, 1)
    assert verdict["behind_ms"] == pytest.approx(100)


@pytest.mark.parametrize("version", [1, 2])
def test_a_write_on_its_way_may_be_seen_or_not(version):
    history = writes(("a", 1, 0.0, 0.1), ("a", 2, 0.2, 0.5))
    assert judge(history, reads(("a", 0.3, 0.4, version)))["consistent"].all()


@pytest.mark.parametrize("version", [1, 2])
def test_a_write_that_timed_out_is_unknown_for_ever(version):
    history = writes(("a", 1, 0.0, 0.1), ("a", 2, 0.2, NAN))
    assert judge(history, reads(("a", 9.0, 9.1, version)))["consistent"].all()


@pytest.mark.parametrize(
    ("sent_s", "version", "consistent"),
    [(0.05, 0, True), (0.15, 1, True), (0.25, 2, True), (0.15, 0, False), (0.35, 1, False), (0.3, 1, False)],
)
def test_only_what_was_acknowledged_when_the_read_began_counts(sent_s, version, consistent):
    history = writes(("a", 1, 0.0, 0.1), ("a", 2, 0.2, 0.3))
    assert judge(history, reads(("a", sent_s, 0.4, version)))["consistent"].tolist() == [consistent]


def test_keys_may_be_numbers_and_an_empty_history_is_fine():
    verdicts = judge(writes((1, 1, 0.0, 1.0), (2, 1, 0.0, 9.0)), reads((2, 5.0, 5.1, 0), (1, 5.0, 5.1, 0)))
    assert verdicts.set_index("key")["consistent"].to_dict() == {"2": True, "1": False}
    assert judge(writes((1, 1, 0.0, NAN)), reads()).empty


def test_a_history_without_a_column_is_refused():
    with pytest.raises(InputError, match=r"history: reads .*version; .*key, sent_s, returned_s, ver"):
        judge(writes(("a", 1, 0.0, 0.1)), reads().drop(columns="version"))
    with pytest.raises(InputError, match="history: writes has no column acked_s"):
        judge(writes(("a", 1, 0.0, 0.1)).drop(columns="acked_s"), reads())


def test_a_later_acknowledgement_covers_the_unknown():
    history = writes(("a", 1, 0.0, 0.1), ("a", 2, 0.2, NAN), ("a", 3, 12.0, 12.1))
    verdict = judge(history, reads(("a", 13.0, 13.1, 2))).iloc[0]
    assert (verdict["consistent"], verdict["versions_behind"]) == (False, 1)  # the unknown one is not counted


def test_keys_are_apart():
    history = writes(("a", 1, 0.0, 0.1), ("b", 1, 0.0, 5.0), ("b", 2, 6.0, 6.5))
    verdicts = judge(history, reads(("b", 0.2, 0.3, 0), ("a", 0.2, 0.3, 1), ("b", 7.0, 7.1, 1)))
    assert verdicts["consistent"].tolist() == [True, True, False]
    assert verdicts["newest"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("history", "seen", "message"),
    [
        (writes(("a", 1, 0.0, 0.1), ("a", 1, 0.2, 0.3)), reads(), "stands twice"),
        (writes(("a", 1, 0.0, 0.5), ("a", 2, 0.2, 0.6)), reads(), "sent before the last was over"),
        (writes(("a", 1, 0.0, 0.1)), reads(("a", 0.2, 0.3, 2)), "returned version 2, which nobody had sent"),
        (writes(("a", 1, 1.0, 1.1)), reads(("a", 0.2, 0.3, 1)), "returned version 1, which nobody had sent"),
    ],
)
def test_what_cannot_be_is_refused(history, seen, message):
    with pytest.raises(InputError, match=message):
        judge(history, seen)


@st.composite
def histories(draw):
    """A history of several keys, and for each read what a plain reading of the definition says."""
    rows, asked = [], []
    for key in range(draw(st.integers(1, 3))):
        now, mine = 0.0, []
        for version in range(1, draw(st.integers(0, 6)) + 1):
            sent = now + draw(st.floats(0.0, 1.0))
            acked = sent + draw(st.floats(0.01, 1.0))
            known = draw(st.booleans())
            mine.append((key, version, sent, acked if known else NAN))
            now = acked
        rows += mine
        for _ in range(draw(st.integers(0, 4))):
            sent = draw(st.floats(0.0, 8.0))
            returned = sent + draw(st.floats(0.0, 1.0))
            may = [0] + [v for _, v, s, _ in mine if s <= returned]
            asked.append((key, sent, returned, draw(st.sampled_from(may))))
    return rows, asked


@given(histories())
@settings(max_examples=80, deadline=None)
def test_it_says_what_the_definition_says(history):
    rows, asked = history
    verdicts = judge(writes(*rows), reads(*asked))
    for (key, sent, _, version), row in zip(asked, verdicts.itertuples(), strict=True):
        acked = [(v, at) for k, v, _, at in rows if k == key and not np.isnan(at) and at <= sent]
        missed = [(v, at) for v, at in acked if v > version]
        assert row.consistent == (not missed)
        assert row.versions_behind == len(missed)
        assert row.behind_ms == pytest.approx(1000 * (sent - missed[0][1]) if missed else 0.0)
        assert row.newest == max((v for v, _ in acked), default=0)


def from_hosts(table, *hosts):
    return table.assign(host=list(hosts))


def test_clocks_of_several_hosts_must_be_bounded():
    written, read = from_hosts(writes(("a", 1, 0.0, 0.1)), "x"), from_hosts(reads(("a", 0.105, 0.2, 0)), "y")
    with pytest.raises(InputError, match="clock of x, y"):
        judge(written, read)
    with pytest.raises(InputError, match="clock of y;"):
        judge(written, read, {"x": 0.01, "y": float("nan")})
    assert judge(written, read, {"x": 0.01, "y": 0.01})["consistent"].all()  # may have been at the same time
    verdict = judge(written, read, {"x": 0.001, "y": 0.001}).iloc[0]
    assert not verdict["consistent"]
    assert verdict["sent_s"] == 0.105
    with pytest.raises(InputError, match="column host "):
        judge(written, read.drop(columns="host"))
    one = judge(written, from_hosts(read, "x"))
    assert not one["consistent"].any()


def last(**versions):
    return pd.DataFrame({"key": list(versions), "version": list(versions.values())})


def test_a_write_is_lost_if_the_end_shows_an_older_version():
    history = writes(("a", 1, 0.0, 0.1), ("a", 2, 0.2, 0.3), ("a", 3, 0.4, 0.5), ("b", 1, 0.0, 0.1))
    gone = lost(history, last(a=1, b=1))
    assert gone[["key", "version"]].to_numpy().tolist() == [["a", 2], ["a", 3]]
    assert lost(history, last(a=3, b=1)).empty


def test_an_unknown_write_is_never_lost_and_may_stand_for_older_ones():
    history = writes(("a", 1, 0.0, 0.1), ("a", 2, 0.2, NAN))
    assert lost(history, last(a=1)).empty  # it never took effect
    assert lost(history, last(a=2)).empty  # it did, over an acknowledged one
    assert lost(history, last(a=0))["version"].tolist() == [1]


def test_an_end_that_was_not_read_once_is_refused():
    history = writes(("a", 1, 0.0, 0.1), ("b", 1, 0.0, 0.1))
    with pytest.raises(InputError, match=r"key 'b' .*not read at the end"):
        lost(history, last(a=1))
    with pytest.raises(InputError, match=r"key 'a' .*more than once"):
        lost(history, pd.concat([last(a=1), last(a=1, b=1)]))


def test_a_read_goes_back_if_an_earlier_one_had_seen_more():
    seen = reads(("a", 0.0, 0.1, 2), ("a", 0.2, 0.3, 1), ("a", 0.05, 0.4, 1), ("b", 0.2, 0.3, 0), ("a", 0.5, 0.6, 2))
    verdicts = went_back(seen)
    assert verdicts["back"].tolist() == [False, True, False, False, False]  # the third began before the first was over
    assert verdicts["seen_before"].tolist() == [0, 2, 0, 0, 2]
    assert list(verdicts.index) == list(seen.index)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9), st.integers(0, 6), st.sampled_from("ab")), max_size=14)
)
def test_going_back_agrees_with_every_pair_of_reads(rows):
    seen = reads(*[(key, sent, sent + took, version) for sent, took, version, key in rows])
    expected = [
        any(k == key and s + t <= sent and v > version for s, t, v, k in rows) for sent, _, version, key in rows
    ]
    assert went_back(seen)["back"].tolist() == expected


def test_a_story_has_the_writes_that_were_missed_and_who_had_seen_them():
    wrote = writes(("a", 1, 0.0, 0.1), ("a", 2, 0.2, 0.3), ("a", 3, 0.4, NAN), ("b", 9, 0.2, 0.3)).assign(
        node=[1, 2, 3, 1]
    )
    seen = reads(("a", 0.5, 0.6, 2), ("a", 0.7, 0.8, 1), ("b", 0.5, 0.6, 9)).assign(node=[2, 3, 1])
    story = timeline(wrote, seen, seen.iloc[1])
    assert story[["operation", "version", "node"]].to_numpy().tolist() == [
        ["write", 1, 1], ["write", 2, 2], ["write", 3, 3], ["read", 2, 2], ["read", 1, 3],
    ]  # fmt: skip
    assert np.isnan(story["ended_s"].iloc[2])
    assert story["sent_s"].is_monotonic_increasing
