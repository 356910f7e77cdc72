"""Where the client and the replicas are: the 2021 paper's notation for deployments (section 1.2).

Round brackets hold the Cassandra cluster, curly ones what is in one region, square ones what is in one availability
zone; C is the client, N1, N2, ... are nodes, R1, R2, ... nodes that hold every row. Round brackets may cross the
others: in `{[C], ([R1]}, {R2}, {R3})` the client shares a region with the first of three replicas.

Brackets may be left out where all is in one region or zone, or where a host is alone in its own. So

* without any curly bracket everything is in one region; with some, a host outside of them is alone in its region;
* in a region without square brackets everything is in one zone; with some, a host outside of them is alone in its zone.

`R1..R6` is short for `R1, R2, R3, R4, R5, R6`: six nodes where the first one stands.

The paper writes its scenario c in five ways, four of which do not balance. Two slips are therefore read for what they
mean, since there is only one thing they can mean, and all others refused:

* a curly bracket around the regions, closed or not: regions do not nest, so it says nothing;
* a round bracket closed where a region ends and the next begins, `{[C], ([R1]), {R2}, ...`: it stands for a curly one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cassbook.core.errors import InputError

CLIENT = "C"
_TOKEN = re.compile(
    r"(?P<bracket>[(){}\[\],])|(?P<host>[CNR])_?(?P<number>\d*)(?P<range>\s*\.\.\s*(?P<letter>[NR]?)_?(?P<last>\d*))?"
    r"|(?P<blank>\s+)|(?P<other>.)"
)
#: Nodes that one range may stand for.
_MOST_IN_RANGE = 1000
_CLOSES = {"}": "{", "]": "[", ")": "("}


@dataclass(frozen=True, slots=True, order=True)
class Host:
    """The client or a node.

    Attributes
    ----------
    region, zone : int
        From 0; the client's are 0. Zones are counted within their region.
    name : str
        'C', or a letter and a number: 'R1'.
    """

    region: int
    zone: int
    name: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """A client and the nodes of one cluster, in regions and zones; made by `parse`.

    Attributes
    ----------
    client : Host
    replicas : tuple of Host
        By number.
    """

    client: Host
    replicas: tuple[Host, ...]

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The client, then the replicas."""
        return (self.client, *self.replicas)

    @property
    def regions(self) -> int:
        """How many regions there are."""
        return 1 + max(host.region for host in self.hosts)

    @property
    def by_region(self) -> tuple[int, ...]:
        """How many nodes there are in each region that has some, in order."""
        counts = Counter(host.region for host in self.replicas)
        return tuple(counts[region] for region in sorted(counts))

    def __str__(self) -> str:
        """The canonical form: regions in curly brackets; in one of several hosts, zones in square ones."""
        return _written(self)


def parse(text: str) -> Deployment:
    """Read a deployment.

    Parameters
    ----------
    text : str
        As `{[C], ([R1]}, {R2}, {R3})`.

    Raises
    ------
    InputError
        With the position of the fault, counted from 1.
    """
    return _Reader(text).deployment()


def labels(deployments: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return what cells call the deployments of a profile: the notation, and the regions where several have the same.

    >>> labels({"a": {"notation": "{C}, ({R1})"}})
    {'a': '{C}, ({R1})'}
    >>> labels({name: {"notation": "{C}, ({R1})", "regions": ["here", name]} for name in ("near", "far")})["far"]
    '{C}, ({R1}) in here, far'
    """
    written = {name: str(parse(section["notation"])) for name, section in deployments.items()}
    times = Counter(written.values())
    regions = {name: ", ".join(section.get("regions") or ()) for name, section in deployments.items()}
    return {name: own if times[own] == 1 else f"{own} in {regions[name]}" for name, own in written.items()}


@dataclass(slots=True)
class _Placed:
    """A host as it was read: which brackets it stands in, by the position at which they open; None outside."""

    name: str
    at: int
    region: int | None
    zone: int | None
    in_cluster: bool


class _Reader:
    """Goes through a text once, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._placed: list[_Placed] = []
        self._open: dict[str, int] = {}  # bracket: where it was opened
        self._around: int | None = None  # a curly bracket around all the regions
        self._around_closed = False
        self._cluster: int | None = None  # where the cluster's bracket was opened, if it was
        self._slipped = False
        self._last = ""  # token before, commas apart
        self._comma = True  # a host may follow
        for sign, number, at in _tokens(text):
            if sign == ",":
                if self._comma:
                    raise self._fault(at, "a comma with nothing before it")
                self._comma = True
                continue
            if sign in "{[(":
                self._opens(sign, at)
            elif sign in _CLOSES:
                self._closes(sign, at)
            else:
                self._host(sign, number, at)
            self._last = sign

    def _fault(self, at: int, what: str) -> InputError:
        return InputError(f"deployment {self._text!r}: position {at + 1}: {what}")

    def _opens(self, bracket: str, at: int) -> None:
        if bracket == "{" and "{" in self._open:
            self._opens_region_again(at)
        elif bracket in self._open:
            raise self._fault(
                at, f"a second {bracket!r} before the one at position {self._open[bracket] + 1} is closed"
            )
        elif bracket == "{" and "[" in self._open:
            raise self._fault(at, "a region begins within a zone")
        if bracket == "(":
            if self._cluster is not None:
                raise self._fault(at, "a second cluster; there can be one")
            self._cluster = at
        self._open[bracket] = at

    def _opens_region_again(self, at: int) -> None:
        """Two slips that the paper makes, and a region within another."""
        before = self._open.pop("{")
        if not self._holds(before):
            if self._around is not None:
                raise self._fault(at, "a third '{' without anything before it")
            self._around = before
        elif self._last == ")" and self._cluster is not None:
            self._slipped = True
            self._open["("] = self._cluster
        else:
            raise self._fault(at, f"a region begins before the one at position {before + 1} is closed")

    def _holds(self, region: int) -> bool:
        return any(host.region == region for host in self._placed)

    def _closes(self, bracket: str, at: int) -> None:
        opening = _CLOSES[bracket]
        if bracket == "}" and "[" in self._open:
            raise self._fault(at, f"the zone at position {self._open['['] + 1} is not closed before its region")
        if opening in self._open:
            began = self._open.pop(opening)
            held = {"{": "region", "[": "zone"}.get(opening)
            if held and not any(getattr(host, held) == began for host in self._placed):
                raise self._fault(at, f"an empty {held}")
        elif bracket == "}" and self._around is not None and not self._around_closed:
            self._around_closed = True
        else:
            raise self._fault(at, f"a {bracket!r} that closes nothing")
        self._comma = False

    def _host(self, letter: str, number: str, at: int) -> None:
        if not self._comma:
            raise self._fault(at, "a comma is missing before it")
        self._comma = False
        if letter == CLIENT:
            name = CLIENT
            if number:
                raise self._fault(at, "the client has no number; there can be one")
            if "(" in self._open:
                raise self._fault(at, "the client stands within the cluster's round brackets")
        else:
            letters = {host.name[0] for host in self._placed} - {CLIENT}
            if letters - {letter}:
                raise self._fault(
                    at, f"{letter} next to {letters.pop()}: write all nodes as N, or as R if each holds all rows"
                )
            name = f"{letter}{int(number) if number else 1 + sum(host.name != CLIENT for host in self._placed)}"
        if any(host.name == name for host in self._placed):
            raise self._fault(at, "a second client; there can be one" if name == CLIENT else f"{name} stands twice")
        self._placed.append(_Placed(name, at, self._open.get("{"), self._open.get("["), "(" in self._open))

    def deployment(self) -> Deployment:
        """What was read."""
        for bracket, at in self._open.items():
            raise self._fault(at, f"the {bracket!r} is never closed")
        if self._comma and self._placed:
            raise self._fault(len(self._text.rstrip()) - 1, "a comma with nothing behind it")
        nodes = [host for host in self._placed if host.name != CLIENT]
        if len(nodes) == len(self._placed):
            raise self._fault(0, "there is no client, C")
        if not nodes:
            raise self._fault(0, "there is no node, R1 or N1")
        if self._cluster is None:
            raise self._fault(0, "there are no round brackets to hold the cluster")
        tolerant = self._slipped or self._around is not None
        for host in nodes:
            if not host.in_cluster and not tolerant:
                raise self._fault(host.at, f"{host.name} stands outside the cluster's round brackets")
        return _normal(self._placed)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Tokens with the host's number and the position."""
    for match in _TOKEN.finditer(text):
        if match["other"]:
            raise InputError(
                f"deployment {text!r}: position {match.start() + 1}: {match['other']!r} is none of C, N, R, a number "
                "behind N or R, a comma, brackets and a range such as R1..R6"
            )
        if match["range"]:
            yield from _range(text, match)
        elif not match["blank"]:
            yield match["bracket"] or match["host"], match["number"] or "", match.start()


def _range(text: str, match: re.Match[str]) -> Iterator[tuple[str, str, int]]:
    """Hosts of `R1..R6`, with commas between them."""
    host, first, last = match["host"], match["number"], match["last"]
    if host == CLIENT or not first or not last or match["letter"] not in ("", host):
        wrong = f"{match[0]!r} is no range; write both ends with the same letter and their numbers, R1..R6"
    elif not 0 <= int(last) - int(first) < _MOST_IN_RANGE:
        wrong = f"{match[0]!r} is no range; it goes upwards, over {_MOST_IN_RANGE} nodes at most"
    else:
        for number in range(int(first), int(last) + 1):
            if number > int(first):
                yield ",", "", match.start()
            yield host, str(number), match.start()
        return
    raise InputError(f"deployment {text!r}: position {match.start() + 1}: {wrong}")


def _normal(placed: Sequence[_Placed]) -> Deployment:
    """Number regions and zones: the client's first, then by the least number of a node in them."""
    ordered = sorted(placed, key=lambda host: (host.name != CLIENT, _number(host.name)))
    curly = any(host.region is not None for host in placed)
    square = {host.region for host in placed if host.zone is not None}
    regions: dict[object, int] = {}
    zones: dict[object, dict[object, int]] = {}
    hosts = []
    for host in ordered:
        region_key = host.region if host.region is not None else (host.name if curly else None)
        region = regions.setdefault(region_key, len(regions))
        zone_key = host.zone if host.zone is not None else (host.name if host.region in square else None)
        within = zones.setdefault(region_key, {})
        hosts.append(Host(region, within.setdefault(zone_key, len(within)), host.name))
    return Deployment(hosts[0], tuple(hosts[1:]))


def _number(name: str) -> int:
    return int(name[1:]) if name != CLIENT else 0


def _written(deployment: Deployment) -> str:
    """The cluster's brackets open as early as its first node allows, and close behind what they opened before."""
    hosts = sorted(deployment.hosts, key=lambda host: (host.region, host.zone, _number(host.name)))
    nodes = [host for host in hosts if host.name != CLIENT]
    text = ""
    for place, host in enumerate(hosts):
        region = [other for other in hosts if other.region == host.region]
        zone = [other for other in region if other.zone == host.zone]
        starts, ends = (host is region[0], host is zone[0]), (host is region[-1], host is zone[-1])
        curly, square = len(hosts) > 1, len(region) > 1
        before = ("{" if starts[0] and curly else "", "[" if starts[1] and square else "")
        after = ("]" if ends[1] and square else "", "}" if ends[0] and curly else "")
        opens, closes = "(" if host is nodes[0] else "", ")" if host is nodes[-1] else ""
        # A bracket that the client shares is open already when the cluster's opens, and so closes after it, unless the
        # cluster goes on in other regions.
        alone = [not any(other.name == CLIENT for other in group) for group in (region, zone)]
        inner = before[0] + opens + before[1] if before[0] and not alone[0] else opens + before[0] + before[1]
        text += (", " if place else "") + inner + host.name
        if deployment.regions == 1 and not alone[1]:
            text += closes + after[0] + after[1]
        elif deployment.regions == 1:
            text += after[0] + closes + after[1]
        else:
            text += after[0] + after[1] + closes
    return text
