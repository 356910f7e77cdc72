"""SIGTERM as an exception, so that what a cluster leaves behind is cleared away on it as on any other end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType, TracebackType
from typing import Self


class Terminated(SystemExit):
    """SIGTERM, as an exception, so that `with` blocks end as they do on any other."""


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Within the block SIGTERM raises `Terminated` (where signals can be caught: in the main thread)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _raise_terminated(number: int, frame: FrameType | None) -> None:
    raise Terminated(128 + number)


class Cleared:
    """A context manager whose end is reached on SIGTERM too: `begin` on entry, `end` on exit.

    What `begin` has made when it fails it clears away itself.
    """

    _signals: ExitStack

    def begin(self) -> None:
        """Make what the block uses."""
        raise NotImplementedError

    def end(self, error: BaseException | None) -> None:
        """Clear it away; `error` is what ended the block, None if nothing did."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._signals = ExitStack()
        self._signals.enter_context(sigterm_raises())
        try:
            self.begin()
        except BaseException:
            self._signals.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._signals:
            self.end(error)
