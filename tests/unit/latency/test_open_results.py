"""Tables of what was measured under open arrivals; and that no other table averages such cells with closed ones."""

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.schema import OPEN, without_open
from cassbook.latency import carry_over, policies, prices, ranking, summaries, validation
from cassbook.latency.capacity import capacities
from cassbook.latency.open_choices import Mix
from cassbook.latency.open_loads import OpenLoads
from cassbook.latency.open_results import (
    ALONE,
    RATE,
    SHARE,
    by_condition,
    capacity_by_block,
    capacity_ratios,
    carried,
    changes,
    closed_by_block,
    open_cells,
    open_results,
    waiting_by_block,
)  # fmt: skip
from cassbook.latency.results import results
from tests.helpers import open_runs
from tests.helpers.open_runs import ALONE_US, CARRIED, mean_us


@pytest.fixture(scope="module")
def both():
    """Statistics of a run with open cells, closed ones alike but for that, and trials."""
    closed = open_runs.closed_cells() + open_runs.closed_cells("pure", read_share=1.0)
    return open_runs.statistics(open_runs.open_cells() + closed + open_runs.trials())


@pytest.fixture(scope="module")
def table(both):
    return open_results(both, 3)


def row_of(table, setting, at, measured=SHARE):
    (row,) = table[(table["setting"] == setting) & (table["at"] == at) & (table["measured"] == measured)].to_dict(
        "records"
    )
    return row


def test_a_row_is_a_share_over_blocks_whose_rates_differ(table):
    row = row_of(table, "QUORUM/QUORUM", 0.6)
    assert row["blocks"] == 3
    assert (row["rate_least_per_s"], row["rate_most_per_s"]) == (pytest.approx(1080), pytest.approx(1320))
    assert row["own_share"] == pytest.approx(0.48)
    expected = mean_us("QUORUM/QUORUM", 1200)
    assert row["latency_us"] == pytest.approx(expected, rel=0.01)
    assert row["p50_us"] == pytest.approx(expected * np.log(2), rel=0.01)
    assert row["p99_us"] == pytest.approx(expected * np.log(100), rel=0.02)
    assert (row["due"], row["failed"], row["interval"], row["client"]) == (6000, 0, "blocks", False)
    assert (row["survives_reads"], row["survives_writes"]) == (1, 1)
    assert row["late_p99_us"] == pytest.approx(10 * np.log(100), rel=0.02)


def test_ratios_are_to_the_weakest_at_the_same_arrivals_and_none_is_of_what_was_alone(table):
    assert set(table["base"]) == {"ONE/ONE"}
    row = row_of(table, "ONE/ALL", 0.8)
    expected = mean_us("ONE/ALL", 1600) / mean_us("ONE/ONE", 1600)
    for figure in ("mean", "p50", "p99"):
        assert row[f"ratio_{figure}"] == pytest.approx(expected, rel=0.01)
        assert row[f"ratio_{figure}_low"] <= row[f"ratio_{figure}"] <= row[f"ratio_{figure}_high"]
    alone = table[table["measured"] == ALONE]
    assert sorted(set(zip(alone["setting"], alone["at"], strict=True))) == [
        ("ONE/ONE", 0.5), ("ONE/ONE", 0.8), ("QUORUM/QUORUM", 0.5), ("QUORUM/QUORUM", 0.8),
    ]  # fmt: skip
    assert alone[["ratio_p50", "ratio_p99"]].isna().all(axis=None)
    assert np.isnan(row_of(table, "ONE/ONE", 0.2)["ratio_p50"])


def test_pairs_are_taken_within_blocks():
    """A block twice as slow for all changes no ratio, and widens none."""

    def slower(row):
        return {"mean_us": row["mean_us"] * (2 if row["block"] == 2 else 1)}

    row = row_of(open_results(open_runs.statistics(open_runs.open_cells(changes=slower))), "QUORUM/QUORUM", 0.4)
    assert row["p50_high_us"] / row["p50_low_us"] > 2
    assert row["ratio_p50_high"] / row["ratio_p50_low"] < 1.02


def test_without_the_weakest_the_fastest_is_the_base():
    settings = ("QUORUM/QUORUM", "ONE/ALL")
    found = open_results(open_runs.statistics(open_runs.open_cells(settings=settings, own=())))
    assert set(found["base"]) == {"QUORUM/QUORUM"}


def test_what_is_not_carried_stands_without_figures():
    rows = open_runs.open_cells(shares=(), own=(), rates=(1000, 2400, 3000))
    found = open_results(open_runs.statistics(rows))
    assert set(found["measured"]) == {RATE}
    lost = row_of(found, "ONE/ALL", 3000, RATE)
    assert (lost["blocks"], lost["not_carried"], lost["due"], lost["marks"]) == (0, 3, 0, "not_carried")
    assert np.isnan([lost["p50_us"], lost["throughput_per_s"], lost["ratio_p50"]]).all()
    some = row_of(found, "QUORUM/QUORUM", 2400, RATE)  # 2500, 2750 and 2250 are carried
    assert (some["blocks"], some["not_carried"]) == (2, 1)


def test_a_percentile_of_too_few_is_missing_and_the_client_is_named():
    def marked(row):
        return {"marks": "late"} if row["load_share"] == 0.2 and row["block"] == 1 else {}

    statistics = open_runs.statistics(open_runs.open_cells(changes=marked)).assign(n_ok=999)
    found = open_results(statistics)
    assert found["p99_us"].isna().all()
    assert found["p50_us"].notna().all()
    assert found["client"].eq((found["measured"] == SHARE) & (found["at"] == 0.2)).all()


def test_a_cell_that_the_client_is_a_part_of_says_so():
    def some(row):
        return {"marks": "client"} if row["load_share"] == 0.4 and row["read_cl"] == "QUORUM" else {}

    found = open_results(open_runs.statistics(open_runs.open_cells(changes=some)))
    assert list(found.loc[found["client"], "at"]) == [0.4]


def test_what_the_client_could_not_send_is_no_setting_s_fault():
    def beyond(row):
        lost = {"marks": "not_carried;client", "mean_us": np.nan}
        return lost | ({"rate_per_s": np.nan} if row["block"] == 1 else {}) if row["load_share"] == 0.8 else {}

    found = open_results(open_runs.statistics(open_runs.open_cells(own=(), changes=beyond)))
    row = row_of(found, "ONE/ONE", 0.8)
    assert (row["blocks"], row["not_carried"], row["beyond_client"]) == (0, 0, 3)


def test_what_settings_carried_before_and_after(both):
    found = carried(both).set_index("setting")
    for setting, per_s in CARRIED.items():
        mean = per_s * np.exp(np.log(open_runs.SCALES).mean())
        assert found.loc[setting, "carried_per_s"] == pytest.approx(mean)
        assert found.loc[setting, "change"] == pytest.approx(1.02)
    assert list(found["blocks"]) == [3, 3, 3]


def test_mixes_stand_apart():
    rows = open_runs.open_cells() + open_runs.open_cells(workload="svc") + open_runs.open_cells(read_share=1.0)
    found = open_results(open_runs.statistics(rows))
    assert list(dict.fromkeys(found["operation"])) == ["READ", "reads 50 %", "workload svc"]
    assert (found.groupby(["operation", "measured", "at", "setting"]).size() == 1).all()


def test_a_run_of_an_earlier_version_has_none(both):
    old = without_open(both).drop(columns=["load_share", "own_share", "carried_per_s", "arrivals"])
    assert open_cells(old).empty
    assert open_results(old).empty
    assert carried(old).empty


def equal(made, both):
    """Whether a table is the same with open cells and without them."""
    pd.testing.assert_frame_equal(made(both), made(without_open(both)))


@pytest.mark.parametrize(
    "made",
    [
        lambda cells: results(cells, None, 3).table,
        summaries.level_stats,
        summaries.level_quantiles,
        summaries.mixed_stats,
        lambda cells: ranking.overall(cells, "setting"),
        lambda cells: policies.by_block(cells).reset_index(),
        lambda cells: prices.block_ratios(cells, pd.DataFrame(columns=["cell_id"])),
        lambda cells: pd.DataFrame([validation.block_spread_percent(cells)]),
        lambda cells: pd.DataFrame([LatencyMap(cells, "mine").advise(16, 0.5).recommended.latency_us.value]),
    ],
    ids=["results", "levels", "quantiles", "mixes", "ranking", "policies", "prices", "spread", "advice"],
)  # fmt: skip
def test_no_table_averages_open_cells_with_closed_ones(made, both):
    equal(made, both)


@pytest.fixture
def moved(both):
    """The same run, its third block measured on other processors, ten times as slow."""
    other = both["block"] == 3
    times = [name for name in both.columns if name.endswith("_us")]
    rates = [name for name in both.columns if name.endswith("_per_s")]
    marks = both["marks"].mask(other, (both["marks"] + ";elsewhere").str.lstrip(";"))
    slow = both[times].mul(np.where(other, 10.0, 1.0), axis=0)
    return both.assign(**slow, **both[rates].div(np.where(other, 10.0, 1.0), axis=0), marks=marks)


@pytest.mark.parametrize(
    "made",
    [
        summaries.level_stats,
        summaries.mixed_stats,
        summaries.level_quantiles,
        carried,
        lambda cells: pd.DataFrame([LatencyMap(cells, "mine").advise(16, 0.5).recommended.latency_us.value]),
        lambda cells: pd.DataFrame([one.per_s.value for one in capacities(cells, 20.0, "p99", "mine")]),
        lambda cells: pd.DataFrame(OpenLoads(cells, "mine").range_per_s(Mix(0.5))),
    ],
    ids=["levels", "mixes", "quantiles", "carried", "map", "capacity", "by rate"],
)
def test_times_and_rates_are_of_one_machine(made, moved):
    def figures(cells):
        return made(cells).drop(columns="marks", errors="ignore")

    pd.testing.assert_frame_equal(figures(moved), figures(moved[moved["block"] != 3]))
    alone = moved[moved["block"] == 3]  # where there is no other machine its figures are its own
    pd.testing.assert_frame_equal(figures(alone), figures(alone.assign(marks="")))


def test_ratios_are_of_all_machines(both, table, moved):
    there = open_results(moved, 3)
    ratios = [name for name in table.columns if name.startswith("ratio_")]
    pd.testing.assert_frame_equal(there[ratios], table[ratios])
    pd.testing.assert_frame_equal(capacity_ratios(moved), capacity_ratios(both))
    row = row_of(there, "QUORUM/QUORUM", 0.6)
    here = row_of(open_results(both[both["block"] != 3]), "QUORUM/QUORUM", 0.6)
    assert (row["p99_us"], row["rate_least_per_s"], row["blocks"]) == (here["p99_us"], here["rate_least_per_s"], 3)
    assert row["marks"] == "elsewhere"


def test_slices_of_open_cells_have_no_price_and_no_predecessor(both):
    ids = both.loc[both["kind"] == OPEN, "cell_id"]
    slices = pd.DataFrame({
        "cell_id": ids, "slice": 0, "round": 0, "after": ids.shift(1).fillna(""), "latency_us": 1000.0,
    })  # fmt: skip
    assert prices.table(both, slices).empty
    assert carry_over.by_predecessor(both, slices).empty


def test_responses_alone_are_the_shortest(table):
    least = table[table["measured"] == SHARE].groupby("setting")["latency_us"].min()
    assert all(least[setting] > us for setting, us in ALONE_US.items() if setting in least)


def test_cells_with_trouble_are_a_table_of_their_own(both, table):
    struck = both.assign(condition="kill_unnoticed", cell_id=both["cell_id"] + "-kill")
    mixed = pd.concat([both, struck], ignore_index=True)
    pd.testing.assert_frame_equal(open_results(mixed, 3), table)
    of_struck = by_condition(mixed, 3)
    assert set(of_struck["condition"]) == {"kill_unnoticed"}
    pd.testing.assert_frame_equal(of_struck.drop(columns="condition"), table)
    assert by_condition(both, 3).empty


def test_what_a_setting_costs_in_capacity_is_taken_within_blocks(both):
    found = capacity_ratios(both).set_index("setting")
    assert set(found["base"]) == {"ONE/ONE"}
    for setting, row in found.iterrows():
        assert row["ratio"] == pytest.approx(CARRIED["ONE/ONE"] / CARRIED[setting])
        assert row["high"] / row["low"] == pytest.approx(1.0)  # blocks carry more or less, all settings alike


def test_prices_by_block_are_what_the_tables_average(both, table):
    by_block = waiting_by_block(both, "p99").query("measured == 'share' and at == 0.4 and setting == 'ONE/ALL'")
    assert list(by_block["block"]) == [1, 2, 3]
    assert np.exp(np.log(by_block["ratio"]).mean()) == pytest.approx(row_of(table, "ONE/ALL", 0.4)["ratio_p99"])
    assert set(capacity_by_block(both)["setting"]) == set(CARRIED) - {"ONE/ONE"}


def loops(per_s, condition="", block=1):
    """Closed loops next to a ladder, as cells, and the two slices that each had."""
    cells = pd.DataFrame([
        {"cell_id": f"b{block}-{condition}-{setting}", "kind": "trial", "arrivals": "", "condition": condition,
         "read_cl": setting.split("/")[0], "write_cl": setting.split("/")[1], "engine": "5.0.9", "deployment": "",
         "workload": "", "read_share": 0.5, "block": block, "operations": 9e9, "measured_s": 6.0, "marks": ""}
        for setting in per_s
    ])  # fmt: skip
    rates = np.repeat(list(per_s.values()), 2)
    ids = np.repeat(cells["cell_id"].to_numpy(), 2)
    return cells, pd.DataFrame({"cell_id": ids, "n_ok": rates * 3.0, "counted_s": 3.0})


def both_of(*parts):
    return tuple(pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True))


def test_closed_loops_have_a_price_of_their_own_without_what_a_guard_kept_out():
    cells, slices = both_of(loops({"ONE/ONE": 3000, "ALL/ALL": 1000}), loops({"ONE/ONE": 9e9, "ALL/ALL": 1}, "warm_up"))
    (row,) = closed_by_block(cells, slices).to_dict("records")
    assert (row["setting"], row["base"], row["ratio"]) == ("ALL/ALL", "ONE/ONE", pytest.approx(3.0))
    assert closed_by_block(cells.iloc[:0], slices).empty


def test_what_other_processors_change_is_a_ratio_of_prices_within_blocks(both):
    """With a processor each, waiting is as before and what ONE carries is half: so is the price in capacity."""
    own = both.assign(condition="own_processor", cell_id=both["cell_id"] + "-own")
    weak = own["read_cl"].eq("ONE") & own["write_cl"].eq("ONE")
    own["carried_per_s"] = own["carried_per_s"].where(~weak, own["carried_per_s"] / 2)
    rates = {"ONE/ONE": 3000, "ONE/ALL": 1500}
    made = both_of(*(loops(rates, condition, block) for condition in ("", "own_processor") for block in (1, 2, 3)))
    found = changes(pd.concat([both, own]), *made, "own_processor").set_index(["price", "setting"])
    capacity = found.loc[("capacity", "ONE/ALL")]
    assert (capacity["without"], capacity["with"], capacity["change"]) == pytest.approx((2.0, 1.0, 0.5))
    assert capacity["blocks"] == 3
    assert found.loc[("closed", "ONE/ALL"), "without"] == pytest.approx(2.0)
    waiting = found.loc[[key for key in found.index if key[0] == "p99"]]
    assert waiting["change"].to_numpy() == pytest.approx(1.0)
    assert set(waiting["at"]) == set(table_shares(both))
    assert changes(both, *made, "quota_processor").empty


def test_where_the_client_is_the_limit_there_is_no_price_in_capacity(both):
    weak = both["read_cl"].eq("ONE") & both["write_cl"].eq("ONE")
    limited = both.assign(marks=both["marks"].mask(weak & (both["block"] == 1), "client"))
    assert set(capacity_by_block(limited)["block"]) == {2, 3}
    everywhere = both.assign(marks=both["marks"].mask(weak, "client"))
    assert capacity_ratios(everywhere).empty
    own = both.assign(condition="own_processor", cell_id=both["cell_id"] + "-own")
    made = both_of(*(loops({"ONE/ONE": 3, "ONE/ALL": 1}, name, n) for name in ("", "own_processor") for n in (1, 2, 3)))
    made[0]["marks"] = np.where(made[0]["block"] == 1, "client", "")
    found = changes(pd.concat([everywhere, own]), *made, "own_processor").set_index(["price", "setting"])
    row = found.loc[("capacity", "ONE/ALL")]
    assert (row["with"], row["blocks"]) == (pytest.approx(2.0), 0)
    assert row[["without", "change"]].isna().all()
    assert found.loc[("closed", "ONE/ALL"), "blocks"] == 2


def table_shares(statistics):
    return open_cells(statistics).query("measured == 'share'")["at"].unique()
