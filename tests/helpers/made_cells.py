"""Statistics of cells as runs have them, with defaults for what a test does not name."""

import numpy as np

from tests.unit.latency.test_summaries import cell_stats


def cells(*rows, **alike):
    defaults = {
        "workload": "", "condition": "", "rate_per_s": np.nan, "latency_us": 1000.0, "response_us": np.nan,
        "p50_us": 900.0, "p95_us": 2000.0, "p99_us": 4000.0, "n_ok": 20_000, "n_errors": 0, "n_unknown": 0,
    }  # fmt: skip
    return cell_stats(*(defaults | alike | row for row in rows))
