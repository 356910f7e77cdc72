"""The part of a profile that breaks things: which faults strike when, under a load of which settings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cassbook.profile.fields import Distinct, Positive, PositiveSeconds, Section, Settings, Share

#: What can be done to a node's process, and to what lies between hosts; `repair` mends what others have done.
Fault = Literal[
    "kill", "stop", "pause", "restart", "replace", "add", "decommission", "repair", "cut", "slow", "clock", "fill"
]
_OF_LINKS = ("cut", "slow")
#: Faults that are over when they are done, however long that takes.
OWN_LENGTH = ("restart", "replace", "add", "decommission", "repair")
_MOST_MS = 5000.0
#: Ways in which the driver handles a request that goes wrong: see `experiments.faults.drivers`.
Driver = Literal["default", "round_robin", "no_retry", "next_host", "speculative"]
Client = Literal["client"]
#: The driver and the nodes carry more; the client of the faults' load does not.
_MOST_PER_S = 3000.0
_MOST_THREADS = 100


@dataclass(frozen=True, slots=True)
class Order:
    """One thing to be done at one moment.

    Attributes
    ----------
    at_s : float
        Since the load began.
    number : int
        Of the fault that it is part of, from 1.
    fault : str
    begins : bool
        Whether the fault begins or ends.
    nodes : tuple of int
        From 1.
    to : tuple of int or 'client'
        For links: hosts at the other end.
    way : str
        For links: both, in (to the nodes) or out (from them).
    delay_ms : float
        For slow links: one way.
    by_ms : float
        For clocks: how far ahead of the machine's.
    alone : bool
        No order follows that ends it.
    """

    at_s: float
    number: int
    fault: str
    begins: bool
    nodes: tuple[int, ...]
    to: tuple[int | str, ...] = ()
    way: str = "both"
    delay_ms: float = 0.0
    by_ms: float = 0.0
    alone: bool = False


class FaultEvent(Section):
    """A fault, or the same one several times (a node that flaps).

    `cut` and `slow` are of the links between `nodes` and `to`, which by default are all other hosts and the client.
    `restart` takes several nodes in turn; `replace` kills a node and gives it empty disks, at once or, with `for_s`,
    after it has been away for so long; `add` has nodes join, numbered behind those of the cluster, and `decommission`
    has such a node leave in order; `repair` has a node compare its rows with those of the other replicas. `clock` sets
    a node's clock ahead by `by_ms`, or back if that is negative; `fill` fills its disk. Without `for_s` a fault lasts
    to the end.
    """

    at_s: Annotated[float, Field(ge=0)]
    do: Fault
    nodes: Annotated[list[Positive], Field(min_length=1), Distinct]
    for_s: PositiveSeconds | None = None
    times: Positive = 1
    every_s: PositiveSeconds | None = None
    to: Annotated[list[Positive | Client], Field(min_length=1), Distinct] | None = None
    way: Literal["both", "in", "out"] = "both"
    delay_ms: Annotated[float, Field(gt=0, le=_MOST_MS)] | None = None
    by_ms: Annotated[float, Field(ge=-_MOST_MS, le=_MOST_MS)] | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.do in OWN_LENGTH and self.do != "replace" and self.for_s is not None:
            raise ValueError(f"{self.do} lasts until it is done; leave for_s out")
        if (self.times > 1) != (self.every_s is not None):
            raise ValueError("times and every_s go together")
        if self.every_s is not None and (self.for_s is None or self.for_s >= self.every_s):
            raise ValueError("a fault that comes again needs a for_s shorter than every_s")
        links = self.do in _OF_LINKS
        if not links and (self.to is not None or self.way != "both"):
            raise ValueError(f"to and way are of links (cut, slow), not of {self.do}")
        if (self.do == "slow") != (self.delay_ms is not None):
            raise ValueError("delay_ms goes with slow")
        if (self.do == "clock") != bool(self.by_ms):
            raise ValueError("by_ms goes with clock, and is not 0")
        if self.to and (both := [node for node in self.to if node in self.nodes]):
            raise ValueError(f"node {both[0]} is in nodes and in to")
        return self

    def orders(self, first: int, nodes: int) -> list[Order]:
        """Return what is to be done, numbered from `first` on, in a cluster of so many nodes."""
        others = [node for node in range(1, nodes + 1) if node not in self.nodes]
        all_others: list[int | str] = [*others, "client"]
        to: tuple[int | str, ...] = tuple(self.to or all_others) if self.do in _OF_LINKS else ()

        def order(at_s: float, turn: int, begins: bool) -> Order:
            return Order(
                at_s, first + turn, self.do, begins, tuple(self.nodes), to, self.way, self.delay_ms or 0.0,
                self.by_ms or 0.0, alone=self.for_s is None,
            )  # fmt: skip

        made = []
        for turn in range(self.times):
            at_s = self.at_s + turn * (self.every_s or 0.0)
            made.append(order(at_s, turn, True))
            if self.for_s is not None:
                made.append(order(at_s + self.for_s, turn, False))
        return made


class RandomFaults(Section):
    """Faults drawn at random: each node fails and comes back by itself (an alternating renewal process).

    Up and down times are exponential. Where a fault would be one more than `at_once` it does not strike. The seed is
    the cluster start's, so that the same start of the same profile breaks in the same way.
    """

    do: Annotated[list[Literal["kill", "stop", "pause", "cut"]], Field(min_length=1), Distinct]
    nodes: Annotated[list[Positive], Field(min_length=1), Distinct]
    up_s: PositiveSeconds
    down_s: PositiveSeconds
    at_once: Positive = 1

    def orders(self, seconds: float, nodes: int, rng: np.random.Generator) -> list[Order]:
        """Draw what strikes within so many seconds, in a cluster of so many nodes, in order of time."""
        spans = sorted(span for node in self.nodes for span in self._spans(node, seconds, rng))
        struck: list[tuple[float, float, int]] = []
        for begins_s, ends_s, node in spans:
            if sum(other_s > begins_s for _, other_s, _ in struck) < self.at_once:
                struck.append((begins_s, ends_s, node))
        made: list[Order] = []
        for number, (begins_s, ends_s, node) in enumerate(struck, 1):
            fault = self.do[int(rng.integers(len(self.do)))]
            made += FaultEvent(at_s=begins_s, do=fault, nodes=[node], for_s=ends_s - begins_s).orders(number, nodes)
        return sorted(made, key=lambda order: order.at_s)

    def _spans(self, node: int, seconds: float, rng: np.random.Generator) -> list[tuple[float, float, int]]:
        """When a node would be down, wholly within the time."""
        spans: list[tuple[float, float, int]] = []
        now_s = 0.0
        while True:
            begins_s = now_s + rng.exponential(self.up_s)
            now_s = begins_s + rng.exponential(self.down_s)
            if now_s >= seconds:
                return spans
            spans.append((begins_s, now_s, node))


class FaultsSection(Section):
    """A schedule of faults, and the load under which they strike.

    Requests of all settings, drivers and tables take turns, each at its share of `rate_per_s`, so that all meet the
    same faults. Or each of them has `threads` of its own, which send a request when the one before has been answered or
    given up: that shows what such clients get done, and not how long they would have waited. `steady_s` of the
    load is the length of the schedule, its `request_timeout_s` the driver's time-out. `tables` are the options of
    tables, by a name; each has rows of its own. Writes bear the client's time, as the driver's default is, or with
    `timestamps: server` that of the node which coordinates them.
    """

    settings: Settings
    rate_per_s: Annotated[float, Field(gt=0, le=_MOST_PER_S)] | None = None
    threads: Annotated[int, Field(ge=1, le=_MOST_THREADS, strict=True)] | None = None
    read_share: Annotated[Share, Field(gt=0, lt=1)] = 0.5
    drivers: Annotated[list[Driver], Field(min_length=1), Distinct] = Field(default=["default"])
    tables: dict[str, dict[str, str | float]] = Field(default={"plain": {}})
    keys: Annotated[int, Field(ge=10, le=100_000, strict=True)] = 1000
    timestamps: Literal["client", "server"] = "client"
    before_s: PositiveSeconds = 5.0
    events: Annotated[list[FaultEvent], Field(min_length=1)] | None = None
    random: RandomFaults | None = None

    @model_validator(mode="after")
    def _one_schedule_and_load(self) -> Self:
        if (self.events is None) == (self.random is None):
            raise ValueError("give either events or random")
        if not self.tables:
            raise ValueError("tables: name one at least, such as plain: {}")
        if (self.rate_per_s is None) == (self.threads is None):
            raise ValueError("give either rate_per_s or threads")
        if self.threads and self.threads > self.keys:
            raise ValueError(
                f"threads: {self.threads} would write {self.keys} rows (keys), each of one writer at a time"
            )
        return self

    def orders(self, seconds: float, nodes: int, rng: np.random.Generator) -> list[Order]:
        """Return the schedule, in order of time.

        Parameters
        ----------
        seconds : float
            Length of the load.
        nodes : int
            Of the cluster.
        rng : numpy.random.Generator
            For random faults.
        """
        if self.random is not None:
            return self.random.orders(seconds, nodes, rng)
        made: list[Order] = []
        for event in self.events or ():
            made += event.orders(1 + len({order.number for order in made}), nodes)
        return sorted(made, key=lambda order: order.at_s)

    def struck(self, fault: Fault) -> tuple[int, ...]:
        """Nodes that a fault strikes in the course of the schedule."""
        return tuple(sorted({node for event in self.events or () if event.do == fault for node in event.nodes}))

    def check(self, seconds: float, nodes: int) -> None:
        """Check a schedule against the cluster and the length of the load.

        Raises
        ------
        ValueError
            For a node that there is not, a fault behind the end, or one that strikes a node that another has struck.
        """
        events, added = self.events or [], list(self.struck("add"))
        if added != list(range(nodes + 1, nodes + 1 + len(added))):
            raise ValueError(f"add: the nodes that join are numbered from {nodes + 1} on, got {added}")
        if early := [
            node for event in events if event.do == "decommission" for node in event.nodes if node not in added
        ]:
            raise ValueError(f"decommission: node {early[0]} was not added; the cluster keeps its first {nodes}")
        nodes += len(added)
        named = {node for event in events for node in (*event.nodes, *(event.to or ())) if isinstance(node, int)}
        named |= set(self.random.nodes if self.random else ())
        if strange := sorted(node for node in named if node > nodes):
            raise ValueError(f"node {strange[0]}: there are nodes 1 to {nodes}")
        if self.random is not None:
            return
        orders = self.orders(seconds, nodes, np.random.default_rng(0))
        if late := next((order for order in orders if order.at_s >= seconds), None):
            raise ValueError(f"{late.fault} at {late.at_s:g} s is behind the end, load.steady_s {seconds:g}")
        for node in range(1, nodes + 1):
            _check_one_by_one(node, [order for order in orders if node in order.nodes and not order.to])


def _check_one_by_one(node: int, orders: list[Order]) -> None:
    """Raise ValueError where a node's process is struck while another fault holds it."""
    for one, other in pairwise(orders):
        if one.begins and other.begins and not (one.alone and one.fault in OWN_LENGTH):
            raise ValueError(
                f"{other.fault} at {other.at_s:g} s strikes node {node}, which {one.fault} holds since {one.at_s:g} s"
            )
