"""What an adviser says of itself: its state at one moment, and its steps, to a log and to a callback."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from cassbook_advisor.gates import Unserved
from cassbook_advisor.window import Load

#: All steps are logged here; an application sets its level and its handlers.
LOGGER = "cassbook.advisor"
_log = logging.getLogger(LOGGER)
_clock = time.monotonic


@dataclass(frozen=True, slots=True)
class Event:
    """A step of an adviser.

    Attributes
    ----------
    at : float
        Seconds on the monotonic clock.
    kind : str
        'epoch' (levels changed, or the setting wanted was reached), 'switch' (this client began one), 'stay' (why it
        does not switch has changed), 'escape' (it leaves a setting that the live replicas cannot serve, or there is no
        safe way to), 'unserved' (reads or writes cannot be served, or are again), 'sweep' (one began or ended), 'lease'
        (lost or regained), 'register' (it could not be reached), 'start' (the register overruled that of this client).
    setting, wanted : str
        The setting in force, and the one that a switch under way leads to; the same where none is.
    epoch : int
    reason : str
        In a sentence, as it is logged.
    """

    at: float
    kind: str
    setting: str
    wanted: str
    epoch: int
    reason: str


@dataclass(frozen=True, slots=True)
class Status:
    """An adviser at one moment.

    Attributes
    ----------
    setting, wanted : str
        The setting in force, and the one that a switch under way leads to; the same where none is.
    epoch : int
        Number of the epoch in force.
    leads : bool
        Whether this client decides for all.
    sweeping : bool
        Whether a sweep of this client is under way.
    leased : bool
        Whether it holds its lease; without one its requests go at ALL.
    load : Load
        Of this client, as last looked at.
    failing_share : float
        Part of its requests that failed.
    missing_nodes : tuple of str
        Addresses of the keyspace's nodes that are not up, as the driver has it.
    alive : int
        Replicas of the worst row that are alive, as far as this client can tell.
    reason : str
        Why it last switched or stayed.
    cannot_serve : tuple of Unserved
        What somebody has to be called for: reads or writes that cannot be served, since when and why. Empty where all
        are; no other reason overwrites it.
    overruled : str
        What the register has instead of this client's `start`, in a sentence; empty where it did not differ.
    """

    setting: str
    wanted: str
    epoch: int
    leads: bool
    sweeping: bool
    leased: bool
    load: Load
    failing_share: float
    missing_nodes: tuple[str, ...]
    alive: int
    reason: str
    cannot_serve: tuple[Unserved, ...] = ()
    overruled: str = ""


class Journal:
    """Logs the steps of an adviser and hands them on, each once as long as nothing changes.

    `on_event`: called with each `Event`, by the adviser's thread. What it raises is logged and goes no further.
    """

    def __init__(self, on_event: Callable[[Event], None] | None = None) -> None:
        self._on_event = on_event
        self._last: dict[str, str] = {}

    def note(self, event: Event, level: int = logging.INFO, unless: str = "") -> None:
        """Log an event and hand it on.

        `level`: of the log's record. `unless`: where this is what was given with the last event of its kind, nothing is
        done.
        """
        if unless and self._last.get(event.kind) == unless:
            return
        self._last[event.kind] = unless
        _log.log(level, "%s (epoch %d, %s)", event.reason, event.epoch, event.setting)
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception:
            _log.exception("on_event failed")

    def forget(self, kind: str) -> None:
        """Let the next event of a kind pass, whatever the last one was."""
        self._last.pop(kind, None)
