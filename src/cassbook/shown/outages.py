"""What settings leave unanswered while a node is dead, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cassbook.core.consistency import setting_waiting_for
from cassbook.core.proportion import Proportion
from cassbook.core.words import counted
from cassbook.records import fault_costs
from cassbook.records.fault_costs import Unanswered


def recorded(pairs: Iterable[tuple[int, int]], replicas: int, engine: str) -> list[str]:
    """Say `fault_costs.of_settings` in a sentence; empty where nothing is recorded."""
    costs = fault_costs.of_settings(pairs, replicas, engine)
    return [] if costs is None else [sentence(costs)]


def sentence(costs: Unanswered) -> str:
    """Say what settings left unanswered, and on which record that rests."""
    parts = [f"{setting_waiting_for(*pair)} leaves {shares(own)} unanswered" for pair, own in costs.shares.items()]
    where = f"{costs.record}: {counted(costs.kills, 'kill')}; bounds are for outages like these"
    return f"while one of {costs.replicas} nodes is dead ({where}): {'; '.join(parts)}"


def shares(of: Mapping[str, Proportion]) -> str:
    """Say shares of reads and of writes in words; one bound for both where it reads the same."""
    none = [one for one in of.values() if one.yes == 0]
    if len(of) > 1 and len(none) == len(of) and len({one.bounds() for one in none}) == 1:
        counts = " and ".join(f"{one.counts} {operation}" for operation, one in of.items())
        return f"{counts} ({none[0].bounds()} % of each)"
    return " and ".join(share(one, operation) for operation, one in of.items())


def share(left: Proportion, operation: str) -> str:
    """Say a share in words: '1.0 [<0.1, 18.2] % of reads', '0 of 2,392 writes (at most 0.15 %)'."""
    if left.exact:
        return f"{'all' if left.yes else '0'} of {left.of:,} {operation} ({left.bounds()} %)"
    return f"{left.text()} % of {operation}"
