"""What a figure shows, in words, written from its own data: for those who do not see it.

A notebook's output has a picture and, beside it, plain text. The text of a `figure_style.Drawing` is this, and the book
takes it as the picture's alternative text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer, Container
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from cassbook.core.types import Floats

#: A screen reader reads it all: panels beyond these are counted and not described.
_PANELS, _SERIES = 6, 8
_IN_FULL = 1000


def describe(figure: Figure) -> str:
    """Say in a few sentences what a figure shows: its panels, axes with their ranges, and series from end to end."""
    panels = [axes for axes in figure.axes if axes.get_visible() and axes.has_data()]
    if not panels:
        return " ".join(text.get_text() for text in figure.texts) or "An empty figure."
    sentences = [_panel(axes) for axes in panels[:_PANELS]]
    if len(panels) > 1:
        sentences = [f"{len(panels)} panels.", *sentences]
    if len(panels) > _PANELS:
        sentences.append(f"{len(panels) - _PANELS} more of the same kind.")
    return " ".join(sentences)


def _panel(axes: Axes) -> str:
    if not axes.axison:  # a diagram, whose lines are no series
        words = dict.fromkeys(_plain(text.get_text()) for text in axes.texts if text.get_text())
        return f"{_plain(axes.get_title()) or 'A diagram'}: {', '.join(words)}."
    what = " over ".join(label for label in (axes.get_ylabel(), _over(axes)) if label)
    head = ": ".join(part for part in (axes.get_title(), what) if part) or "Values"
    series = list(_series(axes))
    more = f"; {len(series) - _SERIES} more" if len(series) > _SERIES else ""
    return f"{_plain(head)}. {'; '.join(series[:_SERIES])}{more}." if series else f"{_plain(head)}."


def _over(axes: Axes) -> str:
    label = axes.get_xlabel()
    names = [tick.get_text() for tick in axes.get_xticklabels() if tick.get_text()]
    if not label and names and not all(_is_number(name) for name in names):
        return ", ".join(names)
    return label


def _is_number(text: str) -> bool:
    return text.replace("\N{MINUS SIGN}", "-").replace(".", "", 1).replace(",", "").lstrip("-").isdigit()


def _series(axes: Axes) -> Iterator[str]:
    """Each series with a name, or all lines together where none has one."""
    handles, labels = axes.get_legend_handles_labels()
    for handle, label in zip(handles, labels, strict=True):
        if shown := _values(handle):
            yield f"{_plain(label)} {shown}"
    if labels:
        return
    bars = [container for container in axes.containers if isinstance(container, BarContainer)]
    for container in bars:
        yield f"bars {_values(container)}"
    lines = [line for line in axes.lines if len(np.asarray(line.get_ydata())) > 1]
    if not bars and lines:
        y = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines])
        yield f"{len(lines)} {'line' if len(lines) == 1 else 'lines'} {_range(y)}"
    for points in axes.collections:
        if isinstance(points, PathCollection) and len(places := np.asarray(points.get_offsets(), dtype=float)):
            yield f"{len(places)} points {_range(places[:, 1])}"


def _values(handle: Any) -> str:
    """From where to where a series goes, by the order of x; of points and bars, their range."""
    if isinstance(handle, BarContainer):
        return _range(np.array([max(bar.get_height(), bar.get_width(), key=abs) for bar in handle], dtype=float))
    if isinstance(handle, Container) and len(handle):  # of a line with error bars
        handle = handle[0]
    if isinstance(handle, Line2D):
        return _along(handle)
    if isinstance(handle, PathCollection) and len(places := np.asarray(handle.get_offsets(), dtype=float)):
        return _range(places[:, 1])
    return ""


def _along(line: Line2D) -> str:
    x, y = np.asarray(line.get_xdata(), dtype=object), np.asarray(line.get_ydata(), dtype=float)
    known = np.isfinite(y)
    if not known.any():
        return ""
    if line.get_linestyle() in ("None", "", " ") or len(y) == 1:
        return _range(y)
    order = np.argsort(x[known].astype(float)) if _numeric(x) else np.arange(int(known.sum()))
    first, last = y[known][order][[0, -1]]
    return f"from {_number(first)} to {_number(last)}"


def _numeric(x: NDArray[Any]) -> bool:
    return all(isinstance(value, int | float | np.number) for value in x)


def _range(values: Floats) -> str:
    known = values[np.isfinite(values)]
    if not known.size:
        return "without values"
    low, high = _number(known.min()), _number(known.max())
    return low if low == high else f"between {low} and {high}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _IN_FULL else f"{value:.3g}"


def _plain(text: str) -> str:
    return text.replace("$", "").replace("\n", " ")
