"""The notation of the 2021 paper for deployments (section 1.2): its brackets and its replicas."""

from __future__ import annotations

import re
from functools import cache

from cassbook import published

_CLOSING = {"(": ")", "{": "}", "[": "]"}


@cache
def notations() -> list[tuple[str, str, str]]:
    """(scenario, place, notation) wherever a scenario is written out, as the text at hand has it."""
    rows = published.as_text("g21_scenarios").to_dict("records")
    return [(r["scenario"], f"{r['place']} {r['level']}".strip(), r["notation"]) for r in rows]


def balanced(notation: str) -> bool:
    """Whether every bracket is closed, each kind by itself: a cluster's round brackets may cross those of Regions.

    >>> balanced("{[C], ([R1]}, {R2})"), balanced("{C}, {R1})")
    (True, False)
    """
    for opening, closing in _CLOSING.items():
        depth = 0
        for sign in notation:
            depth += (sign == opening) - (sign == closing)
            if depth < 0:
                return False
        if depth:
            return False
    return True


def deepest(notation: str, opening: str) -> int:
    """How many brackets of one kind stand within each other at most; two of '{' are a Region within a Region."""
    depth = most = 0
    for sign in notation:
        depth += (sign == opening) - (sign == _CLOSING[opening])
        most = max(most, depth)
    return most


def replicas(notation: str) -> list[str]:
    """Replica symbols in the order they are written."""
    return re.findall(r"R\d", notation)


def in_cluster(notation: str) -> list[str]:
    """Replica symbols that stand inside round brackets."""
    symbols, depth = [], 0
    for sign in re.findall(r"R\d|[()]", notation):
        if sign.startswith("R") and depth > 0:
            symbols.append(sign)
        depth += (sign == "(") - (sign == ")")
    return symbols
