"""Colours by what they mean, the same in every figure; all distinguishable by the colour-blind (Okabe and Ito)."""

from __future__ import annotations

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, BLACK, GREY = "#CC79A7", "#56B4E9", "#F0E442", "#000000", "#999999"

LEVELS = {"ONE": BLUE, "QUORUM": ORANGE, "ALL": GREEN}
#: The strong settings of three replicas that wait for no more than they need.
SETTINGS = {"1R-3W": BLUE, "2R-2W": ORANGE, "3R-1W": GREEN}
#: All settings of three replicas.
ALL_SETTINGS = SETTINGS | {
    "1R-1W": BLACK, "1R-2W": SKY, "2R-1W": PURPLE, "2R-3W": VERMILION, "3R-2W": YELLOW, "3R-3W": GREY,
}  # fmt: skip
OPERATIONS = {"READ": BLUE, "UPDATE": VERMILION, "WRITE": VERMILION}
SCENARIOS = {"a": GREEN, "b": BLUE, "c": ORANGE, "d": VERMILION}
VERDICTS = {"reproduced": GREEN, "other reading": ORANGE, "not reproduced": VERMILION, "untestable": GREY}
_VERSIONS = {"2.1.20": BLUE, "2.2.4": BLUE, "3.11.4": PURPLE, "5.0.9": VERMILION}
#: Series that mean nothing elsewhere, in order.
SERIES = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, BLACK)


def version(name: str) -> str:
    """Return the colour of a Cassandra version; black for one that the book has no record of."""
    return _VERSIONS.get(name, BLACK)


def setting(name: str, others: int = 0) -> str:
    """Return the colour of a setting; of one that three replicas do not have, the colour of a series.

    `name`: as in figures: 2R-2W, or a pair of levels. `others`: how many such settings came before.

    >>> setting("ONE/ONE") == setting("1R-1W") == BLACK
    True
    """
    replicas = {"ONE": 1, "QUORUM": 2, "ALL": 3}
    read, _, write = name.partition("/")
    known = f"{replicas[read]}R-{replicas[write]}W" if read in replicas and write in replicas else name
    return ALL_SETTINGS.get(known) or SERIES[others % len(SERIES)]
