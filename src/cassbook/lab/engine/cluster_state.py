"""Small questions asked of a running cluster through CQL alone: do all see all, are hints or flushes pending?

nodetool is not asked, for the runtimes that the Python index carries cannot run it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import NoHostAvailable, Session
from cassandra.policies import HostDistance
from cassandra.pool import Host
from cassandra.query import SimpleStatement

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine.connect import define

_KEYSPACE = "cassbook_probe"
_TABLE = f"{_KEYSPACE}.probe"
_FLUSH_PERIOD_MS = 250
_ASK_TO_FLUSH_S = 3.0


def ensure_probe_table(session: Session, nodes: int) -> list[str]:
    """Create a table that every node holds a replica of; the reason it could not, if any."""
    replication = f"{{'class': 'SimpleStrategy', 'replication_factor': {nodes}}}"
    try:
        session.execute(f"CREATE KEYSPACE IF NOT EXISTS {_KEYSPACE} WITH replication = {replication}")
        session.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE} (id int PRIMARY KEY, at double)")
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
    return _through_each(session, nodes, f"SELECT id FROM {_TABLE} WHERE id = 0")


def read_through_each(session: Session, level: int) -> list[str]:
    """Read at a level through each node that the session may ask; the reasons of those that failed, empty if none."""
    return _through_each(session, 0, f"SELECT id FROM {_TABLE} WHERE id = 0", level)


def write_at_all(session: Session, nodes: int, table: str = _TABLE, keys: Sequence[int] = (0,)) -> list[str]:
    """Write at ALL through each node, after a workload: a barrier behind what the replicas' stages had queued.

    Returns the reasons of those that failed; fewer than `nodes` coordinators are one. The table ("keyspace.name") is by
    default the probe table of local clusters; the replicas of all `keys` together should be all nodes.
    """
    failed = []
    for key in keys:
        failed += _through_each(session, nodes, f"INSERT INTO {table} (id, at) VALUES ({key}, 0)")
    return failed


def keys_on_every_node(session: Session, keyspace: str, addresses: Sequence[str]) -> list[int]:
    """Few integer keys whose replicas in `keyspace` together are all of `addresses`, as far as any key's are."""
    token_map = session.cluster.metadata.token_map
    chosen: list[int] = []
    left = set(addresses)
    for key in range(100 * len(addresses)):
        token = token_map.token_class.from_key(key.to_bytes(4, "big"))
        replicas = {host.address for host in token_map.get_replicas(keyspace, token)}
        if left & replicas:
            chosen.append(key)
            left -= replicas
        if not left:
            break
    return chosen or [0]


def coordinators(session: Session) -> list[Host]:
    """Nodes that the session may ask; on an existing cluster there may be others."""
    distance = session.cluster.profile_manager.distance
    return [host for host in session.hosts if distance(host) != HostDistance.IGNORED]


def _through_each(session: Session, nodes: int, query: str, level: int = ConsistencyLevel.ALL) -> list[str]:
    statement = SimpleStatement(query, consistency_level=level)
    hosts = coordinators(session)
    failed = (
        [f"only {len(hosts)} of {nodes} nodes {'is' if len(hosts) == 1 else 'are'} known"] if len(hosts) < nodes else []
    )
    for host in hosts:
        try:
            session.execute(statement, host=host)
        except (DriverException, NoHostAvailable) as error:
            failed.append(f"{host.address}: {str(error)[:200]}")
    return failed


def pending_hints(session: Session, major: tuple[int, int], node_folders: Sequence[Path]) -> int:
    """Count hints that wait for delivery: rows of system.hints before 3.0, files in local nodes' folders since."""
    if major < (3, 0):
        total = 0
        for host in coordinators(session):
            total += session.execute("SELECT count(*) FROM system.hints", host=host).one()[0]
        return total
    return sum(f.stat().st_size > 0 for folder in node_folders for f in (folder / "hints").glob("*.hints"))


@contextmanager
def _flushed_every(session: Session, table: str, period_ms: int) -> Iterator[None]:
    """Have every node flush a table by itself meanwhile; set back whatever happens."""
    try:
        define(session, f"ALTER TABLE {table} WITH memtable_flush_period_in_ms = {period_ms}")
        yield
    finally:
        define(session, f"ALTER TABLE {table} WITH memtable_flush_period_in_ms = 0")


def flush(session: Session, table: str, node_folders: Sequence[Path], timeout_s: float = 60.0) -> None:
    """Flush `table` ("keyspace.name") to SSTables on every node.

    A short flush period makes each node flush by itself; it is set back as soon as no memtable grows any more, that is
    when each node has a data file and none has changed for six periods. LaboratoryError if a node has written no data
    file in time.
    """
    keyspace, name = table.split(".")
    with _flushed_every(session, table, _FLUSH_PERIOD_MS):
        deadline = time.monotonic() + timeout_s
        seen: list[dict[str, int]] = []
        stable = 0
        while stable < 3:  # noqa: PLR2004 - of two periods each
            time.sleep(2 * _FLUSH_PERIOD_MS / 1000)
            now = [_data_files(folder, keyspace, name) for folder in node_folders]
            stable = stable + 1 if now == seen and all(now) else 0
            seen = now
            if time.monotonic() > deadline:
                silent = [f.name for f, files in zip(node_folders, now, strict=True) if not files]
                raise LaboratoryError(f"{table} was not flushed within {timeout_s:.0f} s; no data file on {silent}")


def ask_to_flush(session: Session, table: str) -> None:
    """Have every node flush `table` ("keyspace.name") where nobody can look into its folders: asked for, not seen."""
    with _flushed_every(session, table, 1000):
        time.sleep(_ASK_TO_FLUSH_S)


def _data_files(node_folder: Path, keyspace: str, name: str) -> dict[str, int]:
    tables = node_folder.glob(f"data*/{keyspace}/{name}-*")
    return {str(f): f.stat().st_size for t in tables for f in t.glob("*-Data.db")}
