"""Runs that have nothing but statistics, for comparing them."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cassbook.latency.comparison import FIGURES


@dataclass
class Made:
    """A run that has nothing but statistics."""

    name: str
    statistics: pd.DataFrame
    manifest: dict = field(default_factory=dict)
    parts: pd.DataFrame | None = None
    notes: tuple = ()


def run(name, *rows, engine="2.1.20"):
    blank = {"kind": "pure", "workload": "", "condition": "", "engine": engine, "threads": 100, "read_share": 1.0}
    blank |= {"read_cl": "ONE", "write_cl": "ONE", "rate_per_s": np.nan, "block": 1, "latency_us": 1000.0}
    table = pd.DataFrame([blank | row for row in rows])
    for figure in FIGURES:
        name_, unit = (figure.removesuffix("_per_s"), "per_s") if figure.endswith("_per_s") else (figure[:-3], "us")
        base = table["latency_us"] if not figure.startswith("response") else np.nan
        for column, factor in ((figure, 1.0), (f"{name_}_low_{unit}", 0.9), (f"{name_}_high_{unit}", 1.1)):
            if column not in table.columns:
                table[column] = base * factor
    return Made(name, table)


def blocks(*latencies, **row):
    return [{"block": number, "latency_us": value, **row} for number, value in enumerate(latencies, start=1)]
