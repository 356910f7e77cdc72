"""Tables and the figure of the chapter on predicted staleness: production fits, and versions by formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.core.consistency import setting_waiting_for
from cassbook.staleness import pbs
from cassbook.staleness.monte_carlo import BINS, SUBDIVISIONS
from cassbook.staleness.wars import PRODUCTION

_SHARES = (0.99, 0.999)
_POINTS = 200


def production(
    trials: int = 1_000_000, n: int = 3, settings: Sequence[tuple[int, int]] = ((1, 1), (1, 2), (2, 1))
) -> pd.DataFrame:
    """Return the production fits: P(consistent) at once, t-visibility and 99.9 % latencies, asking all and asking R.

    Returns
    -------
    DataFrame
        Index (model, setting); columns (asks, figure), in ms but for P(0).
    """
    rows = {}
    for name in PRODUCTION:
        for r, w in settings:
            row: dict[tuple[str, str], float] = {}
            for label, prediction in modes(name, n, r, w, trials).items():
                row[label, "P(0)"] = prediction.p_consistent(0.0)
                for p in _SHARES:
                    row[label, f"t {100 * p:g} %"] = prediction.t_visibility(p)
                row[label, "read 99.9 %"] = prediction.read_latency(0.999)
            row["both", "write 99.9 %"] = prediction.write_latency(0.999)
            rows[name, setting_waiting_for(r, w)] = row
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["model", "setting"])
    table.columns = pd.MultiIndex.from_tuples([tuple(name) for name in table.columns])
    return table


def modes(name: str, n: int, r: int, w: int, trials: int = 1_000_000) -> dict[str, pbs.Prediction]:
    """Return a model with reads that ask all and take the first R answers, and with reads that ask R."""
    return {"asks all": pbs.predict(name, n, r, w, trials), "asks R": pbs.predict(name, n, r, w, trials, ask="r")}


def production_values(table: pd.DataFrame) -> dict[str, float]:
    """Return what the prose quotes of `production`, and of the histogram behind it."""

    def cell(model: str, asks: str, figure: str) -> float:
        return float(table[asks, figure].to_dict()[model, "1R-1W"])

    def percent(model: str, asks: str) -> float:
        return 100 * cell(model, asks, "P(0)")

    return {
        "disk_p0": percent("LNKD-DISK", "asks all"), "disk_t": cell("LNKD-DISK", "asks all", "t 99.9 %"),
        "ssd_all": percent("LNKD-SSD", "asks all"), "ssd_r": percent("LNKD-SSD", "asks R"),
        "wan_all": percent("WAN", "asks all"), "wan_r": percent("WAN", "asks R"),
        "bins": float(BINS), "resolution": 100 / SUBDIVISIONS,
    }  # fmt: skip


def versions_values(table: pd.DataFrame) -> dict[str, float]:
    """Return what the prose quotes of `versions_by_formula`, with the same by simulation."""
    return {
        "one": 100 * float(table["1R-1W"].iloc[0]), "two": 100 * float(table["1R-2W"].iloc[0]),
        "formula": 100 * float(table["1R-1W"].iloc[2]),
        "simulated": 100 * pbs.k_staleness_simulated(3, 1, 1, 3).value,
        "monotonic": 100 * pbs.monotonic_reads(3, 1, 1, 1.0),
    }  # fmt: skip


def versions_by_formula(n: int = 3, most: int = 10) -> pd.DataFrame:
    """Return P(one of the last k versions) without spreading: index k, columns settings that need not meet."""
    weak = [(r, w) for r in range(1, n + 1) for w in range(1, n + 1) if r + w <= n]
    return pd.DataFrame(
        {setting_waiting_for(r, w): [pbs.k_staleness(n, r, w, k) for k in range(1, most + 1)] for r, w in weak},
        index=pd.RangeIndex(1, most + 1, name="k"),
    )


def production_curves(predictions: Mapping[str, Mapping[str, pbs.Prediction]], least_ms: float = 0.1) -> Figure:
    """Draw P(consistent) over t of named models; solid where a read asks all and takes the first, dashed where it
    asks R.
    """
    figure, axes = panels(1, 1, width=7.0, height=3.6)
    panel = axes[0, 0]
    for colour, (name, modes) in zip(palette.SERIES, predictions.items(), strict=False):
        for style, prediction in zip(("-", "--"), modes.values(), strict=True):
            t_ms = np.geomspace(least_ms, prediction.t_visibility(0.9999) + 1, _POINTS)
            label = name if style == "-" else None
            panel.plot(t_ms, pbs.p_consistent_over(prediction, t_ms), style, color=colour, label=label)
    panel.set(xscale="log", xlabel="t after the commit, ms", ylabel="P(consistent)", ylim=(0, 1.02))
    panel.legend(loc="lower right")
    return done(figure)
