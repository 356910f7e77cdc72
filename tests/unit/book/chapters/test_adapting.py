"""What the chapter on adapting reads out of recorded switches and rides."""

import json

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor import payback
from cassbook.advisor.latency_map import LatencyMap
from cassbook.book.chapters import adapting, adapting_figures
from cassbook.records.schedule_runs import ScheduleRuns
from cassbook_advisor.policy import SweepCost
from tests.helpers import made_runs
from tests.helpers.experiments import noted
from tests.helpers.schedule_records import ACTORS

SCHEDULE = [{"seconds": 60, "threads": 100, "read_share": 0.9}, {"seconds": 60, "threads": 300, "read_share": 0.1}]
TERMS = {"margin": 0.1, "dwell_s": 10.0, "horizon_s": 60.0, "fewest_per_s": 10.0}


def turn(how, now, then, repeat, behind_ms):
    return {
        "how": how, "now": now, "then": then, "repeat": repeat, "reads": 100, "violations": len(behind_ms), "errors": 0,
        "switched_s": 2.0 + repeat if how == "safe" else 0.0, "at_s": [0.5] * len(behind_ms), "behind_ms": behind_ms,
    }  # fmt: skip


@pytest.fixture
def turns():
    pairs = [("3R-1W", "1R-3W"), ("1R-3W", "2R-2W")]
    rows = [turn("naive", *pair, k, [40.0, 250.0] if pair == pairs[0] else []) for k in (1, 2) for pair in pairs]
    return pd.DataFrame(rows + [turn("safe", *pair, k, []) for k in (1, 2) for pair in pairs])


@pytest.fixture
def rides(tmp_path):
    for block in (1, 2, 3):
        for actor, mean_ms in ACTORS.items():
            mean = mean_ms * 1000 * (1 + 0.01 * block * (actor == "naive"))
            rows = [{"phase": k, "n": 9, "errors": 0, "mean_us": mean * (1 + k), "p99_us": 3 * mean} for k in range(3)]
            watch = {"reads": 40, "writes": 30, "errors": 0, "violations": int(actor == "naive"), "behind_ms": []}
            actor_run = {"block": block, "actor": actor, "phases": rows, "watch": watch, "seconds": [], "levels": []}
            if actor == "adaptive":
                actor_run |= {"sweep_at_rest": {"seconds": 10.0, "rows": 1000}}
                actor_run |= {"sweeps": [{"seconds": 20.0 + block, "slowdown": 2.0}]}
            (tmp_path / f"b{block}-{actor}.json").write_text(json.dumps(actor_run))
    return ScheduleRuns(
        noted(
            tmp_path, "adviser-shift", schedule=SCHEDULE, terms=TERMS, start="2R-2W", records=1000, blocks=3,
            window_s=5.0,
        )
    )  # fmt: skip


def test_a_switch_is_told_with_what_it_can_lose_and_what_it_lost(turns):
    table = adapting.switch_losses(turns)
    row = table.loc[("3R-1W", "1R-3W")]
    assert list(row["missable"]) == ["old writes"]
    assert (row["naive"].yes, row["naive"].of, row["worst_ms"]) == (4, 200, 250)
    assert (row["safe"].yes, row["safe"].of) == (0, 200)
    assert row["safe"].high == pytest.approx(0.018, abs=5e-4)
    assert row["takes_s"].value == pytest.approx(np.sqrt(3 * 4))  # of two
    other = table.loc[("1R-3W", "2R-2W")]
    assert list(other["missable"]) == ["other clients"]
    assert np.isnan(other["worst_ms"]), "nothing was missed"
    shown = adapting.switch_table(turns)
    assert shown.loc[("3R-1W", "1R-3W")].tolist() == [
        "old writes", "4 of 200", "250", "0 of 200 (at most 1.8 %)", "3.5",
    ]  # fmt: skip
    counts = {"naive_lost": 4, "naive_reads": 400, "safe_lost": 0, "safe_reads": 400, "spared": 1}
    assert adapting.lost(turns) == counts


def test_actors_are_ordered_and_told_apart_within_blocks(rides):
    table = adapting.comparison(rides)
    assert list(table.index) == [adapting.REGIMES.get(name, name) for name in sorted(ACTORS, key=ACTORS.get)]
    assert pd.isna(table.loc["the adviser", "mean_ratio"])
    ratio = table.loc["3R-1W", "mean_ratio"]
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((3, 3, 3))
    assert table.loc["3R-1W", "mean_differs"]
    assert (table.loc["the paper's switching", "missed"].yes, table.loc["the paper's switching", "missed"].of) == (
        3, 120,
    )  # fmt: skip
    shown = adapting.comparison_shown(rides)
    assert shown["times the adviser's mean"][["the adviser", "3R-1W"]].tolist() == ["", "3.00 [3.00, 3.00] *"]
    phases = adapting.by_phase(rides)
    assert list(phases.index) == ["100 threads, 90/10", "300 threads, 10/90"]
    assert phases.idxmin(axis=1)["100 threads, 90/10"] == "the paper's switching"
    drifting = phases.loc["100 threads, 90/10", "the paper's switching"]
    assert drifting == pytest.approx(2 * ACTORS["naive"] * (1.01 * 1.02 * 1.03) ** (1 / 3)), "the geometric mean"


def test_prose_quotes_the_fastest_and_the_slowest_fixed_setting(rides):
    quoted = adapting.verdict(rides)
    fixed = {actor: ms for actor, ms in ACTORS.items() if actor not in ("adaptive", "naive")}
    assert (quoted["best_fixed"], quoted["worst_fixed"]) == (min(fixed, key=fixed.get), max(fixed, key=fixed.get))
    assert quoted["worst_ratio"].value == pytest.approx(max(fixed.values()) / ACTORS["adaptive"])
    assert quoted["worst_ratio"].low == pytest.approx(3)
    assert adapting.verdict_values(rides)["worst_ratio"] == "3.00 [3.00, 3.00]"
    assert (quoted["naive_missed"], quoted["naive_watched"]) == (3, "120")
    assert adapting.conditions(rides) == {
        "schedule_starts": 3, "rows": "1,000", "window_s": 5.0, "horizon_s": 60.0, "margin": 10.0, "phase_s": 60,
        "phase_sweeps": "2.7",
    }  # fmt: skip


def test_sweeps_at_rest_are_kept_apart_from_those_beside_the_load(rides):
    table = adapting.sweeps(rides)
    assert table.loc["at rest", "mean_s"] == 10
    assert table.loc["under load", ["mean_s", "slower_percent"]].tolist() == [22, 100]
    assert adapting.sweep_table(rides).loc["at rest", "others are slower by, %"] == ""
    assert adapting.mean_sweep(rides) == SweepCost(22.0, 2.0)


def test_the_forecast_stands_beside_what_was_measured(rides):
    table = adapting.forecasts(rides, LatencyMap(made_runs.run(noise=0.0), "known"))
    assert set(table.index) == {adapting.REGIMES.get(name, name) for name in (*ACTORS, "free switch")}
    assert table.loc["the adviser", "forecast_ratio"] == 1
    assert table.loc["the adviser", "measured_ms"].value == pytest.approx(ACTORS["adaptive"])
    assert table.loc["3R-1W", "measured_ratio"].value == pytest.approx(3)
    assert set(table.index[:2]) == {"the paper's switching", "a switch that costs nothing"}


def test_what_was_to_be_gained_is_told_from_the_fixed_rides_alone(rides):
    latency_map = LatencyMap(made_runs.run(noise=0.0), "known")
    fixed = {actor: ms for actor, ms in ACTORS.items() if actor not in ("adaptive", "naive")}
    quoted = adapting.gain(rides, latency_map)
    free = rides.stitched(payback.fastest(latency_map, adapting.schedule_of(rides)))
    best = min(fixed.values()) * 1000
    assert quoted["there"].value == pytest.approx((best / free).iloc[0], rel=1e-3)
    assert quoted["promised"] >= 1
    forecasts = payback.forecast(latency_map, adapting.schedule_of(rides), SweepCost(1.0))
    quickest = min(fixed, key=fixed.get)  # in the made rides, in every phase
    agreed = sum(name == quickest for name in payback.fastest(latency_map, adapting.schedule_of(rides)))
    assert (quoted["agreed"], quoted["of_phases"]) == (agreed, 2)
    assert quoted["client_slower"] == pytest.approx(best / forecasts[quickest])


def test_break_even_is_where_adapting_stays_below_the_best_fixed_setting(rides):
    latency_map = LatencyMap(made_runs.run(noise=0.0), "known")
    by_map = adapting.stays({"known": latency_map}, adapting.schedule_of(rides), 1.5)
    cells = made_runs.run(noise=0.2)
    by_block = adapting.stays_of_blocks({"known": cells}, adapting.schedule_of(rides), 1.5)
    assert len(by_block["known"]) == cells["block"].nunique()
    (row,) = adapting.break_even(by_map, by_block).to_dict("records")
    first = row["pays_from_sweeps", "value"]
    table = by_map["known"]["adaptive"]
    assert (table[table.index > first * 1.1] < 1).all()
    assert row["saves_percent", "value"] <= row["free_percent", "value"]
    assert row["saves_percent", "least"] <= row["saves_percent", "most"]
    assert len(adapting_figures.paying(by_map).axes) == 1


def test_the_shortest_stay_grows_with_the_rows():
    table = adapting.shortest_stays(SweepCost(30.0, 1.5), 100_000, (0.1, 0.5), (100_000, 10_000_000))
    assert table.loc[100_000].tolist() == pytest.approx([3, 1], rel=0.1)
    assert table.loc[10_000_000].tolist() == pytest.approx([300, 100], rel=0.1)
