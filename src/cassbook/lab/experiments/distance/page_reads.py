"""A far client that needs several rows, one after the other, for a page: directly, and by a proxy near the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cassbook.core.errors import LaboratoryError
from cassbook.deployment.link import Link
from cassbook.deployment.notation import CLIENT
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.experiments.distance.proxy import Pager, ProxyClient, proxy
from cassbook.lab.experiments.experiment import Experiment, Row, Setup, in_random_order
from cassbook.lab.experiments.workbench import Workbench
from cassbook.lab.load.keys import row_keys
from cassbook.lab.wan.relay import Relay, Route, free_address
from cassbook.profile.profile import TableSection

_PROXY = "proxy"


@dataclass(frozen=True)
class PageExperiment(Experiment):
    """Pages of several sizes, both ways, in random order, as a far client asks for them."""

    BY_SETUP = ("setups", "near")

    setups: Mapping[str, Setup]
    near: Mapping[str, Link]  # by setup: what lies between the proxy and a node, one way
    rows_a_page: tuple[int, ...] = (1, 2, 5, 10, 20)
    clients: int = 10  # each requests a page as soon as it has the last
    seconds: float = 6.0  # least duration of a measurement
    records: int = 2000

    def notes(self) -> dict[str, Any]:
        """Return the numbers of the load."""
        numbers = super().notes()
        del numbers["near"]
        return numbers | {"near_rtt_ms": {name: link.delay_ms * 2 for name, link in self.near.items()}}

    def points(self) -> list[tuple[str, int]]:
        """Return ways and sizes of pages."""
        return [(way, size) for way in ("direct", _PROXY) for size in self.rows_a_page]

    def measure(self, cluster: DistantCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure every size, directly and through the proxy.

        A row has way ('direct' or 'proxy'), rows_a_page, clients, pages; latency_ms (mean of a page), p50_ms, p95_ms.
        """
        keys = _load(cluster, self.records, rng)
        pager = partial(Pager, cluster.addresses, cluster.release.protocol, cluster.keyspace)
        (link,) = self.near.values()
        with _far_proxy(cluster, pager) as (far, ask_proxy), pager() as near:
            ways: dict[str, Callable[[Sequence[str]], int]] = {"direct": near.read, _PROXY: ask_proxy}
            for way, size in in_random_order(self.points(), rng):
                _near_or_far(cluster, far, link if way == _PROXY else None)
                row = self._pages(ways[way], size, keys, rng)
                yield {"way": way, "rows_a_page": size, "clients": self.clients} | row

    def _pages(
        self, read: Callable[[Sequence[str]], int], size: int, keys: Sequence[str], rng: np.random.Generator
    ) -> Row:
        seeds = rng.integers(1 << 31, size=self.clients).tolist()
        until = time.perf_counter() + self.seconds

        def client(seed: int) -> list[float]:
            draw, took = np.random.default_rng(seed), []
            while (began := time.perf_counter()) < until:
                page = [keys[i] for i in draw.integers(len(keys), size=size)]
                if (read_rows := read(page)) != size:
                    raise LaboratoryError(f"of {size} rows {read_rows} were found")
                took.append(time.perf_counter() - began)
            return took[1:]  # the first waits for connections

        with ThreadPoolExecutor(self.clients) as pool:
            took_ms = np.array([t for times in pool.map(client, seeds) for t in times]) * 1000
        if not took_ms.size:
            raise LaboratoryError(f"no client had a second page within {self.seconds:g} s: measure for longer")
        return {
            "pages": int(took_ms.size), "latency_ms": round(float(took_ms.mean()), 3),
            "p50_ms": round(float(np.quantile(took_ms, 0.5)), 3), "p95_ms": round(float(np.quantile(took_ms, 0.95)), 3),
        }  # fmt: skip


def _load(cluster: DistantCluster, records: int, rng: np.random.Generator) -> list[str]:
    """Fill usertable, and return its keys."""
    with Workbench(cluster, rng) as bench:
        bench.table(TableSection(record_count=records))
    return [key.decode() for key in row_keys(range(records))]


def _near_or_far(cluster: DistantCluster, far: dict[tuple[str, str], Link], near: Link | None) -> None:
    """Whoever asks the nodes is the far client; or, with a link to them, the proxy."""
    links = dict(cluster.placement.links())
    if near is not None:
        links |= dict.fromkeys(far, near)
    cluster.relay.set_links(links)


@contextmanager
def _far_proxy(
    cluster: DistantCluster, pager: Callable[[], Pager]
) -> Iterator[tuple[dict[tuple[str, str], Link], Callable[[Sequence[str]], int]]]:
    """Start a proxy that is as far from the client as the first node; how to ask it, and the links it shortens."""
    links = cluster.placement.links()
    far = {pair: link for pair, link in links.items() if CLIENT in pair}
    first = cluster.labels[0]
    way = {(CLIENT, _PROXY): links[CLIENT, first], (_PROXY, CLIENT): links[first, CLIENT]}
    with proxy(pager) as address:
        public = free_address()
        with Relay([Route(public, address, _PROXY, CLIENT)], way):
            yield far, ProxyClient(public).read
