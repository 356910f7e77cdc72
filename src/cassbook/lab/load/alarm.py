"""An alarm in the driver's event loop, to the microsecond where the system can: its own timers count milliseconds."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

_MONOTONIC, _NONBLOCK, _CLOEXEC, _ABSOLUTE = 1, 0o4000, 0o2000000, 1
_SPEC = struct.Struct("qqqq")
_NANO = 1_000_000_000
#: `Alarm.close` waits no longer for the event loop; one that is not running will never call again.
_PATIENCE_S = 5.0
#: The kernel is asked to wake the event loop somewhat early, and what is left of the time is waited for awake: a step
#: less early next time where some was left, a share of a step more where it came late.
_EARLY_SHARE, _STEP_S, _MOST_EARLY_S = 0.4, 1e-6, 1e-4
_clock = time.perf_counter


class Lags:
    """How much later the event loop woke up than it was asked to: as late as it notices an answer."""

    def __init__(self) -> None:
        self._sum_s, self._count = 0.0, 0

    def add(self, lag_s: float) -> None:
        """Note one."""
        self._sum_s += lag_s
        self._count += 1

    @property
    def mean_us(self) -> float:
        """Mean so far, in microseconds; NaN without any."""
        return self._sum_s / self._count * 1e6 if self._count else float("nan")


class Alarm(Protocol):
    """Calls back in the event loop's thread, about when it is time."""

    lags: Lags

    def at(self, moment: float) -> None:
        """Have the callback called at a moment of `time.perf_counter`, in place of any other; from that thread."""

    def close(self) -> None:
        """Call back no more; from another thread."""


class CoarseAlarm:
    """By the driver's own timers: up to some milliseconds late."""

    def __init__(self, create_timer: Callable[[float, Callable[[], None]], Any], callback: Callable[[], None]) -> None:
        self._create_timer, self._callback = create_timer, callback
        self._number, self.lags = 0, Lags()

    def at(self, moment: float) -> None:
        """See `Alarm`."""
        self._number += 1
        number = self._number
        self._create_timer(max(moment - _clock(), 0.0), lambda: self._ring(number, moment))

    def _ring(self, number: int, moment: float) -> None:
        if number == self._number:  # else another moment has taken its place
            self.lags.add(_clock() - moment)
            self._callback()

    def close(self) -> None:
        """See `Alarm`."""
        self._number += 1


class PreciseAlarm:
    """By a timer of the kernel's (timerfd) that libev watches as it watches sockets.

    OSError or ImportError where there is no such thing.
    """

    def __init__(self, create_timer: Callable[[float, Callable[[], None]], Any], callback: Callable[[], None]) -> None:
        from cassandra.io import libevreactor, libevwrapper  # noqa: PLC0415 - not every driver has them

        if time.get_clock_info("perf_counter").implementation != "clock_gettime(CLOCK_MONOTONIC)":
            raise OSError("time.perf_counter is not the kernel's monotonic clock")
        self._create_timer, self._callback = create_timer, callback
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._fd = self._libc.timerfd_create(_MONOTONIC, _NONBLOCK | _CLOEXEC)
        except AttributeError as error:
            raise OSError("the system's library has no timerfd") from error
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        loop = libevreactor._global_loop._loop
        self._moment, self._early_s, self._asked, self.lags = 0.0, 0.0, 0.0, Lags()
        self._watcher = libevwrapper.IO(self._fd, libevwrapper.EV_READ, loop, self._ring)
        create_timer(0.0, self._watcher.start)  # libev is not to be touched from other threads

    def at(self, moment: float) -> None:
        """See `Alarm`."""
        self._moment, self._asked = moment, moment - self._early_s
        nanoseconds = max(int(self._asked * _NANO), 1)
        spec = _SPEC.pack(0, 0, *divmod(nanoseconds, _NANO))
        self._libc.timerfd_settime(self._fd, _ABSOLUTE, spec, None)

    def _ring(self, *_: Any) -> None:
        with suppress(BlockingIOError):
            os.read(self._fd, 8)
        now = _clock()
        self.lags.add(max(now - self._asked, 0.0))
        if now < self._moment:
            self._early_s = max(self._early_s - _STEP_S, 0.0)
            while _clock() < self._moment:
                pass
        else:
            self._early_s = min(self._early_s + _STEP_S * _EARLY_SHARE, _MOST_EARLY_S)
        self._callback()

    def close(self) -> None:
        """See `Alarm`."""
        stopped = threading.Event()

        def stop() -> None:
            self._watcher.stop()
            # A watcher of libev's is nothing that the collector looks into: with it the whole loop would stay for ever.
            del self._watcher
            stopped.set()

        self._create_timer(0.0, stop)
        stopped.wait(_PATIENCE_S)
        os.close(self._fd)


def alarm(create_timer: Callable[[float, Callable[[], None]], Any], callback: Callable[[], None]) -> Alarm:
    """Return the most precise alarm that there is here; `create_timer` is the reactor's."""
    try:
        return PreciseAlarm(create_timer, callback)
    except (ImportError, OSError):
        return CoarseAlarm(create_timer, callback)
