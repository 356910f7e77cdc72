"""What a level bears of the one before it, from made records in which that is known."""

import itertools

import numpy as np
import pandas as pd
import pytest

from cassbook.latency import carry_over

LEVELS = ("ONE", "QUORUM", "ALL")
AFTER_ONE = 1.10  # a level takes so much longer behind ONE than behind another


def recorded(blocks, rng):
    """Cells of reads, and slices of them in every order of two neighbours."""
    cells, slices = [], []
    for block, threads in itertools.product(range(1, blocks + 1), (10, 100)):
        ids = {level: f"b{block}-t{threads}-{level}" for level in LEVELS}
        cells += [
            {"cell_id": ids[level], "block": block, "threads": threads, "read_share": 1.0, "read_cl": level,
             "write_cl": "", "workload": "", "rate_per_s": np.nan, "latency_us": 1000.0}
            for level in LEVELS
        ]  # fmt: skip
        slices += [
            {"cell_id": ids[level], "after": ids[before],
             "latency_us": 1000 * np.exp(rng.normal(0, 0.01)) * (AFTER_ONE if before == "ONE" else 1)}
            for before, level in itertools.product(LEVELS, repeat=2) for _ in range(4)
        ]  # fmt: skip
        slices.append({"cell_id": ids["ONE"], "after": "", "latency_us": 5000.0})  # the group's first
    return pd.DataFrame(cells), pd.DataFrame(slices)


def test_the_predecessors_part_is_found_and_a_level_behind_itself_is_left_out():
    table = carry_over.by_predecessor(*recorded(4, np.random.default_rng(28)))
    assert list(table.index.names) == ["operation", "level", "after"]
    assert len(table) == 6
    assert set(table["cells"]) == {8}
    for level in ("QUORUM", "ALL"):
        effect = table.loc[("READ", level, "ONE"), "effect"]
        assert effect.value == pytest.approx(100 * (np.sqrt(AFTER_ONE) - 1), abs=0.5)
        assert effect.low > 0
        assert effect.n == 4
    effect = table.loc[("READ", "ONE", "ALL"), "effect"]
    assert effect.low < 0 < effect.high
    by_threads = carry_over.by_predecessor(*recorded(3, np.random.default_rng(1)), by=("operation", "threads"))
    assert len(by_threads) == 12


def bins(starts):
    """Each level is twice as slow for 100 ms behind ONE, and settled from then on; at once behind the others."""
    rows = []
    for start, before, level in itertools.product(range(1, starts + 1), LEVELS, LEVELS):
        for bin_ms in range(0, 1000, 50):
            late = before == "ONE" and bin_ms < 100 and level != "ONE"
            rows.append(
                {"start": start, "panel": 0, "operation": "UPDATE", "threads": 10, "level": level, "after": before,
                 "bin_ms": float(bin_ms), "n": 100, "latency_ms": start * (2.0 if late else 1.0)}
            )  # fmt: skip
    return pd.DataFrame(rows)


def test_latency_since_a_change_is_told_by_what_the_level_settles_at():
    table = carry_over.since_change(bins(3), settled_from_ms=500).set_index(["level", "after", "bin_ms"])["ratio"]
    assert table["QUORUM", "ONE"].to_numpy() == pytest.approx([2.0, 2.0] + [1.0] * 18)
    assert table["QUORUM", "ALL"].to_numpy() == pytest.approx([1.0] * 20)
    assert ("ONE", "ONE") not in table.index


@pytest.mark.parametrize(("guard_ms", "percent"), [(0.0, 100 * (np.sqrt(1.5) - 1)), (100.0, 0.0)])
def test_what_a_rule_leaves_is_what_its_slices_are_off(guard_ms, percent):
    rules = pd.DataFrame({"start": [1, 2, 3], "panel": 0, "guard_ms": guard_ms, "counted_ms": 200.0})
    off = carry_over.left_by_rule(bins(3), rules, settled_from_ms=500)["off"]
    assert off["UPDATE", 10, "ALL"].value == pytest.approx(percent)
    assert off["UPDATE", 10, "ONE"].value == pytest.approx(0.0)
    assert off["UPDATE", 10, "ALL"].n == 3


def test_a_ratio_is_off_by_what_its_levels_are_off():
    rules = pd.DataFrame({"start": [1, 2, 3], "panel": 0, "guard_ms": 0.0, "counted_ms": 200.0})
    off = carry_over.ratios_off(bins(3), rules, settled_from_ms=500)["off"]
    assert list(off.index) == [("UPDATE", "ALL", "ONE"), ("UPDATE", "QUORUM", "ONE")]
    assert off["UPDATE", "ALL", "ONE"].value == pytest.approx(100 * (np.sqrt(1.5) - 1))


def test_windows_since_a_change():
    """Four of six pairs of neighbours do not have ONE before, two have, and those are late for 100 ms."""
    windows = carry_over.by_window(bins(3), (0, 100, 500), settled_from_ms=500)
    assert windows.loc["UPDATE", (0, 100)].value == pytest.approx(100 * (2 ** (2 / 6) - 1))
    assert windows.loc["UPDATE", (100, 500)].value == pytest.approx(0.0)
