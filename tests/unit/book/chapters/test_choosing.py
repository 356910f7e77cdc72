"""Tables of the chapter on choosing, of a run whose latencies are known."""

import pandas as pd
import pytest

from cassbook.book.chapters import choosing
from cassbook.book.provenance import Source
from cassbook.latency import summaries
from tests.helpers import made_runs


def source(cells):
    made = Source("made")
    tables = {"level_stats": summaries.level_stats(cells), "mixed_stats": summaries.mixed_stats(cells)}
    made.__dict__.update(cell_stats=cells, **tables)
    return made


def test_deviations_carry_intervals_over_blocks():
    table = choosing.deviations(source(made_runs.run(noise=0.01, excess={"3R-1W": 0.25})), order=1)
    far = table[(table["setting"] == "3R-1W") & (table["threads"] == 500)]
    assert [d.value for d in far["deviation"]] == pytest.approx([20] * 3, abs=3)
    assert set(far["distinguishable"]) == {True}
    assert far["deviation"].iloc[0].n == 3


def test_tables_for_readers():
    made = source(made_runs.run(noise=0.005))
    table = choosing.regret_table(made)
    assert table.columns.tolist() == ["best chosen", "mean regret, %", "worst, %"]
    assert table.loc["always 3R-1W", "best chosen"] == "6 of 18"
    assert isinstance(choosing.mixes_and_parts([made], ["setting"]), pd.DataFrame)
    assert (
        choosing.deviation_table(choosing.deviations(made, order=1)).loc[500, ("50/50", "1R-3W")].startswith(("+", "-"))
    )
    assert choosing.undecided(made)[1] == 6 * 5
