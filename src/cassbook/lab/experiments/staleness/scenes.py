"""Single traced requests in scenes that the book tells: a read repair, a hint, a naive and a safe switch of setting.

Three nodes; what the first sends to the third comes late, so that an acknowledged write is not everywhere yet.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from cassandra import ConsistencyLevel, DriverException, Unavailable
from cassandra.cluster import NoHostAvailable, Session
from cassandra.policies import FallthroughRetryPolicy
from cassandra.query import PreparedStatement

from cassbook.core.errors import LaboratoryError
from cassbook.deployment.distances import Distances, Placement
from cassbook.deployment.link import Link
from cassbook.deployment.notation import CLIENT, parse
from cassbook.lab.engine.connect import define
from cassbook.lab.engine.distant import DistantCluster, broadcast_address
from cassbook.lab.experiments.experiment import Experiment, Row, Setup, in_random_order
from cassbook.lab.load import traces
from cassbook.lab.load.ycsb import create_keyspace

#: One way between any two hosts, and from the first node to the third, ms: far above what a node takes.
WAY_MS, LATE_MS = 5.0, 150.0
#: One row per request: its place in the scene, READ or UPDATE, the node that coordinated, from 1, its level, its trace;
#: when it was sent and answered, since the scene began; the version that was written or read.
REQUESTS = ("step", "kind", "coordinator", "level", "session_id", "sent_ms", "answered_ms", "version")
#: The events of their traces: where, how long after the request came there, and what.
EVENTS = ("session_id", "node", "elapsed_us", "activity")
_REPEATS = 9
_TABLE = "scenes"
_PATIENCE_S = 60.0
_POLL_S = 0.05
_FROM_4 = (4, 0)
_NODES = 3
_WRITER, _OTHER, _LATE = 1, 2, 3


def _late() -> dict[str, Setup]:
    """Three nodes behind a relay."""
    return {"late": Setup(Placement(parse("{[C, (R1..R3)]}"), ("datacenter1",), Distances("late", {})))}


@dataclass(frozen=True)
class ScenesExperiment(Experiment):
    """Scenes, each played `repeats` times but the hint's, which takes half a minute."""

    setups: Mapping[str, Setup] = field(default_factory=_late, kw_only=True)
    repeats: int = _REPEATS

    def notes(self) -> dict[str, Any]:
        """Return how far hosts are apart, which way is late, and what nodes call each other."""
        names = [broadcast_address(node) for node in range(1, _NODES + 1)]
        return super().notes() | {
            "way_ms": WAY_MS, "late_ms": LATE_MS, "late": [_WRITER, _LATE], "addresses": names,
        }  # fmt: skip

    def points(self) -> list[str]:
        """Return the names of the scenes, repeated, without the hint's."""
        return [name for name in _SCENES for _ in range(self.repeats)]

    def rows(self) -> int:
        """Return how many rows a cluster start gives: one per scene and repeat, and the hint's."""
        return len(self.points()) + 1

    def measure(self, cluster: DistantCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Play each scene several times, in random order, and the hint's at last.

        One row per scene played: panel, scene; tables requests (`REQUESTS`) and events (`EVENTS`).
        """
        stage = _Stage(cluster)
        try:
            for panel, name in enumerate(in_random_order(self.points(), rng), 1):
                yield {"panel": panel, "scene": name} | stage.play(_SCENES[name])
            yield {"panel": self.rows(), "scene": "hint"} | stage.play(_hint)
        finally:
            stage.close()


class _Stage:
    """A cluster with its links as the scenes want them, and a row for each scene."""

    def __init__(self, cluster: DistantCluster) -> None:
        self.cluster = cluster
        labels = cluster.labels
        hosts = [CLIENT, *labels]
        links = {(a, b): Link(WAY_MS) for a in hosts for b in hosts if a != b}
        self._links = links | {(labels[_WRITER - 1], labels[_LATE - 1]): Link(LATE_MS)}
        self.session = cluster.connect()
        traces.keep_everywhere(self.session, cluster.replication)
        self._write, self._read = _create(self.session, cluster)
        self._hosts = {host.endpoint.address: host for host in self.session.cluster.metadata.all_hosts()}
        self._requests: list[tuple[Any, ...]] = []
        self._row, self._begun_s = 0, 0.0

    def close(self) -> None:
        """Put the hosts side by side again, and leave."""
        self.cluster.move(self.cluster.placement)
        self.session.cluster.shutdown()

    def play(self, scene: Callable[[_Stage], None]) -> Row:
        """Play a scene on a row of its own; before its traces are read, what is late has come, to any replica."""
        self.cluster.relay.set_links(self._links)
        self._row, self._requests, self._begun_s = self._row + 1, [], time.perf_counter()
        scene(self)
        self.cluster.move(self.cluster.placement)
        time.sleep(2 * LATE_MS / 1000)
        requests = pd.DataFrame(self._requests, columns=list(REQUESTS))
        return {"requests": requests, "events": self._events(requests)}

    def write(self, node: int, at: str) -> None:
        """Write the next version through a node, traced."""
        self._ask("UPDATE", self._write, (self._row, str(self._row)), node, at, traced=True)

    def read(self, node: int, at: str, traced: bool = True) -> int:
        """Read through a node; return the version, 0 for none."""
        return self._ask("READ", self._read, (str(self._row),), node, at, traced)

    def _ask(
        self, kind: str, statement: PreparedStatement, values: tuple[Any, ...], node: int, at: str, traced: bool
    ) -> int:  # fmt: skip
        bound = statement.bind(values)
        bound.consistency_level = ConsistencyLevel.name_to_value[at]
        bound.retry_policy = FallthroughRetryPolicy()  # a refusal is reported as it is, not as a lack of other hosts
        sent_s = time.perf_counter()
        future = self.session.execute_async(bound, trace=traced, host=self._hosts[self.cluster.addresses[node - 1]])
        row = future.result().one()
        answered_s = time.perf_counter()
        version = values[0] if kind == "UPDATE" else int(row.version) if row and row.version else 0
        session_id = str(future.get_query_trace_ids()[0]) if traced else ""
        moments = [round(1000 * (moment - self._begun_s), 3) for moment in (sent_s, answered_s)]
        self._requests.append((len(self._requests) + 1, kind, node, at, session_id, *moments, version))
        return int(version)

    def forget(self) -> None:
        """Leave the last request out of what is kept."""
        self._requests.pop()

    def _events(self, requests: pd.DataFrame) -> pd.DataFrame:
        ids = [uuid.UUID(name) for name in requests["session_id"] if name]
        rows = traces.events(self.session, ids)
        nodes = {address: number for number, address in enumerate(self.cluster.broadcast_addresses, 1)}
        return pd.DataFrame(
            [(str(row.session_id), nodes[row.source], row.source_elapsed, row.activity) for row in rows],
            columns=list(EVENTS),
        )


def _create(session: Session, cluster: DistantCluster) -> tuple[PreparedStatement, PreparedStatement]:
    """Make a table whose reads repair nothing beside the request, and ask nobody twice."""
    create_keyspace(session, cluster.keyspace, cluster.replication)
    before = {"dclocal_read_repair_chance": 0.0, "read_repair_chance": 0.0, "speculative_retry": "NONE"}
    options = {"speculative_retry": "NEVER"} if cluster.release.major >= _FROM_4 else before
    wanted = " AND ".join(f"{key} = {value!r}" for key, value in options.items())
    name = f"{cluster.keyspace}.{_TABLE}"
    define(session, f"CREATE TABLE {name} (id text PRIMARY KEY, version bigint) WITH {wanted}")
    return (
        session.prepare(f"UPDATE {name} SET version = ? WHERE id = ?"),
        session.prepare(f"SELECT version FROM {name} WHERE id = ?"),
    )


def _repair(stage: _Stage) -> None:
    """A read at ALL meets a replica that lacks the write, and brings it there before it answers."""
    stage.write(_WRITER, "QUORUM")
    stage.read(_OTHER, "ALL")


def _naive(stage: _Stage) -> None:
    """From 3R-1W to 1R-3W by changing the levels: a read of one replica misses the write."""
    stage.write(_WRITER, "ONE")
    stage.read(_LATE, "ONE")


def _safe(stage: _Stage) -> None:
    """The same with a sweep between: each row is read at ALL before reads wait for one replica."""
    stage.write(_WRITER, "ONE")
    stage.read(_OTHER, "ALL")
    stage.read(_LATE, "ONE")


def _hint(stage: _Stage) -> None:
    """A write while a node is dead: its coordinator keeps a hint, and hands it over when the node is back."""
    process = stage.cluster.node_process(_LATE)
    process.suspend()
    try:
        _until(lambda: _unavailable(stage), "the node that hangs is not taken for dead")
        stage.write(_WRITER, "QUORUM")
    finally:
        process.resume()
    _until(lambda: _arrived(stage), "the hint does not arrive")


def _unavailable(stage: _Stage) -> bool:
    """Whether the coordinator takes a node for dead."""
    try:
        stage.read(_WRITER, "ALL", traced=False)
    except Unavailable:
        return True
    except (DriverException, NoHostAvailable):
        return False
    stage.forget()
    return False


def _arrived(stage: _Stage) -> bool:
    """Whether the node that was away has the write; of all looks only the one that sees it is kept."""
    with suppress(DriverException, NoHostAvailable):
        if stage.read(_LATE, "ONE", traced=False):
            return True
        stage.forget()
    return False


def _until(there: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not there():
        if time.monotonic() > deadline:
            raise LaboratoryError(f"scenes: {otherwise} within {_PATIENCE_S:.0f} s")
        time.sleep(_POLL_S)


_SCENES: Mapping[str, Callable[[_Stage], None]] = {"repair": _repair, "naive": _naive, "safe": _safe}


def scenes() -> ScenesExperiment:
    return ScenesExperiment()
