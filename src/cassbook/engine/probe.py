"""Small questions asked of a running cluster through CQL alone: do all see all, are hints or flushes pending?

nodetool is not asked, for the runtimes that the Python index carries cannot run it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import NoHostAvailable, Session
from cassandra.query import SimpleStatement

from cassbook.errors import LaboratoryError

_KEYSPACE = "cassbook_probe"


def ensure_probe_table(session: Session, nodes: int) -> list[str]:
    """Create a table that every node holds a replica of; the reason it could not, if any."""
    replication = f"{{'class': 'SimpleStrategy', 'replication_factor': {nodes}}}"
    try:
        session.execute(f"CREATE KEYSPACE IF NOT EXISTS {_KEYSPACE} WITH replication = {replication}")
        session.execute(f"CREATE TABLE IF NOT EXISTS {_KEYSPACE}.probe (id int PRIMARY KEY, at double)")
    except DriverException as error:  # a schema change that raced with gossip is simply asked again
        return [str(error)[:200]]
    return []


def missing_peers(session: Session, nodes: int) -> list[str]:
    """Nodes whose own list of peers is not complete yet; the schema waits for that."""
    missing = []
    for host in list(session.hosts):
        peers = session.execute("SELECT peer, schema_version FROM system.peers", host=host).all()
        if sum(row.schema_version is not None for row in peers) < nodes - 1:
            missing.append(f"{host.address} knows {len(peers)} of {nodes - 1} peers")
    return missing


def read_at_all(session: Session, nodes: int) -> list[str]:
    """Read at ALL through each node as coordinator; the reasons of those that failed, empty if none.

    Success means that every node sees every other as up. (A write would leave a hint where it timed out.)
    """
    return _through_each(session, nodes, f"SELECT id FROM {_KEYSPACE}.probe WHERE id = 0")


def write_at_all(session: Session, nodes: int) -> list[str]:
    """Write at ALL through each node, after a workload: a barrier behind what the replicas' stages had queued.

    Returns the reasons of those that failed, empty if none.
    """
    return _through_each(session, nodes, f"INSERT INTO {_KEYSPACE}.probe (id, at) VALUES (0, 0)")


def _through_each(session: Session, nodes: int, query: str) -> list[str]:
    statement = SimpleStatement(query, consistency_level=ConsistencyLevel.ALL)
    hosts = list(session.hosts)
    failed = [f"only {len(hosts)} of {nodes} nodes are known"] if len(hosts) < nodes else []
    for host in hosts:
        try:
            session.execute(statement, host=host)
        except (DriverException, NoHostAvailable) as error:
            failed.append(f"{host.address}: {str(error)[:200]}")
    return failed


def pending_hints(session: Session, major: tuple[int, int], node_folders: Sequence[Path]) -> int:
    """Hints that wait for delivery: rows of system.hints before 3.0, files on disk since.

    Parameters
    ----------
    session : Session
    major : (int, int)
        First two parts of the Cassandra version.
    node_folders : sequence of Path
        Folders of local nodes, read for 3.0 and later.
    """
    if major < (3, 0):
        total = 0
        for host in list(session.hosts):
            total += session.execute("SELECT count(*) FROM system.hints", host=host).one()[0]
        return total
    return sum(f.stat().st_size > 0 for folder in node_folders for f in (folder / "hints").glob("*.hints"))


def flush(session: Session, table: str, node_folders: Sequence[Path], timeout_s: float = 60.0) -> None:
    """Flush `table` ("keyspace.name") to SSTables on every node.

    A flush period of a second makes each node flush by itself; it is set back as soon as no memtable grows
    any more, that is when each node has a data file and none has changed for three periods.

    Raises
    ------
    LaboratoryError
        If a node has written no data file in time.
    """
    keyspace, name = table.split(".")
    session.execute(f"ALTER TABLE {table} WITH memtable_flush_period_in_ms = 1000")
    deadline = time.monotonic() + timeout_s
    try:
        seen: list[dict[str, int]] = []
        stable = 0
        while stable < 3:  # noqa: PLR2004 - three periods
            time.sleep(1.0)
            now = [_data_files(folder, keyspace, name) for folder in node_folders]
            stable = stable + 1 if now == seen and all(now) else 0
            seen = now
            if time.monotonic() > deadline:
                silent = [f.name for f, files in zip(node_folders, now, strict=True) if not files]
                raise LaboratoryError(f"{table} was not flushed within {timeout_s:.0f} s; no data file on {silent}")
    finally:
        session.execute(f"ALTER TABLE {table} WITH memtable_flush_period_in_ms = 0")


def _data_files(node_folder: Path, keyspace: str, name: str) -> dict[str, int]:
    tables = node_folder.glob(f"data*/{keyspace}/{name}-*")
    return {str(f): f.stat().st_size for t in tables for f in t.glob("*-Data.db")}
