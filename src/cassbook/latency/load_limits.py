"""What open load takes of the machine: processors of nodes and client, disk and wire, by share of capacity and setting.

What a request takes of the processors is its service demand; its ratio between settings is the price in capacity, as
far as processors are what limits (utilisation law).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import of_one_machine
from cassbook.core.units import US_PER_S
from cassbook.latency.open_results import MIX, SHARE, base_of, open_cells, strength

#: Parts of the time or of all processors, which none exceeds.
_PARTS = ("nodes", "client", "busy", "disk")
_PLACE = [*MIX, "at", "setting"]


def _with_processors(statistics: pd.DataFrame) -> pd.DataFrame:
    cells = open_cells(statistics)
    took_us = cells.get("node_cpu_us_per_op", pd.Series(np.nan, cells.index))  # older records do not say
    cells = cells[(cells["measured"] == SHARE) & (took_us > 0)]
    if cells.empty:
        raise LackingError(
            "no cell at a share of capacity says what its nodes took of the processors; measure `open` with "
            "load_shares on nodes that the laboratory starts"
        )
    return cells


def limits(statistics: pd.DataFrame, processors: int) -> pd.DataFrame:
    """Return what each setting takes of the machine at each share of capacity, over blocks.

    Parameters
    ----------
    statistics : DataFrame
        From `cells.cell_statistics`.
    processors : int
        Of the machine that nodes and client share.

    Returns
    -------
    DataFrame of Estimate
        Index `MIX`, at, setting; columns nodes, client, busy (parts of all processors: that the nodes and the client
        take, and that are not idle), disk (part of the time in which the busiest disk has requests), wire_mb_per_s
        (through the loopback).

    Raises
    ------
    LackingError
        If no cell says it.
    """
    cells = of_one_machine(_with_processors(statistics), _PLACE)
    whole_us = US_PER_S * processors
    cells = cells.assign(
        nodes=cells["node_cpu_us_per_op"] * cells["throughput_per_s"] / whole_us,
        client=cells["client_cpu_us_per_op"] * cells["throughput_per_s"] / whole_us,
        busy=cells["busy_share"], disk=cells["disk_busy_share"],
    )  # fmt: skip
    rows = {
        key: {name: _over(group[name], name in _PARTS) for name in (*_PARTS, "wire_mb_per_s")}
        for key, group in cells.groupby(_PLACE, sort=False)
    }
    index = pd.MultiIndex.from_tuples(rows, names=_PLACE)
    order = index.to_frame(index=False)
    order["strength"] = order["setting"].map(strength)
    places = order.sort_values([*MIX, "at", "strength"], kind="stable").index
    return pd.DataFrame(list(rows.values()), index).iloc[places]


def _over(values: pd.Series, part: bool) -> Estimate:
    known = values.dropna()
    if known.empty:
        return Estimate(*(float("nan"),) * 3)
    found = Estimate.positive(known)
    return Estimate(found.value, found.low, float(np.minimum(found.high, 1.0)), found.n) if part else found


def demands(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the processor time that a request takes of all nodes, by mix and setting, over blocks.

    `statistics`: as in `limits`. Of each block the geometric mean over the shares at which all settings were measured.

    Index `MIX`, setting; columns node_us, times (Estimate; times the base's, within blocks: 1 for the base itself), and
    base.
    """
    rows = {}
    for mix, of_mix in _with_processors(statistics).groupby(MIX, sort=False):
        base = base_of(of_mix)
        wide = of_mix.pivot_table("node_cpu_us_per_op", ["block", "at"], "setting").dropna()
        by_block = wide.groupby("block").agg(stats.gmean)
        here = by_block[by_block.index.isin(of_one_machine(of_mix)["block"])]
        for setting in sorted(by_block.columns, key=strength):
            if by_block.empty:
                continue
            node_us = Estimate.positive((by_block if here.empty else here)[setting])
            times = Estimate.ratio(by_block[setting] / by_block[base])
            rows[*mix, setting] = {"node_us": node_us, "times": times, "base": base}
    index = pd.MultiIndex.from_tuples(rows, names=[*MIX, "setting"])
    return pd.DataFrame(list(rows.values()), index, ["node_us", "times", "base"])
