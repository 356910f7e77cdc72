"""The 2016 paper's own system: demands of its Tables 2 and 3, as defaults, and its way to them.

That way (section 4.5) are the phases of requests that are alone in the system, from their traces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from cassbook import published
from cassbook.core.consistency import LEVELS, replicas_waited_for
from cassbook.core.errors import InputError
from cassbook.queueing.network import Demands, Network, Operation

NODES, REPLICATION = 4, 3
#: Jobs of section 5.1.
JOBS = 45
#: Of its table: 10 fields of so many bytes.
FIELD_LENGTH = 100
_ADDRESS = r"/?(?P<peer>\d+(?:\.\d+){3})"
_ASKING = re.compile(rf"Sending (?:MUTATION|MUTATION_REQ|READ|READ_REQ) message to {_ADDRESS}")
_ANSWERING = re.compile(rf"Sending \w+ message to {_ADDRESS}")
_CAME = re.compile(rf"\w+ message received from {_ADDRESS}")
_OWN = re.compile(r"Executing single-partition query|Adding to \S+ memtable")


@cache
def demands(level: str) -> Demands:
    """Demands at a level; an InputError for one that Table 2 has not."""
    if level not in LEVELS:
        raise InputError(f"level: Table 2 has no {level!r}; use one of {', '.join(LEVELS)}, or give demands")
    cpu = published.table("d16_table2")
    at_level = cpu[(cpu["level"] == level) & cpu["cpu_demand_ms"].notna()]
    others = dict(published.table("d16_table3").itertuples(index=False, name=None))
    return Demands(
        dict(zip(at_level["class"], at_level["cpu_demand_ms"].astype(float), strict=True)), others["Disk"],
        others["Network Request"], others["Network Data"], others["YCSB CPU"],
    )  # fmt: skip


def level_with(waits: int, replication: int) -> str:
    """Level of Table 2 whose demands fit a read that waits for so many: one, all, or a part of them."""
    if waits == 1:
        return "ONE"
    return "ALL" if waits == replication and waits != replicas_waited_for("QUORUM", replication) else "QUORUM"


def network(
    consistency: str | int,
    nodes: int = NODES,
    replication: int = REPLICATION,
    own_demands: Demands | None = None,
    ask_all: bool = False,
    **options: Any,
) -> Network:
    """Return the paper's network for reads at a level, or that wait for so many replicas.

    `own_demands` stand in place of the printed ones. With `ask_all`, section 5.3's 'real QUORUM', all replicas are
    asked and the first answers that suffice are taken. Options are those of `Network`; an InputError for a level above
    the replication, or numbers that do not fit.
    """
    waits = consistency if isinstance(consistency, int) else replicas_waited_for(consistency, replication)
    level = consistency if consistency in LEVELS else level_with(waits, replication)
    read = Operation(own_demands or demands(str(level)), replication if ask_all else waits, waits)
    return Network((read,), nodes, replication, **options)


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
