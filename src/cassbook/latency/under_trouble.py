"""What response times are with a replica dead, setting by setting, before the other nodes have noticed it and after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.core.schema import OPEN
from cassbook.latency.open_loads import Mix
from cassbook.latency.percentiles import response_column

#: Conditions of cells, by what the other nodes know of the dead one.
CONDITIONS = {
    "kill_unnoticed": "unnoticed", "dead_node": "noticed", "pause_unnoticed": "hangs", "stop_unnoticed": "unnoticed",
}  # fmt: skip
#: Where settings were not measured in turn while a node was dead, what each showed after its own kill stands for that.
_INSTEAD = {"kill_noticed": "noticed", "stop_noticed": "noticed"}
#: A load this near to the one asked for, as a factor, stands for it.
_NEAR = 1.25


def dead_replica(
    statistics: pd.DataFrame, mix: Mix, rates_per_s: Sequence[float], by: str = "p99"
) -> dict[str, dict[str, Estimate]]:
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
        By levels, such as QUORUM/QUORUM: `unnoticed`, `noticed`, and `hangs` of a replica that does; over blocks, one
        fault being one observation. Settings and conditions that were not measured are left out.
    """
    if "condition" not in statistics:
        return {}
    cells = statistics[
        (statistics["kind"] == OPEN) & statistics["condition"].isin([*CONDITIONS, *_INSTEAD])
        & (statistics["workload"] == mix.workload) & (statistics["read_share"] == mix.read_share)
    ]  # fmt: skip
    load = float(np.exp(np.mean(np.log(rates_per_s))))
    cells = cells[(cells["rate_per_s"] / load).between(1 / _NEAR, _NEAR)]
    found: dict[str, dict[str, Estimate]] = {}
    for (read, write, condition), own in cells.groupby(["read_cl", "write_cl", "condition"]):
        by_block = own.groupby("block")[response_column(by)].mean().dropna()
        if len(by_block):
            of = found.setdefault(f"{read}/{write}", {})
            figure = Estimate.positive(by_block / 1e3)
            if (name := CONDITIONS.get(str(condition))) is not None:
                of[name] = figure
            else:
                of.setdefault(_INSTEAD[str(condition)], figure)
    return found
