"""Consistency levels, the replicas each waits for, and the settings that are strong (Gorbenko 2020, eq. 1)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from cassbook.core.errors import InputError
from cassbook.core.words import counted

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

    Raises InputError, naming the level, where it stood and those that are allowed.
    """
    allowed = READ_LEVELS if operation == "read" else WRITE_LEVELS
    if level not in allowed:
        raise InputError(f"{where}: {level!r} is not a {operation} consistency level; use one of {', '.join(allowed)}")
    return level


#: From this version on reads at EACH_QUORUM are accepted (CASSANDRA-9602); 2.1.20 answers "EACH_QUORUM
#: ConsistencyLevel is only supported for writes".
_EACH_QUORUM_READS = 3


def refuses_reads(level: str, engine: str | None) -> bool:
    """Whether a version of Cassandra refuses reads at a level; an unknown version is taken for one that does.

    >>> [refuses_reads("EACH_QUORUM", engine) for engine in ("2.1.20", "2.2.4", "3.11.4", "5.0.9", None)]
    [True, True, False, False, True]
    >>> refuses_reads("ANY", "5.0.9"), refuses_reads("QUORUM", "2.1.20")
    (True, False)
    """
    if level == "EACH_QUORUM":
        major = (engine or "").partition(".")[0]
        return not (major.isdecimal() and int(major) >= _EACH_QUORUM_READS)
    return level not in READ_LEVELS


def replicas_waited_for(level: str, replication_factor: int) -> int:
    """How many replicas must answer at `level` in one data centre.

    >>> [replicas_waited_for(level, 3) for level in ("ONE", "QUORUM", "ALL")]
    [1, 2, 3]
    """
    fixed = {"ANY": 0, "ONE": 1, "LOCAL_ONE": 1, "TWO": 2, "THREE": 3, "ALL": replication_factor}
    return fixed.get(level, replication_factor // 2 + 1)


def level_waiting_for(replicas: int, replication_factor: int) -> str:
    """Name the level that waits for just so many replicas in one data centre.

    Raises InputError where no level does.

    >>> [level_waiting_for(replicas, 3) for replicas in (1, 2, 3)], level_waiting_for(1, 1)
    (['ONE', 'QUORUM', 'ALL'], 'ONE')
    """
    for level in ("ONE", "ALL", "QUORUM", "TWO", "THREE"):  # of one replica all of them wait for one
        if replicas_waited_for(level, replication_factor) == replicas:
            return level
    raise InputError(f"no consistency level waits for {replicas} of {counted(replication_factor, 'replica')}")


def level_of_at_least(replicas: int, replication_factor: int) -> str:
    """Name the weakest level that waits for no fewer than so many replicas in one data centre.

    >>> [level_of_at_least(replicas, 5) for replicas in (1, 2, 3, 4, 5)]
    ['ONE', 'TWO', 'QUORUM', 'ALL', 'ALL']
    """
    known = levels(replication_factor)
    return known[min(waited for waited in known if waited >= replicas)]


def setting_waiting_for(r: int, w: int) -> str:
    """Name a setting by the replicas that reads and writes wait for, as the papers do.

    >>> setting_waiting_for(1, 3)
    '1R-3W'
    """
    return f"{r}R-{w}W"


def check_replicas(r: int, w: int, n: int) -> None:
    """Check how many of n replicas reads and writes wait for.

    Raises InputError, naming the one that is none of 1 to n.
    """
    for name, value in (("r", r), ("w", w)):
        if not 1 <= value <= n:
            raise InputError(f"{name}: {value} of {counted(n, 'replica')}; use {f'1 to {n}' if n > 1 else '1'}")


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
class Replicas:
    """How many replicas of each row there are in each data centre, that of the clients first."""

    by_centre: tuple[int, ...]

    @property
    def total(self) -> int:
        """In all data centres."""
        return sum(self.by_centre)

    def needed(self, level: str) -> tuple[tuple[int, ...], int]:
        """Return how many replicas have to answer in each data centre, and how many more anywhere.

        >>> Replicas((3, 3)).needed("LOCAL_QUORUM"), Replicas((3, 3)).needed("QUORUM")
        (((2, 0), 0), ((0, 0), 4))
        """
        if level == "EACH_QUORUM":
            return tuple(replicas_waited_for("QUORUM", count) for count in self.by_centre), 0
        elsewhere = (0,) * (len(self.by_centre) - 1)
        if level.startswith("LOCAL_"):
            return (replicas_waited_for(level.removeprefix("LOCAL_"), self.by_centre[0]), *elsewhere), 0
        return (0, *elsewhere), replicas_waited_for(level, self.total)

    def survived(self, level: str) -> int:
        """How many dead replicas requests at a level survive, wherever those are counted that it waits for.

        At LOCAL_* they are dead replicas of the clients' own data centre, at EACH_QUORUM of any one.

        >>> [Replicas((3, 3)).survived(level) for level in ("LOCAL_QUORUM", "EACH_QUORUM", "QUORUM", "ONE")]
        [1, 1, 2, 5]
        """
        each, anywhere = self.needed(level)
        if anywhere or not any(each):
            return self.total - anywhere
        return min(count - needed for count, needed in zip(self.by_centre, each, strict=True) if needed)

    def overlap(self, read_cl: str, write_cl: str) -> bool:
        """Whether any replicas that a read at one level asks have one of those that acknowledged a write at the other.

        Clients are in the first data centre. With one data centre this is R + W > N (Gorbenko 2020, eq. 1).

        >>> here_and_there = Replicas((3, 3))
        >>> here_and_there.overlap("LOCAL_QUORUM", "LOCAL_QUORUM"), here_and_there.overlap("LOCAL_QUORUM", "QUORUM")
        (True, False)
        """
        (of_read, reads), (of_write, writes) = self.needed(read_cl), self.needed(write_cl)
        spare = [count - r - w for count, r, w in zip(self.by_centre, of_read, of_write, strict=True)]
        return min(spare) < 0 or sum(spare) < reads + writes


def replicas_of(replicas: int | Replicas) -> Replicas:
    """Return a replication factor as that of one data centre."""
    return replicas if isinstance(replicas, Replicas) else Replicas((replicas,))


@dataclass(frozen=True, slots=True)
class Setting:
    """A pair of levels, named as the papers name it: 1R-3W reads one replica and writes three."""

    name: str
    read_cl: str
    write_cl: str

    @property
    def levels(self) -> str:
        """Its levels as people say them.

        >>> Setting("2R-2W", "QUORUM", "QUORUM").levels
        'QUORUM/QUORUM'
        """
        return f"{self.read_cl}/{self.write_cl}"

    def waits(self, replication_factor: int) -> tuple[int, int]:
        """How many replicas its reads and its writes wait for.

        >>> Setting("1R-3W", "ONE", "ALL").waits(3)
        (1, 3)
        """
        reads, writes = (replicas_waited_for(level, replication_factor) for level in (self.read_cl, self.write_cl))
        return reads, writes

    def survives(self, replicas: int | Replicas) -> tuple[int, int]:
        """How many dead replicas its reads and its writes survive: all but those they wait for.

        Both together survive the smaller number.

        >>> Setting("1R-3W", "ONE", "ALL").survives(3)
        (2, 0)
        """
        known = replicas_of(replicas)
        return known.survived(self.read_cl), known.survived(self.write_cl)

    def strong(self, replicas: int | Replicas) -> bool:
        """Whether each read asks a replica that acknowledged the latest write.

        >>> Setting("1R-3W", "ONE", "ALL").strong(3), Setting("ONE/QUORUM", "ONE", "QUORUM").strong(3)
        (True, False)
        """
        return replicas_of(replicas).overlap(self.read_cl, self.write_cl)


def strong_pairs(n: int) -> list[tuple[int, int]]:
    """Pairs of (reads, writes) that are just strong with n replicas: with one less of either, a read can miss a write.

    >>> strong_pairs(3)
    [(1, 3), (2, 2), (3, 1)]
    """
    return [(reads, n + 1 - reads) for reads in range(1, n + 1)]


def strong_settings(n: int = 3) -> tuple[Setting, ...]:
    """Return the settings that are just strong with n replicas, as far as Cassandra has levels for them.

    >>> [pair.name for pair in strong_settings(5)]
    ['1R-5W', '3R-3W', '5R-1W']
    """
    return _expressed(n, strong_pairs(n))


def wider_settings(n: int = 3) -> tuple[Setting, ...]:
    """Return the settings that are strong and wait for more replicas than that takes.

    >>> [pair.name for pair in wider_settings(3)]
    ['2R-3W', '3R-2W', '3R-3W']
    """
    pairs = [(reads, writes) for reads in range(1, n + 1) for writes in range(1, n + 1) if reads + writes > n + 1]
    return _expressed(n, sorted(pairs, key=lambda pair: (sum(pair), pair)))


def _expressed(n: int, pairs: list[tuple[int, int]]) -> tuple[Setting, ...]:
    known = levels(n)
    return tuple(
        Setting(setting_waiting_for(reads, writes), known[reads], known[writes])
        for reads, writes in pairs
        if reads in known and writes in known
    )


def without_levels(n: int) -> list[str]:
    """Names of the settings that are just strong with n replicas, and that no pair of levels gives.

    Cassandra has levels for one, two and three replicas, for more than half of them, and for all. Four of five is none
    of these, so of the settings of five replicas that survive a dead one only QUORUM/QUORUM can be asked for. Four
    replicas have a level for each number.

    >>> without_levels(5), without_levels(4)
    (['2R-4W', '4R-2W'], [])
    """
    known = levels(n)
    return [setting_waiting_for(r, w) for r, w in strong_pairs(n) if r not in known or w not in known]


#: The three settings the 2020 paper compares (section V); all strong at replication factor 3.
STRONG_SETTINGS = strong_settings(3)
#: The other three that are strong there. The paper leaves them out, for they wait for more replicas than they need.
WIDER_SETTINGS = wider_settings(3)


def setting(name: str, n: int = 3) -> Setting:
    """Find a pair of levels: a strong setting by its name (1R-3W), or any pair as 'QUORUM/ONE', read before write.

    `n`: replicas. The same name is another pair of levels where there are more of them.

    Raises InputError with what would be right.

    >>> setting("3R-3W"), setting("3R-3W", 5)  # doctest: +NORMALIZE_WHITESPACE
    (Setting(name='3R-3W', read_cl='ALL', write_cl='ALL'),
     Setting(name='3R-3W', read_cl='QUORUM', write_cl='QUORUM'))
    """
    known = (*strong_settings(n), *wider_settings(n))
    for candidate in known:
        if candidate.name == name:
            return candidate
    read_cl, slash, write_cl = name.partition("/")
    if slash:
        return Setting(name, check_level(read_cl, "read", name), check_level(write_cl, "write", name))
    of = "" if n == 3 else f" with {counted(n, 'replica')}"  # noqa: PLR2004 - the papers' number
    wrong = (
        f"has no levels that wait for so many of {counted(n, 'replica')}"
        if name in without_levels(n)
        else f"is unknown{of}"
    )
    names = ", ".join(s.name for s in known)
    raise InputError(f"setting: {name!r} {wrong}; use one of {names}, or a pair of levels such as QUORUM/ONE")
