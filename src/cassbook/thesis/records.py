"""What the thesis calls its records: read and write latency apart, for each mix, setting and thread count (Tables
4.3-4.7).

Its tables are lost in our copy (they were pictures), so all of these are measurements of ours.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook.consistency import STRONG_SETTINGS, replicas_waited_for
from cassbook.errors import InputError
from cassbook.latency.summaries import mixed_cells
from cassbook.tables import starred

REPLICAS = 3
_FIGURES = {"read_latency_us": "read_us", "update_latency_us": "write_us", "latency_us": "latency_us"}


def records(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Mixed workloads at the three settings, means over blocks.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment.

    Returns
    -------
    DataFrame
        One row a (read_share, threads, setting): read_us, write_us, latency_us (over both), write_share,
        write_replicas (1, 2 or 3: the 'write consistency measure'). 180 rows for the thesis's plan.

    Raises
    ------
    InputError
        If there is no such cell.
    """
    cells = mixed_cells(cell_stats)
    names = {setting.name: setting for setting in STRONG_SETTINGS}
    own = cells[cells["setting"].isin(names)]
    if own.empty:
        raise InputError(f"no mix at {', '.join(names)} was measured")
    means = own.groupby(["read_share", "threads", "setting"], as_index=False)[list(_FIGURES)].mean()
    waits = {name: replicas_waited_for(setting.write_cl, REPLICAS) for name, setting in names.items()}
    return means.rename(columns=_FIGURES).assign(
        write_share=1 - means["read_share"], write_replicas=means["setting"].map(waits).astype(int)
    )


def mix_table(found: pd.DataFrame, read_share: float) -> pd.DataFrame:
    """Tables 4.3 to 4.7: read and write latency of one mix in us, by threads and setting; the lowest of each starred.

    Parameters
    ----------
    found : DataFrame
        From `records`.
    read_share : float

    Returns
    -------
    DataFrame of str
        Index threads; columns (READ or WRITE, setting).

    Raises
    ------
    InputError
        If that mix was not measured.
    """
    own = found[np.isclose(found["read_share"], read_share)]
    if own.empty:
        raise InputError(f"no mix of {read_share:.0%} reads was measured")
    parts = {}
    for operation, column in (("READ", "read_us"), ("WRITE", "write_us")):
        parts[operation] = starred(own.pivot_table(column, "threads", "setting"))
    return pd.concat(parts, axis=1)
