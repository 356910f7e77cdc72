"""From samples to statistics: cells whose mean, variation, throughput and Little's ratio are known."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from cassbook import published
from cassbook.book import paper_tables
from cassbook.core.errors import CassbookWarning, InputError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import LEVEL_STATS, MIXED_STATS, SAMPLES
from cassbook.latency import ranking, summaries
from tests.helpers.made_cells import cell_stats, make_cells


def make_samples(**columns):
    """Samples with categories, as Parquet gives them back."""
    n = len(columns["latency_us"])
    defaults = {"cell_id": "a", "started_s": 10.0, "intended_s": np.nan, "operation": "READ", "outcome": "ok"}
    defaults |= {"phase": "steady", "coordinator": "127.0.0.1"}
    df = pd.DataFrame({name: columns.get(name, defaults.get(name)) for name in SAMPLES.names}, index=range(n))
    labels = [field.name for field in SAMPLES if pa.types.is_dictionary(field.type)]
    return df.astype(dict.fromkeys(labels, "category"))


@pytest.fixture
def closed_loop():
    """Four threads without a gap for 10 s, latency 1 or 3 ms by turns: 2000 operations/s."""
    latency_us = np.tile([1000.0, 3000.0], 10_000)
    return make_samples(latency_us=latency_us, started_s=np.linspace(10, 20, 20_000, endpoint=False))


def one(samples, **cell):
    stats = summaries.cell_statistics(samples, make_cells({"cell_id": "a"} | cell))
    assert len(stats) == 1
    return stats.iloc[0]


def test_known_mean_variation_throughput_and_littles_ratio(closed_loop):
    row = one(closed_loop)
    assert row["n_ok"] == 20_000
    assert row["n_errors"] == 0
    assert row["latency_us"] == 2000
    assert row["sd_us"] == pytest.approx(1000, rel=1e-4)
    assert row["cv_percent"] == pytest.approx(50, rel=1e-4)
    assert row["throughput_per_s"] == 2000
    assert row["little_ratio"] == pytest.approx(2000 * 0.002 / 4)


def test_littles_ratio_shows_a_client_that_waits(closed_loop):
    assert one(closed_loop, threads=5)["little_ratio"] == pytest.approx(0.8)


def test_quantiles_agree_with_numpy():
    latency_us = np.random.default_rng(1).gamma(2, 500, 5001)
    row = one(make_samples(latency_us=latency_us))
    expected = np.quantile(latency_us, [0.5, 0.95, 0.99])
    np.testing.assert_allclose(row[["p50_us", "p95_us", "p99_us"]].to_numpy(dtype=float), expected)
    assert row["sd_us"] == pytest.approx(latency_us.std(ddof=1))


def test_warmup_and_drain_do_not_count():
    samples = make_samples(latency_us=[9e6, 100.0, 300.0, 9e6], phase=["warmup", "steady", "steady", "drain"])
    row = one(samples)
    assert (row["n_ok"], row["latency_us"], row["throughput_per_s"]) == (2, 200, 0.2)


def test_errors_are_counted_and_hold_a_thread():
    samples = make_samples(
        latency_us=[1000.0, 1000.0, 4000.0, 4000.0], outcome=["ok", "ok", "write_timeout", "unavailable"]
    )
    row = one(samples, threads=1)
    assert (row["n_ok"], row["n_errors"], row["latency_us"]) == (2, 2, 1000)
    assert row["throughput_per_s"] == 0.2
    assert row["little_ratio"] == pytest.approx(0.4 * 0.0025)


def test_throughput_counts_starts_in_the_half_open_window():
    samples = make_samples(latency_us=np.ones(4), started_s=[9.9, 10.0, 15.0, 20.0])
    row = one(samples)
    assert row["n_ok"] == 4
    assert row["throughput_per_s"] == 0.2


def test_an_empty_window_has_no_throughput():
    row = one(make_samples(latency_us=[1.0, 2.0]), steady_to_s=10.0)
    assert np.isnan(row["throughput_per_s"])
    assert np.isnan(row["little_ratio"])


def test_reads_and_writes_apart():
    samples = make_samples(latency_us=[100.0, 200.0, 600.0, 800.0], operation=["READ", "READ", "UPDATE", "INSERT"])
    row = one(samples)
    assert (row["read_latency_us"], row["update_latency_us"], row["latency_us"]) == (150, 700, 425)
    assert np.isnan(one(make_samples(latency_us=[1.0]))["update_latency_us"])


def test_cells_keep_their_order_and_their_own_samples():
    samples = make_samples(latency_us=[1.0, 2.0, 3.0, 4.0], cell_id=["a", "b", "a", "unfinished"])
    cells = make_cells({"cell_id": "b"}, {"cell_id": "silent"}, {"cell_id": "w", "kind": "warmup"}, {"cell_id": "a"})
    stats = summaries.cell_statistics(samples, cells)
    assert stats["cell_id"].tolist() == ["b", "silent", "a"]
    assert stats["n_ok"].tolist() == [1, 0, 2]
    assert stats["latency_us"].fillna(-1).tolist() == [2, -1, 2]
    assert stats["throughput_per_s"].tolist() == [0.1, 0, 0.2]


def test_a_cell_of_failures_only_is_there_without_latency():
    row = one(make_samples(latency_us=[5.0, 5.0], outcome="write_timeout"))
    assert (row["n_ok"], row["n_errors"], row["throughput_per_s"]) == (0, 2, 0)
    assert np.isnan([row["latency_us"], row["p99_us"], row["cv_percent"]]).all()


def test_plain_strings_do_as_well_as_categories(closed_loop):
    plain = closed_loop.astype({"cell_id": str, "phase": str, "outcome": str, "operation": str})
    pd.testing.assert_series_equal(one(plain), one(closed_loop))


def test_two_million_samples_take_less_than_two_seconds():
    n, n_cells = 2_000_000, 150
    rng = np.random.default_rng(0)
    names = [f"cell{k}" for k in range(n_cells)]
    samples = pd.DataFrame(
        {
            "cell_id": pd.Categorical.from_codes(rng.integers(0, n_cells, n), names),
            "started_s": rng.uniform(10, 20, n),
            "operation": pd.Categorical.from_codes(rng.integers(0, 2, n), ["READ", "UPDATE"]),
            "latency_us": rng.gamma(2, 500, n),
            "outcome": pd.Categorical.from_codes(np.zeros(n, int), ["ok"]),
            "phase": pd.Categorical.from_codes(np.ones(n, int), ["warmup", "steady"]),
        }
    )
    cells = make_cells(*({"cell_id": name} for name in names))
    stats = summaries.cell_statistics(samples, cells)
    assert stats["n_ok"].sum() == n


def test_bad_input_is_named(closed_loop):
    cells = make_cells({"cell_id": "a"})
    with pytest.raises(InputError, match="samples: no column phase"):
        summaries.cell_statistics(closed_loop.drop(columns="phase"), cells)
    with pytest.raises(InputError, match="cells: no column steady_from_s, little_ratio"):
        summaries.cell_statistics(closed_loop, cells.drop(columns=["steady_from_s", "little_ratio"]))
    with pytest.raises(InputError, match="cells: a stands there twice"):
        summaries.cell_statistics(closed_loop, pd.concat([cells, cells]))


def test_level_stats_average_blocks_not_repeats():
    stats = summaries.level_stats(
        cell_stats(
            {"block": 0, "latency_us": 100.0, "cv_percent": 20.0, "throughput_per_s": 50.0},
            {"block": 0, "latency_us": 300.0, "cv_percent": 40.0, "throughput_per_s": 70.0, "repeat": 1},
            {"block": 1, "latency_us": 400.0, "cv_percent": 50.0, "throughput_per_s": 80.0},
            {"block": 2, "latency_us": 800.0, "cv_percent": 60.0, "throughput_per_s": 100.0},
        )
    )
    assert tuple(stats.columns) == LEVEL_STATS
    row = stats.iloc[0]
    expected = Estimate.ratio([200, 400, 800])
    assert (row["latency_us"], row["blocks"]) == (pytest.approx(400), 3)
    assert row["latency_low_us"] == pytest.approx(expected.low)
    assert row["latency_high_us"] == pytest.approx(expected.high)
    assert (row["cv_percent"], row["throughput_per_s"]) == pytest.approx((140 / 3, 80))


def test_level_stats_tell_reads_from_writes_and_leave_mixes_out():
    stats = summaries.level_stats(
        cell_stats(
            {"read_cl": "ALL", "write_cl": "ONE", "latency_us": 1.0},
            {"read_cl": "ONE", "write_cl": "ALL", "latency_us": 2.0},
            {"read_cl": "ALL", "write_cl": "QUORUM", "read_share": 0.0, "latency_us": 3.0},
            {"read_share": 0.5, "kind": "mixed", "latency_us": 4.0},
            {"read_cl": "QUORUM", "latency_us": 5.0, "threads": 100},
            {"read_cl": "QUORUM", "latency_us": 6.0, "threads": 20},
        )
    )
    assert stats[["operation", "level", "threads", "latency_us"]].to_numpy().tolist() == [
        ["READ", "ONE", 10, 2.0],
        ["READ", "QUORUM", 20, 6.0],
        ["READ", "QUORUM", 100, 5.0],
        ["READ", "ALL", 10, 1.0],
        ["WRITE", "QUORUM", 10, 3.0],
    ]
    assert stats["latency_low_us"].isna().all()


def test_cells_without_latency_are_left_out_aloud():
    with pytest.warns(CassbookWarning, match="operation: c1"):
        stats = summaries.level_stats(cell_stats({"latency_us": 1.0}, {"latency_us": np.nan, "block": 1}))
    assert stats["blocks"].tolist() == [1]


def test_engines_are_not_averaged_together():
    with pytest.raises(InputError, match=r"2\.1\.20, 5\.0\.9 .*one engine$"):
        summaries.level_stats(cell_stats({"latency_us": 1.0}, {"latency_us": 2.0, "engine": "5.0.9"}))


def test_mixed_stats_name_the_setting():
    mixed = {"kind": "mixed", "read_share": 0.9}
    stats = summaries.mixed_stats(
        cell_stats(
            mixed | {"read_cl": "ONE", "write_cl": "ALL", "latency_us": 10.0},
            mixed | {"read_cl": "ONE", "write_cl": "ALL", "latency_us": 30.0, "block": 1},
            mixed | {"read_cl": "QUORUM", "write_cl": "QUORUM", "latency_us": 50.0},
            mixed | {"read_cl": "ONE", "write_cl": "QUORUM", "latency_us": 70.0},
            {"latency_us": 90.0},
        )
    )
    assert tuple(stats.columns) == MIXED_STATS
    expected = {"1R-3W": pytest.approx(np.sqrt(300)), "1R-2W": 70, "2R-2W": 50}
    assert stats.set_index("setting")["latency_us"].to_dict() == expected
    assert stats.set_index("setting")["blocks"].to_dict() == {"1R-3W": 2, "1R-2W": 1, "2R-2W": 1}


def test_setting_names_follow_the_replication_factor():
    assert summaries.setting_name("QUORUM", "ALL", 5) == "3R-5W"


def test_a_run_without_such_cells_gives_empty_tables_with_columns():
    assert tuple(summaries.mixed_stats(cell_stats({"latency_us": 1.0})).columns) == MIXED_STATS
    stats = summaries.level_stats(cell_stats({"latency_us": 1.0, "kind": "mixed", "read_share": 0.5}))
    assert tuple(stats.columns) == LEVEL_STATS
    assert stats.empty


def test_slowdowns_of_the_printed_tables():
    stats = summaries.slowdowns(published.level_stats())
    assert len(stats) == 72
    printed = pd.concat([published.table("g20_table1"), published.table("g20_table2")], ignore_index=True)
    off = (stats["latency_slowdown_percent"] - printed["latency_slowdown_percent"]).abs()
    assert off.max() < 1
    assert (off > 0.5).sum() == 1
    assert (stats.loc[stats["level"] == "ONE", "latency_slowdown_percent"] == 0).all()
    # the printed throughput columns divide by the slower level, so they are never smaller
    more = printed["throughput_slowdown_percent"] - stats["throughput_slowdown_percent"]
    assert (more.dropna() > -0.5).sum() == 47
    row = stats[(stats["operation"] == "READ") & (stats["level"] == "ALL") & (stats["threads"] == 10)].iloc[0]
    assert row["throughput_slowdown_percent"] == pytest.approx((1136 - 959) / 1136 * 100)


def test_slowdowns_are_unknown_without_one():
    stats = published.level_stats()
    without = stats[(stats["level"] != "ONE") | (stats["threads"] != 10)]
    at_10 = summaries.slowdowns(without).query("threads == 10")
    assert len(at_10) == 4
    assert at_10[["latency_slowdown_percent", "throughput_slowdown_percent"]].isna().all(axis=None)


def ranked(*intervals):
    """Ranking of levels given as (level, low, value, high)."""
    rows = [
        {"operation": "READ", "threads": 10, "level": level, "latency_us": mid, "latency_low_us": low,
         "latency_high_us": high}
        for level, low, mid, high in intervals
    ]  # fmt: skip
    table = ranking.levels(pd.DataFrame(rows))
    assert len(table) == 1
    return table.loc[0, "ranking"], table.loc[0, "distinguishable"]


def test_ranking_with_and_without_noise():
    one, quorum = ("ONE", 1, 2, 3), ("QUORUM", 4, 5, 6)
    assert ranked(quorum, ("ALL", 7, 8, 9), one) == (("ONE", "QUORUM", "ALL"), True)
    assert ranked(quorum, ("ALL", 5.5, 8, 9), one) == (("ONE", "QUORUM", "ALL"), False)
    assert ranked(("ONE", 4.5, 7, 9), quorum) == (("QUORUM", "ONE"), False)
    assert ranked(one, ("ALL", np.nan, 8, np.nan)) == (("ONE", "ALL"), None)
    assert ranked(one) == (("ONE",), None)


def test_printed_ranking_is_the_same_everywhere_but_cannot_be_judged():
    table = ranking.levels(published.level_stats())
    assert len(table) == 24
    assert set(table["ranking"]) == {("ONE", "QUORUM", "ALL")}
    assert all(verdict is None for verdict in table["distinguishable"])


def test_a_write_that_timed_out_is_unknown_and_a_refused_one_is_not():
    samples = make_samples(
        latency_us=[1000.0] * 5,
        operation=["UPDATE", "UPDATE", "UPDATE", "READ", "UPDATE"],
        outcome=["write_timeout", "unavailable", "connection_lost", "read_timeout", "ok"],
    )
    row = summaries.cell_statistics(samples, make_cells({"cell_id": "a", "read_share": 0.0})).iloc[0]
    assert (row["n_ok"], row["n_errors"], row["n_unknown"]) == (1, 4, 2)


def many(n=4000, **columns):
    """A cell of lognormal latencies over its 10 s."""
    latency_us = np.random.default_rng(2).lognormal(7, 0.5, n)
    return make_samples(latency_us=latency_us, started_s=np.linspace(10, 20, n, endpoint=False), **columns)


def test_figures_of_a_cell_have_bounds():
    row = one(many())
    for figure in ("latency", "p50", "p95", "p99"):
        assert row[f"{figure}_low_us"] < row[f"{figure}_us"] < row[f"{figure}_high_us"]
    half = 1.96 * row["sd_us"] / np.sqrt(4000)
    assert row["latency_high_us"] - row["latency_us"] == pytest.approx(half, rel=0.5)  # it is independent noise
    assert 1000 < row["effective_n"] < 16_000
    assert row["throughput_low_per_s"] <= row["throughput_per_s"] == 400 <= row["throughput_high_per_s"]


def test_response_time_is_kept_apart_from_service_time():
    closed = one(many())
    assert closed.filter(like="response").isna().all()
    samples = many(intended_s=np.linspace(10, 20, 4000, endpoint=False) - 0.004)
    paced = one(samples, kind="paced", rate_per_s=400.0)
    pd.testing.assert_series_equal(closed.filter(regex="^(latency|p..)_"), paced.filter(regex="^(latency|p..)_"))
    assert paced["response_us"] == pytest.approx(paced["latency_us"] + 4000)
    assert paced["response_p99_us"] == pytest.approx(paced["p99_us"] + 4000)
    assert paced["response_p99_low_us"] == pytest.approx(paced["p99_low_us"] + 4000)
    assert one(samples.drop(columns="intended_s")).filter(like="response").isna().all()


def bounded(*rows):
    """Cell statistics whose bounds within the cell are 5 % away."""
    table = cell_stats(*rows)
    for name in ("p50", "p95", "p99"):
        table[f"{name}_us"] = table["latency_us"]
    for name in ("latency", "p50", "p95", "p99"):
        table[f"{name}_low_us"], table[f"{name}_high_us"] = table["latency_us"] * 0.95, table["latency_us"] * 1.05
    return table


def test_level_quantiles_say_what_their_bounds_rest_on():
    table = summaries.level_quantiles(
        bounded(
            {"block": 0, "latency_us": 100.0},
            {"block": 1, "latency_us": 120.0},
            {"block": 2, "latency_us": 110.0},
            {"read_cl": "QUORUM", "latency_us": 200.0},
            {"read_cl": "ALL", "latency_us": 300.0},
            {"read_cl": "ALL", "latency_us": 310.0, "repeat": 1},
        )
    )
    assert table["figure"].tolist() == ["mean", "p50", "p95", "p99"] * 3
    one_, quorum, all_ = (table[table["level"] == level].iloc[3] for level in ("ONE", "QUORUM", "ALL"))
    expected = Estimate.ratio([100, 120, 110])
    assert (one_["latency_low_us"], one_["latency_high_us"]) == pytest.approx((expected.low, expected.high))
    assert (one_["interval"], one_["blocks"]) == ("blocks", 3)
    assert (quorum["latency_low_us"], quorum["latency_high_us"]) == pytest.approx((190, 210))
    assert (quorum["interval"], quorum["blocks"]) == ("one cluster start", 1)
    assert (all_["latency_us"], all_["interval"]) == (305, "")  # two cells of one start: neither's bounds are theirs
    assert np.isnan(all_["latency_low_us"])


def ranking_in_blocks(**latencies):
    rows = [
        {"read_cl": level, "block": block, "latency_us": float(value)}
        for level, values in latencies.items()
        for block, value in enumerate(values)
    ]
    stats = cell_stats(*rows)
    (row,) = ranking.levels(summaries.level_stats(stats), stats).to_dict("records")
    return row


def ranked_in_blocks(**latencies):
    row = ranking_in_blocks(**latencies)
    return [row[name] for name in ("ranking", "distinguishable", "p_value")]


def test_levels_are_compared_within_blocks():
    # blocks differ by far more than levels, which overlap; within each block the order is the same
    one_, quorum = [100, 200, 400, 800], [110, 222, 436, 884]
    order, distinguishable, p_value = ranked_in_blocks(ONE=one_, QUORUM=quorum)
    assert (order, distinguishable) == (("ONE", "QUORUM"), True)
    assert p_value == pytest.approx(stats.ttest_rel(np.log(quorum), np.log(one_)).pvalue)
    table = summaries.level_stats(cell_stats(*({"block": b, "latency_us": float(x)} for b, x in enumerate(one_))))
    assert 0 < table.loc[0, "latency_low_us"] < 100  # by the levels' own intervals nothing could be known


def test_over_all_thread_counts_together_chance_evens_out():
    rng = np.random.default_rng(4)
    rows = [
        {"read_cl": level, "block": block, "threads": threads, "latency_us": float(np.exp(shift + rng.normal(7, 0.4)))}
        for threads in range(1, 41)
        for block in range(4)
        for level, shift in (("ONE", 0.0), ("QUORUM", 0.7))
    ]
    table = cell_stats(*rows, {"read_cl": "ONE", "threads": 99, "latency_us": 1.0})  # no QUORUM there: left out
    (row,) = ranking.overall(table, "level").to_dict("records")
    assert (row["operation"], row["ranking"], row["thread_counts"]) == ("READ", ("ONE", "QUORUM"), 40)
    assert row["differ"] == (True,)
    logs = np.log(table[table["threads"] < 99].pivot_table("latency_us", ["threads", "block"], "read_cl"))
    blocks = logs.groupby("block").mean()
    assert row["p_value"] == pytest.approx(stats.ttest_rel(blocks["QUORUM"], blocks["ONE"]).pvalue)
    alone = ranking.levels(summaries.level_stats(table), table)["distinguishable"]
    assert (alone == True).mean() < 0.7  # noqa: E712 - None is neither


def test_a_ranking_needs_all_neighbours_apart_and_pays_for_each():
    one_, quorum, all_ = [100, 200, 400], [130, 262, 520], [131, 255, 530]
    names, distinguishable, p_value = ranked_in_blocks(ONE=one_, QUORUM=quorum, ALL=all_)
    assert distinguishable is False
    assert names[0] == "ONE"
    assert ranking_in_blocks(ONE=one_, QUORUM=quorum, ALL=all_)["differ"] == (True, False)
    logs = {name: np.log(values) for name, values in (("ONE", one_), ("QUORUM", quorum), ("ALL", all_))}
    p = [stats.ttest_1samp(logs[b] - logs[a], 0).pvalue for a, b in itertools.pairwise(names)]
    assert p_value == pytest.approx(max(*p, 2 * min(p)))


def test_one_block_ranks_without_a_verdict():
    assert ranked_in_blocks(ONE=[100], ALL=[900])[:2] == [("ONE", "ALL"), None]
    assert ranking_in_blocks(ONE=[100], ALL=[900])["differ"] is None
    assert ranked_in_blocks(ONE=[100, 110])[1] is None


def test_levels_that_are_the_same_are_told_apart_in_few_of_a_hundred():
    rng = np.random.default_rng(8)
    rows = [
        {"read_cl": level, "block": block, "threads": threads, "latency_us": float(np.exp(effect + rng.normal(7, 0.1)))}
        for threads in range(1, 301)
        for block, effect in enumerate(rng.normal(0, 0.3, 4))
        for level in ("ONE", "QUORUM")
    ]
    table = cell_stats(*rows)
    distinguishable = ranking.levels(summaries.level_stats(table), table)["distinguishable"]
    assert distinguishable.astype(bool).mean() == pytest.approx(0.05, abs=0.035)


def test_a_point_is_marked_where_any_of_its_cells_is():
    rows = [
        {"latency_us": 1.0, "block": 1, "marks": "little"},
        {"latency_us": 2.0, "block": 2, "marks": "errors;lag"},
        {"latency_us": 3.0, "block": 1, "threads": 50, "marks": "little"},
        {"latency_us": 3.0, "block": 1, "threads": 100, "marks": "client"},
    ]
    stats = summaries.level_stats(cell_stats(*rows))
    assert stats["marks"].tolist() == ["errors;lag;little", "little", "client"]
    assert summaries.client_marked(stats).tolist() == [True, False, True]
    assert paper_tables.signs(stats["marks"]).tolist() == [" †‡", " ‡", " †"]
