"""Figures of the chapter on what helps at a distance."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.chapters.mitigating_distance import OBSERVED, OPERATIONS, by_phase, model_ms
from cassbook.book.figure_style import done, panels
from cassbook.records.experiment import Results

#: Colours that the colour-blind can distinguish (Okabe and Ito).


def over_requests(results: Results) -> Figure:
    """Draw the throughput over requests in flight with intervals over cluster starts: one panel per operation, one
    line per setup.
    """
    means = results.mean("throughput_per_s", ["operation", "setup", "threads"]).sort_index()
    figure, axes = panels(1, len(OPERATIONS), width=4.2, height=3.2, sharey=True)
    for panel, (operation, word) in zip(axes[0], OPERATIONS.items(), strict=True):
        for colour, setup in zip(palette.SERIES, sorted(results.manifest["setups"]), strict=False):
            rates = means[operation, setup]
            _with_intervals(panel, rates.index.to_numpy(), rates, colour, f"scenario {setup}")
        panel.set(title=word, xlabel="requests in flight", xscale="log")
    axes[0, 0].set(ylabel="throughput, 1/s", ylim=(0, None))
    axes[0, -1].legend()
    return done(figure)


def by_level(results: Results) -> Figure:
    """Draw the latency of each condition, and what distance alone makes of it (crosses): reads and writes side by
    side.
    """
    means = results.mean("latency_ms", ["operation", "condition"])
    alone = model_ms(results)["alone"].droplevel("setup")
    figure, axes = panels(1, 1, width=9.0, height=3.6)
    panel, names = axes[0, 0], list(alone.index)
    for offset, (operation, word) in zip((-0.12, 0.12), OPERATIONS.items(), strict=True):
        latencies = means[operation].reindex([name for name in names if name in means[operation].index])
        places = np.array([names.index(name) for name in latencies.index]) + offset
        _with_intervals(panel, places, latencies, palette.OPERATIONS[operation], word, line="")
    panel.plot(range(len(names)), alone, "x", color="black", label="distance alone, one request at a time")
    panel.set_xticks(range(len(names)), names)
    panel.set(ylabel="mean latency, ms", ylim=(0, None))
    figure.legend(loc="outside upper center", ncols=3)
    return done(figure)


def through_phases(results: Results) -> Figure:
    """Draw the mean latency of each time-out in each phase of the schedule; none where no request began."""
    mean_ms, _ = by_phase(results)
    phases = results.rows.drop_duplicates("place").sort_values("place")["phase"].to_list()
    figure, axes = panels(1, 1, width=7.0, height=3.4)
    panel = axes[0, 0]
    for colour, name in zip(palette.SERIES, results.manifest["numbers"]["timeouts"], strict=False):
        latency_ms = [mean_ms[phase, name] for phase in phases]
        width = 2.4 if name == OBSERVED else 1.2
        label = "set at run time" if name == OBSERVED else name
        panel.plot(range(len(phases)), latency_ms, "o-", color=colour, linewidth=width, markersize=5, label=label)
    panel.set_xticks(range(len(phases)), phases)
    panel.set(ylabel="mean latency, ms", yscale="log")
    panel.legend(title="time-out", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return done(figure)


def _with_intervals(
    panel: Axes, places: np.ndarray, means: pd.Series, colour: str, label: str, line: str = "-"
) -> None:  # fmt: skip
    values = np.array([mean.value for mean in means])
    below, above = (np.array([abs(end - mean.value) for mean, end in zip(means, ends, strict=True)])
                    for ends in ([mean.low for mean in means], [mean.high for mean in means]))  # fmt: skip
    panel.errorbar(places, values, [below, above], fmt=f"o{line}", color=colour, markersize=4, capsize=2, label=label)
