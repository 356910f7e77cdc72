"""How figures look: sizes, panels, error bars; what several chapters draw with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import Formatter, FuncFormatter

from cassbook.book import palette
from cassbook.book.alternative_text import describe
from cassbook.book.setting_names import has_code, in_levels, in_two_lines
from cassbook.core.units import US_PER_MS
from cassbook.latency import summaries

OPERATIONS = {"READ": "reads", "WRITE": "writes"}
#: Factors by which points of several series at one number of jobs are set apart.
ASIDE = (0.94, 1.06, 1.0, 1.12)
#: The text column of a page and the smallest type in it, in px; figures are drawn for 100 px an inch.
_PAGE_PX, _LEAST_PX, _PX_PER_INCH, _PT_PER_INCH = 790, 9, 100, 72


class Drawing(Figure):
    """A figure of the book: its text is what it shows, none of its type is too small once it has a page's width, and
    settings of three replicas are pairs of levels.
    """

    def __repr__(self) -> str:
        return describe(self)

    def draw(self, renderer: RendererBase) -> None:
        """Draw, with type below the least enlarged, and settings by their levels."""
        self._name_settings()
        shrunk = min(1.0, _PAGE_PX / (_PX_PER_INCH * self.get_figwidth()))
        least = _LEAST_PX * _PT_PER_INCH / _PX_PER_INCH / shrunk
        for axis in (axis for axes in self.axes for axis in (axes.xaxis, axes.yaxis)):
            if any(label.get_fontsize() < least for label in axis.get_ticklabels()):
                axis.set_tick_params(labelsize=least)
        for text in self.findobj(Text):
            if text.get_fontsize() < least:
                text.set_fontsize(least)
        super().draw(renderer)

    def _name_settings(self) -> None:
        """Say levels in the place of codes, unless there are some of more replicas."""
        along = [axis for axes in self.axes for axis in (axes.xaxis, axes.yaxis)]
        ticks = {axis: " ".join(label.get_text() for label in axis.get_ticklabels()) for axis in along}
        texts = self.findobj(Text)
        whole = " ".join([*(text.get_text() for text in texts), *ticks.values()])
        if in_levels(whole) == whole:
            return
        for text in texts:
            text.set_text(in_levels(text.get_text()))
        for axis in (axis for axis, words in ticks.items() if has_code(words)):
            name = in_two_lines if axis.axis_name == "x" else in_levels  # there is less room beside each other
            axis.set_major_formatter(FuncFormatter(partial(_named, axis.get_major_formatter(), name)))


def _named(formatter: Formatter, name: Callable[[str], str], value: float, place: int | None) -> str:
    """Return a tick's label by its levels."""
    return name(formatter(value, place))


def style() -> None:
    """Set the look of all figures: white grid, small type, no frame."""
    sns.set_theme(style="whitegrid", context="notebook", rc={"axes.spines.top": False, "axes.spines.right": False})
    plt.rcParams |= {
        "figure.dpi": 100,
        "savefig.dpi": 100,
        "figure.constrained_layout.use": True,
        "font.size": 10,
    }


def panels(
    rows: int, columns: int, width: float = 4.2, height: float = 3.2, **shared: object
) -> tuple[Figure, np.ndarray]:
    """Return a grid of panels in the book's style; `shared` goes to `matplotlib.pyplot.subplots`."""
    style()
    size = (width * columns, height * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, FigureClass=Drawing, **shared)
    return figure, axes


def done(figure: Figure) -> Figure:
    """Take a figure from pyplot's hands, so that a notebook shows it once."""
    plt.close(figure)
    return figure


def error_bars(axes: Axes, group: pd.DataFrame, x: str, level: str) -> None:
    """Draw one level's mean latency in ms over a column, with 95 % bars; open circles are points of CLIENT_MARKS."""
    y = group["latency_us"] / US_PER_MS
    below, above = y - group["latency_low_us"] / US_PER_MS, group["latency_high_us"] / US_PER_MS - y
    bars = None if group["latency_low_us"].isna().all() else np.vstack([below.clip(upper=y), above])
    axes.errorbar(
        group[x], y, yerr=bars, color=palette.LEVELS[level], marker="o", markersize=4, linewidth=1.3,
        elinewidth=0.7, capsize=2, label=level,
    )  # fmt: skip
    marked = summaries.client_marked(group)
    axes.plot(group[x][marked], y[marked], "o", color="white", markersize=2.5, zorder=3)


def setting_legend(figure: Figure, title: str) -> None:
    """Put a legend of the strong settings below a figure."""
    patches = [Patch(color=colour, label=name) for name, colour in palette.SETTINGS.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=3, title=title)


def points(panel: Axes, x: pd.Series, estimates: pd.Series, colour: str, label: str, face: str = "") -> None:
    """Draw estimates as points with their intervals; `face` fills them with another colour."""
    y = np.array([estimate.value for estimate in estimates])
    half = [
        [estimate.value - estimate.low for estimate in estimates],
        [estimate.high - estimate.value for estimate in estimates],
    ]
    panel.errorbar(
        x, y, half, fmt="o", color=colour, markerfacecolor=face or colour, markersize=3.5, capsize=2, label=label
    )


def jobs_axis(panel: Axes, jobs: pd.Series) -> None:
    """Put numbers of jobs on a logarithmic scale, each with its own mark."""
    marks = sorted(set(jobs))
    panel.set_xscale("log")
    panel.set_xticks(marks, [str(mark) for mark in marks])
    panel.set_xticks([], minor=True)
