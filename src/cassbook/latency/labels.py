"""What a reader calls a cell: its operation and its level, whatever kind of cell it is."""

from __future__ import annotations

import numpy as np
import pandas as pd


def labelled(statistics: pd.DataFrame, failed_too: bool = False) -> pd.DataFrame:
    """Return the cells that have a latency, with operation and level as a reader names them.

    `statistics`: from `cells.cell_statistics`; the column `named`, if there is one, names operations where it is not
    ''. `failed_too`: also those in which no operation was successful.

    Its columns, operation ('READ', 'WRITE', 'reads 30 %', 'workload A') and level ('ONE', or 'ONE/ALL' of
    reads and writes); rate_per_s is 0 in a closed loop, since NaN would equal nothing.
    """
    cells = statistics[statistics["latency_us"].notna() | failed_too].copy()
    reads, writes = cells["read_share"] == 1, cells["read_share"] == 0
    mixed = (100 * cells["read_share"]).map("reads {:.0f} %".format)
    mixed = mixed.where(cells["workload"] == "", "workload " + cells["workload"].astype(str))
    cells["operation"] = np.select([reads & (cells["workload"] == ""), writes & (cells["workload"] == "")],
                                   ["READ", "WRITE"], default=mixed)  # fmt: skip
    if "named" in cells.columns:
        named = cells["named"].fillna("").astype(str)
        reads, writes = reads & (named != ""), writes & (named != "")
        cells["operation"] = named.where(named != "", cells["operation"])
    else:
        reads = writes = pd.Series(False, cells.index)
    both = cells["read_cl"].astype(str) + "/" + cells["write_cl"].astype(str)
    level = both.mask((cells["operation"] == "READ") | reads, cells["read_cl"])
    cells["level"] = level.mask((cells["operation"] == "WRITE") | writes, cells["write_cl"])
    cells["rate_per_s"] = cells["rate_per_s"].fillna(0.0)
    return cells
