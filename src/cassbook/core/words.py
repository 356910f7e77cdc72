"""Numbers with their nouns ('1 node', '3 nodes'), and tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def counted(number: float, noun: str, form: str = "g") -> str:
    """Return a number with its noun, singular for one and plural for all others.

    `noun`: in the singular; its plural takes an s. `form`: format of the number. What is shown decides: 1.2 minutes as
    ``.0f`` is '1 minute'.

    >>> counted(1, "node"), counted(0, "cell"), counted(1200, "row", ",d"), counted(1.2, "minute", ".0f")
    ('1 node', '0 cells', '1,200 rows', '1 minute')
    """
    shown = format(number, form)
    return f"{shown} {plural(noun, 1 if shown == '1' else 2)}"


def plural(noun: str, number: float) -> str:
    """Return a noun in the form that goes with a number, without the number.

    >>> plural("other", 1), plural("other", 2)
    ('other', 'others')
    """
    return noun if number == 1 else f"{noun}s"


def markdown(table: pd.DataFrame) -> str:
    r"""Return a table as Markdown, without its index; a cell keeps its text, but for what would end the cell.

    >>> import pandas as pd
    >>> print(markdown(pd.DataFrame({"level": ["ONE"], "note": ["a|b"]})))
    | level   | note   |
    |---------|--------|
    | ONE     | a\|b   |
    """
    text = table.astype(str).replace({r"\|": r"\\|", "\n": " "}, regex=True)
    return str(text.to_markdown(index=False, tablefmt="github", disable_numparse=True))
