"""One progress bar for every place it may be looked at: a terminal, a notebook's output, a CI log."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from tqdm import tqdm

from cassbook.core.time_left import TimeLeft


class _Lines:
    """A stream that turns a bar's redrawing into one line each, for logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write what is visible."""
        line = text.replace("\r", "").strip()
        if line:
            self._stream.write(line + "\n")

    def flush(self) -> None:
        """Flush the stream behind."""
        self._stream.flush()


def bar(total: int, done: int, unit: str) -> tqdm:
    """Return a bar of `total` units, `done` of them from an earlier session, with the time left."""
    stream = sys.stderr
    if stream.isatty():
        return tqdm(total=total, initial=done, unit=unit, file=stream, smoothing=0.1, dynamic_ncols=True)
    layout = "{n_fmt}/{total_fmt} {unit}s done, {percentage:.0f} %, {elapsed} gone, {remaining} left"
    return tqdm(total=total, initial=done, unit=unit, file=_Lines(stream), mininterval=15, bar_format=layout)


class WeighedBar(tqdm):
    """A bar of parts that take unequal times: it is filled by time, and counts what is finished in words.

    Parameters
    ----------
    time_left : TimeLeft
        Of what is left.
    total, done : int
        How many units there are, and how many an earlier session finished.
    unit : str
    """

    def __init__(self, time_left: TimeLeft, total: int, done: int, unit: str) -> None:
        self._time_left, self._units, self._finished, self._unit = time_left, total, done, unit
        stream = sys.stderr
        layout = "{finished}, {percentage:.0f} %, {elapsed} gone, {left} left"
        options: dict[str, Any] = {"file": _Lines(stream), "mininterval": 15}
        if stream.isatty():
            layout, options = "{finished} {percentage:3.0f}%|{bar}| {elapsed}<{left}", {"dynamic_ncols": True}
        super().__init__(total=1.0, bar_format=layout, miniters=0, **options)

    @property
    def format_dict(self) -> dict[str, Any]:
        """What the layout may name."""
        finished = f"{self._finished}/{self._units} {self._unit}s done"
        return {**super().format_dict, "finished": finished, "left": self.format_interval(self._time_left.left_s)}

    def part_done(self, units: int = 0) -> None:
        """Note that the part in hand is over, and that it made so many units finished."""
        self._time_left.done()
        self._finished += units
        gone_s, left_s = self._time_left.gone_s, self._time_left.left_s
        self.update(max(gone_s / max(gone_s + left_s, 1e-9) - self.n, 0.0))
