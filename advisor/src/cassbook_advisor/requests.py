"""Requests that an adviser sends: which of them read, at which level they go, if at all, and what answers are worth."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from cassandra import ConsistencyLevel, ReadTimeout, Unavailable
from cassandra.cluster import ResponseFuture, Session
from cassandra.query import BatchStatement, BoundStatement, PreparedStatement, SimpleStatement

from cassbook_advisor.errors import InputError, LaboratoryError
from cassbook_advisor.escapes import Escapes
from cassbook_advisor.gates import CannotServe, Failed, Gates, Patience
from cassbook_advisor.health import live_replicas
from cassbook_advisor.levels import level_of_at_least, levels
from cassbook_advisor.member import Member, Ticket
from cassbook_advisor.window import Window

_clock = time.monotonic
_WRITING_WORDS = ("insert", "update", "delete", "begin")
#: Sends a read again at a level that fewer replicas can serve; None where there is no such level.
Weaker = Callable[[], ResponseFuture | None]
_TEXT = re.compile(r"'(?:[^']|'')*'")


class OutcomeUnknown(LaboratoryError):
    """Whether a write took effect is not known: take it as one that timed out.

    It was acknowledged after the client had lost its lease, or was not answered in time while writes cannot be served.
    """


class Advised:
    """A request under way, as the driver's ResponseFuture, but for late acknowledgements (`OutcomeUnknown`).

    Attributes
    ----------
    future : ResponseFuture
    weaker : bool
        Whether `result` gave the answer of a weaker read, after too few replicas had answered the one that was promised
        (see `on_unavailable` of the adviser): it may have missed acknowledged writes.
    """

    _patience: Patience | None
    __slots__ = ("_began", "_patience", "_weaker", "_window", "future", "weaker")

    def __init__(self, future: ResponseFuture, window: Window, began: float, weaker: Weaker | None = None) -> None:
        self.future, self._window, self._began, self._weaker = future, window, began, weaker
        self.weaker, self._patience = False, None
        future.add_callbacks(self._answered, self._failed)

    def hurry(self, error: CannotServe) -> None:
        """Have `result` wait no longer than a second: the request is sent to see whether it can be served."""
        self._patience = Patience(self.future, self._given_up(error))

    def _given_up(self, error: CannotServe) -> BaseException:
        """What is raised after that second."""
        return error

    def result(self) -> Any:
        """Wait for the answer.

        Raises
        ------
        OutcomeUnknown
            For a write whose acknowledgement came after the lease was over, or that was sent though writes cannot be
            served, and was not answered within a second.
        CannotServe
            For a request that cannot be served (see `fail_fast` of the adviser): it was not sent, or it is the one read
            of a second that is, and was not answered within another.
        DriverException
            As the driver's own.
        """
        if self._patience is not None:
            self._patience.wait()
        try:
            return self.future.result()
        except (Unavailable, ReadTimeout):
            again = self._weaker() if self._weaker else None
            if again is None:
                raise
        answer = again.result()
        self.weaker = True
        return answer

    def _answered(self, *_: Any) -> None:
        self._window.add(True, _clock() - self._began)

    def _failed(self, error: BaseException | None = None, *_: Any) -> None:
        self._window.fail(error)
        self._answered()


class NotSent(Advised):
    """A request that fails at once, for it cannot be served."""

    __slots__ = ()

    def __init__(self, error: CannotServe, window: Window, began: float, reads: bool) -> None:
        self.future, self._window, self._began, self._weaker = Failed(error), window, began, None
        self.weaker, self._patience = False, None
        window.fail()
        window.add(reads, _clock() - began)


class Write(Advised):
    """A write; sets what its base sets by itself, for each call of a request counts."""

    __slots__ = ("_believed", "_member", "_open", "_ticket")

    def __init__(self, future: ResponseFuture, window: Window, began: float, member: Member, ticket: Ticket) -> None:
        self._member, self._ticket, self._open = member, ticket, [True]
        self._believed: bool | None = None
        self.future, self._window, self._began = future, window, began
        self.weaker, self._patience = False, None
        future.add_callbacks(self._answered, self._failed)

    def _given_up(self, error: CannotServe) -> BaseException:
        return OutcomeUnknown(f"{error.why}; this write was sent all the same, and its outcome is unknown")

    def result(self) -> Any:
        """Wait for the answer; see `Advised.result`."""
        if self._patience is not None:
            self._patience.wait()
        rows = self.future.result()
        if self._believed is None:  # the thread that is called back has yet to say
            self._answered()
        believed = self._believed
        if believed is None:  # it has begun to
            believed = self._member.believes(self._ticket)
        if not believed:
            raise OutcomeUnknown("the write was acknowledged after its lease was over: its outcome is unknown")
        return rows

    def _answered(self, *_: Any) -> None:
        """End the write, once, by whichever thread is first: the one that called back, or the one that waited."""
        try:
            self._open.pop()
        except IndexError:
            return
        self._believed = self._member.end_write(self._ticket)
        self._window.add(False, _clock() - self._began)


def ready(statement: Any, parameters: Any) -> tuple[bool, Any, Any]:
    """Whether a statement reads, a statement of our own to set the level of, and what is still to be bound."""
    if isinstance(statement, PreparedStatement):
        return is_read(statement.query_string), statement.bind(parameters or ()), None
    if isinstance(statement, BoundStatement):
        return is_read(statement.prepared_statement.query_string), _copied(statement), parameters
    if isinstance(statement, BatchStatement):
        return False, _copied(statement), parameters
    if isinstance(statement, str):
        return is_read(statement), SimpleStatement(statement), parameters
    return is_read(statement.query_string), _copied(statement), parameters


def _copied(statement: Any) -> Any:
    """Copy a statement, so that the caller's keeps its level; `copy.copy` takes as long as all the rest together."""
    copied = object.__new__(type(statement))
    copied.__dict__ = statement.__dict__.copy()
    return copied


@lru_cache(maxsize=4096)
def is_read(query: str) -> bool:
    """Whether a CQL statement reads.

    Raises InputError for one that does neither, or is a lightweight transaction.
    """
    words = _TEXT.sub("''", query).lower().split()
    first = words[0] if words else ""
    if first == "select":
        return True
    if first not in _WRITING_WORDS:
        raise InputError(
            f"the adviser has no level for {query[:60]!r}: it is neither SELECT, INSERT, UPDATE nor DELETE"
        )
    if "if" in words:
        raise InputError(
            f"the adviser has no level for {query[:60]!r}: a lightweight transaction keeps its own; use the session"
        )
    return False


class Sender:
    """Sends the requests of a service, at the level that is in force, or fails them (see `Adviser`).

    `everywhere` is whether each row has its replicas on all nodes.
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
        data_centre: str = "",
    ) -> None:
        self._session, self._keyspace, self._replicas, self._centre = session, keyspace, replicas, data_centre
        self._member, self._window, self._gates, self._escapes = member, window, gates, escapes
        self._reads_weaker = reads_weaker
        self._fails_fast = (fail_fast, fail_fast and not reads_weaker)  # writes, reads
        # On its way a switch may need reads of four of five replicas, for which there is no level: those go at ALL.
        named = [level_of_at_least(n, replicas, bool(data_centre)) for n in range(1, replicas + 1)]
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
        alive = live_replicas(self._session, self._keyspace, statement, self._centre)
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
        known = [count for count in levels(self._replicas, bool(self._centre)) if count <= fewer]
        if not known:
            return None
        statement.consistency_level = self._codes[max(known)]
        return self._session.execute_async(statement, parameters, **options)
