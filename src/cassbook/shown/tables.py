"""Frames of numbers as tables of words: a format per column, intervals, and columns for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate

#: Characters in a line of a terminal.
WIDTH = 120
#: A format specification, as `.1f` or `±%.0f`, or a function of the value.
Format = str | Callable[[Any], str]


def three_digits(value: float) -> str:
    """Value in three significant digits, all of those before the point, and none below a nanosecond in ms.

    >>> three_digits(23912.0), three_digits(31.0), three_digits(0.0004)
    ('23912', '31.0', '0.000400')
    """
    digits = 0 if value >= 100 else int(min(2 - np.floor(np.log10(value * (1 + 1e-9))), 6)) if value > 0 else 0  # noqa: PLR2004
    return f"{value:.{digits}f}"


def with_bounds(figure: Estimate) -> str:
    """Return a figure with its interval, if it has one, in three digits.

    >>> with_bounds(Estimate(23.91, 3.012, 185.4)), with_bounds(Estimate(23.91, float("nan"), float("nan")))
    ('23.9 [3.01, 185]', '23.9')
    """
    value, *bounds = map(three_digits, (figure.value, figure.low, figure.high))
    return value if np.isnan(figure.low) else f"{value} [{', '.join(bounds)}]"


def text(value: object, spec: Format = "", missing: str = "") -> str:
    """Return a figure, an Estimate or a word by its format; `missing` for None and NaN.

    >>> text(1234.5, ",.0f"), text(Estimate(2.0, 1.0, 3.0), ".1f"), text(float("nan"), ".1f", "-")
    ('1,234', '2.0 [1.0, 3.0]', '-')
    """
    figure = getattr(value, "value", value)
    if figure is None or (isinstance(figure, float) and np.isnan(figure)):
        return missing
    return spec(value) if callable(spec) else format(value, spec)


def formatted(table: pd.DataFrame, formats: Mapping[Any, Format] | Format, missing: str = "") -> pd.DataFrame:
    """Return a table of words.

    Parameters
    ----------
    table : DataFrame
        Of figures, Estimates or words.
    formats : mapping of column to format, or format
        Only these columns are kept, in this order; one format is of all columns.
    missing : str
        In place of None and NaN.
    """
    by_column = formats if isinstance(formats, Mapping) else dict.fromkeys(table.columns, formats)
    columns = {name: [text(value, spec, missing) for value in table[name]] for name, spec in by_column.items()}
    made = pd.DataFrame(columns, index=table.index, dtype=str)
    made.columns.names = table.columns.names
    return made


def titled(table: pd.DataFrame, columns: Mapping[Any, tuple[Any, Format]], missing: str = "") -> pd.DataFrame:
    """Return a table of words as `formatted`, by the title and the format of each column that is kept.

    >>> titled(pd.DataFrame({"mean_ms": [1.25]}), {"mean_ms": ("mean, ms", ".1f")}).to_dict("list")
    {'mean, ms': ['1.2']}
    """
    words = {title: [text(value, spec, missing) for value in table[name]] for name, (title, spec) in columns.items()}
    return pd.DataFrame(words, index=table.index, dtype=str)


def marked(words: pd.Series, where: pd.Series, mark: str = " *") -> pd.Series:
    """Return words with a mark behind those `where` it belongs."""
    return words.where(~where.astype(bool), words + mark)


def estimates(table: pd.DataFrame, value: str, low: str = "low", high: str = "high") -> pd.Series:
    """Return a column of figures and those of its bounds as one of Estimates."""
    bounds = table[[value, low, high]].to_numpy(dtype=float)
    return pd.Series([Estimate(*row) for row in bounds], table.index, dtype=object)


def intervals(table: pd.DataFrame, spec: Format, value: str, low: str = "low", high: str = "high") -> pd.Series:
    """Return `estimates` in words."""
    return estimates(table, value, low, high).map(lambda estimate: text(estimate, spec)).astype(str)


def spread(values: Iterable[float], shown: Callable[[float], str]) -> str:
    """Say a median over cluster starts, with the least and the most of them; three starts are few for an interval.

    >>> spread([4.0, 2.0, 9.0], "{:.1f}".format)
    '4.0 [2.0, 9.0]'
    """
    known = np.asarray([value for value in values if not np.isnan(value)], dtype=float)
    if not known.size:
        return "-"
    if np.isinf(known).any():
        return "not in time"
    middle, least, most = (shown(float(of(known))) for of in (np.median, np.min, np.max))
    return middle if least == most else f"{middle} [{least}, {most}]"


def lines(table: pd.DataFrame, words: Iterable[str] = ()) -> list[str]:
    """Return a table of words in columns: those of `words` to the left, all others to the right."""
    left = {name: max(map(len, [name, *table[name]])) for name in words if name in table}
    formatters = {name: (f"{{:<{width}}}".format) for name, width in left.items()}
    head = [f"{name:<{left[name]}}" if name in left else name for name in table.columns]
    made = table.to_string(index=False, justify="right", formatters=formatters, header=head)
    return [line.rstrip() for line in made.splitlines()]


def csv(table: pd.DataFrame, **named: str) -> str:
    """Return a table of figures as CSV to seven digits, with columns of what is named in front."""
    front = pd.DataFrame(named, index=table.index)
    return pd.concat([front, table], axis=1).to_csv(index=False, lineterminator="\n", float_format="%.7g").rstrip("\n")


def wrapped(notes: Sequence[str]) -> list[str]:
    """Return sentences as lines of a terminal."""
    return [line for note in notes for line in textwrap.wrap(note, WIDTH, subsequent_indent="  ")]
