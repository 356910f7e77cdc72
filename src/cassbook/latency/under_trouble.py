"""What response times are with a replica dead, setting by setting, before the other nodes have noticed it and after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.core.schema import OPEN, of_one_machine
from cassbook.latency.open_choices import Mix
from cassbook.latency.percentiles import response_column

#: Conditions of cells, by what the other nodes know of the dead one.
CONDITIONS = {
    "kill_unnoticed": "unnoticed", "dead_node": "noticed", "pause_unnoticed": "hangs", "stop_unnoticed": "unnoticed",
}  # fmt: skip
#: Where settings were not measured in turn while a node was dead, what each showed after its own kill stands for that.
_INSTEAD = {"kill_noticed": "noticed", "stop_noticed": "noticed"}
#: A load this near to the one asked for, as a factor, stands for it.
_NEAR = 1.25

#: By levels, such as QUORUM/QUORUM: a figure of what is `unnoticed`, `noticed`, and `hangs`.
ByTrouble = dict[str, dict[str, Estimate]]


def dead_replica(statistics: pd.DataFrame, mix: Mix, rates_per_s: Sequence[float], by: str = "p99") -> ByTrouble:
    """Return a figure of the response time in ms with a replica dead, near a load.

    Parameters
    ----------
    statistics : DataFrame
        From `cell_statistics`.
    mix : Mix
    rates_per_s : sequence of float
        The load in each block; cells within a factor of 1.25 of its geometric mean count.
    by : str
        One of `percentiles.FIGURES`.

    Returns
    -------
    dict
        By levels: `unnoticed`, `noticed`, and `hangs` of a replica that does; over blocks, one fault being one
        observation. Settings and conditions that were not measured are left out.
    """
    cells = of_one_machine(_under_trouble(statistics))
    cells = cells[(cells["workload"] == mix.workload) & (cells["read_share"] == mix.read_share)]
    load = float(np.exp(np.mean(np.log(rates_per_s))))
    cells = cells[(cells["rate_per_s"] / load).between(1 / _NEAR, _NEAR)]
    return _by_trouble(cells.assign(figure=cells[response_column(by)] / 1e3) if len(cells) else cells)


def times_all_well(statistics: pd.DataFrame, read_share: float, by: str = "p99") -> ByTrouble:
    """Return how many times as long a figure is with a replica dead as all well, at the same arrivals.

    Of the mix of YCSB's table whose share of reads is the nearest, over all loads that were measured both ways; taken
    within blocks. `statistics` and what is returned: as of `dead_replica`.
    """
    cells, column = _under_trouble(statistics), response_column(by)
    cells = cells[cells["workload"] == ""]
    if cells.empty:
        return {}
    shares = cells["read_share"].unique()
    cells = cells[cells["read_share"] == min(shares, key=lambda share: abs(share - read_share))]
    same = ["read_cl", "write_cl", "read_share", "workload", "block", "load_share"]
    well = statistics[(statistics["kind"] == OPEN) & (statistics["condition"] == "") & statistics["load_share"].notna()]
    both = cells.merge(well[[*same, column]], on=same, suffixes=("", "_well"))
    return _by_trouble(both.assign(figure=both[column] / both[f"{column}_well"]))


def _under_trouble(statistics: pd.DataFrame) -> pd.DataFrame:
    if "condition" not in statistics:
        return statistics.iloc[:0].assign(condition="")
    return statistics[(statistics["kind"] == OPEN) & statistics["condition"].isin([*CONDITIONS, *_INSTEAD])]


def _by_trouble(cells: pd.DataFrame) -> ByTrouble:
    """Return the geometric mean of a block's `figure`, over blocks, by levels and trouble."""
    found: ByTrouble = {}
    for (read, write, condition), own in cells.groupby(["read_cl", "write_cl", "condition"]):
        by_block = np.exp(np.log(own["figure"]).groupby(own["block"]).mean()).dropna()
        if len(by_block):
            of = found.setdefault(f"{read}/{write}", {})
            figure = Estimate.positive(by_block)
            if (name := CONDITIONS.get(str(condition))) is not None:
                of[name] = figure
            else:
                of.setdefault(_INSTEAD[str(condition)], figure)
    return found
