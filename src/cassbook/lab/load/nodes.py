"""The light path's own connections: one or more to each node, reopened when lost."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from cassandra.cluster import Session
from cassandra.protocol import OptionsMessage

from cassbook.core.errors import LaboratoryError
from cassbook.lab.load.light import OPTIONS, light

_ROUNDS, _FEWEST_ROUNDS, _ASKING_S = 20, 5, 0.3


class Nodes:
    """Connections to the coordinators, in the order of `addresses`, made as the session's driver cluster makes them."""

    def __init__(self, session: Session, addresses: Sequence[str], connections_per_node: int = 1) -> None:
        self._driver = session.cluster
        self.addresses = list(addresses)
        hosts = {host.address: host for host in session.hosts}
        unknown = [address for address in addresses if address not in hosts]
        if unknown:
            raise LaboratoryError(
                f"the cluster does not know {', '.join(unknown)}; it knows {', '.join(sorted(hosts))}"
            )
        self._hosts = [hosts[address] for address in addresses]
        self._light = light(self._driver.connection_class)
        self.connections: list[list[Any]] = [
            [self._open(node) for _ in range(connections_per_node)] for node in range(len(addresses))
        ]

    def _open(self, node: int) -> Any:
        endpoint = self._hosts[node].endpoint
        options = self._driver._make_connection_kwargs(endpoint, dict(OPTIONS))
        return self._light.factory(endpoint, self._driver.connect_timeout, **options)

    def create_timer(self, delay_s: float, callback: Callable[[], None]) -> Any:
        """Have the event loop's thread call back."""
        return self._driver.connection_class.create_timer(delay_s, callback)

    def reopen(self) -> None:
        """Replace lost connections where their node answers again; silent where it does not yet."""
        for node, pool in enumerate(self.connections):
            for i, connection in enumerate(pool):
                if connection.gone:
                    try:
                        pool[i] = self._open(node)
                    except Exception:  # noqa: S112 - whatever keeps it shut, it is tried again
                        continue

    def nearest(self) -> int:
        """Index of the node with the smallest median round trip of an empty request (OPTIONS).

        Nodes far away are asked less often: their distance outweighs what varies.
        """
        medians = []
        for pool in self.connections:
            times: list[float] = []
            while len(times) < _ROUNDS and (len(times) < _FEWEST_ROUNDS or sum(times) < _ASKING_S):
                begun = time.perf_counter()
                pool[0].wait_for_response(OptionsMessage(), timeout=5)
                times.append(time.perf_counter() - begun)
            medians.append(statistics.median(times))
        return medians.index(min(medians))

    def close(self) -> None:
        for pool in self.connections:
            for connection in pool:
                connection.close()
