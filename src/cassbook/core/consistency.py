"""Consistency levels, the replicas each waits for, and the settings that are strong (Gorbenko 2020, eq. 1)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from cassbook.core.errors import InputError

#: Protocol code of each level, by the native protocol's specification, section 3 ([consistency]).
LEVEL_CODES = {
    "ANY": 0x0000,
    "ONE": 0x0001,
    "TWO": 0x0002,
    "THREE": 0x0003,
    "QUORUM": 0x0004,
    "ALL": 0x0005,
    "LOCAL_QUORUM": 0x0006,
    "EACH_QUORUM": 0x0007,
    "SERIAL": 0x0008,
    "LOCAL_SERIAL": 0x0009,
    "LOCAL_ONE": 0x000A,
}
#: The levels that the studies compare, weakest first.
LEVELS = ("ONE", "QUORUM", "ALL")
#: A read may not wait for ANY; a plain write cannot be SERIAL (that is the other half of a lightweight transaction).
READ_LEVELS = tuple(level for level in LEVEL_CODES if level not in {"ANY", "EACH_QUORUM"})
WRITE_LEVELS = tuple(level for level in LEVEL_CODES if level not in {"SERIAL", "LOCAL_SERIAL"})


def check_level(level: str, operation: str, where: str = "consistency level") -> str:
    """Return `level` if Cassandra accepts it for `operation` ('read' or 'write').

    Raises
    ------
    InputError
        Naming the level, where it stood and those that are allowed.
    """
    allowed = READ_LEVELS if operation == "read" else WRITE_LEVELS
    if level not in allowed:
        raise InputError(f"{where}: {level!r} is not a {operation} consistency level; use one of {', '.join(allowed)}")
    return level


def replicas_waited_for(level: str, replication_factor: int) -> int:
    """How many replicas must answer at `level` in one data centre.

    >>> [replicas_waited_for(level, 3) for level in ("ONE", "QUORUM", "ALL")]
    [1, 2, 3]
    """
    fixed = {"ANY": 0, "ONE": 1, "LOCAL_ONE": 1, "TWO": 2, "THREE": 3, "ALL": replication_factor}
    return fixed.get(level, replication_factor // 2 + 1)


def level_waiting_for(replicas: int, replication_factor: int) -> str:
    """Name the level that waits for just so many replicas in one data centre.

    Raises
    ------
    InputError
        Where no level does.

    >>> [level_waiting_for(replicas, 3) for replicas in (1, 2, 3)]
    ['ONE', 'QUORUM', 'ALL']
    """
    for level in ("ALL", "QUORUM", "ONE", "TWO", "THREE"):
        if replicas_waited_for(level, replication_factor) == replicas:
            return level
    raise InputError(f"no consistency level waits for {replicas} of {replication_factor} replicas")


def setting_waiting_for(r: int, w: int) -> str:
    """Name a setting by the replicas that reads and writes wait for, as the papers do.

    >>> setting_waiting_for(1, 3)
    '1R-3W'
    """
    return f"{r}R-{w}W"


def check_replicas(r: int, w: int, n: int) -> None:
    """Check how many of n replicas reads and writes wait for.

    Raises
    ------
    InputError
        Naming the one that is none of 1 to n.
    """
    for name, value in (("r", r), ("w", w)):
        if not 1 <= value <= n:
            raise InputError(f"{name}: {value} of {n} replicas; use 1 to {n}")


def levels(n: int) -> dict[int, str]:
    """Levels by how many of n replicas they wait for; for four of five there is none.

    >>> levels(5)
    {1: 'ONE', 2: 'TWO', 3: 'QUORUM', 5: 'ALL'}
    """
    by_replicas = {}
    for replicas in range(1, n + 1):
        with suppress(InputError):
            by_replicas[replicas] = level_waiting_for(replicas, n)
    return by_replicas


@dataclass(frozen=True, slots=True)
class Setting:
    """A pair of levels, named as the papers name it: 1R-3W reads one replica and writes three."""

    name: str
    read_cl: str
    write_cl: str

    def waits(self, replication_factor: int) -> tuple[int, int]:
        """How many replicas its reads and its writes wait for.

        >>> Setting("1R-3W", "ONE", "ALL").waits(3)
        (1, 3)
        """
        reads, writes = (replicas_waited_for(level, replication_factor) for level in (self.read_cl, self.write_cl))
        return reads, writes


#: The three settings the 2020 paper compares (section V); all strong at replication factor 3.
STRONG_SETTINGS = (
    Setting("1R-3W", "ONE", "ALL"),
    Setting("2R-2W", "QUORUM", "QUORUM"),
    Setting("3R-1W", "ALL", "ONE"),
)
#: The other three that are strong there. The paper leaves them out, for they wait for more replicas than they need.
WIDER_SETTINGS = (
    Setting("2R-3W", "QUORUM", "ALL"),
    Setting("3R-2W", "ALL", "QUORUM"),
    Setting("3R-3W", "ALL", "ALL"),
)


def setting(name: str) -> Setting:
    """Find a pair of levels: a strong setting by its name (1R-3W), or any pair as 'QUORUM/ONE', read before write.

    Raises
    ------
    InputError
        With what would be right.
    """
    for candidate in (*STRONG_SETTINGS, *WIDER_SETTINGS):
        if candidate.name == name:
            return candidate
    read_cl, slash, write_cl = name.partition("/")
    if slash:
        return Setting(name, check_level(read_cl, "read", name), check_level(write_cl, "write", name))
    names = ", ".join(s.name for s in (*STRONG_SETTINGS, *WIDER_SETTINGS))
    raise InputError(f"setting: {name!r} is unknown; use one of {names}, or a pair of levels such as QUORUM/ONE")
