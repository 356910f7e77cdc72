"""Figures of the chapter on models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.chapters.models import judged, of_series
from cassbook.book.figure_style import done, panels
from cassbook.book.gaps import of_each
from cassbook.book.provenance import Source
from cassbook.core.units import US_PER_MS
from cassbook.latency import model_selection, models

#: Drawn beyond what they were fitted to.
_DRAWN = {"linear": "--", "order4": ":", "spline": "-.", "mva": "-", "usl": (0, (6, 2))}
_COLOURS = dict(zip(_DRAWN, sns.color_palette("colorblind", len(_DRAWN)).as_hex(), strict=True))


def errors(sources: Sequence[Source]) -> Figure:
    """Draw the mean absolute error of each model on what it has not seen; one dot per series, between above beyond."""
    tables = of_each(sources, judged)
    figure, axes = panels(2, len(tables), height=2.9, sharex=True, sharey="row")
    for column, (label, table) in enumerate(tables.items()):
        titles = [models.MODELS[name].title for name in table["model"]]
        for row, where in enumerate(("between", "beyond")):
            panel = axes[row, column]
            sns.stripplot(
                x=table[f"{where}_percent"], y=titles, hue=table["level"], palette=palette.LEVELS, size=5, ax=panel,
                jitter=0.15, legend=row == 0 and column == 0,
            )  # fmt: skip
            panel.set_xscale("log")
            panel.set(title=f"{label}: {where}", xlabel="mean error, %" if row else "", ylabel="")
    return done(figure)


def beyond(source: Source, operation: str, level: str) -> Figure:
    """Draw curves fitted to the lowest thread counts of one series, drawn to the highest; points they saw are
    filled.
    """
    measured = of_series(source, operation, level)
    threads = np.sort(measured["threads"].unique())
    seen = measured[measured["threads"].isin(threads[: model_selection.FEWEST_BELOW])]
    grid = np.linspace(threads[0], threads[-1], 200)
    figure, axes = panels(1, 1, width=7.2, height=3.8)
    panel = axes[0, 0]
    for name, line in _DRAWN.items():
        curve = np.asarray(models.fit(seen, name).predict(grid)) / US_PER_MS
        panel.plot(grid, curve, linestyle=line, color=_COLOURS[name], linewidth=1.5, label=models.MODELS[name].title)
    means = measured.groupby("threads")["latency_us"].mean() / US_PER_MS
    inside = means.index <= threads[model_selection.FEWEST_BELOW - 1]
    panel.plot(means.index[inside], means[inside], "o", color="black", markersize=5, label="measured, fitted to")
    panel.plot(
        means.index[~inside], means[~inside], "o", color="black", markersize=5, fillstyle="none", label="measured"
    )
    top = 2.2 * float(means.max())
    panel.set(
        xlabel="threads",
        ylabel="mean latency, ms",
        ylim=(min(0, -0.1 * top), top),
        title=f"{source.label}: {operation} {level}",
    )
    panel.axvline(threads[model_selection.FEWEST_BELOW - 1], color="grey", linewidth=0.8)
    panel.legend(fontsize=8)
    return done(figure)
