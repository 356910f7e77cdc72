"""The 2016 paper's network (Dipietro, Casale and Serazzi, sections 4 and 5), with everything in it a parameter.

A client's CPU and network; nodes of network, CPU and disk. A request comes to a coordinator, is parsed, forked to as
many replicas as it asks (the coordinator's own among them where it has the row), joined when as many have answered as
the level waits for, ended, and answered. What the text leaves open is a switch: see `Readings`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from cassbook.core.errors import InputError
from cassbook.core.types import Floats
from cassbook.core.words import counted

#: Classes of the paper's Table 1 that take CPU, by what they are called there.
CPU_CLASSES = (
    "read-local", "read-remote", "read-remote-ID", "read-local-end", "read-remote-end", "read-remote-return",
)  # fmt: skip
#: Nodes of a network: work grows with their square (every coordinator by every replica set).
_MOST_NODES = 1000


@dataclass(frozen=True, slots=True)
class Law:
    """Distribution of a service time, whose mean is the demand.

    Attributes
    ----------
    kind : str
        'exponential' (what JMT takes by default), 'constant', 'erlang' or 'hyper' (two exponentials, balanced means).
    shape : float
        Stages of 'erlang'; squared coefficient of variation of 'hyper', above 1.
    """

    kind: Literal["constant", "exponential", "erlang", "hyper"] = "exponential"
    shape: float = 1.0

    def __post_init__(self) -> None:
        if self.kind == "erlang" and (self.shape < 1 or self.shape != int(self.shape)):
            raise InputError(f"law: erlang has a whole number of stages, got {self.shape!r}")
        if self.kind == "hyper" and not self.shape > 1:
            raise InputError(f"law: hyper varies more than an exponential; its shape is above 1, got {self.shape!r}")

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return {"constant": 0.0, "exponential": 1.0, "erlang": 1 / self.shape, "hyper": self.shape}[self.kind]


@dataclass(frozen=True, slots=True)
class Demands:
    """Service demands of one operation at one level, ms at each visit.

    Attributes
    ----------
    cpu_ms : mapping of str to float
        By class of Table 1; a class that is not there takes none.
    disk_ms : float
        Of each replica that looks for the row.
    request_ms, data_ms : float
        Of a network for a query, and for a row.
    client_ms : float
        Of the client's CPU.
    """

    cpu_ms: Mapping[str, float]
    disk_ms: float = 0.0
    request_ms: float = 0.0
    data_ms: float = 0.0
    client_ms: float = 0.0

    def __post_init__(self) -> None:
        unknown = set(self.cpu_ms) - set(CPU_CLASSES)
        if unknown:
            raise InputError(f"demands: there is no class {sorted(unknown)[0]!r}; use {', '.join(CPU_CLASSES)}")
        for name in CPU_CLASSES[:3]:
            if name not in self.cpu_ms:
                raise InputError(f"demands: class {name!r} has none; give it in ms (0 if it takes no time)")
        demands_ms = {**self.cpu_ms, "disk": self.disk_ms, "request": self.request_ms, "data": self.data_ms,
                "client": self.client_ms}  # fmt: skip
        for name, ms in demands_ms.items():
            if not (np.isfinite(ms) and ms >= 0):
                raise InputError(f"demands: {name} is {ms!r} ms; it must be 0 or more")
        elsewhere_ms = self.disk_ms + self.request_ms + self.data_ms
        if not (elsewhere_ms or (self.cpu_ms["read-remote-ID"] and self.cpu_ms["read-local"] + self.client_ms)):
            raise InputError("demands: zero everywhere; a request that takes no time can be made without end")


@dataclass(frozen=True, slots=True)
class Operation:
    """What a request does.

    Attributes
    ----------
    demands : Demands
    asked, waits : int
        Replicas that it is sent to, the coordinator's own among them, and answers that it waits for. A read at QUORUM
        of three: 2 and 2; where all are asked, 3 and 2; a write at QUORUM: 3 and 2.
    share : float
        Of the requests.
    name : str
    write : bool
        The row travels with the request, not with the answer.
    """

    demands: Demands
    asked: int
    waits: int
    share: float = 1.0
    name: str = "read"
    write: bool = False


@dataclass(frozen=True, slots=True)
class Readings:
    """What the paper's text leaves open.

    Attributes
    ----------
    client_cores : int
        Servers of the client's CPU station; the machine has 4 (section 5.1), the model's queue is one (section 4.4).
    node_cores : int
        Of a node's CPU; the machines have 2.
    region : str
        What the finite capacity region covers: 'cpu' (every visit of the CPU), 'cpu-disk' (a local read until the disk
        is done), 'reads' (as Cassandra does: only what reads locally, until the disk is done), or 'none'.
    client_network : str
        'one' queue for both directions, or 'two'; or a 'delay', in which nobody waits for anybody.
    node_network : str
        Likewise.
    receiver : bool
        Whether a message between nodes takes the receiver's network as well as the sender's.
    targets : str
        Whom a coordinator asks: other 'replicas', or 'any' other nodes (section 4.3: "some other nodes of the ring").
    returned_ms : float
        CPU of a coordinator for each answer, which Table 2 prints as n/a.
    law : Law
        Of all service times.
    """

    client_cores: int = 4
    node_cores: int = 2
    region: Literal["none", "cpu", "cpu-disk", "reads"] = "cpu"
    client_network: Literal["one", "two", "delay"] = "one"
    node_network: Literal["one", "two", "delay"] = "one"
    receiver: bool = False
    targets: Literal["replicas", "any"] = "replicas"
    returned_ms: float = 0.0
    law: Law = field(default_factory=Law)


@dataclass(frozen=True)
class Network:
    """A cluster, its client and its requests.

    Attributes
    ----------
    operations : tuple of Operation
    nodes, replication : int
    readings : Readings
    region_limit : int
        `concurrent_reads`.
    shares : tuple of float
        Of the ring, by node; empty for equal ones.
    token_aware : bool
        Clients send to a replica; else to any node.
    retry_ms : float
        Speculative retry: another replica is asked after so long; 0 for none.
    think_ms : float
        Between an answer and a client's next request.
    think : Law
    rate_per_s : float
        Of Poisson arrivals, for a network that is open; 0 for one that is closed.
    shared_cores : int
        Where all nodes and the client are on one machine: its processors, which they share; 0 for machines of their
        own. The client goes first, for nodes run at the lowest priority.
    client_threads : int
        Of a client on the same machine that can work at the same time.
    slowdown : tuple of float
        What an operation of the CPU costs with 1, 2, 3, ... jobs there, as a multiple of its demand; the last is for
        all beyond. Empty for 1.
    """

    operations: tuple[Operation, ...]
    nodes: int = 4
    replication: int = 3
    readings: Readings = field(default_factory=Readings)
    region_limit: int = 32
    shares: tuple[float, ...] = ()
    token_aware: bool = False
    retry_ms: float = 0.0
    think_ms: float = 0.0
    think: Law = field(default_factory=Law)
    rate_per_s: float = 0.0
    shared_cores: int = 0
    client_threads: int = 1
    slowdown: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    @property
    def local_share(self) -> float:
        """Part of the requests whose coordinator holds the row (section 4.4: 1 - (N - RF) / N)."""
        return 1.0 if self.token_aware else self.replication / self.nodes

    @property
    def routing(self) -> Routing:
        """The fields that decide which nodes a request meets."""
        among_replicas = self.readings.targets == "replicas"
        return Routing(self.nodes, self.replication, self.shares, self.token_aware, among_replicas)


class Routing(NamedTuple):
    """What decides which nodes a request meets; `among_replicas`: a coordinator asks replicas only."""

    nodes: int
    replication: int
    shares: tuple[float, ...]
    token_aware: bool
    among_replicas: bool


def ring_shares(nodes: int, shares: Sequence[float] = ()) -> Floats:
    """Return the parts of the ring, shape (nodes,), that sum to 1."""
    parts = np.asarray(shares or np.ones(nodes), dtype=float)
    return np.asarray(parts / parts.sum())


def _check(network: Network) -> None:
    n, rf = network.nodes, network.replication
    if not 1 <= n <= _MOST_NODES:
        raise InputError(
            f"nodes: {n}; use 1 to {_MOST_NODES} (every coordinator is computed with every set of replicas, so work "
            "grows with the square of the nodes)"
        )
    if not 1 <= rf <= n:
        raise InputError(
            f"replication: {rf} replicas do not fit on {counted(n, 'node')}; use {f'1 to {n}' if n > 1 else 1}"
        )
    if not network.operations:
        raise InputError("operations: a request does something; give one operation at least")
    for operation in network.operations:
        most = n if network.readings.targets == "any" else rf
        if not 1 <= operation.waits <= operation.asked <= most:
            raise InputError(
                f"{operation.name}: waits for {operation.waits} of {operation.asked} replicas that it asks; "
                f"use 1 <= waits <= asked <= {most}"
            )
        if not operation.share > 0:
            raise InputError(f"{operation.name}: a share of {operation.share!r} of the requests; it must be above 0")
    if network.shares and (len(network.shares) != n or min(network.shares) <= 0):
        raise InputError(f"shares: {len(network.shares)} for {counted(n, 'node')}; give one above 0 for each")
    if network.region_limit < 1:
        raise InputError(f"region_limit: {network.region_limit}; at least 1 request must get in")
    for name in ("retry_ms", "think_ms", "rate_per_s", "shared_cores"):
        value = getattr(network, name)
        if not (np.isfinite(value) and value >= 0):
            raise InputError(f"{name}: {value!r} must be 0 or more")
    if any(not factor > 0 for factor in network.slowdown):
        raise InputError(f"slowdown: {network.slowdown!r}; every factor is above 0")
    if min(network.readings.client_cores, network.readings.node_cores, network.client_threads) < 1:
        raise InputError("cores: one at least, of each machine, and a thread of the client")
