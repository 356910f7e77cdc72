"""The same cells on two versions of Cassandra: what the papers' release does here, and what today's does."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook.book.chapter import Source
from cassbook.latency import uncertainty
from cassbook.records.compare import compare

_COLUMNS = ["operation", "level", "threads", "ratio", "low", "high", "distinguishable"]


def ratios(first: Source, second: Source, figure: str = "latency_us") -> pd.DataFrame:
    """Ratio of the second run to the first of every pure cell that both measured.

    Parameters
    ----------
    first, second : Source
        Runs.
    figure : str
        One of `cassbook.records.compare.FIGURES`.

    Returns
    -------
    DataFrame
        operation, level, threads, ratio of the geometric means over blocks, low and high (Welch's 95 % interval, NaN
        where a run has one block), distinguishable: whether that leaves out 1; None where it is unknown.

    Raises
    ------
    InputError
        If the runs have no cell in common.
    """
    assert first.run is not None  # noqa: S101 - only runs have cells
    assert second.run is not None  # noqa: S101
    found = compare(first.run, second.run).figures
    own = found[(found["kind"] == "pure") & (found["figure"] == figure)]
    known = own["interval"] == uncertainty.BLOCKS
    own = own.assign(low=own["ratio_low"].where(known), high=own["ratio_high"].where(known))
    return own[_COLUMNS].reset_index(drop=True)


def by_level(ratios: pd.DataFrame) -> pd.DataFrame:
    """Geometric mean of the ratios over all thread counts, and in how many cells the two are distinguishable.

    Parameters
    ----------
    ratios : DataFrame
        From `ratios`.

    Returns
    -------
    DataFrame
        Index (operation, level); columns ratio, faster, slower, cells: of the second run, as far as that can be told.
    """
    told = ratios["distinguishable"].fillna(False).astype(bool)
    signed = ratios.assign(
        log_ratio=np.log(ratios["ratio"]), faster=told & (ratios["ratio"] < 1), slower=told & (ratios["ratio"] > 1)
    )
    groups = signed.groupby(["operation", "level"], sort=False)
    found = {"ratio": np.exp(groups["log_ratio"].mean()), "faster": groups["faster"].sum()}
    return pd.DataFrame(found | {"slower": groups["slower"].sum(), "cells": groups.size()})
