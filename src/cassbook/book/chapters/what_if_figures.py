"""Figures of the what-if chapter: asking all replicas, and mixes of reads and writes."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import ASIDE, done, jobs_axis, panels, points


def replication_pays(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw asking all three over asking two at QUORUM, over jobs: measured with intervals, and the model's line.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By version, of `calibration.asking_all`.
    """
    figure, axes = panels(1, 2, width=4.4, height=3.6)
    titles = {"throughput": "requests/s", "response": "response time"}
    for panel, (name, title) in zip(axes[0], titles.items(), strict=True):
        for aside, (version, table) in zip(ASIDE, tables.items(), strict=False):
            colour = palette.version(version)
            jobs = pd.Series(table.index)
            points(panel, aside * jobs, table[name], colour, f"{version}, measured")
            panel.plot(jobs, table[f"{name}_model"], color=colour, label=f"{version}, model")
            jobs_axis(panel, jobs)
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set(xlabel="jobs", ylabel=f"{title}, three asked over two")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2 * len(tables))
    return done(figure)


def mixes(table: pd.DataFrame) -> Figure:
    """Draw the latency of mixes over the share of reads: measured with intervals, and the model's lines; one panel
    per load.

    Parameters
    ----------
    table : DataFrame
        Of `from_calibration.compared`.
    """
    loads = sorted(table["threads"].unique())
    figure, axes = panels(1, len(loads), width=3.6, height=3.4)
    for panel, threads in zip(axes[0], loads, strict=True):
        for aside, (setting, group) in zip(
            (-1, 0, 1), table[table["threads"] == threads].groupby("setting"), strict=True
        ):
            percent, colour = 100 * group["read_share"], palette.SETTINGS[str(setting)]
            points(panel, percent + aside, group["measured_ms"], colour, str(setting))
            panel.plot(percent, group["predicted_ms"], color=colour)
        panel.set(title=f"{threads} jobs", xlabel="reads, % of operations", ylim=(0, None))
    axes[0, 0].set_ylabel("mean latency, ms")
    axes[0, -1].legend()
    return done(figure)
