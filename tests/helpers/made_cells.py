"""Tables of cells and of their statistics, of given values and plausible defaults."""

import numpy as np
import pandas as pd

from cassbook.core.schema import CELLS


def make_cells(*rows):
    """Cells with the given columns and plausible defaults for the others."""
    defaults = {name: {"str": "", "int64": 0, "float64": 0.0}[kind] for name, kind in CELLS.items()}
    defaults |= {"kind": "pure", "engine": "2.1.20", "deployment": "[C]", "threads": 4, "read_share": 1.0}
    defaults |= {"read_cl": "ONE", "write_cl": "ONE", "steady_from_s": 10.0, "steady_to_s": 20.0}
    table = pd.DataFrame([defaults | row for row in rows], columns=list(CELLS)).astype(CELLS)
    return table.assign(measured_s=table["steady_to_s"] - table["steady_from_s"])


def cell_stats(*rows):
    """Rows as `cell_statistics` gives them."""
    defaults = {
        "engine": "2.1.20",
        "deployment": "[C]",
        "cv_percent": 10.0,
        "throughput_per_s": 100.0,
        "repeat": 0,
        "marks": "",
    }
    defaults |= {
        "kind": "pure",
        "threads": 10,
        "read_share": 1.0,
        "read_cl": "ONE",
        "write_cl": "ONE",
        "block": 0,
    }
    df = pd.DataFrame([defaults | {"cell_id": f"c{k}"} | row for k, row in enumerate(rows)])
    return df


def cells(*rows, **alike):
    defaults = {
        "workload": "", "condition": "", "rate_per_s": np.nan, "latency_us": 1000.0, "response_us": np.nan,
        "p50_us": 900.0, "p95_us": 2000.0, "p99_us": 4000.0, "n_ok": 20_000, "n_errors": 0, "n_unknown": 0,
    }  # fmt: skip
    return cell_stats(*(defaults | alike | row for row in rows))
