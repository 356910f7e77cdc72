"""What the chapter on interleaving makes of records."""

import itertools

import numpy as np
import pandas as pd
import pytest

from cassbook.book.chapters import interleaving
from cassbook.book.provenance import run_of
from cassbook.core.errors import LackingError
from cassbook.latency import carry_over
from tests.helpers.experiments import written

LEVELS = {"ONE": 1.0, "QUORUM": 2.0, "ALL": 3.0}


def start_rows(starts, *columns):
    """Rows of one group per cluster start."""
    return [{"start": start, "panel": 0, "operation": "READ", "threads": 100, **dict(columns)} for start in starts]


def test_half_widths_are_those_of_the_ratios_over_starts(tmp_path):
    rng, rows, slices = np.random.default_rng(1), [], []
    for start in range(1, 5):
        for panel, (design, level) in enumerate([*itertools.product(["sequential"], LEVELS), ("interleaved", "")]):
            rows.append({"start": start, "panel": panel, "design": design, "operation": "READ", "threads": 100})
            speed = np.exp(rng.normal(0, 0.3))
            slices += [
                {"start": start, "panel": panel, "level": name, "round": number,
                 "latency_ms": LEVELS[name] * speed * np.exp(rng.normal(0, 0.02))}
                for number in range(4 if not level else 1) for name in ([level] if level else LEVELS)
            ]  # fmt: skip
    results = written(tmp_path, rows, {"slices": slices}, starts=4, numbers={"steady_s": 3.5})
    table = interleaving.half_widths(results)
    assert (table["half_interleaved"] < 6).all()
    assert (table["half_sequential"] > 10).all()
    ratios = table.set_index("level")["ratio_interleaved"]
    assert ratios["QUORUM"] == pytest.approx(2, rel=0.02)
    assert interleaving.half_widths_text(table).loc[("reads", 100, "QUORUM/ONE"), ("interleaved", "ratio")] == format(
        ratios["QUORUM"], ".2f"
    )
    assert interleaving.gains(table)["READ"].value == pytest.approx(np.sqrt(table["gain"].prod()))
    assert interleaving.pilot_values(results) == {"alone_s": 3.5, "design_starts": 4, "blocks_needed": 6}


def test_what_carries_over_is_shown_in_percent(tmp_path):
    bins = [
        {"start": start, "panel": 0, "level": level, "after": after, "bin_ms": float(bin_ms), "n": 10,
         "latency_ms": LEVELS[level] * (1.5 if bin_ms < 500 else 1.0)}
        for start in range(1, 4) for level, after in itertools.product(LEVELS, LEVELS)
        for bin_ms in range(0, 3000, 100)
    ]  # fmt: skip
    rows = start_rows(range(1, 4), ("guard_ms", 400.0), ("counted_ms", 200.0))
    results = written(tmp_path, rows, {"bins": bins}, numbers={"slice_s": 3.0})
    off = 100 * ((1.5 + 1.0) / 2 - 1)
    assert interleaving.off_by_rule(results).map(lambda left: left.value).tolist() == pytest.approx([off] * 3)
    assert interleaving.left_by_rule(results).loc[("reads", "ALL"), "100 threads"].startswith(f"+{off:.1f} ")
    values = interleaving.carry_values(results)
    assert values == pytest.approx({
        "carry_slice_s": 3.0, "rule_median": off, "rule_all": 3, "rule_settled": 0,
        "ratios_all": 2, "ratios_worst": 0.0, "ratios_settled": 2, "ratios_bound": 0.0,
    })  # fmt: skip
    assert interleaving.ratios_off(results).loc[("reads", "ALL/ONE"), "off"].value == pytest.approx(0, abs=1e-9)
    windows = interleaving.windows(results).map(lambda off: off.value)
    assert windows.loc["reads"].tolist() == pytest.approx([50, 50, 0, 0], abs=1e-9)
    assert interleaving.windows_shown(results).loc["reads", "100 to 500 ms"] == "+50.0 [+50.0, +50.0]"
    assert interleaving.since_change(results)["ratio"].max() == pytest.approx(1.5)


def test_labels_of_one_level_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(interleaving, "SIMULATED", 200)
    rng = np.random.default_rng(3)
    rows = [
        row | {"level": "ONE", "panel": panel, "threads": panel}
        for panel in range(20)
        for row in start_rows(range(1, 7))
    ]
    slices = [
        {"start": row["start"], "panel": row["panel"], "level": str(label), "round": number,
         "latency_ms": np.exp(rng.normal(0, 0.1))}
        for row in rows for number in range(4) for label in range(4)
    ]  # fmt: skip
    results = written(tmp_path, rows, {"slices": slices})
    recorded, made = interleaving.same_compared(results), interleaving.simulated(results)
    assert len(recorded) == 20 * 2 * 2  # pairs of labels, sets of three starts
    shares = interleaving.same_shares(recorded, made)
    assert shares["comparisons"].tolist() == [80, 200]
    assert all(share.low < share.value <= share.high for share in shares["covers"])
    values = interleaving.same_values(recorded, made, results)
    assert values["same_covers"] == recorded["covers"].sum() > 65
    assert values["noise_sd"] == pytest.approx(10, rel=0.2)


def test_the_group_with_the_nearest_thread_count_is_drawn_and_a_level_alone_is_none():
    run = type("Run", (), {"name": "mine"})()
    run.statistics = pd.DataFrame(
        {"cell_id": ["a", "b", "c"], "kind": "pure", "workload": "", "block": 1, "threads": [10, 10, 90],
         "read_share": 1.0, "read_cl": ["ONE", "ALL", "ONE"], "write_cl": "", "rate_per_s": np.nan, "latency_us": 900.0}
    )  # fmt: skip
    run.slices = pd.DataFrame({"cell_id": ["a", "b", "c"], "slice": [0, 1, 0], "from_s": [5.0, 5.5, 9.0],
                               "guard_s": 0.1, "counted_s": 0.4, "latency_us": [900.0, 800.0, 700.0]})  # fmt: skip
    slices = interleaving.timeline(run, threads=100)
    assert slices[["level", "from_s", "latency_ms"]].to_numpy().tolist() == [["ONE", 0.0, 0.9], ["ALL", 0.5, 0.8]]
    assert interleaving.timeline_values(slices)["slice_s"] == 0.5
    run.slices = run.slices[run.slices["cell_id"] != "b"]
    with pytest.raises(LackingError, match=r"mine .*READ .*block 1"):
        interleaving.timeline(run)


def test_recorded_ratios_are_as_well_known_as_planned_and_levels_leave_little_to_the_next():
    named = {name: run_of(f"standard-{version}") for name, version in (("recorded", "2.1.20"), ("today", "5.0.9"))}
    halves = interleaving.primary_half_widths(list(named.values()))
    assert halves["ratios"].eq(2 * 2 * 10 + 2 * 5 * 10).all()
    quoted = interleaving.primary_values(halves, named)
    for name, source in named.items():
        behind = interleaving.predecessor_values(source)
        assert (
            quoted[f"half_mean_{name}"] == halves.loc[(source.label, "mean"), "median"] < interleaving.PLANNED_PERCENT
        )
        assert quoted[f"within_{name}"] > quoted[f"ratios_{name}"] / 2
        assert behind["behind_all"] == (2 + 5) * 3
        assert 0 < behind["behind_sure"] <= behind["behind_most"] < 8
        effects = carry_over.by_predecessor(source.run.statistics, source.run.slices)["effect"]
        farthest = effects.map(lambda effect: abs(effect.value)).max()
        assert behind["behind_most"] == pytest.approx(2 * farthest, rel=0.1), "two predecessors mirror each other"
    behind = interleaving.predecessors(list(named.values()))
    assert behind.shape == (42, 2)
    assert behind.map(lambda effect: effect.low < effect.value < effect.high).all(axis=None)
