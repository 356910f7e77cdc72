"""What the chapter on coordinated omission can be asked: levels at which a node was paused."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from cassbook.book.provenance import Source, check_served
from cassbook.core.consistency import LEVEL_CODES
from cassbook.core.errors import LackingError
from cassbook.latency import omission
from cassbook.shown.tables import formatted


def check_level(sources: Sequence[Source], level: str) -> None:
    """Refuse a level at which no run has cells with a paused node.

    Raises
    ------
    InputError
        Naming the levels that have them.
    """
    runs = [source.run for source in sources if source.run is not None]
    paused = [run.cells.loc[run.cells["condition"] == "paused_node", "read_cl"] for run in runs]
    known = sorted({one for levels in paused for one in levels})
    check_served("level", level, known or LEVEL_CODES)  # of runs without any, the page says what they lack


def table(source: Source) -> pd.DataFrame:
    """Return `omission.table` of a run in words."""
    assert source.run is not None  # noqa: S101 - only runs have cells
    quantiles = omission.table(source.run)
    if quantiles.empty:
        raise LackingError(f"{source.label} has no cells at a fixed rate")
    return formatted(quantiles, {"n": "", **dict.fromkeys(omission.QUANTILES, ".1f")})


def hidden_values(source: Source, level: str) -> dict[str, float]:
    """Return what the prose quotes of `omission.hidden`, and the ratio of the two."""
    closed, paced = omission.hidden(source.run, level)
    return {"closed_p99": closed, "paced_p99": paced, "times": paced / closed}
