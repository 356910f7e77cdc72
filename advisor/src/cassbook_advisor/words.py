"""Numbers with their nouns, and what settings do with dead replicas."""

from __future__ import annotations


def counted(number: float, noun: str) -> str:
    """Return a number with its noun, singular for one and plural for all others.

    >>> counted(1, "node"), counted(3, "node")
    ('1 node', '3 nodes')
    """
    return f"{number:g} {noun if number == 1 else f'{noun}s'}"


def dead_replicas(replicas: int) -> str:
    """Say how many: 'no dead replica', '1 dead replica', '2 dead replicas'."""
    return f"{replicas or 'no'} dead replica{'' if replicas <= 1 else 's'}"


def stops(reads: int, writes: int, survive: int) -> str:
    """Say what a setting whose reads and writes survive so many stops doing while `survive` replicas are down.

    >>> stops(2, 0, 1), stops(0, 0, 1), stops(1, 1, 1)
    ('stops writing with one replica down', 'stops with one replica down', '')
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
