"""What the texts leave unsaid, the same for all five: what words without a number mean, and what YCSB comes with."""

from __future__ import annotations

from cassbook.claims.interval import Interval

#: 'Linearly' and 'almost linearly': a line explains more than this part of the variance, in each series spoken of.
STRAIGHT = 0.99
#: 'Saturated': throughput within this part of its maximum; and the stricter part that is tried as another reading.
SATURATED, MORE_STRICTLY = 0.05, 0.02
#: 'Significantly', and 'rises' or 'falls' of a trend: chance of as much without one.
SIGNIFICANT = 0.05
#: The core workloads as its own documentation lists them ('Core Workloads', and the folder `workloads` of a release).
YCSB_WORKLOADS = {
    "A": "update heavy",
    "B": "read mostly",
    "C": "read only",
    "D": "read latest",
    "E": "short ranges",
    "F": "read-modify-write",
}
#: Reads and writes of its first two, percent.
UPDATE_HEAVY, READ_MOSTLY = (50, 50), (95, 5)


def within(part: float) -> str:
    """Spell a rule of saturation.

    >>> within(0.05)
    'within 5 % of the maximum'
    """
    return f"within {part:.0%} of the maximum".replace("%", " %")


def straight(r_squared: Interval | float) -> bool:
    """Whether a line that explains so much counts as straight."""
    return bool(r_squared > STRAIGHT)
