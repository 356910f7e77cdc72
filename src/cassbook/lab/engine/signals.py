"""A context manager whose end is reached on SIGINT, SIGTERM and SIGHUP too, and is not broken off by another."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from cassbook.core.signals import heeded, held_back


class Cleared:
    """A context manager whose end is reached on a signal too: `begin` on entry, `end` on exit.

    What `begin` has made when it fails it clears away itself. A signal during `begin` is raised where that lets it
    through, and else when it is done: then `end` follows. A signal during `end` is raised when that is done.
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
        begun = False
        try:
            self._signals.enter_context(heeded())
            with held_back():
                self.begin()
                begun = True
        except BaseException as error:
            with self._signals, held_back():
                if begun:
                    self.end(error)
            raise
        return self  # Python looks for signals after calls and at jumps back: not from here to the block

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._signals, held_back():
            self.end(error)
