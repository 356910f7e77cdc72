"""What section 4.3.2 of the thesis finds to be the best setting, and in how many workloads of ours it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

#: It does not say whether it counts all requests, or its reads or writes; so each is counted.
LATENCIES = {"latency_us": "all requests", "read_us": "reads", "write_us": "writes"}


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
