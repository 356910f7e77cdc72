"""One progress bar for every place it may be looked at: a terminal, a notebook's output, a CI log."""

from __future__ import annotations

import sys
from typing import TextIO

from tqdm import tqdm


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
