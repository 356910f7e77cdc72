"""How many dead replicas settings survive, in words."""

from __future__ import annotations

from cassbook.core.words import plural


def survival(reads: int, writes: int) -> str:
    """Say how many dead replicas reads and writes survive.

    >>> survival(1, 1)
    'reads and writes survive 1 dead replica'
    >>> survival(2, 0)
    'reads survive 2 dead replicas, writes none'
    >>> survival(0, 2)
    'reads survive no dead replica, writes 2'
    """
    if reads == writes:
        return f"reads and writes survive {dead_replicas(reads)}"
    return f"reads survive {dead_replicas(reads)}, writes {writes or 'none'}"


def dead_replicas(replicas: int) -> str:
    """Say how many: 'no dead replica', '1 dead replica', '2 dead replicas'."""
    return f"{replicas or 'no'} dead {plural('replica', max(replicas, 1))}"


def stops(reads: int, writes: int, survive: int) -> str:
    """Say what a setting stops doing while `survive` replicas are down; '' where it goes on.

    >>> stops(2, 0, 1)
    'stops writing with one replica down'
    >>> stops(0, 0, 1)
    'stops with one replica down'
    >>> stops(1, 0, 2)
    'stops reading with 2 replicas down and writing with one'
    """
    down = {"reading": reads + 1, "writing": writes + 1}
    stopped = {what: "one" if count == 1 else str(count) for what, count in down.items() if count <= survive}
    if not stopped:
        return ""
    (first, count), *others = stopped.items()
    replicas = f"{count} replica{'' if count == 'one' else 's'} down"
    if not others:
        return f"stops {first} with {replicas}"
    second, other = others[0]
    return f"stops with {replicas}" if other == count else f"stops {first} with {replicas} and {second} with {other}"
