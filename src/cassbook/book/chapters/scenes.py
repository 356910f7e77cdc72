"""Recorded scenes of single requests, message by message, for sequence diagrams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from cassbook.records.experiment import Results
from cassbook.staleness.exchanges import exchanges

NODES = 3
#: The scene in which a node learns of a write later.
HINT = "hint"
#: A pause between two requests that is longer is drawn as long as `PAUSE_MS`, and named.
LONG_MS, PAUSE_MS = 500.0, 30.0
_KEYS = ["start", "setup", "panel"]


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One arrow: from a lane at a moment to a lane at another, ms; lane 0 is the client, 1 to 3 are nodes.

    Attributes
    ----------
    lane, to : int
    at_ms, until_ms : float
    writes : bool
        Whether it carries a write, or acknowledges one.
    applies : bool
        Whether the write is applied where it arrives.
    seen : bool
        False for a message whose answer is in no trace: it arrives later than anybody waits for.
    """

    lane: int
    to: int
    at_ms: float
    until_ms: float
    writes: bool
    applies: bool = False
    seen: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A scene that was played.

    Attributes
    ----------
    messages : list of Message
    pauses : list of (float, float)
        Where a long pause is drawn, ms, and how long it was, s.
    version : int
        What its last read returned; 0 if it missed the write.
    answered_ms : dict of int to float
        By request, from 1, when its answer was at the client, as drawn.
    """

    messages: list[Message]
    pauses: list[tuple[float, float]]
    version: int
    answered_ms: dict[int, float]


def typical(results: Results, name: str) -> Scene:
    """Return the scene of that name whose last answer came at the median moment.

    A message that left when its trace had ended is not in it; of all repeats only those count that tell most messages.
    """
    numbers, rows = results.manifest["numbers"], results.rows[results.rows["scene"] == name][_KEYS]
    requests, events = (results.table(table).merge(rows) for table in ("requests", "events"))
    repeats = [scene(own, events[events["session_id"].isin(own["session_id"])], numbers)
               for _, own in requests.groupby(_KEYS)]  # fmt: skip
    most = max(len(one.messages) for one in repeats)
    whole = sorted((one for one in repeats if len(one.messages) == most), key=lambda one: max(one.answered_ms.values()))
    middle = whole[len(whole) // 2]
    return with_hint(middle, numbers["late"]) if name == HINT else middle


def with_hint(found: Scene, nodes: Sequence[int]) -> Scene:
    """Add to a scene the message that no trace has: the hint, from who kept it to whom it is for, in the last pause."""
    at_ms, _ = found.pauses[-1]
    begun_ms, arrived_ms = at_ms + 0.6 * PAUSE_MS, at_ms + 0.9 * PAUSE_MS
    hint = Message(nodes[0], nodes[1], begun_ms, arrived_ms, writes=True, applies=True, seen=False)
    return replace(found, messages=[*found.messages, hint])


def scene(requests: pd.DataFrame, events: pd.DataFrame, numbers: dict[str, Any]) -> Scene:
    """Put the messages of a scene's requests one after the other.

    Parameters
    ----------
    requests : DataFrame
        `scenes.REQUESTS` of the experiment, in order.
    events : DataFrame
        `scenes.EVENTS`.
    numbers : dict
        way_ms, late_ms and addresses: what the experiment noted.
    """
    messages: list[Message] = []
    pauses: list[tuple[float, float]] = []
    answered: dict[int, float] = {}
    ended_ms = float(requests["sent_ms"].iloc[0])
    shift_ms = -ended_ms
    for request in _each(requests):
        gap_ms = request.sent_ms - ended_ms
        if gap_ms > LONG_MS:
            pauses.append((ended_ms + shift_ms, gap_ms / 1000))
            shift_ms -= gap_ms - PAUSE_MS
        messages += _messages(request, events, shift_ms, numbers)
        ended_ms = request.answered_ms
        answered[request.step] = ended_ms + shift_ms
    reads = requests[requests["kind"] == "READ"]
    return Scene(messages, pauses, int(reads["version"].iloc[-1]), answered)


def _messages(request: Any, events: pd.DataFrame, shift_ms: float, numbers: dict[str, Any]) -> Iterator[Message]:
    way_ms, writes, node = numbers["way_ms"], request.kind == "UPDATE", int(request.coordinator)
    begun_ms, ended_ms = request.sent_ms + shift_ms, request.answered_ms + shift_ms
    yield Message(0, node, begun_ms, begun_ms + way_ms, writes, applies=writes)
    own = events[events["session_id"] == request.session_id]
    if (own["node"] == node).any():  # a node that was too busy has written nothing of what it did
        for sent in _each(exchanges(own, node, numbers["addresses"])):
            at_ms = begun_ms + way_ms + sent.sent_ms
            if pd.isna(sent.back_ms):
                late = (node, sent.peer) == tuple(numbers["late"])
                arrives_ms = at_ms + (numbers["late_ms"] if late else way_ms)
                yield Message(node, sent.peer, at_ms, arrives_ms, sent.writes, applies=sent.writes, seen=False)
                continue
            back_ms = begun_ms + way_ms + sent.back_ms
            middle_ms = (at_ms + back_ms) / 2
            yield Message(node, sent.peer, at_ms, middle_ms, sent.writes, applies=sent.writes)
            yield Message(sent.peer, node, middle_ms, back_ms, sent.writes)
    yield Message(node, 0, ended_ms - way_ms, ended_ms, writes)


def _each(table: pd.DataFrame) -> Iterator[Any]:
    return table.itertuples()


def catching_up(results: Results) -> dict[str, float | str]:
    """Return what the prose quotes of the repair and the hint.

    Returns
    -------
    dict
        late_node_ms; repaired ('9 of 9': reads at ALL that returned the write); hint_s (median, from the answer of the
        write until the node that was away had it).
    """
    requests = _requests(results)
    hint = requests[requests["scene"] == HINT].groupby(_KEYS)["answered_ms"]
    missed, played = _missed(requests, "repair")
    return {
        "late_node_ms": float(results.manifest["numbers"]["late_ms"]), "repaired": f"{played - missed} of {played}",
        "hint_s": float((hint.last() - hint.first()).median()) / 1000,
    }  # fmt: skip


def switched(results: Results) -> dict[str, str]:
    """Return how many last reads missed the write after each way of switching: naive_missed, safe_missed."""
    requests = _requests(results)
    return {f"{name}_missed": "{} of {}".format(*_missed(requests, name)) for name in ("naive", "safe")}


def _requests(results: Results) -> pd.DataFrame:
    return results.table("requests").merge(results.rows[[*_KEYS, "scene"]])


def _missed(requests: pd.DataFrame, name: str) -> tuple[int, int]:
    """In how many of the times that a scene was played its last read missed the write, and how many there are."""
    reads = requests[(requests["scene"] == name) & (requests["kind"] == "READ")]
    last = reads.groupby(_KEYS)["version"].last()
    return int(last.eq(0).sum()), len(last)
