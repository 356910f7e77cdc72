"""How far regions are apart: tables of round-trip times, and the links they put between the hosts of a deployment.

The default is Table 1 of the 2021 paper, whose "latency" is a round trip. Other tables are CSV files, one row per pair:

    from,to,rtt_ms,jitter_ms,mbit_per_s
    berlin,berlin,1.2,,
    berlin,sydney,285,4,200

`from` and `to` alike is what lies between two zones of a region. Instead of `rtt_ms` a row may have `there_ms` and
`back_ms`, the two ways apart. A pair that stands in one order only holds for both. A column `mbit_per_s` bounds each
connection, in both directions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pandas as pd

from cassbook import published
from cassbook.core.errors import InputError
from cassbook.deployment.link import NONE, Link
from cassbook.deployment.notation import Deployment, Host

_NEEDED = ("from", "to")
_NUMBERS = ("rtt_ms", "there_ms", "back_ms", "jitter_ms", "mbit_per_s")
#: Clients and cluster of scenario b, and how many megabits a second go up and down.
CLIENTS, CLUSTER = "eu_west_2", "ap_south_1"
_NARROW, _WIDE = 2.0, 20.0
#: Where the two ways differ in time: this much of the round trip is the way up.
_LONGER_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Distances:
    """Links between regions.

    Attributes
    ----------
    name : str
        Where they come from, for messages.
    links : mapping of (str, str) to Link
        One way, for each ordered pair of regions that is known; a region and itself: between two of its zones.
    same_zone : Link
        Between two hosts of one zone.
    """

    name: str
    links: Mapping[tuple[str, str], Link]
    same_zone: Link = NONE

    @property
    def regions(self) -> tuple[str, ...]:
        """All that are named, in the order of the table: of each row `from`, then `to`."""
        return tuple(dict.fromkeys(region for pair in self.links for region in pair))

    def between(self, sender: str, receiver: str) -> Link:
        """Link between hosts of two regions, or of two zones of one.

        Raises
        ------
        InputError
            For a region that is not in the table, or a pair without a distance.
        """
        for region in (sender, receiver):
            if region not in self.regions:
                raise InputError(f"{self.name}: there is no region {region!r}; there are {', '.join(self.regions)}")
        if (sender, receiver) not in self.links:
            what = f"no distance from {sender} to {receiver}" if sender != receiver else (
                f"no distance between two zones of {sender} (a row from {sender} to {sender})"
            )  # fmt: skip
            raise InputError(f"{self.name}: there is {what}")
        return self.links[sender, receiver]

    def scaled(self, factor: float) -> Distances:
        """All delays so many times as long; bandwidths stay."""

        def longer(link: Link) -> Link:
            return replace(link, delay_ms=link.delay_ms * factor, jitter_ms=link.jitter_ms * factor)

        links = {pair: longer(link) for pair, link in self.links.items()}
        return Distances(f"{self.name}, times {factor:g}", links, longer(self.same_zone))


@cache
def printed() -> Distances:
    """Table 1 of the 2021 paper; half of each printed round trip is one way."""
    table = published.table("g21_table1").rename(
        columns={"from_region": "from", "to_region": "to", "latency_ms": "rtt_ms"}
    )
    return from_table(table, "Table 1 of the 2021 paper")


def read(path: Path) -> Distances:
    """Read a table of distances.

    Raises
    ------
    InputError
        Naming the file, the line and the column.
    """
    try:
        table = pd.read_csv(path, comment="#", skipinitialspace=True, dtype=str)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no table of distances ({str(error).strip()})") from None
    return from_table(table, str(path))


def from_table(table: pd.DataFrame, name: str) -> Distances:
    """As `read`, from a table whose cells are text or numbers; `name` says in messages whose it is."""
    unknown = [column for column in table.columns if column not in {*_NEEDED, *_NUMBERS}]
    missing = [column for column in _NEEDED if column not in table.columns]
    if "rtt_ms" not in table.columns and not {"there_ms", "back_ms"} <= set(table.columns):
        missing.append("rtt_ms (or there_ms and back_ms)")
    if unknown or missing:
        parts = [f"column {', '.join(missing)} is missing"] * bool(missing)
        parts += [f"column {', '.join(unknown)} is unknown"] * bool(unknown)
        raise InputError(f"{name}: {'; '.join(parts)}; a table has from, to, rtt_ms and perhaps more, see `distances`")
    if table.empty:
        raise InputError(f"{name}: holds no distance")
    links: dict[tuple[str, str], Link] = {}
    backwards: dict[tuple[str, str], Link] = {}
    for place, row in enumerate(table.to_dict("records")):
        where = f"{name}, line {place + 2}"
        sender, receiver = (_text(row[column], column, where) for column in _NEEDED)
        if (sender, receiver) in links:
            raise InputError(f"{where}: {sender} to {receiver} stands twice")
        links[sender, receiver], backwards[receiver, sender] = _links(row, where)
    # What the file names first is first, so that its first region is the client's by default.
    return Distances(name, links | {pair: link for pair, link in backwards.items() if pair not in links})


def _text(value: object, column: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {column} is empty")
    return value.strip()


def _links(row: Mapping[object, object], where: str) -> tuple[Link, Link]:
    numbers = {column: _number(row.get(column), column, where) for column in _NUMBERS}
    rtt_ms, there_ms, back_ms = numbers["rtt_ms"], numbers["there_ms"], numbers["back_ms"]
    if there_ms is None and back_ms is None:
        if rtt_ms is None:
            raise InputError(f"{where}: has no round-trip time")
        there_ms = back_ms = rtt_ms / 2
    elif there_ms is None or back_ms is None:
        raise InputError(f"{where}: there_ms and back_ms go together, one is empty")
    elif rtt_ms is not None and not math.isclose(rtt_ms, there_ms + back_ms, abs_tol=0.01):
        raise InputError(
            f"{where}: rtt_ms is {rtt_ms:g}, there_ms and back_ms make {there_ms + back_ms:g}; leave one out"
        )
    jitter_ms = numbers["jitter_ms"] or 0.0
    mbit_per_s = math.inf if numbers["mbit_per_s"] is None else numbers["mbit_per_s"]
    try:
        return Link(there_ms, jitter_ms, mbit_per_s), Link(back_ms, jitter_ms, mbit_per_s)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _number(value: object, column: str, where: str) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    try:
        number = float(str(value))
    except ValueError:
        raise InputError(f"{where}: {column} is {value!r}, not a number") from None
    if not math.isfinite(number):
        raise InputError(f"{where}: {column} is {value!r}; leave it empty if there is none")
    return number


@dataclass(frozen=True, slots=True)
class Placement:
    """A deployment whose regions have names, and so distances.

    Attributes
    ----------
    deployment : Deployment
    regions : tuple of str
        Name of each region of the deployment, the client's first.
    distances : Distances
    centres : tuple of str
        What the data centre of each region is called; by default as the region.

    Raises
    ------
    InputError
        If there are more or fewer names than regions, one stands twice, or a pair of hosts has no distance.
    """

    deployment: Deployment
    regions: tuple[str, ...]
    distances: Distances
    centres: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        needed = self.deployment.regions
        if len(self.regions) != needed:
            raise InputError(
                f"regions: {self.deployment} has {needed}, {len(self.regions)} are named ({', '.join(self.regions)})"
            )
        if len(set(self.regions)) < needed:
            raise InputError(f"regions: one stands twice in {', '.join(self.regions)}; they are different places")
        self.links()

    def centre(self, host: Host) -> str:
        """Name of the data centre that a host is in: each region is one."""
        return (self.centres or self.regions)[host.region]

    def data_centres(self) -> dict[str, tuple[Host, ...]]:
        """Nodes of each data centre that has some, by name, the one of the first node first."""
        nodes: dict[str, list[Host]] = {}
        for host in self.deployment.replicas:
            nodes.setdefault(self.centre(host), []).append(host)
        return {name: tuple(hosts) for name, hosts in nodes.items()}

    def links(self) -> dict[tuple[str, str], Link]:
        """Link of each ordered pair of hosts, by name."""
        hosts = self.deployment.hosts
        return {(a.name, b.name): self._link(a, b) for a in hosts for b in hosts if a is not b}

    def rtt_ms(self) -> pd.DataFrame:
        """Round trips between hosts: index from, columns to; 0 from a host to itself."""
        names = [host.name for host in self.deployment.hosts]
        links = self.links()
        table = pd.DataFrame(0.0, pd.Index(names, name="from"), pd.Index(names, name="to"))
        for a, b in links:
            table.loc[a, b] = links[a, b].delay_ms + links[b, a].delay_ms
        return table

    def _link(self, a: Host, b: Host) -> Link:
        if (a.region, a.zone) == (b.region, b.zone):
            return self.distances.same_zone
        return self.distances.between(self.regions[a.region], self.regions[b.region])


def placed(
    deployment: Deployment, regions: Sequence[str] | None = None, distances: Distances | None = None
) -> Placement:
    """Put a deployment into regions.

    Parameters
    ----------
    deployment : Deployment
    regions : sequence of str, optional
        As `Placement.regions`. Default: the first ones of the table.
    distances : Distances, optional
        Default: the printed ones.
    """
    known = distances or printed()
    return Placement(deployment, tuple(regions or known.regions[: deployment.regions]), known)


def _ways(up_mbit_per_s: float, down_mbit_per_s: float, up_share: float = 0.5) -> Distances:
    """Distances of scenario b with different ways up (to the cluster) and down."""
    table = printed()
    rtt_ms = 2 * table.between(CLIENTS, CLUSTER).delay_ms
    zones_ms = 2 * table.between(CLUSTER, CLUSTER).delay_ms
    up_ms, down_ms = rtt_ms * up_share, rtt_ms * (1 - up_share)
    rows = [
        {"from": CLIENTS, "to": CLUSTER, "there_ms": up_ms, "back_ms": down_ms, "mbit_per_s": up_mbit_per_s},
        {"from": CLUSTER, "to": CLIENTS, "there_ms": down_ms, "back_ms": up_ms, "mbit_per_s": down_mbit_per_s},
        {"from": CLUSTER, "to": CLUSTER, "there_ms": zones_ms / 2, "back_ms": zones_ms / 2, "mbit_per_s": None},
    ]
    return from_table(
        pd.DataFrame(rows, dtype=object),
        f"up {up_ms:g} ms, {up_mbit_per_s:g} Mbit/s; down {down_ms:g} ms, {down_mbit_per_s:g} Mbit/s",
    )


def uplink_distances() -> dict[str, Distances | None]:
    """Return the compared distances by name; None for those of the scenario itself."""
    return {
        "equal": None,
        "both narrow": _ways(_NARROW, _NARROW),
        "narrow up": _ways(_NARROW, _WIDE),
        "narrow down": _ways(_WIDE, _NARROW),
        "long up": _ways(1000, 1000, _LONGER_SHARE),
        "long down": _ways(1000, 1000, 1 - _LONGER_SHARE),
    }
