"""How an adviser's requests are sent: at the level in force, weaker where that is wished, or not at all."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.cluster import Session

from cassbook.advisor.escapes import Escapes
from cassbook.advisor.keyspace import live_replicas
from cassbook.advisor.member import Member
from cassbook.advisor.requests import Advised, NotSent, Write, ready
from cassbook.advisor.unserved import Gates
from cassbook.advisor.window import Window
from cassbook.core.consistency import level_of_at_least, levels

_clock = time.monotonic


class Sender:
    """Sends the requests of a service.

    Parameters
    ----------
    session : Session
    keyspace : str
    replicas : int
        The keyspace's replication factor.
    member : Member
        Says which level is in force.
    window : Window
        Takes what became of each request.
    gates : Gates
        Of reads and writes that cannot be served.
    escapes : Escapes
        Knows how many replicas are alive.
    reads_weaker, fail_fast : bool
        See `Adviser`.

    Attributes
    ----------
    everywhere : bool
        Whether each row has its replicas on all nodes.
    """

    def __init__(
        self,
        session: Session,
        keyspace: str,
        replicas: int,
        member: Member,
        window: Window,
        gates: Gates,
        escapes: Escapes,
        *,
        reads_weaker: bool,
        fail_fast: bool,
    ) -> None:
        self._session, self._keyspace, self._replicas = session, keyspace, replicas
        self._member, self._window, self._gates, self._escapes = member, window, gates, escapes
        self._reads_weaker = reads_weaker
        self._fails_fast = (fail_fast, fail_fast and not reads_weaker)  # writes, reads
        # On its way a switch may need reads of four of five replicas, for which there is no level: those go at ALL.
        named = [level_of_at_least(n, replicas) for n in range(1, replicas + 1)]
        self._codes = [0] + [ConsistencyLevel.name_to_value[level] for level in named]
        self.everywhere = True

    def send(self, statement: Any, parameters: Any, options: dict[str, Any]) -> Advised:
        """Send a request, or fail it at once; see `Adviser.execute_async`."""
        began = _clock()
        reads, statement, parameters = ready(statement, parameters)
        gate = self._gates.reads if reads else self._gates.writes
        lack = gate.lack  # once: the adviser's thread may take it away
        if lack is None or not self._lacks(lack.needs, statement):
            return self._send(began, reads, statement, parameters, options)
        sent, error = gate.admits() if self._fails_fast[reads] else (True, None)
        if not sent and error is not None:
            return NotSent(error, self._window, began, reads)
        request = self._send(began, reads, statement, parameters, options)
        gate.watch(request.future, began)
        if error is not None:
            request.hurry(error)
        return request

    def _lacks(self, needs: int, statement: Any) -> bool:
        """Whether the row of a statement has fewer live replicas than it needs; a row of all nodes does if any does."""
        if self.everywhere:
            return True
        alive = live_replicas(self._session, self._keyspace, statement)
        return alive is not None and alive < needs

    def _send(self, began: float, reads: bool, statement: Any, parameters: Any, options: dict[str, Any]) -> Advised:
        if reads:
            replicas = self._member.read_level()
            statement.consistency_level = self._codes[replicas]
            future = self._session.execute_async(statement, parameters, **options)
            weaker = partial(self._weaker, replicas, statement, parameters, options) if self._reads_weaker else None
            return Advised(future, self._window, began, weaker)
        ticket = self._member.begin_write()
        statement.consistency_level = self._codes[ticket.replicas]
        try:
            future = self._session.execute_async(statement, parameters, **options)
        except BaseException:
            self._member.end_write(ticket)
            self._window.fail()
            raise
        return Write(future, self._window, began, self._member, ticket)

    def _weaker(self, replicas: int, statement: Any, parameters: Any, options: dict[str, Any]) -> Any:
        """Send a read again, at the strongest level that the live replicas can serve; None where there is none."""
        fewer = min(replicas - 1, self._escapes.alive)
        known = [count for count in levels(self._replicas) if count <= fewer]
        if not known:
            return None
        statement.consistency_level = self._codes[max(known)]
        return self._session.execute_async(statement, parameters, **options)
