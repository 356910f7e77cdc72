"""Counted reads, P(consistent) over t and k, and a prediction held against it."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import InputError
from cassbook.staleness import curves


def judged(*rows):
    names = ["asked_t_ms", "t_ms", "writer", "reader", "versions_behind"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(consistent=table["versions_behind"] == 0)


def drawn(p_of, reads=4000, waits=(0.0, 1.0, 5.0), seed=1):
    """Reads of two pairs of coordinators, consistent with probability p_of(t, writer, reader)."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(reads):
        t, (writer, reader) = random.choice(waits), ((0, 1), (1, 2))[random.integers(2)]
        rows.append((t, t + random.uniform(0, 0.4), writer, reader, int(random.random() > p_of(t, writer, reader))))
    return curves.counted(judged(*rows))


def test_counting_loses_no_read_and_little_of_t():
    reads = judged((0.0, 0.011, 0, 1, 0), (0.0, 0.012, 0, 1, 0), (0.0, 0.3, 0, 1, 2), (50.0, 50.2, 1, 0, 1))
    counts = curves.counted(reads)
    assert counts["reads"].sum() == 4
    assert counts.loc[counts["versions_behind"] == 2, "t_ms"].iloc[0] == pytest.approx(0.3)
    assert counts.loc[counts["asked_t_ms"] == 50, "t_ms"].iloc[0] == pytest.approx(50.2, abs=0.13)
    with pytest.raises(InputError, match="no read began after"):
        curves.counted(reads.assign(t_ms=np.nan))


def of_starts(*fresh, reads=800):
    """Reads of as many cluster starts, of which so many percent are fresh."""
    parts = [
        curves.counted(judged(*[(0.0, 0.0, 0, 1, int(k >= reads * percent / 100)) for k in range(reads)]))
        for percent in fresh
    ]
    return pd.concat([part.assign(start=number) for number, part in enumerate(parts, 1)], ignore_index=True)


def test_reads_of_one_cluster_start_share_its_luck():
    """As under load on 5.0.9, where an interval over reads held none of the three starts."""
    differing, alike = (curves.over_t(of_starts(*fresh)).iloc[0] for fresh in ((51, 33, 36), (40, 40, 40)))
    assert differing["p"] == pytest.approx(0.4)
    assert differing["low"] < 0.33
    assert differing["high"] > 0.51
    assert alike["high"] - alike["low"] < (differing["high"] - differing["low"]) / 3
    together = curves.over_t(of_starts(51, 33, 36).drop(columns="start")).iloc[0]
    assert together["high"] - together["low"] < 0.05


@pytest.mark.parametrize("fresh", [(100, 100, 100), (51, 33)], ids=["all fresh", "two starts"])
def test_where_all_reads_are_fresh_or_starts_are_two_the_bound_of_the_reads_is_left(fresh):
    known, together = of_starts(*fresh), of_starts(*fresh).drop(columns="start")
    figures = [curves.over_t(one).iloc[0][["p", "low", "high"]].tolist() for one in (known, together)]
    assert figures[0] == figures[1]


def test_pairs_count_alike_however_often_they_came():
    rows = [(0.0, 0.0, 0, 1, 0)] * 90 + [(0.0, 0.0, 1, 2, 1)] * 10
    point = curves.over_t(curves.counted(judged(*rows))).iloc[0]
    assert point["p"] == 0.5
    assert point["reads"] == 100
    # Nothing of it is by chance: each pair is always, or never, consistent.
    assert point["high"] - point["low"] < 0.15


def test_intervals_hold_the_truth():
    inside = 0
    for seed in range(40):
        point = curves.over_t(drawn(lambda t, writer, reader: 0.9 if writer else 0.5, 400, (0.0,), seed)).iloc[0]
        inside += point["low"] <= 0.7 <= point["high"]
    assert inside >= 35


def test_a_true_prediction_is_off_by_chance_only_and_a_wrong_one_by_what_it_is_off():
    def truth(t, writer, reader):
        return 0.6 if t < 0.5 else 0.9 if t < 3 else 1.0

    counted = drawn(truth, 20_000)
    right = curves.over_t(counted, predictor=lambda t, w, r: np.vectorize(truth)(t - 0.2, w, r))
    assert curves.rmse(right) < 3 * curves.noise(right)
    wrong = curves.over_t(counted, predictor=lambda t, w, r: np.vectorize(truth)(t - 0.2, w, r) - 0.1)
    assert curves.rmse(wrong) == pytest.approx(0.1, abs=0.02)


def test_a_prediction_is_asked_for_the_t_and_the_pair_of_each_read():
    asked = []

    def predictor(t, writer, reader):
        asked.append((writer, reader, t.tolist()))
        return np.ones_like(t)

    curves.over_t(curves.counted(judged((1.0, 1.3, 0, 1, 0), (1.0, 1.1, 2, 1, 0))), predictor=predictor)
    assert asked == [(0, 1, [pytest.approx(1.3)]), (2, 1, [pytest.approx(1.1)])]


def test_the_error_is_taken_from_0_to_where_almost_all_is_consistent():
    table = pd.DataFrame({"t_ms": [0.0, 1, 2, 3], "p": [0.5, 1.0, 0.9995, 1.0], "predicted": [0.5, 1.0, 0.0, 0.0]})
    assert curves.reached_ms(table) == 1.0
    assert curves.rmse(table) == 0.0
    # One that falls below again has not reached it.
    table = table.assign(p=[0.5, 1.0, 0.9, 1.0], predicted=[0.5, 1.0, 0.9, 0.0])
    assert curves.reached_ms(table) == 3.0
    assert curves.rmse(table) == pytest.approx(0.5)
    assert np.isnan(curves.reached_ms(table.assign(p=0.5)))


def test_versions():
    rows = [(0.0, 0.0, 0, 1, behind) for behind in (0, 1, 1, 3)]
    curve = curves.over_k(curves.counted(judged(*rows)), 0.0, 4)
    assert curve["p"].tolist() == [0.25, 0.75, 0.75, 1.0]
    with pytest.raises(InputError, match="no read waited 7 ms"):
        curves.over_k(curves.counted(judged(*rows)), 7.0)
