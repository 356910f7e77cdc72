"""What a slip of the keyboard can make of a printed number."""

from __future__ import annotations

from collections.abc import Callable

_DIGITS = "0123456789"


def _one_off(text: str) -> set[str]:
    """Return every text one keystroke away: a digit changed, left out, put in, or two neighbours swapped."""
    changed = {text[:i] + d + text[i + 1 :] for i in range(len(text)) for d in _DIGITS}
    left_out = {text[:i] + text[i + 1 :] for i in range(len(text))}
    put_in = {text[:i] + d + text[i:] for i in range(len(text) + 1) for d in _DIGITS}
    swapped = {text[:i] + text[i + 1] + text[i] + text[i + 2 :] for i in range(len(text) - 1)}
    return (changed | left_out | put_in | swapped) - {text, ""}


def repairs(text: str, good: Callable[[str], bool], keystrokes: int = 1) -> list[str]:
    """Whole numbers just so many keystrokes away from the digits `text` that satisfy `good`, shortest first.

    `keystrokes` is 1 or 2; a carry, 1021 printed as 921, takes two.

    >>> repairs("4", lambda new: new == "14")
    ['14']
    """
    nearer, here = {text}, {text}
    for _ in range(keystrokes):
        there = {new for old in here for new in _one_off(old)} - nearer
        nearer, here = nearer | there, there
    numbers = [c for c in here if c == "0" or not c.startswith("0")]
    return sorted((c for c in numbers if good(c)), key=lambda c: (len(c), c))
