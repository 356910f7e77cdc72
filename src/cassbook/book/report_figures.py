"""Figures of a report: small panels as SVG that a page holds inline, in its own colours and type."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from cassbook.core.types import Floats
from cassbook.latency import percentiles, summaries
from cassbook.latency.open_results import SHARE

#: Colours that the colour-blind can distinguish (Okabe and Ito), and that are seen on white and on black.
COLOURS = ("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#A6761D", "#7570B3")
_MS = 1e-3
#: Stand for the page's own colours until the picture is part of it.
_INK, _GRID = "#010203", "#040506"
_LOOK: Any = {
    "svg.fonttype": "none",  # text stays text: it is small, can be read aloud and searched
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _GRID,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
#: A curve begins to look like an axis of its own above this ratio of the ends of an axis.
_WIDE = 20.0
#: Least distance of two numbers along an axis, as a share of it.
_APART = 0.12
#: By how much of themselves points of several levels at one number of threads are set apart.
_ASIDE = 0.02
#: What Matplotlib writes at length, and the short of it: a page of sixty panels stays below a megabyte.
_SHORTER = tuple(
    (re.compile(pattern, re.DOTALL), made)
    for pattern, made in (
        (r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", ""),
        (r'<svg[^>]*viewBox="([^"]*)"[^>]*>', r'<svg role="img" viewBox="\1">'),
        (r' id="(?!m[0-9a-f]{10}|p[0-9a-f]{10})[^"]*"', ""),  # only what is referred to keeps its name
        (r' xlink:href="', ' href="'),
        (r' font-family: [^;"]*;', ""),
        (r' transform="rotate\(-0 [^)]*\)"', ""),
        (r"(\d+\.\d)\d+", r"\1"),
        (r"\s*\n\s*", " "),
        (r"(?<=[MLz]) | (?=[MLz\">])", ""),
        (r"; (?=[a-z])|: (?=[#a-z0-9])", lambda found: found[0].strip()),
        (r"> <", "><"),
        (r'<path d="[^"]*" style="fill:none"/>|<g/>|<defs/>|<defs></defs>', ""),
        (r"<g></g>", ""),
    )
)
#: Paths that follow each other and look alike, as the bars of a line do, can be one.
_ALIKE = re.compile(r'<path d="[^"]*"([^>]*)/>(?:<path d="[^"]*"\1/>)+')


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture."""

    title: str
    svg: str  # to stand in a page as it is


def colours(levels: Sequence[str]) -> dict[str, str]:
    """Give each level, or pair of levels, a colour: the same everywhere in a page."""
    return {level: COLOURS[place % len(COLOURS)] for place, level in enumerate(levels)}


def percentile_panels(cells: pd.DataFrame, colour_of: dict[str, str], figures: Sequence[str]) -> Iterator[Panel]:
    """Draw figures of latency over threads or rates, a line per level; those that no cell has are left out.

    `cells`: rows of `results.Results` that differ in level, threads or rate alone. `figures`: of `percentiles.FIGURES`.
    """
    x, label = ("rate_per_s", "requests per second") if cells["rate_per_s"].notna().all() else ("threads", "threads")
    for name in figures:
        column = percentiles.COLUMNS[name]
        if cells[column].notna().any():
            picture = _Picture(label, f"{name}, ms")
            lines = list(cells.groupby("level", sort=False))
            for place, (level, line) in enumerate(lines):
                aside = 1 + _ASIDE * (place - (len(lines) - 1) / 2)  # so that bars of several levels are all seen
                picture.line(line.assign(**{x: line[x] * aside}), x, column, colour_of[str(level)])
                picture.ticks += line.loc[line[column].notna(), x].tolist()
            yield Panel(name, picture.svg())


def throughput_panel(cells: pd.DataFrame, colour_of: dict[str, str], name: str) -> Panel:
    """Draw a figure of latency over throughput, a line per level along threads or rates."""
    picture = _Picture("operations per second", f"{name}, ms")
    for level, line in cells.groupby("level", sort=False):
        picture.line(line, "throughput_per_s", percentiles.COLUMNS[name], colour_of[str(level)], bounds_of_x=True)
    return Panel(f"{name} against throughput", picture.svg())


def open_panel(question: str, name: str, rows: pd.DataFrame, points: pd.DataFrame, colour_of: dict[str, str]) -> Panel:
    """Draw a figure of the response time over the rate, a line per setting, with a dot for each block.

    Along the top stand the rates as shares of what the weakest setting carries. A line ends before the first point that
    the client is a part of; such points are squares. A rate that a setting does not carry in some block is a cross at
    the top, and no part of the line, for the blocks that carry it are the faster ones; one that the client could not
    send is a square there.

    `question`: what the panel answers. `name`: of `percentiles.FIGURES`. `rows`: of one mix, from
    `open_results.open_results`. `points`: its cells, from `open_results.open_cells`.
    """
    picture, column = _Picture("requests per second", f"{name} response, ms"), percentiles.COLUMNS[name]
    for setting, line in rows.assign(threads=0).sort_values("rate_per_s").groupby("setting", sort=False):
        colour, ended = colour_of[str(setting)], line["client"].cummax()
        whole = (line["not_carried"] == 0) & (line["beyond_client"] == 0)
        picture.line(line[~ended & whole], "rate_per_s", column, colour)
        own = points[points["setting"] == setting]
        picture.dots(own["rate_per_s"], own[percentiles.response_column(name)], colour)
        picture.squares(line.loc[ended, "rate_per_s"], line.loc[ended, column], colour)
        for counts, sign in (("not_carried", "x"), ("beyond_client", "s")):
            lower = list(colour_of).index(str(setting))
            picture.at_top(line.loc[line[counts] > 0, "rate_per_s"], sign, colour, lower)
    shares = rows[rows["measured"] == SHARE].drop_duplicates("at")
    picture.top(shares["rate_per_s"], shares["at"], "share of what the weakest carries")
    return Panel(question, picture.svg())


def over_time_panel(
    title: str, lines: Mapping[str, tuple[Floats, Floats]],
    bands: Sequence[tuple[float, float]], colour_of: dict[str, str],
) -> Panel:  # fmt: skip
    """Draw percentages over seconds, a line per setting, with bands from when to when a fault lasted."""
    picture = _Picture("s", title)
    picture.percentages(lines, bands, colour_of)
    return Panel(title, picture.svg())


class _Picture:
    """One pair of axes."""

    _drawn = 0

    def __init__(self, x_label: str, y_label: str) -> None:
        with rc_context(_LOOK):
            self._figure = Figure(figsize=(3.7, 2.7), layout="constrained")
            FigureCanvasSVG(self._figure)
            self._axes = self._figure.add_subplot()
            self._axes.set(xlabel=x_label, ylabel=y_label, yscale="log")
            self._axes.grid(visible=True, linewidth=0.6)
        #: Numbers that the horizontal axis may have; without any it has round ones, from 0 on.
        self.ticks: list[float] = []
        self._x: list[float] = []
        self._y: list[float] = []

    def line(self, cells: pd.DataFrame, x: str, y: str, colour: str, bounds_of_x: bool = False) -> None:
        """Draw one level: points with their intervals, open where a cell is marked."""
        known = cells[cells[y].notna() & (cells[y] > 0) & cells[x].notna()].sort_values(["threads", "rate_per_s"])
        if known.empty:
            return
        at, of = known[x].to_numpy(dtype=float), known[y].to_numpy(dtype=float) * _MS
        low, high = (known[summaries.bound(y, side)].to_numpy(dtype=float) * _MS for side in ("low", "high"))
        self._axes.plot(at, of, color=colour, linewidth=1.3)
        sure = np.isfinite(low) & (low > 0)
        if sure.any():
            self._axes.vlines(at[sure], low[sure], high[sure], color=colour, linewidth=0.9, alpha=0.5)
        if bounds_of_x:
            left, right = (known[summaries.bound(x, side)].to_numpy(dtype=float) for side in ("low", "high"))
            if (sure := np.isfinite(left)).any():
                self._axes.hlines(of[sure], left[sure], right[sure], color=colour, linewidth=0.9, alpha=0.5)
        marked = (known["marks"] != "").to_numpy()
        self._axes.plot(at[~marked], of[~marked], "o", color=colour, markersize=3.5)
        self._axes.plot(at[marked], of[marked], "o", color=colour, markersize=3.5, markerfacecolor="none")
        self._x += at.tolist()
        self._y += of.tolist()

    def dots(self, x: pd.Series, y: pd.Series, colour: str) -> None:
        """Draw single blocks, small and pale."""
        self._axes.plot(x, y * _MS, ".", color=colour, markersize=3, alpha=0.45)
        self._x += x[y > 0].tolist()
        self._y += (y[y > 0] * _MS).tolist()

    def squares(self, x: pd.Series, y: pd.Series, colour: str) -> None:
        """Draw where the client is a part of what is measured."""
        self._axes.plot(x, y * _MS, "s", color=colour, markersize=5, markerfacecolor="none")
        self._x += x[y > 0].tolist()

    def at_top(self, x: pd.Series, sign: str, colour: str, lower: int) -> None:
        """Draw rates that have no figure at the top, those of several settings below each other."""
        x = x.dropna()
        at = np.full(len(x), 0.97 - 0.05 * lower)
        self._axes.plot(
            x, at, sign, color=colour, markerfacecolor="none", transform=self._axes.get_xaxis_transform(), markersize=4
        )
        self._x += x.tolist()

    def top(self, x: pd.Series, names: pd.Series, label: str) -> None:
        """Give the horizontal axis a second reading."""
        if len(x):
            axis = self._axes.secondary_xaxis("top")
            axis.set_xticks(x.tolist(), [f"{name:g}" for name in names])
            axis.set_xlabel(label)
            axis.set_color(_INK)  # or it were black, also in the dark

    def percentages(
        self, lines: Mapping[str, tuple[Floats, Floats]],
        bands: Sequence[tuple[float, float]], colour_of: dict[str, str],
    ) -> None:  # fmt: skip
        """Draw percentages over seconds; the axes are plain."""
        self._axes.set(yscale="linear", ylim=(-3, 103))
        for from_s, to_s in bands:
            self._axes.axvspan(from_s, to_s, color=_INK, alpha=0.12, linewidth=0)
        for name, (at_s, percent) in lines.items():
            self._axes.plot(at_s, percent, color=colour_of[name], linewidth=1.1, alpha=0.8)

    def svg(self) -> str:
        """Return the picture as a part of a page: no fixed size, names of its own, the page's colours."""
        with rc_context(_LOOK):
            if self._y:
                _vertical(self._axes, self._y)
                _horizontal(self._axes, self._x, sorted(set(self.ticks)))
            text = io.StringIO()
            self._figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        _Picture._drawn += 1
        return _inline(text.getvalue(), f"p{_Picture._drawn}-")


def _vertical(axes: Axes, y: list[float]) -> None:
    """Fit the axis to the points, whose intervals may reach far beyond, and number it plainly."""
    axes.set_ylim(min(y) / 1.5, max(y) * 1.5)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if max(y) / min(y) < _WIDE else (1.0,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _horizontal(axes: Axes, x: list[float], ticks: list[float]) -> None:
    """Number the axis at what was measured, but for numbers that would meet."""
    if not ticks:
        axes.set_xlim(0, max(x) * 1.08)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        return
    if ticks[-1] / ticks[0] > _WIDE:
        axes.set_xscale("log")
    along = np.log(ticks) if axes.get_xscale() == "log" else np.asarray(ticks)
    room, kept = (along[-1] - along[0]) * _APART, [len(ticks) - 1]
    for place in reversed(range(len(ticks) - 1)):
        if along[kept[-1]] - along[place] >= room:
            kept.append(place)
    axes.set_xticks([ticks[place] for place in kept], [f"{ticks[place]:g}" for place in kept])
    axes.xaxis.set_minor_locator(NullLocator())


def _inline(text: str, prefix: str) -> str:
    """Make a picture a part of a page: its names its own, its colours the page's, its numbers short."""
    svg = text[text.index("<svg") :]
    for wanted, made in _SHORTER:
        svg = wanted.sub(made, svg)
    svg = _ALIKE.sub(_as_one, svg)
    svg = svg.replace('id="', f'id="{prefix}').replace('href="#', f'href="#{prefix}').replace("url(#", f"url(#{prefix}")
    return svg.replace(_INK, "currentColor").replace(_GRID, "var(--grid)")


def _as_one(paths: re.Match[str]) -> str:
    drawn = "".join(re.findall(r' d="([^"]*)"', paths[0]))
    return f'<path d="{drawn}"{paths[1]}/>'
