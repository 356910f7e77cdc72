"""Settings as people say them: a pair of levels in the place of the papers' code, which counts replicas."""

from __future__ import annotations

import re

from cassbook.core.consistency import levels

#: What each number in the code of three replicas waits for.
_LEVELS = {str(waits): level for waits, level in levels(3).items()}
_CODE = re.compile(r"\b([1-9])R-([1-9])W\b")
#: One setting's figure divided by another's.
_RATIO = re.compile(rf"({_CODE.pattern})/(?={_CODE.pattern})")


def in_levels(text: str) -> str:
    """Return a text with the codes of three replicas as levels.

    One that has a code of more replicas is left as it is: there the same code may be another pair.

    >>> in_levels("2R-2W and 1R-3W"), in_levels("1R-5W and 3R-3W, with five replicas")
    ('QUORUM/QUORUM and ONE/ALL', '1R-5W and 3R-3W, with five replicas')
    >>> in_levels("1R-3W/2R-2W")
    'ONE/ALL over QUORUM/QUORUM'
    """
    found = {number for pair in _CODE.findall(text) for number in pair}
    if not found <= set(_LEVELS):
        return text
    return _CODE.sub(lambda code: f"{_LEVELS[code[1]]}/{_LEVELS[code[2]]}", _RATIO.sub(r"\1 over ", text))


def has_code(text: str) -> bool:
    """Whether there is one."""
    return _CODE.search(text) is not None


def in_two_lines(setting: str) -> str:
    """Return a pair of levels, or the code of one, with reads above writes."""
    return in_levels(setting).replace("/", "/\n")
