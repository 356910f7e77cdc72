"""What consistency levels may be in force together: the rule that keeps a switch of setting strongly consistent.

**Claim wanted.** Every read that begins after a write was acknowledged returns that write, or a later one; whoever
wrote.

**What a level promises.** With N replicas, a write acknowledged at a level that waits for W of them is on W replicas,
and a read that waits for R compares R of them. The read is sure to meet the write if and only if R + W > N: otherwise R
replicas can be chosen from the N - W that may lack it. W is the level at which *that write* was made. The rule R + W >
N therefore has to hold between the read's level and the level of *every earlier acknowledged write*, not between the
two levels that happen to be in force now. The latter is all that the paper's step 6 ("setting the optimal consistency",
section VI.A of Gorbenko 2020) looks at.

**When the paper's rule breaks it.** Let (R1, W1) be followed by (R2, W2), each strong by itself.

* Rows written before: broken if and only if R2 + W1 <= N, that is, if reads are lowered below what the old writes need.
  3R-1W to 1R-3W reads one replica of rows that one replica has.
* Clients that switch at different times: a client that still reads at R1 misses a write that another made at W2 if
  R1 + W2 <= N, that is, if writes are lowered before the last client's reads are raised. 1R-3W to 3R-1W does that.

**The rule.** A `Regime` holds the level of reads, the level of writes, and the *floor*: how many replicas every
acknowledged write is on, whenever it was made. It is safe if reads + floor > N and floor <= writes. All clients are
always in the current regime or the one before it, so two neighbours must be safe *together* (`safe_together`). The
floor falls at once with the level of writes; it rises only when every row has been brought to more replicas: a sweep of
reads at ALL (which repairs before it answers), or a repair, begun after the last client has left the lower level and
its last write there has ended.

**Hence four steps**, of which a transition takes those it needs (`transition`): raise reads; change writes; settle
(sweep); lower reads. Between them the wider settings 2R-3W, 3R-2W and 3R-3W are in force, and what those cost, and the
sweep, is the price of the switch.

**By induction** over regimes: a read is made in regime i by a client, a write acknowledged before it was made in regime
j. If j >= i, then j <= i + 1, and `safe_together` gives reads_i + writes_j > N. If j < i, then either no sweep was
finished between them, and floor_i <= writes_j, or the last one that was has put the write on floor_i replicas at least;
in both cases reads_i + floor_i > N.

**What is taken for granted.** Replicas keep what they acknowledged (one that is killed or loses power forgets the last
seconds of a commit log that is synced periodically). 'Later' is by write time stamps, so clients that write the same
cell have clocks that agree, or one of them writes. Nodes do not join or leave meanwhile. Tombstones are not collected
before a sweep or repair (`gc_grace_seconds`). A write whose outcome is unknown promises nothing, and lightweight
transactions keep their own levels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from cassbook_advisor.errors import InputError
from cassbook_advisor.levels import setting


class Step(StrEnum):
    """What a transition does next."""

    RAISE_READS = "raise reads"
    CHANGE_WRITES = "change writes"
    SETTLE = "settle"
    LOWER_READS = "lower reads"


@dataclass(frozen=True, slots=True)
class Regime:
    """Levels in force, as numbers of replicas.

    Attributes
    ----------
    replicas : int
        N, the replication factor.
    reads, writes : int
        Replicas that a read and a write wait for.
    floor : int
        Replicas that hold every acknowledged write, whenever it was made.

    Raises
    ------
    InputError
        If it is not safe: see `faults`.
    """

    replicas: int
    reads: int
    writes: int
    floor: int

    def __post_init__(self) -> None:
        wrong = self.faults()
        if wrong:
            raise InputError(f"{self}: {'; '.join(wrong)}")

    def faults(self) -> list[str]:
        """What is wrong with it, in words; empty if it is safe."""
        n = self.replicas
        wrong = [
            f"{name} {value} is not from 1 to {n}"
            for name, value in (("reads", self.reads), ("writes", self.writes), ("floor", self.floor))
            if not 1 <= value <= n
        ]
        if self.floor > self.writes:
            wrong.append(f"no write is on {self.floor} replicas when writes wait for {self.writes}")
        if self.reads + self.floor <= n:
            wrong.append(
                f"a read of {self.reads} can miss a write on {self.floor} of {n} replicas "
                f"({self.reads} + {self.floor} is not more than {n})"
            )
        return wrong

    @classmethod
    def settled(cls, replicas: int, reads: int, writes: int) -> Regime:
        """Return the regime of a setting in which all there is was written, or swept, at its level of writes."""
        return cls(replicas, reads, writes, writes)

    @property
    def name(self) -> str:
        """In the paper's manner: 1R-3W."""
        return f"{self.reads}R-{self.writes}W"

    def __str__(self) -> str:
        return f"{self.name} over writes on {self.floor}"


def safe_together(before: Regime, after: Regime) -> bool:
    """Whether some clients may be in one regime while others are in its neighbour.

    Reads of either must meet the writes of either, and what `before` calls its floor.
    """
    n = before.replicas
    return (
        after.replicas == n
        and before.reads + after.writes > n
        and after.reads + before.writes > n
        and after.floor <= after.writes
    )


def may_follow(before: Regime, after: Regime, swept: bool = False) -> bool:
    """Whether the register may go from one regime to the next.

    Parameters
    ----------
    before, after : Regime
    swept : bool
        Whether a sweep begun after every client had entered `before` has ended. It puts all acknowledged writes of
        regimes before it on every replica, so only the writes of `before` itself bound the floor.
    """
    most = before.writes if swept else before.floor
    return safe_together(before, after) and after.floor <= min(most, after.writes)


def transition(now: Regime, reads: int, writes: int) -> list[tuple[Step, Regime]]:
    """Steps from a regime to a strong setting, each safe alongside the one before it.

    Parameters
    ----------
    now : Regime
    reads, writes : int
        Levels wanted, as numbers of replicas.

    Returns
    -------
    list of (Step, Regime)
        What to do, and the regime in force afterwards. A `Step.SETTLE` must have ended before its regime (of the same
        levels, with a higher floor) is. Empty if there is nothing to do.

    Raises
    ------
    InputError
        If the setting wanted is not strong.
    """
    wanted = Regime.settled(now.replicas, reads, writes)
    steps: list[tuple[Step, Regime]] = []
    n = now.replicas
    # Readers must meet the writes to come before any of those is made.
    between = max(now.reads, n - wanted.writes + 1)
    if between > now.reads:
        now = Regime(n, between, now.writes, now.floor)
        steps.append((Step.RAISE_READS, now))
    if wanted.writes != now.writes:
        now = Regime(n, now.reads, wanted.writes, min(now.floor, wanted.writes))
        steps.append((Step.CHANGE_WRITES, now))
    if wanted.reads < now.reads and wanted.reads + now.floor <= n:
        now = Regime(n, now.reads, now.writes, now.writes)
        steps.append((Step.SETTLE, now))
    if wanted.reads != now.reads:
        step = Step.RAISE_READS if wanted.reads > now.reads else Step.LOWER_READS
        now = Regime(n, wanted.reads, now.writes, now.floor)
        steps.append((step, now))
    return steps


def escape(
    now: Regime, alive: int, least: tuple[int, int] = (1, 1), known: Collection[int] = ()
) -> tuple[int, int] | None:  # fmt: skip
    """Levels that the live replicas can serve, and to which there is a safe way that needs no other replica.

    A sweep needs all replicas. Without one the floor never rises, and reads are never fewer than N - floor + 1. From
    1R-3W, whose floor is 3, two steps lead to 2R-2W. From 3R-1W none lead anywhere, for an acknowledged write may be
    on the dead replica alone: reads are not answered until it is back, or are weaker than was promised.

    Parameters
    ----------
    now : Regime
    alive : int
        Replicas of a row that answer.
    least : tuple of int
        (reads, writes) that clients outside the register need.
    known : collection of int
        Numbers of replicas that there is a level for. Default: all.

    Returns
    -------
    tuple of int or None
        (reads, writes) that wait for as few replicas as possible; None where there are none.
    """
    n = now.replicas
    counts = sorted(known) or range(1, n + 1)
    servable = [(r, w) for r in counts for w in counts if r + w > n and max(r, w) <= alive]
    ways = [
        levels for levels in servable
        if levels[0] >= least[0] and levels[1] >= least[1]
        and all(step is not Step.SETTLE for step, _ in transition(now, *levels))
    ]  # fmt: skip
    return min(ways, key=lambda levels: (max(levels), sum(levels), levels), default=None)


def lower_writes(
    now: Regime, alive: int, least: tuple[int, int] = (1, 1), known: Collection[int] = ()
) -> tuple[int, int] | None:  # fmt: skip
    """Levels at which writes go on where `escape` knows none for reads: those of reads stay as they are, and fail.

    An adviser on its way from 3R-1W to 1R-3W is at 3R-3W when it begins to sweep. If a node dies then, neither reads
    nor writes are answered; at 3R-2W writes are, and an acknowledged one is on as many replicas as there are.

    Parameters
    ----------
    now, alive, least, known
        As of `escape`.

    Returns
    -------
    tuple of int or None
        (reads, writes); None where the live replicas can serve no writes either.
    """
    n = now.replicas
    counts = sorted(known) or range(1, n + 1)
    reads = min(count for count in counts if count >= max(now.reads, least[0]))
    writes = [count for count in counts if n - reads < count <= min(alive, now.writes) and count >= least[1]]
    return (reads, max(writes)) if writes else None


def breaks(now: tuple[int, int], then: tuple[int, int], replicas: int) -> list[str]:
    """What the paper's rule, switching both levels at once, breaks on its way from one strong setting to another.

    Parameters
    ----------
    now, then : tuple of int
        (reads, writes) before and after.
    replicas : int

    Returns
    -------
    list of str
        'old writes' where reads of the new setting can miss rows written in the old; 'other clients' where a client
        that has not switched yet can miss writes of one that has. Empty where the switch is safe.
    """
    broken = []
    if then[0] + now[1] <= replicas:
        broken.append("old writes")
    if now[0] + then[1] <= replicas:
        broken.append("other clients")
    return broken


def bound_by_others(replicas: int, others: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Least levels of reads and writes that clients outside the register leave.

    Parameters
    ----------
    replicas : int
    others : iterable of (int, int)
        (reads, writes) of clients that keep levels of their own, as numbers of replicas.

    Returns
    -------
    reads, writes : int
        Our reads must wait for so many to meet their writes, our writes for so many that their reads meet them.
    """
    least_reads = least_writes = 1
    for reads, writes in others:
        least_reads = max(least_reads, replicas - writes + 1)
        least_writes = max(least_writes, replicas - reads + 1)
    return least_reads, least_writes


def starting(start: str | Regime, replicas: int) -> Regime:
    """Return the regime that a client begins with, from a setting's name or a regime."""
    if isinstance(start, Regime):
        if start.replicas != replicas:
            raise InputError(f"start: {start} is of {start.replicas} replicas, the keyspace has {replicas}")
        return start
    return Regime.settled(replicas, *setting(start, replicas).waits(replicas))
