"""What levels cost, in words: of runs whose levels alternated."""

import numpy as np
import pandas as pd
import pytest

from cassbook.latency.prices import table
from cassbook.records.results import prices_of
from cassbook.records.run import RecordedRun
from cassbook.shown import prices
from tests.helpers.sliced_cells import RATIOS, sliced_cells


@pytest.fixture
def tables():
    """Statistics and slices of six blocks."""
    return sliced_cells(6, 8, drift=0.1, rng=np.random.default_rng(28))


def test_each_load_has_a_row_and_each_level_a_column(tables):
    ratios = table(*tables)
    assert ratios.set_index("level")["ratio"].to_dict() == pytest.approx(
        {level: RATIOS[level] for level in ("QUORUM", "ALL")}, rel=0.02
    )
    assert ((ratios["low"] < ratios["ratio"]) & (ratios["ratio"] < ratios["high"])).all()
    ((title, shown),) = prices.sections(ratios)
    assert title == "Mean latency as a multiple of that at ONE, 95 % intervals over 6 blocks"
    assert shown.columns.tolist() == ["operation", "threads", "QUORUM", "ALL"]
    (row,) = shown.to_dict("records")
    assert (row["operation"], row["threads"]) == ("READ", 100)
    known = ratios.set_index("level").loc["ALL"]
    assert row["ALL"] == f"{known['ratio']:.2f} [{known['low']:.2f}, {known['high']:.2f}]"


@pytest.mark.parametrize(("blocks", "counted"), [(1, "1 block"), (2, "2 blocks")])
def test_fewer_than_three_blocks_have_points_and_no_intervals(tables, blocks, counted):
    statistics, slices = tables
    kept = statistics[statistics["block"] <= blocks]
    ratios = table(kept, slices)
    assert ratios[["low", "high"]].isna().all(axis=None)
    assert ratios.set_index("level")["ratio"]["QUORUM"] == pytest.approx(2.0, rel=0.02)
    ((title, shown),) = prices.sections(ratios)
    assert title.endswith(f"at ONE, {counted}")
    assert "[" not in shown.to_string()
    assert prices.as_text(ratios).startswith(title)


def test_loads_are_in_order_reads_first(tables):
    statistics, slices = tables
    several, more = [], []
    for threads, share in ((500, 1.0), (50, 0.0), (50, 1.0)):
        name = f"-{threads}-{share}"
        several.append(statistics.assign(threads=threads, read_share=share, cell_id=statistics["cell_id"] + name))
        more.append(slices.assign(cell_id=slices["cell_id"] + name))
    ((_, shown),) = prices.sections(table(pd.concat(several), pd.concat(more)))
    assert list(zip(shown["operation"], shown["threads"], strict=True)) == [("READ", 50), ("READ", 500), ("WRITE", 50)]


def test_a_run_whose_levels_did_not_alternate_has_none():
    assert prices_of(RecordedRun("distance-2.1.20")).empty
    assert prices.as_text(table(pd.DataFrame(), pd.DataFrame())) == ""
