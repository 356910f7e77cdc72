"""Consistency levels by the number of replicas that they wait for, and settings: pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cassbook_advisor.errors import InputError
from cassbook_advisor.words import counted

#: Levels by how many replicas they wait for, whatever the replication factor; QUORUM and ALL follow from it.
_FIXED = {"ONE": 1, "LOCAL_ONE": 1, "TWO": 2, "THREE": 3}
_KNOWN = (*_FIXED, "QUORUM", "LOCAL_QUORUM", "ALL")


def replicas_waited_for(level: str, replicas: int) -> int:
    """How many of so many replicas a level waits for; those of LOCAL_* are the data centre's.

    Raises InputError for a level that no strong setting has.

    >>> [replicas_waited_for(level, 5) for level in ("LOCAL_ONE", "QUORUM", "ALL")]
    [1, 3, 5]
    """
    if level not in _KNOWN:
        raise InputError(f"level: {level!r} is none of {', '.join(_KNOWN)}")
    return replicas if level == "ALL" else _FIXED.get(level, replicas // 2 + 1)


def levels(replicas: int, local: bool = False) -> dict[int, str]:
    """Levels by how many of so many replicas they wait for, as far as there are some.

    `local`: of several data centres those of one; ALL waits for the others' replicas too, and so for enough.

    >>> levels(5), levels(3, local=True)
    ({1: 'ONE', 2: 'TWO', 3: 'QUORUM', 5: 'ALL'}, {1: 'LOCAL_ONE', 2: 'LOCAL_QUORUM', 3: 'ALL'})
    """
    names = ("LOCAL_ONE", "ALL", "LOCAL_QUORUM") if local else ("ONE", "ALL", "QUORUM", "TWO", "THREE")
    by_replicas: dict[int, str] = {}
    for level in names:
        waited = replicas_waited_for(level, replicas)
        if waited <= replicas:
            by_replicas.setdefault(waited, level)
    return dict(sorted(by_replicas.items()))


def level_of_at_least(waited: int, replicas: int, local: bool = False) -> str:
    """Name the weakest level that waits for no fewer than so many replicas.

    >>> [level_of_at_least(waited, 5) for waited in (1, 2, 3, 4, 5)]
    ['ONE', 'TWO', 'QUORUM', 'ALL', 'ALL']
    """
    known = levels(replicas, local)
    return known[min(count for count in known if count >= waited)]


def setting_waiting_for(reads: int, writes: int) -> str:
    """Name a setting by the replicas that reads and writes wait for: 1R-3W."""
    return f"{reads}R-{writes}W"


class Pair(Protocol):
    """A pair of levels: a `Setting`, or one of cassbook's."""

    @property
    def name(self) -> str:
        """As a map or a person names it."""

    @property
    def read_cl(self) -> str:
        """Level of reads."""

    @property
    def write_cl(self) -> str:
        """Level of writes."""

    def waits(self, replicas: int, /) -> tuple[int, int]:
        """How many replicas its reads and its writes wait for."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A pair of levels and its name: 1R-3W, or the levels themselves."""

    name: str
    read_cl: str
    write_cl: str

    def waits(self, replicas: int) -> tuple[int, int]:
        """How many replicas its reads and its writes wait for."""
        return replicas_waited_for(self.read_cl, replicas), replicas_waited_for(self.write_cl, replicas)


def setting(name: str, replicas: int = 3) -> Setting:
    """Find a pair of levels: a strong setting by its name (1R-3W), or any pair as 'QUORUM/ONE', read before write.

    Raises InputError with what would be right.

    >>> setting("1R-3W"), setting("LOCAL_QUORUM/LOCAL_QUORUM").waits(3)
    (Setting(name='1R-3W', read_cl='ONE', write_cl='ALL'), (2, 2))
    """
    known = levels(replicas)
    strong = {
        setting_waiting_for(reads, writes): Setting(setting_waiting_for(reads, writes), known[reads], known[writes])
        for reads in known
        for writes in known
        if reads + writes > replicas
    }
    if name in strong:
        return strong[name]
    read_cl, slash, write_cl = name.partition("/")
    if slash:
        found = Setting(name, read_cl, write_cl)
        found.waits(replicas)
        return found
    of = counted(replicas, "replica")
    raise InputError(
        f"setting: {name!r} is unknown with {of}; use one of {', '.join(strong)}, or levels such as QUORUM/ONE"
    )
