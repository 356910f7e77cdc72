"""A sweep: every row read once at ALL, so that all replicas hold what any of them holds.

A read at ALL that finds replicas apart writes the newest cells to those that lack them, and answers after they have
taken them (all releases from 2.1 to 5.0; from 4.0 on unless the table says `read_repair = 'NONE'`, which is refused).
When the sweep is over, every write that had ended before it began is on every replica. It needs all replicas up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import NoHostAvailable, Session

from cassbook_advisor.errors import InputError, LaboratoryError

_FIRST_TOKEN, _LAST_TOKEN = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did: how long it took, and how many rows it read."""

    seconds: float
    rows: int


class TableSweep:
    """Reads tables at ALL, piece by piece of the token ring, in the background.

    Parameters
    ----------
    session : Session
        With prepared statements' default row factory; stays the caller's.
    keyspace : str
    tables : sequence of str
        All that the advised requests touch.
    pieces : int
        Into how many ranges of tokens the ring is cut.
    at_once : int
        How many are read at a time: more is sooner, and slows other requests down more.
    page_rows : int
    timeout_s : float
        For a page.

    Raises
    ------
    InputError
        For a table that is not there, or that does not repair what its reads find.

    Attributes
    ----------
    done : list of Swept
        Those that reached every row.
    """

    def __init__(
        self,
        session: Session,
        keyspace: str,
        tables: Sequence[str],
        pieces: int = 64,
        at_once: int = 8,
        page_rows: int = 500,
        timeout_s: float = 30.0,
    ) -> None:
        if not tables:
            raise InputError("tables: a sweep needs the tables that the requests touch")
        self._session, self._at_once, self._timeout_s = session, at_once, timeout_s
        self._statements = [_prepared(session, keyspace, table, page_rows) for table in tables]
        self._edges = [_FIRST_TOKEN + (_LAST_TOKEN - _FIRST_TOKEN) * k // pieces for k in range(pieces + 1)]
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        self._failure: Exception | None = None
        self.done: list[Swept] = []

    def begin(self) -> None:
        self.cancel()
        self._cancelled = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._run, args=(self._cancelled,), name="cassbook-sweep", daemon=True)
        self._thread.start()

    def ended(self) -> bool | None:
        thread = self._thread
        if thread is None:
            return False
        if thread.is_alive():
            return None
        return self._failure is None and not self._cancelled.is_set()

    @property
    def failure(self) -> Exception | None:
        """What ended the last sweep, if something did."""
        return self._failure

    def cancel(self) -> None:
        """Stop what is under way, and wait for it."""
        if self._thread is not None and self._thread.is_alive():
            self._cancelled.set()
            self._thread.join()

    def now(self) -> Swept:
        """Sweep, and wait for the end.

        Raises
        ------
        LaboratoryError
            If a row could not be read at ALL.
        """
        self.begin()
        assert self._thread is not None  # noqa: S101 - just begun
        self._thread.join()
        if not self.ended():
            raise LaboratoryError(f"the sweep failed: {self._failure or 'it was cancelled'}")
        return self.done[-1]

    def _run(self, cancelled: threading.Event) -> None:
        began, rows = time.monotonic(), 0
        ranges = list(zip(self._edges, self._edges[1:], strict=False))
        try:
            with ThreadPoolExecutor(self._at_once, thread_name_prefix="cassbook-sweep") as pool:
                jobs = [pool.submit(self._read, s, *piece, cancelled) for s in self._statements for piece in ranges]
                try:
                    rows = sum(job.result() for job in jobs)
                except BaseException:
                    cancelled.set()
                    raise
        except (DriverException, NoHostAvailable, OSError, RuntimeError) as error:
            self._failure = error
            return
        if not cancelled.is_set():
            self.done.append(Swept(time.monotonic() - began, rows))

    def _read(self, statement: Any, after: int, to: int, cancelled: threading.Event) -> int:
        """Read one range (after, to] of tokens; the first piece has its lower edge too."""
        rows = 0
        if cancelled.is_set():
            return rows
        pages = self._session.execute(statement, (after, to), timeout=self._timeout_s)
        while True:
            rows += len(pages.current_rows)
            if not pages.has_more_pages or cancelled.is_set():
                return rows
            pages.fetch_next_page()


def _prepared(session: Session, keyspace: str, table: str, page_rows: int) -> Any:
    metadata = session.cluster.metadata.keyspaces.get(keyspace)
    described = metadata.tables.get(table) if metadata else None
    if described is None:
        raise InputError(f"tables: there is no {keyspace}.{table}")
    if str(described.options.get("read_repair", "BLOCKING")).upper() == "NONE":
        raise InputError(
            f"tables: {keyspace}.{table} has read_repair = 'NONE': reads at ALL leave its replicas as they are"
        )
    key = ", ".join(f'"{column.name}"' for column in described.partition_key)
    # The lowest token belongs to no row: the partitioner maps it to the highest.
    statement = session.prepare(f'SELECT * FROM "{keyspace}"."{table}" WHERE token({key}) > ? AND token({key}) <= ?')
    statement.consistency_level = ConsistencyLevel.ALL
    statement.fetch_size = page_rows
    return statement
