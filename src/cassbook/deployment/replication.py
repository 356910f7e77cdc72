"""Which nodes hold a row: by the order of the ring alone, or so many in each data centre.

A *number* is Cassandra's SimpleStrategy: a row is on so many nodes that follow one another in the ring, whatever data
centre they are in. The ring's order is that of the names, one token each, evenly spaced.

A *number for each data centre* is its NetworkTopologyStrategy. In each centre a row is on the nodes that follow its
token there, those in a rack (a zone) that has none of its replicas first; as many as there are racks too few may be in
a rack that has one already (`calculateNaturalReplicas` in NetworkTopologyStrategy.java). Each centre's tokens are taken
to be evenly spaced, zones taking turns, as Cassandra's documentation advises and many virtual nodes bring about.

Where every node of a centre holds every row, both come to the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise, zip_longest

from cassbook.core.errors import InputError
from cassbook.core.words import counted
from cassbook.deployment.distances import Placement
from cassbook.deployment.notation import Host

#: Replicas of a row, or of a row in each data centre, by name.
Replication = int | Mapping[str, int]


def check(placement: Placement, replication: Replication) -> None:
    """Check that the replicas fit on the nodes.

    Raises InputError, naming the data centre and its nodes.
    """
    nodes = placement.deployment.replicas
    if not isinstance(replication, Mapping):
        if not 1 <= replication <= len(nodes):
            raise InputError(
                f"replication: {replication} replicas do not fit on "
                f"{counted(len(nodes), 'node')}; use {f'1 to {len(nodes)}' if len(nodes) > 1 else 1}"
            )
        return
    known = placement.data_centres()
    for name, count in replication.items():
        if name not in known:
            raise InputError(f"replication: there is no data centre {name!r}; there are {_described(placement)}")
        if not 0 <= count <= len(known[name]):
            raise InputError(
                f"replication: {name}={count}; {name} has {counted(len(known[name]), 'node')} ({names(known[name])}), "
                f"so use 0 to {len(known[name])}"
            )
    if not sum(replication.values()):
        raise InputError("replication: no data centre holds a replica; give one at least")


def read(text: str, placement: Placement) -> tuple[Placement, Replication]:
    """Read what `--replication` says: `3`, or `eu=3,us=3`.

    Data centres go by the names of their regions, or by dc1, dc2, ... in the order in which the deployment names their
    nodes. Names of which none is known are given to the data centres in that order, if there are as many.

    Returns
    -------
    placement : Placement
        Whose data centres have these names.
    replication : int or mapping of str to int

    Raises
    ------
    InputError
        For anything else, saying what would be right.
    """
    if re.fullmatch(r"\s*\d+\s*", text):
        return placement, int(text)
    own = list(placement.data_centres())
    counts: dict[str, int] = {}
    for part in text.split(","):
        found = re.fullmatch(r"\s*([^\s=,]+)\s*=\s*(\d+)\s*", part)
        if not found:
            example = ",".join(f"{name}=3" for name in own)
            raise InputError(
                f"replication: {part.strip()!r} is neither a number (3) nor a number for a data centre ({example})"
            )
        if found[1] in counts:
            raise InputError(f"replication: {found[1]} stands twice in {text!r}")
        counts[found[1]] = int(found[2])
    aliases = {f"dc{place}": name for place, name in enumerate(own, start=1)} | {name: name for name in own}
    unknown = [name for name in counts if name not in aliases]
    if not unknown:
        renamed = {aliases[name]: name for name in counts}
        if len(renamed) < len(counts):
            raise InputError(
                f"replication: one data centre has two names in {text!r}; there are {_described(placement)}"
            )
    elif len(unknown) == len(counts) == len(own):
        renamed = dict(zip(own, counts, strict=True))
    else:
        raise InputError(
            f"replication: there is no data centre {unknown[0]!r}; there are {_described(placement)}; "
            "names of your own go to all of them, in this order"
        )
    titles = placement.centres or placement.regions
    return replace(placement, centres=tuple(renamed.get(title, title) for title in titles)), counts


def replica_sets(placement: Placement, replication: Replication) -> list[tuple[tuple[str, ...], int]]:
    """Names of the nodes that hold a row, for all rows.

    Parameters
    ----------
    placement : Placement
    replication : int or mapping of str to int

    Returns
    -------
    list of (tuple of str, int)
        Nodes, and how often they are the ones, in parts of the sum.

    Raises
    ------
    InputError
        As `check`.
    """
    check(placement, replication)
    nodes = [host.name for host in placement.deployment.replicas]
    if not isinstance(replication, Mapping):
        turns = len(nodes) if replication < len(nodes) else 1
        return [(tuple(nodes[(start + k) % len(nodes)] for k in range(replication)), 1) for start in range(turns)]
    rings = [
        (_ring(hosts), replication.get(name, 0)) for name, hosts in placement.data_centres().items()
    ]  # fmt: skip
    rings = [(ring, count) for ring, count in rings if count]
    whole = math.lcm(*(len(ring) for ring, count in rings if count < len(ring)))
    edges = {place * whole // len(ring) for ring, count in rings if count < len(ring) for place in range(len(ring))}
    sets = []
    for begin, end in pairwise(sorted(edges | {0, whole})):
        held = (centre_replicas(ring, begin * len(ring) // whole, count) for ring, count in rings)
        sets.append((tuple(chain.from_iterable(held)), end - begin))
    return sets


def centre_replicas(ring: Sequence[Host], start: int, count: int) -> list[str]:
    """Names of the nodes of one data centre that hold a row whose token comes before the `start`-th of its ring."""
    zones: set[int] = set()
    may_repeat = count - len({host.zone for host in ring})
    found: list[str] = []
    for place in range(len(ring)):
        host = ring[(start + place) % len(ring)]
        if host.zone in zones:
            if may_repeat <= 0:
                continue
            may_repeat -= 1
        zones.add(host.zone)
        found.append(host.name)
        if len(found) == count:
            break
    return found


def _ring(hosts: Sequence[Host]) -> list[Host]:
    """Nodes of a data centre in the order of their tokens: zones take turns."""
    zones: dict[int, list[Host]] = {}
    for host in hosts:
        zones.setdefault(host.zone, []).append(host)
    return [host for turn in zip_longest(*zones.values()) for host in turn if host is not None]


def names(hosts: Sequence[Host]) -> str:
    """Return names of nodes in short: 'R1 to R6', 'R1, R3'."""
    numbers = [int(host.name[1:]) for host in hosts]
    if len(hosts) > 2 and numbers == list(range(numbers[0], numbers[0] + len(hosts))):  # noqa: PLR2004 - three or more
        return f"{hosts[0].name} to {hosts[-1].name}"
    return ", ".join(host.name for host in hosts)


def _described(placement: Placement) -> str:
    own = placement.data_centres().items()
    return ", ".join(f"{name} (dc{place}, {names(hosts)})" for place, (name, hosts) in enumerate(own, start=1))
