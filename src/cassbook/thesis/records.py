"""What the thesis calls its records: read and write latency apart, for each mix, setting and thread count (Tables
4.3-4.7).

Its tables are lost in our copy (they were pictures), so all of these are measurements of ours.
"""

from __future__ import annotations

import pandas as pd

from cassbook.core.consistency import STRONG_SETTINGS, replicas_waited_for
from cassbook.core.errors import LackingError
from cassbook.latency.summaries import all_marks, mixed_cells

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
        One row per (read_share, threads, setting): read_us, write_us, latency_us (over both), write_share,
        write_replicas (1, 2 or 3: the 'write consistency measure'), marks. 180 rows for the thesis's plan.

    Raises
    ------
    InputError
        If there is no such cell.
    """
    cells = mixed_cells(cell_stats)
    names = {setting.name: setting for setting in STRONG_SETTINGS}
    at_settings = cells[cells["setting"].isin(names)]
    if at_settings.empty:
        raise LackingError(f"no mix at {', '.join(names)} was measured")
    groups = at_settings.groupby(["read_share", "threads", "setting"])
    means = groups[list(_FIGURES)].mean().assign(marks=groups["marks"].agg(all_marks)).reset_index()
    waits = {name: replicas_waited_for(setting.write_cl, REPLICAS) for name, setting in names.items()}
    return means.rename(columns=_FIGURES).assign(
        write_share=1 - means["read_share"], write_replicas=means["setting"].map(waits).astype(int)
    )
