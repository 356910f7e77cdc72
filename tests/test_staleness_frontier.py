"""Which settings no other beats in both latency and freshness."""

import numpy as np
import pandas as pd

from cassbook.staleness import tables


def test_what_is_beaten_in_both_is_told_apart_within_its_case():
    rows = [
        ("near", 1.0, np.nan), ("near", 2.0, 5.0), ("near", 3.0, 7.0), ("near", 4.0, 0.0), ("near", 1.5, np.nan),
        ("far", 50.0, 100.0), ("far", 50.0, 90.0),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["setup", "latency_ms", "t_999_ms"]).assign(n=3, threads=0)
    assert tables.unbeaten(table).tolist() == [True, True, False, True, False, False, True]


def test_equals_do_not_beat_each_other():
    table = pd.DataFrame({"n": 3, "setup": "near", "threads": 0, "latency_ms": [1.0, 1.0], "t_999_ms": [np.nan] * 2})
    assert tables.unbeaten(table).all()
