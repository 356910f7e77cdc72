"""What a page shows where a run cannot serve a section: one sentence in its place, and the rest of the page.

Whatever a cell calls raises `LackingError` with that sentence, of one source or of several;
`cassbook.book.substitution` has the kernel show it and go on. This module is imported without Jupyter too:
`cassbook export` makes tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, TypeVar

from cassbook.book.provenance import Source
from cassbook.core.errors import LackingError

T = TypeVar("T")
NOT_DETERMINED = "not determined"
#: A number in text that there is not, alone or with its bounds.
_NO_NUMBER = re.compile(r"(?<![\w.])[+-]?(?:nan|NaN)(?: ?%)?(?: \[(?:nan|NaN), (?:nan|NaN)\]| \((?:nan|NaN)\))?(?!\w)")
#: How a `Sentence` begins in HTML.
_OPENING = '<p class="lacking">'


@dataclass(frozen=True)
class Sentence:
    """A sentence in the place of a table or a figure; no Markdown, which captions take for the name of a source."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"{_OPENING}{escape(self.text)}</p>"


def is_sentence(output: Mapping[str, str]) -> bool:
    """Whether what a cell shows, by its kind ('text/html'), is a `Sentence`."""
    return output.get("text/html", "").startswith(_OPENING)


def display(sentence: Sentence) -> None:
    """Show a sentence on the page."""
    from IPython.display import display as show  # noqa: PLC0415 - what has no chapters has no Jupyter

    show(sentence)


def in_words(lacking: LackingError, source: str = "") -> str:
    """Return what is lacking as a sentence, with the source that lacks it."""
    clause = str(lacking).rstrip(".")
    return f"{source}: {clause}." if source and source not in clause else f"{clause[:1].upper()}{clause[1:]}."


class ByLabel(dict[str, T]):
    """What was made of each source, by its label; to ask for that of a source which lacks the data is lacking too."""

    def __init__(self) -> None:
        super().__init__()
        self.lacking: dict[str, LackingError] = {}

    def __missing__(self, label: str) -> T:
        if label in self.lacking:
            raise self.lacking[label]
        raise KeyError(label)


def of_each(sources: Iterable[Source], make: Callable[[Source], T]) -> ByLabel[T]:
    """Make something of each source, and show a sentence for each that lacks the data.

    `make`: raises `LackingError` for a source that lacks the data.

    By the source's label.

    Raises LackingError if all of them lack it.
    """
    made: ByLabel[T] = ByLabel()
    for source in sources:
        try:
            made[source.label] = make(source)
        except LackingError as lacking:
            made.lacking[source.label] = lacking
    sentences = [in_words(lacking, label) for label, lacking in made.lacking.items()]
    if sentences and not made:
        raise LackingError(" ".join(sentences))
    for sentence in sentences:
        display(Sentence(sentence))
    return made


def served(sources: Iterable[Source], make: Callable[[Source], Any]) -> list[Source]:
    """Return the sources of which `make` makes something, and show a sentence for each other (see `of_each`)."""
    listed = list(sources)
    made = of_each(listed, make)
    return [source for source in listed if source.label in made]


def without_nan(text: str) -> str:
    """Return a text that quotes numbers with `NOT_DETERMINED` for each that there is not.

    >>> without_nan("nan [nan, nan] ms; 3.1 [2.9, 3.3]; banana")
    'not determined ms; 3.1 [2.9, 3.3]; banana'
    """
    return _NO_NUMBER.sub(NOT_DETERMINED, text)
