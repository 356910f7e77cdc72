"""Settings as people say them: a pair of levels in the place of the papers' code, which counts replicas."""

from __future__ import annotations

import re

#: What the code of three replicas waits for.
_LEVELS = {"1": "ONE", "2": "QUORUM", "3": "ALL"}
_CODE = re.compile(r"\b([1-9])R-([1-9])W\b")


def in_levels(text: str) -> str:
    """Return a text with the codes of three replicas as levels.

    One that has a code of more replicas is left as it is: there the same code may be another pair.

    >>> in_levels("2R-2W and 1R-3W"), in_levels("1R-5W and 3R-3W, with five replicas")
    ('QUORUM/QUORUM and ONE/ALL', '1R-5W and 3R-3W, with five replicas')
    """
    found = {number for pair in _CODE.findall(text) for number in pair}
    return _CODE.sub(lambda code: f"{_LEVELS[code[1]]}/{_LEVELS[code[2]]}", text) if found <= set(_LEVELS) else text


def has_code(text: str) -> bool:
    """Whether there is one."""
    return _CODE.search(text) is not None
