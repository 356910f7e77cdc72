"""Tables of the chapter on the load generator: next to cassandra-stress, and what an operation costs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook.book import needs
from cassbook.book.provenance import Source
from cassbook.latency import saturation
from cassbook.records import bench_results
from cassbook.shown.tables import intervals


def next_to_stress_shown() -> pd.DataFrame:
    """Return `bench_results.throughput_ratios` in words: one row per (operation, level, threads)."""
    ratios = bench_results.throughput_ratios().set_index(bench_results.POINT)
    titles = {
        "ours_per_s": "ours, 1/s",
        "stress_per_s": "cassandra-stress, 1/s",
        "ratio": "ratio",
        "ours_cpu_us_per_op": "CPU of ours, us/op",
        "stress_cpu_us_per_op": "CPU of cassandra-stress, us/op",
    }
    text = ratios[list(titles)].map("{:.0f}".format)
    text["ratio"] = intervals(ratios, ".2f", "ratio")
    return text.rename(columns=titles)


def cpu_budget(source: Source) -> pd.DataFrame:
    """Return `saturation.cpu_budget` of a run for readers, in whole microseconds."""
    run = source.run
    assert run is not None  # noqa: S101 - only runs have cells
    needs.pure(source)
    cores = run.manifest.get("machine", {}).get("cores", np.nan)  # logs do not tell
    titles = {
        "threads": "threads",
        "throughput_per_s": "throughput, 1/s",
        "machine_us": "machine, us/op",
        "client_us": "client, us/op",
        "nodes_us": "nodes, us/op",
        "times_one": "times ONE",
    }
    table = saturation.cpu_budget(source.level_stats, run.cells, cores).rename(columns=titles)
    return table.round(dict.fromkeys(table.columns, 0) | {"times ONE": 2})


def budget_values(budget: pd.DataFrame) -> dict[str, float]:
    """Return what the prose quotes of `cpu_budget`; NaN for levels that were not measured."""
    asked = {"one": ("READ", "ONE"), "all": ("READ", "ALL"), "write": ("WRITE", "ALL")}
    own = {name: budget.reindex([row]).iloc[0] for name, row in asked.items()}
    return {
        **{f"read_{name}_us": own[name]["nodes, us/op"] for name in ("one", "all")},
        "read_all": own["all"]["times ONE"], "write_all": own["write"]["times ONE"],
    }  # fmt: skip
