"""A session whose requests are answered by hand, and whose nodes may be dead."""

import threading
from types import SimpleNamespace


class Future:
    """A ResponseFuture that is answered by hand."""

    def __init__(self, statement):
        self.statement, self.level = statement, statement.consistency_level
        self._done, self._error, self._callbacks = threading.Event(), None, []

    def add_callbacks(self, callback, errback):
        self._callbacks.append((callback, errback))
        if self._done.is_set():
            self.answer(self._error)

    def answer(self, error=None):
        self._error = error
        self._done.set()
        for callback, errback in self._callbacks:
            (errback if error else callback)(error or [])

    def result(self):
        assert self._done.wait(30)
        if self._error:
            raise self._error
        return ["row"]


class Session:
    """As much of a session as the adviser asks for."""

    def __init__(self, at_once=True, options=None, strategy=None):
        column = SimpleNamespace(name="id")
        table = SimpleNamespace(partition_key=[column], options=options or {})
        strategy = strategy or SimpleNamespace(replication_factor=3)
        keyspace = SimpleNamespace(tables={"orders": table}, replication_strategy=strategy)
        self.cluster = SimpleNamespace(
            metadata=SimpleNamespace(keyspaces={"shop": keyspace}, all_hosts=lambda: self.hosts)
        )
        self._at_once, self.sent, self.refuse, self.hosts = at_once, [], None, []

    def prepare(self, query):
        return SimpleNamespace(query_string=query)

    def execute_async(self, statement, parameters=None, **options):
        if self.refuse:
            raise self.refuse
        future = Future(statement)
        self.sent.append(future)
        if self._at_once:
            future.answer()
        return future


def dead(session, *addresses):
    """The nodes as a driver has them that misses some."""
    session.hosts = [SimpleNamespace(address=f"10.0.0.{k}", is_up=f"10.0.0.{k}" not in addresses) for k in (1, 2, 3)]
