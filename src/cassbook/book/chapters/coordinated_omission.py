"""What the chapter on coordinated omission can be asked: levels at which a node was paused."""

from __future__ import annotations

from collections.abc import Sequence

from cassbook.book.source import Source, check_served


def check_level(sources: Sequence[Source], level: str) -> None:
    """Refuse a level at which no run has cells with a paused node.

    Raises
    ------
    InputError
        Naming the levels that have them.
    """
    runs = [source.run for source in sources if source.run is not None]
    paused = [run.cells.loc[run.cells["condition"] == "paused_node", "read_cl"] for run in runs]
    check_served("level", level, sorted({one for levels in paused for one in levels}))
