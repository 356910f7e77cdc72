"""Cells of a cold start and their samples, whose bins have given means."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd


def samples_of(bin_means_us, per_bin=20, bin_ms=50, start_s=3.0, spread=0.01):
    """Samples whose bins have these means: `per_bin` operations each, by turns above and below the mean."""
    means = np.repeat(np.asarray(bin_means_us, dtype=float), per_bin)
    started_s = start_s + np.arange(means.size) * bin_ms / per_bin / 1000
    latency_us = means * (1 + spread * np.where(np.arange(means.size) % 2, 1, -1))
    return pd.DataFrame({"cell_id": "a", "started_s": started_s, "latency_us": latency_us, "outcome": "ok"})


@dataclass(eq=False)
class SampledRun:
    """A run of cells and samples that were made up."""

    cells: pd.DataFrame
    parts: dict = field(default_factory=dict)
    dropped: tuple = ()
    statistics: pd.DataFrame | None = None

    def has_samples(self, cell_id):
        return cell_id in self.parts and cell_id not in self.dropped

    def samples(self, columns=None, cells=None):
        parts = [(name, self.parts[name]) for name in (self.parts if cells is None else cells)]
        tables = [part.assign(cell_id=name, phase=part.get("phase", "steady")) for name, part in parts]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def cold(cell_id, condition, **row):
    return {"cell_id": cell_id, "kind": "cold", "condition": condition, "rate_per_s": np.nan} | row


def noise(n):
    """Bin means that scatter around 1000 us; the same for the same n."""
    return 1000 * np.exp(np.random.default_rng(n).normal(0, 0.02, n))
