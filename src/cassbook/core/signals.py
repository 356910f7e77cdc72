"""SIGINT, SIGTERM and SIGHUP as exceptions that cannot be lost, and that leave clean-up alone.

Python drops an exception that is raised inside a weak reference's callback or `__del__` ("Exception ignored in ..."),
and a bare `except:` of somebody's swallows it. So the handler notes the signal before it raises, and a timer calls it
again until the main thread is unwinding because of it. Python itself says whether it is: the exception that is being
handled, or one in its context, is ours. From then on further signals change nothing, so that a second Ctrl-C does not
break the removal of a cluster.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Self

HEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: How soon an exception that was lost is raised again: at least, and at most. Callbacks may come at even intervals, so
#: these are not even.
AGAIN_S = (0.01, 0.05)
_UNEVEN = 0.618
_AGAIN = signal.SIGALRM
_PATIENCE = b"cassbook: stopping; what was started is being removed, which takes a moment\n"


class Interrupted(KeyboardInterrupt):
    """SIGINT: Ctrl-C."""


class Terminated(SystemExit):
    """SIGTERM or SIGHUP; its code is the one that a shell gives to a process that died of it."""


@dataclass(slots=True)
class _State:
    """What the handler knows: the signal that came, the timer it replaced, how many blocks heed, if one holds back."""

    number: int | None = None
    calls: int = 0
    timer: tuple[float, float] = (0.0, 0.0)
    heeding: int = 0
    held_back: bool = False


_state = _State()


def noted() -> bool:
    """Whether a signal has come that ends this command; what may wait for others then waits no longer."""
    return _state.number is not None


@contextmanager
def heeded(last: bool = False) -> Iterator[None]:
    """Within the block SIGINT raises `Interrupted`, SIGTERM and SIGHUP raise `Terminated`, wherever they arrive.

    Signals that are ignored (`nohup`, jobs in the background) stay so. Blocks may be nested. Outside the main thread,
    where signals cannot be caught, the block does nothing.

    `last`: the process ends with the block. If a signal ended it, further ones are ignored from then on: while Python
    finishes it would die of them, with another exit code.

    Raises Interrupted, Terminated at the latest at the end of the block.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former, again = {number: signal.getsignal(number) for number in HEEDED}, signal.getsignal(_AGAIN)
    hook, outer = sys.unraisablehook, _state.heeding
    try:
        _state.heeding = outer + 1
        take()
        sys.unraisablehook = _without_ours
        yield
        _raise_if_due()
    finally:
        ended = last and _state.number is not None
        for number, handler in former.items():
            if handler is not None and signal.getsignal(number) is _on_signal:
                signal.signal(number, signal.SIG_IGN if ended else handler)
        _state.heeding = outer
        if not outer:
            sys.unraisablehook = hook
            _stop_timer(again)


def _stop_timer(former: Any) -> None:
    """Give the timer and its signal back, in an order in which no late alarm finds the handler gone: it would kill."""
    came, _state.number = _state.number, None  # from here on an alarm that is under way does nothing
    if came is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(_AGAIN, signal.SIG_DFL if former is None else former)
        signal.setitimer(signal.ITIMER_REAL, *_state.timer)


def take() -> None:
    """Install the handler, also again after something else (an event loop) has taken the signals."""
    if not _state.heeding:
        return
    for number in HEEDED:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _on_signal)


@contextmanager
def held_back() -> Iterator[None]:
    """Within the block signals are noted, and raised at its end: for clean-up that must be finished."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, _state.held_back = _state.held_back, True
    try:
        yield
    finally:
        _state.held_back = before
    _raise_if_due()


@contextmanager
def let_through() -> Iterator[None]:
    """Within the block, itself within one that is `held_back`, signals are raised: somebody clears up after them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, _state.held_back = _state.held_back, False
    try:
        _raise_if_due()
        yield
    finally:
        _state.held_back = before


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


def _on_signal(number: int, frame: FrameType | None) -> None:
    """Note a signal and raise it, unless that is under way; runs in the main thread, between any two instructions."""
    if number == _AGAIN and _state.number is None:
        return
    if number != _AGAIN:
        if _state.number is None:
            _state.number = number
            signal.signal(_AGAIN, _on_signal)
            _state.timer = signal.getitimer(signal.ITIMER_REAL)
        else:
            with contextlib.suppress(OSError):
                os.write(2, _PATIENCE)  # print() may not be entered twice
    _state.calls += 1
    soonest_s, latest_s = AGAIN_S
    signal.setitimer(signal.ITIMER_REAL, soonest_s + (latest_s - soonest_s) * (_state.calls * _UNEVEN % 1.0))
    _raise_if_due()


def _raise_if_due() -> None:
    if _state.number is None or _state.held_back or _unwinding():
        return
    if _state.number == signal.SIGINT:
        raise Interrupted
    raise Terminated(128 + _state.number)


def _unwinding() -> bool:
    """Whether the main thread is handling our exception, or one that was raised while it did."""
    error = sys.exception()
    while error is not None:
        if isinstance(error, Interrupted | Terminated):
            return True
        error = error.__context__
    return False


def _without_ours(lost: sys.UnraisableHookArgs) -> None:
    """Report exceptions that Python drops, but for ours, which come again."""
    if not isinstance(lost.exc_value, Interrupted | Terminated):
        sys.__unraisablehook__(lost)
