"""A local cluster whose nodes, and whose client, are as far apart as a deployment says.

Node i listens on 127.0.0.i. The others know it as 127.0.1.i and clients as 127.0.2.i, where a relay listens for it.
Each region is a data centre, each zone a rack. Where netem takes the relay's place, all know the address it listens on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pandas as pd
from typing_extensions import override

from cassbook.core.errors import InputError
from cassbook.core.releases import Release
from cassbook.deployment.distances import Placement
from cassbook.deployment.link import NONE
from cassbook.deployment.notation import CLIENT, Host
from cassbook.lab.engine.any_cluster import Distances
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.preflight import CQL_PORT, THRIFT_PORT
from cassbook.lab.wan import echo
from cassbook.lab.wan.netem import CLIENT_ADDRESS, Netem
from cassbook.lab.wan.relay import Relay, Route

STORAGE_PORT = 7000
#: How long the echo listens before the first load.
_AT_REST_S = 2.0
#: From this release on, nodes call from 127.0.0.1, all of them (tried: 2.1.20 does not; 2.2.4, 3.11.4 and 5.0.9 do).
_CALLS_FROM_ANYWHERE = (2, 2)


def own_address(node: int) -> str:
    """Where node `node`, from 1, listens."""
    return f"127.0.0.{node}"


def broadcast_address(node: int) -> str:
    """Where the other nodes find it: at the relay."""
    return f"127.0.1.{node}"


def broadcast_rpc_address(node: int) -> str:
    """Where clients find it: at the relay."""
    return f"127.0.2.{node}"


class DistantCluster(CassandraCluster):
    """As `CassandraCluster`, with a relay, or netem, between its nodes and to its client.

    Parameters
    ----------
    engine : str or Release
    placement : Placement
        Of the client and of the replicas, each of which is to be a node.
    spec : Spec, optional
        Of as many nodes.
    name : str
    log : callable
    means : str
        How messages are delayed: relay or netem.

    Raises
    ------
    InputError
        If the spec is of another number of nodes, or the means cannot distinguish nodes of this release.
    """

    def __init__(
        self,
        engine: str | Release,
        placement: Placement,
        spec: Spec | None = None,
        name: str = "distant",
        log: Callable[[str], None] = print,
        means: str = "relay",
    ) -> None:
        replicas = placement.deployment.replicas
        spec = spec or Spec(nodes=len(replicas), replication_factor=len(replicas))
        if spec.spare:
            raise InputError("nodes: a cluster whose hosts are apart has no spare ones")
        if spec.nodes != len(replicas):
            raise InputError(f"nodes: {placement.deployment} has {len(replicas)}, the cluster is to have {spec.nodes}")
        self._numbers = range(1, spec.nodes + 1)
        self._relayed = means == "relay"
        broadcast = {i: self._broadcast(i) for i in self._numbers}
        options = {"endpoint_snitch": "GossipingPropertyFileSnitch", **spec.options}
        super().__init__(
            engine, replace(spec, options=options, node_options=broadcast, seed=self._broadcast_address(1)), name, log
        )
        self.placement = placement
        self._home = placement  # names the data centres, wherever the hosts are moved
        self.deployment = str(placement.deployment)
        self.addresses = [self._broadcast_rpc_address(i) for i in self._numbers]
        self._names = [host.name for host in replicas]
        self.relay = self._relay() if self._relayed else self._netem()
        self._echo: echo.Echo | None = None
        self._at_rest = pd.DataFrame()

    @property
    @override
    def labels(self) -> list[str]:
        """Names of the replicas."""
        return self._names

    @property
    @override
    def broadcast_addresses(self) -> list[str]:
        return [self._broadcast_address(i) for i in self._numbers]

    @property
    @override
    def replication(self) -> int | dict[str, int]:
        """Replicas by data centre, where every node is one; else how many, anywhere."""
        if self.spec.replication_factor < self.spec.nodes:
            return self.spec.replication_factor
        return dict(Counter(self._data_centre(host) for host in self._home.deployment.replicas))

    @property
    @override
    def apart(self) -> Distances:
        return self

    @override
    def remove(self) -> None:
        """Remove the nodes, then the relay; harmless to repeat."""
        super().remove()
        if self._echo:
            self._echo.stop()
        self.relay.stop()

    def move(self, placement: Placement) -> None:
        """Put the hosts elsewhere, also on connections that are up; data centres keep their names.

        Raises
        ------
        InputError
            If the placement is of other hosts.
        """
        names = [[host.name for host in where.deployment.replicas] for where in (self.placement, placement)]
        if names[0] != names[1]:
            raise InputError(f"{placement.deployment}: has other nodes than {self.placement.deployment}")
        self.placement = placement
        self.relay.set_links(placement.links())

    @override
    @contextmanager
    def together(self) -> Iterator[None]:
        links = self.placement.links()
        self.relay.set_links(dict.fromkeys(links, NONE))
        try:
            yield
        finally:
            self.relay.set_links(links)

    @property
    def pairs(self) -> int:
        """How many pairs of hosts there are."""
        return len(self._calls())

    @override
    def notes(self) -> dict[str, Any]:
        """As those of any cluster, with the round trips that were asked for and those that the echo found at rest."""
        at_rest = self._at_rest.drop(columns="kept").round(3)
        return super().notes() | {
            "regions": list(self._home.regions), "distances": at_rest.to_dict("records")
        }  # fmt: skip

    def echoes(self) -> pd.DataFrame:
        """Round trips between all hosts since this was last asked (see `Echo.report`).

        Raises
        ------
        LaboratoryError
            If the relay or the echo has died.
        """
        assert self._echo is not None  # noqa: S101 - the cluster is up
        return self._echo.report()

    def distances(self, echoes: pd.DataFrame) -> pd.DataFrame:
        """Round trips as found and as asked (see `echo.held_against`)."""
        return echo.held_against(echoes, self.placement.rtt_ms())

    @property
    def _listening(self) -> list[str]:
        return [own_address(i) for i in self._numbers]

    def _data_centre(self, host: Host) -> str:
        return self._home.regions[host.region]

    def _prepare(self) -> None:
        super()._prepare()
        for node in self._numbers:
            self._put_into_its_rack(node)
        self.relay.start()
        self._echo = echo.Echo([(own_address(i), echo.PORT) for i in self._numbers], self._calls())
        self._echo.start()

    def _put_into_its_rack(self, node: int) -> None:
        host, folder = self._home.deployment.replicas[node - 1], self._folder(node)
        rack = f"dc={self._data_centre(host)}\nrack=zone{host.zone + 1}\n"
        (folder / "conf" / "cassandra-rackdc.properties").write_text(rack)
        # A file of another snitch that is found there would speak for all nodes.
        (folder / "conf" / "cassandra-topology.properties").unlink(missing_ok=True)

    def _let_join(self, node: int) -> None:
        super()._let_join(node)
        self._put_into_its_rack(node)

    def _wait_until_ready(self) -> None:
        with self.together():  # nodes that are just meeting ask each other a hundred times
            super()._wait_until_ready()
        self.echoes()
        time.sleep(_AT_REST_S)
        self._at_rest = self.distances(self.echoes())
        self.log(f"round trips, ms\n{self._at_rest.to_string(index=False, float_format='{:.2f}'.format)}")
        off = self._at_rest[~self._at_rest["kept"]]
        if len(off) or len(self._at_rest) < self.pairs:
            self.log("not all round trips are as asked: cells will say so in their marks")

    def _broadcast(self, node: int) -> dict[str, str]:
        """Keys of cassandra.yaml by which the others know a node, and clients."""
        return {
            "broadcast_address": self._broadcast_address(node),
            "broadcast_rpc_address": self._broadcast_rpc_address(node),
        }

    def _broadcast_address(self, node: int) -> str:
        return broadcast_address(node) if self._relayed else own_address(node)

    def _broadcast_rpc_address(self, node: int) -> str:
        return broadcast_rpc_address(node) if self._relayed else own_address(node)

    def _relay(self) -> Relay:
        hosts = {own_address(i): name for i, name in zip(self._numbers, self._names, strict=True)}
        by_owner = self.release.major >= _CALLS_FROM_ANYWHERE
        return Relay(self._routes(), self.placement.links(), hosts, by_owner)

    def _netem(self) -> Netem:
        if self.release.major >= _CALLS_FROM_ANYWHERE:
            raise InputError(
                f"netem: distinguishes nodes by address, and those of Cassandra {self.release.version} all call "
                f"from 127.0.0.1; use the relay, or a version before {'.'.join(map(str, _CALLS_FROM_ANYWHERE))}"
            )
        addresses = {name: own_address(i) for i, name in zip(self._numbers, self._names, strict=True)}
        return Netem(self.placement.links(), addresses, CLIENT, CQL_PORT)

    def _routes(self) -> list[Route]:
        routes = []
        for i, name in zip(self._numbers, self._names, strict=True):
            address, nodes, clients = own_address(i), broadcast_address(i), broadcast_rpc_address(i)
            routes += [Route((nodes, port), (address, port), name) for port in (STORAGE_PORT, echo.PORT)]
            routes += [Route((clients, port), (address, port), name, caller=CLIENT) for port in self._asked_at()]
        return routes

    def _asked_at(self) -> list[int]:
        """Ports that clients come to."""
        return [CQL_PORT, echo.PORT, *([THRIFT_PORT] if self.spec.options.get("start_rpc") else [])]

    def _calls(self) -> list[echo.Call]:
        """One call between every two hosts."""
        nodes = list(zip(self._numbers, self._names, strict=True))
        client = own_address(1) if self._relayed else CLIENT_ADDRESS
        calls = [echo.Call(CLIENT, name, client, (self._broadcast_rpc_address(i), echo.PORT)) for i, name in nodes]
        for place, (i, sender) in enumerate(nodes):
            for j, receiver in nodes[place + 1 :]:
                calls.append(echo.Call(sender, receiver, own_address(i), (self._broadcast_address(j), echo.PORT)))
        return calls
