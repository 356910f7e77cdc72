"""What levels cost, in words: of runs whose levels alternated."""

import numpy as np
import pandas as pd
import pytest

from cassbook.records import price_tables
from cassbook.records.run import RecordedRun
from tests.unit.latency.test_prices import RATIOS, made


@pytest.fixture
def tables():
    """Statistics and slices of six blocks."""
    return made(6, 8, drift=0.1, rng=np.random.default_rng(28))


def test_each_load_has_a_row_and_each_level_a_column(tables):
    ((title, shown),) = price_tables.sections(price_tables.of_tables(*tables))
    assert title == "Mean latency as a multiple of that at ONE, 95 % intervals over 6 blocks"
    assert shown.columns.tolist() == ["operation", "threads", "QUORUM", "ALL"]
    (row,) = shown.to_dict("records")
    assert (row["operation"], row["threads"]) == ("READ", 100)
    for level in ("QUORUM", "ALL"):
        value, low, high = (float(word.strip("[,]")) for word in row[level].split())
        assert value == pytest.approx(RATIOS[level], rel=0.02)
        assert low <= value <= high


@pytest.mark.parametrize(("blocks", "counted"), [(1, "1 block"), (2, "2 blocks")])
def test_fewer_than_three_blocks_have_points_and_no_intervals(tables, blocks, counted):
    statistics, slices = tables
    kept = statistics[statistics["block"] <= blocks]
    ((title, shown),) = price_tables.sections(price_tables.of_tables(kept, slices))
    assert title.endswith(f"at ONE, {counted}")
    assert "[" not in shown.to_string()
    assert float(shown["QUORUM"].item()) == pytest.approx(2.0, rel=0.02)
    assert price_tables.as_text(kept, slices).startswith(title)


def test_loads_are_in_order_reads_first(tables):
    statistics, slices = tables
    several, more = [], []
    for threads, share in ((500, 1.0), (50, 0.0), (50, 1.0)):
        name = f"-{threads}-{share}"
        several.append(statistics.assign(threads=threads, read_share=share, cell_id=statistics["cell_id"] + name))
        more.append(slices.assign(cell_id=slices["cell_id"] + name))
    ((_, shown),) = price_tables.sections(price_tables.of_tables(pd.concat(several), pd.concat(more)))
    assert list(zip(shown["operation"], shown["threads"], strict=True)) == [("READ", 50), ("READ", 500), ("WRITE", 50)]


def test_a_run_whose_levels_did_not_alternate_has_none():
    assert price_tables.of_run(RecordedRun("distance-2.1.20")).empty
    assert price_tables.as_text(pd.DataFrame(), pd.DataFrame()) == ""
