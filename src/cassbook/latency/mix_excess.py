"""A mix against its parts: reads and writes of a mixed workload held against the same alone, at as many threads.

Equations (8) to (10) take the latency of a mix for the mean of its parts, weighted by their shares. That needs reads
and writes to be as fast together as alone. In a closed loop they cannot be: they wait in the same queues, so the slower
kind lends the faster its waiting. What can hold is the *sum*: near saturation N threads have a mean latency of N times
the mean demand, and demands add up with their shares, if a mix asks for no work that its parts do not. The excess over
the weighted mean is then the extra work.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook.core.consistency import STRONG_SETTINGS, WIDER_SETTINGS
from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.latency import mixing
from cassbook.latency.summaries import mixed_cells, pure_cells

_KEYS = ["setting", "read_share", "threads", "block"]


def against_parts(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Each mixed cell next to the pure ones of its block.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment.

    Returns
    -------
    DataFrame
        setting, read_share, threads, block; mix_us, mean_us (weighted mean of the two pure cells), excess_percent (of
        the mix over that), read_ratio and write_ratio (latency in the mix by that alone). Mixed cells whose parts the
        block lacks are left out.

    Raises
    ------
    InputError
        If none is left.
    """
    mixes = (
        mixed_cells(cell_stats)
        .groupby(_KEYS, as_index=False)[["latency_us", "read_latency_us", "update_latency_us"]]
        .mean()
    )
    pure = pure_cells(cell_stats).groupby(["operation", "level", "threads", "block"])["latency_us"].mean()
    pairs = {setting.name: setting for setting in (*STRONG_SETTINGS, *WIDER_SETTINGS)}
    mixes = mixes[mixes["setting"].isin(pairs)]
    alone = {}
    for operation in ("READ", "WRITE"):
        levels = [getattr(pairs[name], f"{operation.lower()}_cl") for name in mixes["setting"]]
        at = zip([operation] * len(mixes), levels, mixes["threads"], mixes["block"], strict=True)
        alone[operation] = pure.reindex(pd.MultiIndex.from_tuples(list(at), names=pure.index.names)).to_numpy()
    known = np.isfinite(alone["READ"]) & np.isfinite(alone["WRITE"]) if len(mixes) else np.array([], dtype=bool)
    if not known.any():
        raise LackingError("no mixed cell has both its parts measured in its block")
    mean_us = mixing.mixed(alone["READ"], alone["WRITE"], mixes["read_share"].to_numpy())
    return (
        mixes.rename(columns={"latency_us": "mix_us"})
        .assign(
            mean_us=mean_us,
            excess_percent=(mixes["latency_us"] / mean_us - 1) * 100,
            read_ratio=mixes["read_latency_us"] / alone["READ"],
            write_ratio=mixes["update_latency_us"] / alone["WRITE"],
        )[known]
        .reset_index(drop=True)[[*_KEYS, "mix_us", "mean_us", "excess_percent", "read_ratio", "write_ratio"]]
    )


def excess(parts: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Excess of mixes over the weighted mean of their parts, with intervals over blocks.

    Parameters
    ----------
    parts : DataFrame
        From `against_parts`.
    by : list of str
        Columns to tell apart: 'setting', 'read_share', 'threads'.

    Returns
    -------
    DataFrame
        Index `by`; excess_percent, low, high (geometric mean and Student's t over blocks of each block's mean
        logarithm), read_ratio, write_ratio (geometric means), n (cells).
    """
    logs = parts.assign(
        log=np.log(parts["mix_us"] / parts["mean_us"]),
        read_ratio=np.log(parts["read_ratio"]),
        write_ratio=np.log(parts["write_ratio"]),
    )
    rows = {}
    for key, group in logs.groupby(by):
        over = Estimate.mean(group.groupby("block")["log"].mean())
        percent = [(np.exp(value) - 1) * 100 for value in (over.value, over.low, over.high)]
        ratios = [float(np.exp(group[name].mean())) for name in ("read_ratio", "write_ratio")]
        rows[key] = (*percent, *ratios, len(group))
    columns = ["excess_percent", "low", "high", "read_ratio", "write_ratio", "n"]
    index = pd.MultiIndex.from_tuples(list(rows), names=by)
    return pd.DataFrame(list(rows.values()), index=index, columns=columns)
