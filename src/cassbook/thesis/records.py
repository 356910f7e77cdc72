"""What the thesis calls its records: read and write latency apart, for each mix, setting and thread count (Tables
4.3-4.7).

Its tables are lost in our copy (they were pictures), so all of these are measurements of ours. `FINDINGS` is what
section 4.3.2 finds to be the best setting; `counted` says in how many workloads of ours it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cassbook.core.consistency import STRONG_SETTINGS, replicas_waited_for
from cassbook.core.errors import LackingError
from cassbook.latency.summaries import all_marks, mixed_cells

REPLICAS = 3
_FIGURES = {"read_latency_us": "read_us", "update_latency_us": "write_us", "latency_us": "latency_us"}
#: It does not say whether it counts all requests, or its reads or writes; so each is counted.
LATENCIES = {"latency_us": "all requests", "read_us": "reads", "write_us": "writes"}


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


@dataclass(frozen=True, slots=True)
class Finding:
    """Words, the ledger's claim, which workloads (share of reads between, threads above and up to), the setting."""

    words: str
    claim: str
    share: tuple[float, float]
    threads: tuple[float, float]
    setting: str


FINDINGS = (
    Finding("10 % reads, up to 300 threads: 1R-3W", "thesis-best-settings", (0.0, 0.2), (0, 300), "1R-3W"),
    Finding("10 % reads, more than 300 threads: 3R-1W", "thesis-best-many-threads", (0.0, 0.2), (300, np.inf), "3R-1W"),
    Finding("10 % reads: 3R-1W", "thesis-best-write-mostly", (0.0, 0.2), (0, np.inf), "3R-1W"),
    Finding("30 % reads or more: 1R-3W", "thesis-best-more-reads", (0.2, 1.0), (0, np.inf), "1R-3W"),
    Finding("90 % reads, more than 300 threads: 2R-2W", "thesis-best-read-mostly", (0.8, 1.0), (300, np.inf), "2R-2W"),
)


def counted(records: pd.DataFrame) -> pd.DataFrame:
    """Count the workloads of `records.records` in which each finding holds, its setting having the least latency.

    One row per finding and latency: words, claim, latency (of `LATENCIES`), right, total.
    """
    rows = []
    for column in LATENCIES:
        best = records.pivot_table(column, ["read_share", "threads"], "setting").idxmin(axis=1)
        share, threads = (best.index.get_level_values(name) for name in ("read_share", "threads"))
        for finding in FINDINGS:
            (least, most), (above, up_to) = finding.share, finding.threads
            names = best[(share > least) & (share < most) & (threads > above) & (threads <= up_to)]
            rows.append((finding.words, finding.claim, column, int((names == finding.setting).sum()), len(names)))
    return pd.DataFrame(rows, columns=["words", "claim", "latency", "right", "total"])
