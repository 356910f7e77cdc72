"""Did a read miss an acknowledged write? A checker in the manner of Jepsen's set-full, for one writer a key.

Each write of a key carries the next sequence number, so that a read tells which writes it may have missed: all those
after the one it saw. It is a *violation* if one of these was acknowledged before the read began. Writes whose outcome
is unknown (time-outs, late acknowledgements) promise nothing, but may be seen.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook.core.errors import InputError

WRITES = ("key", "sequence", "acknowledged_s")
READS = ("key", "started_s", "seen")


def check(writes: pd.DataFrame, reads: pd.DataFrame) -> pd.DataFrame:
    """Judge every read of a history.

    Parameters
    ----------
    writes : DataFrame
        Columns key, sequence (1, 2, ... for each key, by its one writer), acknowledged_s (NaN where the outcome is
        unknown).
    reads : DataFrame
        Columns key, started_s (when the read was called), seen (the sequence number it returned, 0 for no row); all
        times on one clock. Others are kept.

    Returns
    -------
    DataFrame
        The reads, ordered by started_s, with required (highest sequence acknowledged before it began, 0 for none),
        violation, versions_behind (required - seen, 0 where it is none) and behind_ms (since the first write it missed
        was acknowledged; NaN where it is none).

    Raises
    ------
    InputError
        For missing columns, or a sequence number that one key has twice.
    """
    for name, table, columns in (("writes", writes, WRITES), ("reads", reads, READS)):
        missing = sorted(set(columns) - set(table.columns))
        if missing:
            raise InputError(f"{name}: columns {', '.join(missing)} are missing")
    if writes.duplicated(["key", "sequence"]).any():
        raise InputError("writes: a sequence number stands twice under one key; a key has one writer")
    writes = writes.astype({"sequence": "int64", "acknowledged_s": float})
    reads = reads.astype({"key": writes["key"].dtype, "started_s": float, "seen": "int64"})
    acknowledged = writes.dropna(subset="acknowledged_s").sort_values("acknowledged_s", kind="stable")
    acknowledged = acknowledged.assign(required=acknowledged.groupby("key")["sequence"].cummax())
    ordered = reads.sort_values("started_s", kind="stable")
    judged = pd.merge_asof(
        ordered,
        acknowledged[["key", "acknowledged_s", "required"]],
        left_on="started_s",
        right_on="acknowledged_s",
        by="key",
        allow_exact_matches=False,
    ).drop(columns="acknowledged_s")
    judged["required"] = judged["required"].fillna(0).astype("int64")
    judged["violation"] = judged["seen"] < judged["required"]
    judged["versions_behind"] = (judged["required"] - judged["seen"]).clip(lower=0)
    return judged.assign(behind_ms=_behind_ms(judged, acknowledged))


def _behind_ms(judged: pd.DataFrame, acknowledged: pd.DataFrame) -> pd.Series:
    """Age of the first missed write that had been acknowledged, in ms, for each violation."""
    found = np.full(len(judged), np.nan)
    times = dict(tuple(acknowledged.groupby("key")))
    columns = [judged[name].to_numpy() for name in ("key", "started_s", "seen")]
    for place in np.flatnonzero(judged["violation"]):
        key, started_s, seen = (column[place] for column in columns)
        own = times[key]
        missed = own[(own["sequence"] > seen) & (own["acknowledged_s"] < started_s)]
        found[place] = (started_s - missed["acknowledged_s"].min()) * 1000
    return pd.Series(found, index=judged.index)
