"""Figure of the chapter on the ccm study's latencies."""

from __future__ import annotations

from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.chapters import ccm_latency
from cassbook.book.figure_style import (
    done,
    panels,
)
from cassbook.core.consistency import setting_waiting_for
from cassbook.records.experiment import Results
from cassbook.staleness.ccm_study import SETTINGS


def study(results: Results) -> Figure:
    """Draw the mean latency in each setting with intervals over cluster starts: one row per tool, one panel per
    setup.
    """
    figure, axes = panels(len(ccm_latency.TOOLS), len(ccm_latency.SETUPS), width=3.6, height=2.8, sharey="col")
    for row, (tool, name) in zip(axes, ccm_latency.TOOLS.items(), strict=True):
        table = ccm_latency.latencies(results, tool)
        for panel, (setup, title) in zip(row, ccm_latency.SETUPS.items(), strict=True):
            for offset, operation in ((-0.2, "read"), (0.2, "write")):
                estimates = table.loc[(setup, operation)]
                places = [place + offset for place in range(len(estimates))]
                values = [estimate.value for estimate in estimates]
                below = [max(0.0, e.value - max(0.0, e.low)) for e in estimates]
                above = [e.high - e.value for e in estimates]
                label = ccm_latency.OPERATIONS[operation]
                panel.bar(places, values, 0.38, color=palette.OPERATIONS[operation.upper()], label=label,
                          yerr=[below, above], capsize=2)  # fmt: skip
            panel.set_xticks(range(len(SETTINGS)), [setting_waiting_for(r, w) for r, w in SETTINGS], rotation=45)
            panel.set(title=f"{title}\n{name}", ylim=(0, None))
        row[0].set_ylabel("mean latency, ms")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return done(figure)
