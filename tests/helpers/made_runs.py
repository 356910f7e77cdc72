"""Cells of a whole run, made from demands: what reads and writes cost, and what a mix costs beyond its parts."""

from types import SimpleNamespace

import numpy as np

from cassbook.core.consistency import STRONG_SETTINGS
from tests.helpers.made_cells import cell_stats

THREADS = (10, 100, 300, 500, 700, 1000)
SHARES = (0.1, 0.5, 0.9)
READ_US = {"ONE": 100.0, "TWO": 140.0, "QUORUM": 180.0, "ALL": 260.0}
WRITE_US = {"ONE": 90.0, "TWO": 105.0, "QUORUM": 120.0, "ALL": 160.0}
LEVELS = ("ONE", "QUORUM", "ALL")


def run(
    blocks=3, noise=0.01, excess=None, threads=THREADS, shares=SHARES, settings=STRONG_SETTINGS, seed=1, levels=LEVELS
):
    """Latency is threads times the mean demand, times 1 + excess of the setting in mixes, with noise."""
    rng, rows = np.random.default_rng(seed), []

    def cell(kind, count, read_cl, write_cl, share, block, demand_us, read_us, write_us):
        latency = count * demand_us * np.exp(rng.normal(0, noise))
        return {
            "kind": kind, "threads": count, "read_cl": read_cl, "write_cl": write_cl, "read_share": share,
            "block": block, "latency_us": latency, "throughput_per_s": count / latency * 1e6,
            "read_latency_us": count * read_us, "update_latency_us": count * write_us,
        }  # fmt: skip

    for block in range(blocks):
        for count in threads:
            for level in levels:
                read_us = READ_US[level]
                rows.append(cell("pure", count, level, level, 1.0, block, read_us, read_us, np.nan))
                write_us = WRITE_US[level]
                rows.append(cell("pure", count, level, level, 0.0, block, write_us, np.nan, write_us))
            for setting in settings:
                read_us, write_us = READ_US[setting.read_cl], WRITE_US[setting.write_cl]
                for share in shares:
                    demand = (share * read_us + (1 - share) * write_us) * (1 + (excess or {}).get(setting.name, 0))
                    own_write_us = demand * (0.9 + 0.1 * share)  # not a multiple of the reads'
                    pair = (setting.read_cl, setting.write_cl)
                    rows.append(cell("mixed", count, *pair, share, block, demand, demand, own_write_us))
    return cell_stats(*rows)


MANIFEST = {
    "engine": "2.1.20", "begun": "2026-11-21T07:52:01+00:00", "seed": 20200908, "sums": {"cells.csv": "ab12"},
    "machine": {"cpu": "made", "cores": 2}, "cluster_starts": [{"java": {"version": "8"}}], "load_before": 0.125,
    "profile": {"name": "small", "cluster": {"nodes": 3, "replication_factor": 3}},
}  # fmt: skip


def report_run(name="mine", **how):
    """A run of three blocks, made from demands; one cell is marked."""
    cells = run(**({"threads": (10, 100), "shares": (0.5,)} | how))
    cells = cells.assign(workload="", condition="", rate_per_s=np.nan, n_ok=5000, n_errors=0, n_unknown=0)
    for figure, factor in (("p50", 0.9), ("p95", 2.0), ("p99", 3.0)):
        cells[f"{figure}_us"] = factor * cells["latency_us"]
    cells.loc[0, "marks"] = "little"
    return SimpleNamespace(
        name=name, manifest=MANIFEST, statistics=cells, histograms={}, has_histograms=True, parts=None, notes=[]
    )
