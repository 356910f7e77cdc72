"""Tables in Markdown."""

from __future__ import annotations

import pandas as pd


def markdown(table: pd.DataFrame) -> str:
    r"""Return a table as Markdown, without its index; a cell keeps its text, but for what would end the cell.

    >>> print(markdown(pd.DataFrame({"level": ["ONE"], "note": ["a|b"]})))
    | level   | note   |
    |---------|--------|
    | ONE     | a\|b   |
    """
    text = table.astype(str).replace({r"\|": r"\\|", "\n": " "}, regex=True)
    return str(text.to_markdown(index=False, tablefmt="github", disable_numparse=True))
