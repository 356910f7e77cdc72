"""Which reads missed an acknowledged write, on histories short enough to judge by eye."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassbook.advisor.history import check
from cassbook.core.errors import InputError

NAN = float("nan")


def writes(*rows):
    return pd.DataFrame(rows, columns=["key", "sequence", "acknowledged_s"])


def reads(*rows):
    return pd.DataFrame(rows, columns=["key", "started_s", "seen"])


def test_a_read_that_misses_an_acknowledged_write_is_a_violation():
    judged = check(writes((1, 1, 1.0), (1, 2, 2.0)), reads((1, 2.5, 1)))
    assert judged[["required", "violation", "versions_behind"]].iloc[0].tolist() == [2, True, 1]
    assert judged["behind_ms"].iloc[0] == pytest.approx(500)


@pytest.mark.parametrize(
    ("started", "seen", "violation"),
    [(0.5, 0, False), (1.5, 1, False), (1.5, 2, False), (1.5, 0, True), (1.0, 0, False), (2.0, 1, False)],
)
def test_only_what_was_acknowledged_before_the_read_began_counts(started, seen, violation):
    judged = check(writes((1, 1, 1.0), (1, 2, 2.0)), reads((1, started, seen)))
    assert judged["violation"].iloc[0] == violation


def test_an_unknown_outcome_promises_nothing_but_may_be_seen():
    history = writes((1, 1, 1.0), (1, 2, NAN))
    assert not check(history, reads((1, 5.0, 1)))["violation"].iloc[0]
    assert not check(history, reads((1, 5.0, 2)))["violation"].iloc[0]


def test_a_late_acknowledgement_of_an_old_write_does_not_lower_what_is_required():
    history = writes((1, 2, 1.0), (1, 1, 3.0))
    assert check(history, reads((1, 4.0, 1)))["required"].iloc[0] == 2


def test_the_delay_counts_from_the_first_missed_write():
    judged = check(writes((1, 1, 1.0), (1, 2, 2.0), (1, 3, 2.4)), reads((1, 2.5, 1)))
    assert judged["versions_behind"].iloc[0] == 2
    assert judged["behind_ms"].iloc[0] == pytest.approx(500)


def test_keys_are_apart_and_an_empty_history_is_fine():
    judged = check(writes((1, 1, 1.0), (2, 1, 9.0)), reads((2, 5.0, 0), (1, 5.0, 0)))
    assert judged.set_index("key")["violation"].to_dict() == {1: True, 2: False}
    assert check(writes((1, 1, NAN)), reads())["violation"].sum() == 0


def test_bad_histories_are_refused():
    with pytest.raises(InputError, match="stands twice under one key"):
        check(writes((1, 1, 1.0), (1, 1, 2.0)), reads((1, 3.0, 1)))
    with pytest.raises(InputError, match="reads: columns seen are missing"):
        check(writes((1, 1, 1.0)), reads().drop(columns="seen"))


@given(st.data())
def test_agrees_with_the_definition(data):
    moments = st.floats(0, 10).map(lambda t: round(t, 2))
    count = data.draw(st.integers(1, 8))
    history = writes(*[(k % 2, k // 2 + 1, data.draw(st.one_of(moments, st.just(NAN)))) for k in range(count)]).astype(
        {"acknowledged_s": float}
    )
    asked = reads(*[(data.draw(st.integers(0, 1)), data.draw(moments), data.draw(st.integers(0, 4))) for _ in range(5)])
    judged = check(history, asked)
    for row in judged.itertuples():
        own = history[(history["key"] == row.key) & (history["acknowledged_s"] < row.started_s)]
        required = int(own["sequence"].max()) if len(own) else 0
        assert row.required == required
        assert row.violation == (row.seen < required)
        missed = own[own["sequence"] > row.seen]["acknowledged_s"]
        if row.violation:
            assert row.behind_ms == pytest.approx((row.started_s - missed.min()) * 1000)
        else:
            assert np.isnan(row.behind_ms)
