"""The ladder of settings: what each costs, how fresh it is, what it survives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter

from cassbook.book import palette
from cassbook.book.chapters import answers
from cassbook.book.figure_style import done, panels, points
from cassbook.core.estimate import Estimate

_ASIDE = 0.14
#: Of the mean and of p99, which are no operations.
_FIGURES = (palette.BLACK, palette.GREY)


def ladder(table: pd.DataFrame) -> Figure:
    """Draw the settings of `answers.ladder` from the weakest to the strongest, in four panels."""
    figure, axes = panels(2, 2, width=4.6, height=3.0)
    for panel, side in zip(axes[0], ("read", "write"), strict=True):
        _of_settings(panel, {figure: table[f"{side}_{figure}"] for figure in ("mean", "p99")})
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set(title=f"what {side}s cost in a busy closed loop", ylabel="times the same at ONE", yscale="log")
        panel.yaxis.set_major_locator(FixedLocator([0.5, 1, 2, 4, 8, 16]))
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
    stale = {"side by side": table["near"].map(_stale), "in three regions": table["far"].map(_stale)}
    _of_settings(axes[1, 0], stale, palette.SERIES[2:])
    axes[1, 0].set(title="reads that miss a write just acknowledged, all well", ylabel="%", ylim=(-4, 104))
    dead = {side: table[side].map(lambda n: Estimate(n, n, n)) for side in ("reads", "writes")}
    _of_settings(axes[1, 1], dead, (palette.OPERATIONS["READ"], palette.OPERATIONS["WRITE"]))
    axes[1, 1].set(title="dead replicas survived", ylabel="replicas", ylim=(-0.2, 2.2), yticks=[0, 1, 2])
    return done(figure)


def _stale(share: Estimate) -> Estimate:
    return Estimate(100 * (1 - share.value), 100 * (1 - share.high), 100 * (1 - share.low), share.n)


def _of_settings(panel: Axes, series: Mapping[str, pd.Series], colours: Sequence[str] = _FIGURES) -> None:
    """One point per setting and series, both by name; settings whose quorums meet stand on grey."""
    names = [str(name) for name in next(iter(series.values())).index]
    meets = [place for place, name in enumerate(names) if answers.strong(name)]
    panel.axvspan(min(meets) - 0.5, max(meets) + 0.5, color="lightgrey", alpha=0.35, linewidth=0)
    for aside, colour, (label, figures) in zip((-_ASIDE, _ASIDE), colours, series.items(), strict=False):
        known = np.array([isinstance(figure, Estimate) for figure in figures])
        points(panel, pd.Series(np.flatnonzero(known) + aside), figures[known], colour, label)
    panel.set_xticks(range(len(names)), names)
    panel.set_xlim(-0.5, len(names) - 0.5)
    panel.grid(visible=False, axis="x")
    panel.legend(fontsize=8)
