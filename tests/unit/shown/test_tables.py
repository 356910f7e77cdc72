"""Formats per column, and columns for a terminal."""

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.shown import tables


def test_each_column_has_its_format_and_what_is_missing_its_word():
    table = pd.DataFrame(
        {
            "level": ["ONE", None],
            "ms": [Estimate(2.0, 1.0, 3.0), Estimate(np.nan, np.nan, np.nan)],
            "n": [1200, 3],
            "x": 0.0,
        }
    )
    text = tables.formatted(table, {"n": ",", "level": "", "ms": ".1f"}, missing="-")
    assert text.to_dict("list") == {"n": ["1,200", "3"], "level": ["ONE", "-"], "ms": ["2.0 [1.0, 3.0]", "-"]}


def test_figures_and_their_bounds_become_estimates():
    table = pd.DataFrame({"p": [0.5, 0.25], "low": [0.4, np.nan], "high": [0.6, np.nan]}, index=["a", "b"])
    assert tables.estimates(table, "p")["a"] == Estimate(0.5, 0.4, 0.6)
    assert tables.intervals(table, ".1f", "p").to_dict() == {"a": "0.5 [0.4, 0.6]", "b": "0.2"}


def test_words_stand_to_the_left_and_figures_to_the_right():
    lines = tables.lines(pd.DataFrame({"level": ["ONE", "QUORUM"], "ms": ["1.0", "12.5"]}), ["level"])
    assert lines == ["level    ms", "ONE     1.0", "QUORUM 12.5"]
