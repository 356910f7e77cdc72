"""Which messages a coordinator sent for a traced request, and when their answers came, as a sequence diagram needs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from cassbook.core.errors import InputError
from cassbook.staleness.message_delays import CAME, SENT

#: Verbs of answers: the coordinator's own, to others, are no part of its request.
_ANSWERS = frozenset({"REQUEST_RESPONSE", "MUTATION_RSP", "READ_RSP", "READ_REPAIR_RSP", "INTERNAL_RESPONSE"})
_WRITES = frozenset({"MUTATION", "MUTATION_REQ", "READ_REPAIR", "READ_REPAIR_REQ", "HINT", "HINT_REQ"})
COLUMNS = ("peer", "writes", "sent_ms", "back_ms")


def exchanges(events: pd.DataFrame, coordinator: int, nodes: Sequence[str]) -> pd.DataFrame:
    """Return the messages of one traced request to other nodes, each with the moment at which its answer was back.

    The k-th answer of a node is taken to be to the k-th message to it; a coordinator sends the next one to a node when
    the answer to the one before is there, or is not waited for.

    Parameters
    ----------
    events : DataFrame
        Of one trace, in order: node (from 1), elapsed_us, activity.
    coordinator : int
        From 1.
    nodes : sequence of str
        What nodes call each other.

    Returns
    -------
    DataFrame
        `COLUMNS`, in order of sending: peer (from 1), writes (True for what is to be written there), sent_ms and
        back_ms since the request came to its coordinator; NaN where no answer is in the trace, or it came when the
        trace had ended: Cassandra counts what comes later from zero again.

    Raises
    ------
    InputError
        If the coordinator has no events in the trace.
    """
    own = events[events["node"] == coordinator]
    if own.empty:
        raise InputError(f"trace: node{coordinator}, which coordinated, has no events in it")
    # A coordinator that asks its own replica again sends itself a message, under an address of its own.
    others = {address: place for place, address in enumerate(nodes, 1) if place != coordinator}
    sent: list[list[object]] = []
    waiting: dict[int, list[int]] = {}
    for at_us, activity in zip(own["elapsed_us"], own["activity"], strict=True):
        match = SENT.search(activity) or CAME.search(activity)
        if match is None or match["peer"] not in others:
            continue
        peer, answers = others[match["peer"]], match["verb"] in _ANSWERS
        if match.re is SENT and not answers:
            waiting.setdefault(peer, []).append(len(sent))
            sent.append([peer, match["verb"] in _WRITES, at_us / 1000, float("nan")])
        elif match.re is CAME and answers and waiting.get(peer):
            place = waiting[peer].pop(0)
            if at_us / 1000 >= sent[place][2]:
                sent[place][3] = at_us / 1000
    return pd.DataFrame(sent, columns=list(COLUMNS))
