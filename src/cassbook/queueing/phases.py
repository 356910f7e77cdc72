"""The paper's way to demands (section 4.5): the phases of requests that are alone in the system, from their traces."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_ADDRESS = r"/?(?P<peer>\d+(?:\.\d+){3})"
_ASKING = re.compile(rf"Sending (?:MUTATION|MUTATION_REQ|READ|READ_REQ) message to {_ADDRESS}")
_ANSWERING = re.compile(rf"Sending \w+ message to {_ADDRESS}")
_CAME = re.compile(rf"\w+ message received from {_ADDRESS}")
_OWN = re.compile(r"Executing single-partition query|Adding to \S+ memtable")


class Event(NamedTuple):
    """An event of a trace: where, and how long after the request, or its message, had come there, µs."""

    source: str
    elapsed_us: float
    activity: str


class Phases(NamedTuple):
    """Phases of one request, µs."""

    local: bool  # the coordinator looked itself
    parse_us: float  # until the last message had left, or, where none did, until the coordinator looked
    serve_us: tuple[float, ...]  # at each other replica, from the message's coming to the answer's leaving
    end_us: float  # from the coming of the first answer to the end; 0 without one
    duration_us: float


def phases(coordinator: str, duration_us: float, events: Iterable[Event]) -> Phases | None:
    """Read the phases out of a trace, or None where one of them cannot be seen.

    `coordinator` is its address as events, which come in the order of recording, have it.
    """
    here, elsewhere = list[Event](), dict[str, list[Event]]()
    for event in events:
        (here if event.source == coordinator else elsewhere.setdefault(event.source, [])).append(event)
    left = [event.elapsed_us for event in here if _ASKING.search(event.activity)]
    looked = [event.elapsed_us for event in here if _OWN.search(event.activity)]
    came = [event.elapsed_us for event in here if _CAME.search(event.activity)]
    if not (left or looked) or (left and not came) or len(elsewhere) < len(left):
        return None
    serve = []
    for theirs in elsewhere.values():
        begun = [event.elapsed_us for event in theirs if _CAME.search(event.activity)]
        done = [event.elapsed_us for event in theirs if _ANSWERING.search(event.activity)]
        if not begun or not done:
            return None
        serve.append(done[-1] - begun[0])
    return Phases(
        bool(looked), max(left or looked), tuple(serve), duration_us - min(came) if came else 0.0, duration_us
    )
