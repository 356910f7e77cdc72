"""What the ccm study asks: its pairs of R and W, and its figures over versions."""

import re

#: R and W in the order of its Figure 1.
SETTINGS = ((1, 3), (2, 2), (3, 1), (1, 2), (2, 1), (1, 1))
#: R and W in which it asks its predictor.
WEAK = ((1, 2), (2, 1), (1, 1))
#: Its Figure 3.
VERSIONS_AT_MS, MOST_VERSIONS = 100.0, 10


def settings_of(text: str) -> dict[str, int]:
    """R and W of a setting as the study prints it, 'W=3'; what it leaves out is 1.

    >>> settings_of("W=3")
    {'r': 1, 'w': 3}
    """
    return {letter.lower(): int(match[1]) if (match := re.search(rf"{letter}=(\d)", text)) else 1 for letter in "RW"}
