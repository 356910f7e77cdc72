"""Cassandra 1.2.0, the ccm study's own version: its clients speak Thrift, and its MBeans are asked by JMX.

The driver of today finds no host there. The interface file that clients are made of is in the tarball of 2.0.17, whose
cassandra-stress also makes the load.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import product
from types import ModuleType
from typing import Any

from cassandra.metadata import Murmur3Token

from cassbook.core.errors import LaboratoryError
from cassbook.core.releases import STUDY, STUDY_TOOLS, Release
from cassbook.lab.engine import fetch, jmx
from cassbook.lab.engine.cluster import READY_TIMEOUT_S, CassandraCluster, Spec
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.engine.preflight import THRIFT_PORT

_TIMEOUT_MS = 12_000
#: Tables whose folders a node makes as it starts, it seems by two threads: on a busy machine one stopped with "Failed
#: to mkdirs", as where another thread has just made it.
_AT_ONCE = ("system_auth/users", "system_traces/events", "system_traces/sessions")


@cache
def interface() -> ModuleType:
    """Cassandra's Thrift interface: classes of its structures, and the service."""
    import thriftpy2  # noqa: PLC0415 - needed for this version only

    path = fetch.obtain(STUDY_TOOLS).home / "interface" / "cassandra.thrift"
    return thriftpy2.load(str(path), module_name="cassandra_thrift")


def client(address: str) -> Any:
    """A connection to a node, used by one thread at a time; the caller closes it. LaboratoryError if nobody answers."""
    from thriftpy2.protocol import TBinaryProtocolFactory  # noqa: PLC0415
    from thriftpy2.rpc import make_client  # noqa: PLC0415
    from thriftpy2.transport import TFramedTransportFactory, TTransportException  # noqa: PLC0415

    try:
        return make_client(
            interface().Cassandra, address, THRIFT_PORT, proto_factory=TBinaryProtocolFactory(),
            trans_factory=TFramedTransportFactory(), timeout=_TIMEOUT_MS,
        )  # fmt: skip
    except (TTransportException, OSError) as error:
        raise LaboratoryError(f"{address}:{THRIFT_PORT} does not answer: {error}") from None


class StudyCluster(CassandraCluster):
    """A cluster of Cassandra 1.2.0; like any other, except that the driver has no sessions there."""

    def __init__(
        self,
        engine: str | Release = STUDY,
        spec: Spec | None = None,
        name: str = "study",
        log: Callable[[str], None] = print,
    ) -> None:
        spec = spec or Spec()
        super().__init__(engine, replace(spec, options={"start_rpc": True, **spec.options}), name, log)

    def open_jmx(self) -> list[int]:
        """Have each node open its MBeans on loopback, and on nothing else; ports, in order of the nodes."""
        assert self.java is not None  # noqa: S101 - it is ready
        numbers = range(1, self.spec.nodes + 1)
        for number in numbers:
            jmx.start_agent(self.java.home, self.node_process(number).pid, jmx.standard_port(number), f"node{number}")
        return [jmx.standard_port(number) for number in numbers]

    def replicas(self, keyspace: str) -> Callable[[bytes], tuple[str, ...]]:
        """Return a lookup of the replicas of a row, the owner of its range first, by the addresses that nodes use."""
        node = client(self.addresses[0])
        try:
            ring = node.describe_ring(keyspace)
        finally:
            node.close()
        ranges = sorted((int(part.end_token), tuple(part.endpoints)) for part in ring)
        ends = [end for end, _ in ranges]

        def of_row(key: bytes) -> tuple[str, ...]:
            return ranges[bisect_left(ends, Murmur3Token.hash_fn(key)) % len(ranges)][1]

        return of_row

    def create(self, keyspace: str, table: str) -> None:
        """Create a table on which nothing but writes brings rows to replicas; waits until all nodes know it."""
        thrift = interface()
        replication = {"replication_factor": str(self.spec.replication_factor)}
        definition = thrift.CfDef(
            keyspace=keyspace, name=table, read_repair_chance=0.0, dclocal_read_repair_chance=0.0,
            comparator_type="BytesType", default_validation_class="BytesType", key_validation_class="BytesType",
        )  # fmt: skip
        strategy = "org.apache.cassandra.locator.SimpleStrategy"
        node = client(self.addresses[0])
        try:
            node.system_add_keyspace(
                thrift.KsDef(name=keyspace, strategy_class=strategy, strategy_options=replication, cf_defs=[definition])
            )
        finally:
            node.close()
        self._wait_for(self._agreed, "do not agree on the schema")

    def _prepare(self) -> None:
        super()._prepare()
        for node, table in product(self.node_folders(), _AT_ONCE):
            (node / "data0" / table).mkdir(parents=True)

    def _wait_until_ready(self) -> None:
        for number, address in enumerate(self._listening, start=1):
            self._wait_for(partial(_answers, address), f"node{number} does not answer on {address}", number)
        self._wait_for(self._agreed, "not all nodes see each other")

    def _wait_for(self, done: Callable[[], bool], wrong: str, node: int = 1) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not done():
            self._check_alive()
            if time.monotonic() > deadline:
                raise LaboratoryError(f"{wrong}\n{self._log_end(node)}")
            time.sleep(0.25)

    def _agreed(self) -> bool:
        """Whether each node knows all, and all have one schema."""
        for address in self._listening:
            node = client(address)
            try:
                versions = node.describe_schema_versions()
            finally:
                node.close()
            if [len(nodes) for nodes in versions.values()] != [self.spec.nodes]:
                return False
        return True


class DistantStudyCluster(DistantCluster, StudyCluster):
    """A cluster of Cassandra 1.2.0 whose nodes are apart, behind the relay."""

    def _broadcast(self, node: int) -> dict[str, str]:
        """Return peers as this version lists them; it does not report where clients reach them."""
        return {"broadcast_address": self._broadcast_address(node)}


def _answers(address: str) -> bool:
    try:
        client(address).close()
    except LaboratoryError:
        return False
    return True
