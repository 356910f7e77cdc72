"""How likely enough replicas are up for a level: k of n, each node by itself, or whole data centres with it.

Replicas fail independently with known availabilities, up time / (up time + repair time). A level that waits for k of n
replicas is available while at least k are up: the tail of a Poisson binomial distribution. Data centres may fail as a
whole too, all nodes of one at once. What the model leaves out: the seconds until a dead node is noticed, in which
requests that would have gone to it time out, and nodes that are slow and not dead. How many replicas of a row may be
dead while requests at a level go on is counted apart (`survives`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from cassbook.core.consistency import replicas_waited_for
from cassbook.core.errors import InputError
from cassbook.deployment.model import Model
from cassbook.deployment.replication import replica_sets


def of_node(up_s: float, repair_s: float) -> float:
    """Return the availability of a node: the part of time that it is up.

    Parameters
    ----------
    up_s : float
        Mean time between failures (from being back to the next failure).
    repair_s : float
        Mean time until it is back.

    Raises
    ------
    InputError
        If one is negative, or the first is 0.

    >>> of_node(30 * 86400, 3600).__round__(5)
    0.99861
    """
    if not (up_s > 0 <= repair_s):
        raise InputError(f"availability: up for {up_s:g} s and repaired in {repair_s:g} s; the first must be above 0")
    return up_s / (up_s + repair_s)


def at_least(k: int, up: Sequence[float]) -> float:
    """Return the probability that at least k of independent nodes are up.

    Parameters
    ----------
    k : int
    up : sequence of float
        Availability of each node.

    Raises
    ------
    InputError
        If one is not a probability.

    >>> at_least(2, [0.9, 0.9, 0.9]).__round__(6)
    0.972
    """
    if wrong := [a for a in up if not 0 <= a <= 1]:
        raise InputError(f"availability: {wrong[0]!r} is no probability")
    number = np.array([1.0])  # probability of so many nodes up, for 0, 1, 2, ...
    for a in up:
        number = np.convolve(number, [1 - a, a])
    return float(number[max(k, 0) :].sum()) if k <= len(up) else 0.0


def of_level(
    level: str, centres: Mapping[str, Sequence[float]], local: str | None = None,
    centre_up: Mapping[str, float] | None = None,
) -> float:  # fmt: skip
    """Return the availability of requests at a level.

    Parameters
    ----------
    level : str
    centres : mapping of str to sequence of float
        By data centre the availability of each replica of a row in it, while the centre is up.
    local : str, optional
        Data centre of the coordinator, for levels that are local to it; it is taken to be reachable only while it is
        up. Default: the first.
    centre_up : mapping of str to float, optional
        Availability of each whole data centre. Default: they do not fail as a whole.

    Raises
    ------
    InputError
        For a data centre that there is not, or what is no probability.

    >>> round(of_level("QUORUM", {"eu": [0.99] * 3}), 6), round(of_level("ALL", {"eu": [0.99] * 3}), 6)
    (0.999702, 0.970299)
    """
    home = local or next(iter(centres))
    whole = dict.fromkeys(centres, 1.0) | dict(centre_up or {})
    if strange := sorted({home, *whole} - set(centres)):
        raise InputError(f"availability: there is no data centre {strange[0]!r}; there are {', '.join(centres)}")
    total = 0.0
    for states in product((True, False), repeat=len(centres)):
        state = dict(zip(centres, states, strict=True))
        chance = float(np.prod([whole[name] if is_up else 1 - whole[name] for name, is_up in state.items()]))
        if chance:
            up = {name: [a if state[name] else 0.0 for a in nodes] for name, nodes in centres.items()}
            total += chance * _of_level(level, up, home)
    return total


def _of_level(level: str, up: Mapping[str, Sequence[float]], local: str) -> float:
    """Availability of a level where data centres do not fail as a whole."""
    if level.startswith("LOCAL_"):
        plain = level.removeprefix("LOCAL_")
        return at_least(replicas_waited_for(plain, len(up[local])), up[local])
    if level == "EACH_QUORUM":
        return float(np.prod([at_least(replicas_waited_for("QUORUM", len(nodes)), nodes) for nodes in up.values()]))
    everywhere = [a for nodes in up.values() for a in nodes]
    return at_least(replicas_waited_for(level, len(everywhere)), everywhere)


def survives(model: Model) -> int:
    """Return how many dead replicas every row survives at the model's level: its replicas but those waited for.

    For LOCAL_ONE and LOCAL_QUORUM they are dead replicas in the coordinator's data centre, where those of the others do
    not count; for EACH_QUORUM in any one data centre. SimpleStrategy knows no data centres: there EACH_QUORUM is
    QUORUM, and LOCAL_QUORUM wants more than half of all replicas in the coordinator's. Less than 0 where some rows have
    too few replicas for that to begin with.
    """
    sets = [replicas for replicas, _ in replica_sets(model.placement, model.replication)]
    return min(_of_row(model, replicas) for replicas in sets)


def _of_row(model: Model, replicas: Sequence[str]) -> int:
    nodes = model.placement.deployment.replicas
    by_centre = isinstance(model.replication, Mapping) or model.replication == len(nodes)
    centre = {host.name: model.placement.centre(host) for host in nodes}
    counts = Counter(centre[name] for name in replicas)
    if model.level.startswith("LOCAL_"):
        plain = model.level.removeprefix("LOCAL_")
        coordinators = {centre[way.coordinator] for way in model.ways()}
        return min(
            counts[name] - replicas_waited_for(plain, counts[name] if by_centre else len(replicas))
            for name in coordinators
        )
    if model.level == "EACH_QUORUM" and by_centre:
        return min(count - replicas_waited_for("QUORUM", count) for count in counts.values())
    return len(replicas) - replicas_waited_for(model.level, len(replicas))
