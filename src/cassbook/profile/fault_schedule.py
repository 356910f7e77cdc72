"""Faults as small values, and functions that combine them: in sequence, together, repeated, at random.

    sequence(Fault("pause", (2,), for_s=3), repeated(Fault("kill", (3,), at_s=5, for_s=10), times=2, every_s=30))

What begins and ends a kind of fault on a cluster is in the laboratory: `lab.experiments.faults.injection`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from cassbook.core.errors import InputError

MOST_MS = 5000.0
Host = int | Literal["client"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind of fault takes."""

    #: It strikes links between hosts, all at once, and not processes of nodes in turn.
    links: bool = False
    #: Whether it is over when it is done, however long that takes: never, always, or when it has no `for_s`.
    by_itself: Literal["never", "always", "alone"] = "never"
    #: Field of `Fault` that says how large it is, in ms.
    size: Literal["", "delay_ms", "by_ms"] = ""
    #: It may be drawn at random.
    drawn: bool = False


#: A kind more is a line here and a function in the laboratory's `injection`.
KINDS: dict[str, Kind] = {
    "kill": Kind(drawn=True),
    "stop": Kind(drawn=True),
    "pause": Kind(drawn=True),
    "restart": Kind(by_itself="always"),
    "replace": Kind(by_itself="alone"),
    "add": Kind(by_itself="always"),
    "decommission": Kind(by_itself="always"),
    "repair": Kind(by_itself="always"),
    "cut": Kind(links=True, drawn=True),
    "slow": Kind(links=True, size="delay_ms"),
    "clock": Kind(size="by_ms"),
    "fill": Kind(),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: what is done to which nodes or links, from when on and for how long.

    Attributes
    ----------
    kind : str
        Of `KINDS`; `do` in a profile.
    nodes : tuple of int
        From 1.
    at_s : float
        Since the load began, or what the fault is part of.
    for_s : float, optional
        Default: to the end or, where the kind is so, until it is done.
    to : tuple of int or 'client'
        For links: hosts at the other end. Default: all others.
    way : {'both', 'in', 'out'}
        For links: `in` is to the nodes, `out` from them.
    delay_ms : float
        For slow links: one way.
    by_ms : float
        For clocks: how far ahead of the machine's.
    drawn : bool
        It comes of `at_random`.

    Raises
    ------
    InputError
        Naming the field that does not go with the kind, or holds what cannot be.
    """

    kind: str
    nodes: tuple[int, ...]
    at_s: float = 0.0
    for_s: float | None = None
    to: tuple[Host, ...] = ()
    way: Literal["both", "in", "out"] = "both"
    delay_ms: float = 0.0
    by_ms: float = 0.0
    drawn: bool = False

    def __post_init__(self) -> None:
        kind = KINDS.get(self.kind)
        if kind is None:
            raise InputError(f"kind: there is no {self.kind!r}; use one of {', '.join(KINDS)}")
        sizes = {"delay_ms": self.delay_ms, "by_ms": self.by_ms}
        both = [node for node in self.to if node in self.nodes]
        checks = [
            (not self.nodes or len(set(self.nodes)) < len(self.nodes) or min(self.nodes) < 1,
             f"nodes: name one or more, each once, from 1; got {list(self.nodes)}"),
            (not 0 <= self.at_s < math.inf, f"at_s: {self.at_s:g} is before the load, or never"),
            (self.for_s is not None and not 0 < self.for_s < math.inf, f"for_s: {self.for_s} is no time above 0"),
            (kind.by_itself == "always" and self.for_s is not None,
             f"{self.kind} lasts until it is done; leave for_s out"),
            (not kind.links and (self.to or self.way != "both"),
             f"to and way are of links ({', '.join(_having(links=True))}), not of {self.kind}"),
            (self.way not in {"both", "in", "out"}, f"way: got {self.way!r}; use both, in or out"),
            *((bool(sizes[name]) != (kind.size == name), _size(name)) for name in sizes),
            (not 0 <= self.delay_ms <= MOST_MS, f"delay_ms: got {self.delay_ms:g}; use up to {MOST_MS:g}"),
            (not abs(self.by_ms) <= MOST_MS, f"by_ms: got {self.by_ms:g}; use -{MOST_MS:g} to {MOST_MS:g}"),
            (both, f"node {both[0] if both else ''} is in nodes and in to"),
        ]  # fmt: skip
        for wrong, said in checks:
            if wrong:
                raise InputError(said)

    @property
    def node(self) -> int:
        """The node, of a fault of one."""
        (node,) = self.nodes
        return node

    @property
    def of_links(self) -> bool:
        """Whether it strikes links."""
        return KINDS[self.kind].links

    @property
    def by_itself(self) -> bool:
        """Whether it is over when it is done, however long that takes."""
        return self.for_s is None and KINDS[self.kind].by_itself != "never"

    @property
    def end_s(self) -> float:
        """When it ends; infinite where it lasts to the end, or until it is done."""
        return math.inf if self.for_s is None else self.at_s + self.for_s

    def later(self, by_s: float) -> Fault:
        """Return it so much later."""
        return replace(self, at_s=self.at_s + by_s)


@dataclass(frozen=True, slots=True)
class Order:
    """A fault of a schedule begins, or ends, at a moment since the load began; `number` is the fault's, from 1."""

    at_s: float
    number: int
    begins: bool
    fault: Fault


@dataclass(frozen=True, slots=True)
class Schedule:
    """Faults, numbered in this order, those that were drawn at random behind all others.

    No node's process is struck while another fault holds it; links may be struck by several at once.

    Attributes
    ----------
    faults : tuple of Fault
    until_s : float
        It lasts at least so long, as what is drawn at random does, whenever that strikes.

    Raises
    ------
    InputError
        Naming two faults that hold one node at once.
    """

    faults: tuple[Fault, ...] = ()
    until_s: float = 0.0

    def __post_init__(self) -> None:
        of_processes = [fault for fault in self.faults if not fault.of_links]
        by_time = sorted(of_processes, key=lambda fault: _exact(fault.at_s))
        for node in sorted({node for fault in by_time for node in fault.nodes}):
            own = [fault for fault in by_time if node in fault.nodes]
            for one, other in pairwise(own):
                if _exact(other.at_s) < _exact(one.end_s) and not one.by_itself:
                    raise InputError(
                        f"{other.kind} at {other.at_s:g} s strikes node {node}, which {one.kind} holds since "
                        f"{one.at_s:g} s"
                    )

    @property
    def begin_s(self) -> float:
        """When the first one strikes."""
        return min((fault.at_s for fault in self.faults), default=0.0)

    @property
    def end_s(self) -> float:
        """When all have ended; infinite where one lasts to the end, or until it is done."""
        return max([self.until_s, *(fault.end_s for fault in self.faults)])

    def later(self, by_s: float) -> Schedule:
        """Return all so much later."""
        return Schedule(tuple(fault.later(by_s) for fault in self.faults), self.until_s + by_s)

    def struck(self, kind: str) -> tuple[int, ...]:
        """Nodes that a kind of fault strikes, in order."""
        return tuple(sorted({node for fault in self.faults if fault.kind == kind for node in fault.nodes}))

    def numbered(self) -> dict[int, Fault]:
        """Faults by their numbers, from 1."""
        return dict(enumerate(sorted(self.faults, key=lambda fault: fault.drawn), 1))

    def orders(self, nodes: int) -> list[Order]:
        """Return what is to be done in a cluster of so many nodes, in order of time, ends first."""
        made = []
        for number, fault in self.numbered().items():
            whole = replace(fault, to=fault.to or _others(fault, nodes)) if fault.of_links else fault
            made.append(Order(fault.at_s, number, True, whole))
            if fault.for_s is not None:
                made.append(Order(fault.end_s, number, False, whole))
        return sorted(made, key=lambda order: (_exact(order.at_s), order.begins))

    def check(self, seconds: float, nodes: int) -> None:
        """Check it against the length of the load and the number of nodes.

        Raises
        ------
        InputError
            For a node that does not exist, one that leaves and was not added, and a fault that begins or ends after
            the load.
        """
        added = list(self.struck("add"))
        if added != list(range(nodes + 1, nodes + 1 + len(added))):
            raise InputError(f"add: the nodes that join are numbered from {nodes + 1} on, got {added}")
        if early := [node for node in self.struck("decommission") if node not in added]:
            raise InputError(f"decommission: node {early[0]} was not added; the cluster keeps its first {nodes}")
        nodes += len(added)
        named = {host for fault in self.faults for host in (*fault.nodes, *fault.to) if host != "client"}
        if strange := sorted(node for node in named if isinstance(node, int) and node > nodes):
            raise InputError(f"node {strange[0]}: there are nodes 1 to {nodes}")
        if late := next((order for order in self.orders(nodes) if order.at_s >= seconds), None):
            raise InputError(f"{late.fault.kind} at {late.at_s:g} s is behind the end, load.steady_s {seconds:g}")


#: What schedules are made of.
Part = Fault | Schedule


def together(*parts: Part) -> Schedule:
    """Return all of them in one schedule, each at its own time.

    Raises
    ------
    InputError
        Where two hold one node's process at once.
    """
    return _joined([_whole(part) for part in parts])


def sequence(*parts: Part) -> Schedule:
    """Return them one after the other: times of each count from when the one before is over.

    Raises
    ------
    InputError
        For something behind what has no end that is known beforehand.
    """
    made = Schedule()
    for part in parts:
        if math.isinf(made.end_s):
            endless = next(fault for fault in made.faults if math.isinf(fault.end_s))
            raise InputError(f"sequence: nothing can follow {endless.kind}, whose end is not known; give it a for_s, "
                             "or put it last")  # fmt: skip
        made = _joined([made, _whole(part).later(made.end_s)])
    return made


def repeated(part: Part, times: int, every_s: float) -> Schedule:
    """Return the same several times, beginning every so many seconds.

    Raises
    ------
    InputError
        If the times are none, or it is not over when it is to begin again.
    """
    if times < 1:
        raise InputError(f"times: got {times}; use 1 or more")
    whole = _whole(part)
    if times > 1 and whole.end_s - whole.begin_s >= every_s:
        raise InputError("a fault that comes again needs a for_s shorter than every_s")
    return _joined([whole.later(turn * every_s) for turn in range(times)])


def at_random(
    seed: int | np.random.Generator, kinds: Sequence[str], nodes: Sequence[int], up_s: float, down_s: float,
    for_s: float, at_once: int = 1,
) -> Schedule:  # fmt: skip
    """Draw faults: each node fails and comes back by itself (an alternating renewal process).

    Up and down times are exponential. Where a fault would be one more than `at_once` it does not strike.

    Parameters
    ----------
    seed : int or numpy.random.Generator
        The same seed draws the same.
    kinds : sequence of str
        Of those that may be drawn; one of them each time.
    nodes : sequence of int
    up_s, down_s : float
        Means.
    for_s : float
        All strike and end within so many seconds.
    at_once : int
        Most nodes that have failed at one moment.

    Raises
    ------
    InputError
        For a kind that may not be drawn, a mean or length that is not above 0.
    """
    check_drawn(kinds)
    means = {"up_s": up_s, "down_s": down_s, "for_s": for_s, "at_once": at_once}
    if wrong := [name for name, value in means.items() if not 0 < value < math.inf]:
        raise InputError(f"{wrong[0]}: got {means[wrong[0]]}; use a number above 0")
    rng = np.random.default_rng(seed)
    spans = sorted(span for node in nodes for span in _spans(node, up_s, down_s, for_s, rng))
    struck: list[tuple[float, float, int]] = []
    for begins_s, ends_s, node in spans:
        if sum(other_s > begins_s for _, other_s, _ in struck) < at_once:
            struck.append((begins_s, ends_s, node))
    return Schedule(
        tuple(
            Fault(kinds[int(rng.integers(len(kinds)))], (node,), begins_s, ends_s - begins_s, drawn=True)
            for begins_s, ends_s, node in struck
        ),
        until_s=for_s,
    )


def check_drawn(kinds: Sequence[str]) -> None:
    """Raise InputError for a kind that may not be drawn at random, or none at all."""
    allowed = _having(drawn=True)
    if wrong := [kind for kind in kinds if kind not in allowed] or ([] if kinds else ["none"]):
        raise InputError(f"{wrong[0]} cannot be drawn at random; use some of {', '.join(allowed)}")


def _spans(
    node: int, up_s: float, down_s: float, for_s: float, rng: np.random.Generator
) -> list[tuple[float, float, int]]:  # fmt: skip
    """When a node would be down, wholly within the time."""
    spans: list[tuple[float, float, int]] = []
    now_s = 0.0
    while True:
        begins_s = now_s + rng.exponential(up_s)
        now_s = begins_s + rng.exponential(down_s)
        if now_s >= for_s:
            return spans
        spans.append((begins_s, now_s, node))


def _whole(part: Part) -> Schedule:
    return part if isinstance(part, Schedule) else Schedule((part,))


def _joined(parts: Sequence[Schedule]) -> Schedule:
    return Schedule(tuple(fault for part in parts for fault in part.faults), max(part.until_s for part in parts))


def _exact(seconds: float) -> float:
    """The same number for times that are the same but for how they were added up."""
    return round(seconds, 6)


def _others(fault: Fault, nodes: int) -> tuple[Host, ...]:
    """All hosts but the fault's nodes."""
    return (*(node for node in range(1, nodes + 1) if node not in fault.nodes), "client")


def _having(**wanted: object) -> list[str]:
    """Kinds with these attributes."""
    return [name for name, kind in KINDS.items() if all(getattr(kind, key) == value for key, value in wanted.items())]


def _size(name: str) -> str:
    return f"{name} goes with {', '.join(_having(size=name))}{', and is not 0' if name == 'by_ms' else ''}"
