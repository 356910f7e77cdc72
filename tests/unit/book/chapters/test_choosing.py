"""Tables of the chapter on choosing, of a run whose latencies are known."""

import pandas as pd
import pytest

from cassbook.book.chapters import choosing
from cassbook.book.provenance import Source
from cassbook.core.estimate import Estimate
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
    table = choosing.regrets(made)
    assert (table.loc["always 3R-1W", "right"].right, table.loc["always 3R-1W", "right"].total) == (6, 18)
    shown = choosing.regrets_shown(table)
    assert shown.columns.tolist() == ["best chosen", "mean regret, %", "worst, %"]
    assert shown.loc["always 3R-1W", "best chosen"] == "6 of 18"
    words = choosing.deviations_shown(choosing.deviations(made, order=1))
    assert words.loc[500, ("50/50", "1R-3W")].startswith(("+", "-"))
    assert choosing.undecided(made)[1] == 6 * 5


def test_mixes_are_held_against_their_parts():
    made = source(made_runs.run(noise=0.005, excess={"3R-1W": 0.25}))
    table = choosing.mixes_and_parts([made], ["setting"])
    excess = table["made", "excess_percent"]
    assert [excess[name].value for name in ("1R-3W", "3R-1W")] == pytest.approx([0, 25], abs=1)
    assert excess["3R-1W"].low < excess["3R-1W"].value < excess["3R-1W"].high
    shown = choosing.mixes_and_parts_shown(table)
    assert shown.columns.tolist()[0] == ("made", "mix above mean, %")
    assert shown["made", "mix above mean, %"]["3R-1W"] == f"{excess['3R-1W']:+.1f}"


def test_hot_rows_are_held_against_even_ones():
    hot, even = (source(made_runs.run(noise=0.005, excess=excess)) for excess in ({"3R-1W": 0.25}, {}))
    table = choosing.hot_and_even(hot, even)
    assert [table[name]["3R-1W", "all"].value for name in ("hot rows", "even")] == pytest.approx([25, 0], abs=1)
    assert choosing.hot_and_even_words(table)["even_1r_3w"] == f"{table['even']['1R-3W', 'all'].value:+.1f}"
    assert choosing.hot_and_even_shown(table).index.tolist()[-1] == ("all", "all")


def test_savings_are_means_over_blocks():
    made = source(made_runs.run(noise=0.005))
    table = choosing.mean_savings([made])
    saved = choosing.savings(made)
    first = saved[saved["read_share"] == table.index[0]]
    assert table["made"].iloc[0].value == pytest.approx(first.groupby("block")["speedup_percent"].mean().mean())
    shown = choosing.mean_savings_shown(table)
    assert shown.index.tolist() == [f"{share:.0%}" for share in table.index]


def test_a_gain_of_zero_in_every_block_has_no_interval():
    table = pd.DataFrame({"made": [Estimate.mean([0.0] * 3), Estimate.mean([1.0, 2.0, 3.0])]}, index=[0.1, 0.5])
    assert choosing.mean_savings_shown(table)["made"].tolist() == ["+0.0", "+2.0 [-0.5, +4.5]"]
