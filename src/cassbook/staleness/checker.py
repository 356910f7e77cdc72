"""Did a read miss an acknowledged write? Judged from the history of writes and reads, as in Jepsen's set test.

Each key has one writer, which writes versions 1, 2, 3, ..., each after the one before was acknowledged or given up. A
read is *consistent* if it returns the newest version that had been acknowledged when it began, or a newer one. A write
in flight during the read may be seen or not; one that timed out is *unknown*: it may have taken effect or not, then or
later, so that no read can be blamed for missing it, nor for seeing it.

The probes of staleness, the watchers of the adviser's switches and the loads under faults are judged by this one
definition. Histories in which nodes fail are asked two questions more: which acknowledged writes are `lost` for good,
and which reads `went_back` behind an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from cassbook.core.errors import InputError

#: Columns of a history. Times in seconds; `acked_s` is NaN where no acknowledgement came. On one clock, unless a column
#: `host` says whose.
WRITES = ("key", "version", "sent_s", "acked_s")
READS = ("key", "sent_s", "returned_s", "version")


def judge(writes: pd.DataFrame, reads: pd.DataFrame, clock_error_s: Mapping[str, float] | None = None) -> pd.DataFrame:
    """Say of each read whether it missed an acknowledged write.

    Parameters
    ----------
    writes : DataFrame
        Columns `WRITES`; versions of a key rise with `sent_s`.
    reads : DataFrame
        Columns `READS`, perhaps more; `version` 0 where the row did not exist.
    clock_error_s : mapping of str to float, optional
        By how much at most the clock of each host is off, where clients on several hosts made the history. Whatever may
        have been concurrent then counts as concurrent: no read is blamed for what a clock did.

    Returns
    -------
    DataFrame
        `reads`, in their order, with newest (acknowledged before it began, 0 if none), t_ms (since then;
        NaN if none), consistent, versions_behind (acknowledged ones that it missed) and behind_ms (for how long the
        first of those had been acknowledged when it began; 0 where nothing was missed).

    Raises
    ------
    InputError
        If a column is missing; if a key has two writers, as far as can be seen: a version that stands twice, or was
        sent before the last was over; if a read returned a version that nobody had sent by then; or if clients were on
        several hosts and the clock of one is not bounded.
    """
    for name, table, columns in (("writes", writes, WRITES), ("reads", reads, READS)):
        if missing := [column for column in columns if column not in table]:
            raise InputError(f"history: {name} has no column {', '.join(missing)}; it needs {', '.join(columns)}")
    given = reads
    writes, reads = (table.assign(key=table["key"].astype(str)) for table in (writes, reads))
    _check_writers(writes)
    writes, reads = _on_one_clock(writes, reads, clock_error_s or {})
    _check_versions(writes, reads)
    acked = writes[writes["acked_s"].notna()].sort_values(["key", "version"])
    acked = acked.assign(rank=acked.groupby("key").cumcount() + 1)
    numbered = reads.reset_index(drop=True).assign(_place=np.arange(len(reads)))
    newest = _nearest(
        numbered, acked, ("sent_s", "acked_s"), {"version": "newest", "acked_s": "_newest_s", "rank": "_newest_rank"}
    )
    seen = _nearest(numbered, acked, ("version", "version"), {"rank": "_seen_rank"})
    missed = _nearest(numbered, acked, ("version", "version"), {"acked_s": "_missed_s"}, forward=True)
    joined = numbered.join(newest).join(seen).join(missed)
    newest_version = joined["newest"].fillna(0).astype(int)
    consistent = joined["version"] >= newest_version
    behind = (joined["_newest_rank"] - joined["_seen_rank"].fillna(0)).where(~consistent, 0)
    return given.assign(
        key=reads["key"],
        newest=newest_version.to_numpy(),
        t_ms=((joined["sent_s"] - joined["_newest_s"]) * 1000).to_numpy(),
        consistent=consistent.to_numpy(),
        versions_behind=behind.astype(int).to_numpy(),
        behind_ms=((joined["sent_s"] - joined["_missed_s"]) * 1000).where(~consistent, 0.0).to_numpy(),
    )


def lost(writes: pd.DataFrame, last: pd.DataFrame) -> pd.DataFrame:
    """Find acknowledged writes that are gone for good: after all faults a read at ALL returns an older version.

    Parameters
    ----------
    writes : DataFrame
        Columns `WRITES`.
    last : DataFrame
        One row per key: key, and version (0 where there is no row), of a read at ALL when all was over.

    Returns
    -------
    DataFrame
        The rows of `writes` that are lost: acknowledged, and newer than what was read at the end. A newer version of
        the same key that was read stands for the older ones, which it overwrote.

    Raises
    ------
    InputError
        If a key that was written has no last read, or several.
    """
    read = last.assign(key=last["key"].astype(str)).set_index("key")["version"]
    keys = writes["key"].astype(str)
    if twice := sorted(set(read.index[read.index.duplicated()])):
        raise InputError(f"history: key {twice[0]!r} was read at the end more than once")
    if unread := sorted(set(keys) - set(read.index)):
        raise InputError(f"history: key {unread[0]!r} was written and not read at the end; {len(unread)} keys are so")
    return writes[writes["acked_s"].notna() & (writes["version"] > keys.map(read).fillna(0))]


def went_back(reads: pd.DataFrame) -> pd.DataFrame:
    """Say of each read whether an earlier read of its key had returned a newer version (non-monotonic reads).

    Parameters
    ----------
    reads : DataFrame
        Columns `READS`, on one clock. A read is earlier if it had been answered when this one began, whoever made it.

    Returns
    -------
    DataFrame
        `reads`, in their order, with seen_before (newest version that earlier reads returned; 0 if none) and back.
    """
    numbered = reads.assign(
        key=reads["key"].astype(str), version=reads["version"].astype(int), _place=np.arange(len(reads))
    )  # fmt: skip
    answered = numbered.sort_values("returned_s")
    answered = answered.assign(seen_before=answered.groupby("key")["version"].cummax())
    earlier = _nearest(numbered, answered, ("sent_s", "returned_s"), {"seen_before": "seen_before"})
    seen_before = earlier["seen_before"].fillna(0).astype(int).to_numpy()
    return reads.assign(seen_before=seen_before, back=reads["version"].to_numpy() < seen_before)


def timeline(writes: pd.DataFrame, reads: pd.DataFrame, read: pd.Series) -> pd.DataFrame:
    """Tell what led to a read, operation by operation.

    Parameters
    ----------
    writes, reads : DataFrame
        The history; columns `WRITES` and `READS`, perhaps more.
    read : Series
        A row of `reads`.

    Returns
    -------
    DataFrame
        In order of sent_s: operation (write or read), version, sent_s, ended_s (NaN where it is unknown whether a write
        took effect), and the further columns that both tables have. The write of the version that the read returned
        and all later ones sent before the read was answered; the reads that returned one of these before, newest last;
        and the read itself.
    """
    of_key = (table[table["key"] == read["key"]] for table in (writes, reads))
    wrote, were_read = of_key
    wrote = wrote[(wrote["version"] >= read["version"]) & (wrote["sent_s"] <= read["returned_s"])]
    before = were_read[(were_read["version"] > read["version"]) & (were_read["returned_s"] <= read["sent_s"])]
    parts = [
        wrote.rename(columns={"acked_s": "ended_s"}).assign(operation="write"),
        before.rename(columns={"returned_s": "ended_s"}).assign(operation="read"),
        read.to_frame().T.rename(columns={"returned_s": "ended_s"}).assign(operation="read"),
    ]
    shared = [column for column in parts[0].columns if all(column in part for part in parts)]
    first = ["operation", "version", "sent_s", "ended_s"]
    rest = [column for column in shared if column not in {*first, "key"}]
    listed = pd.concat([part[[*first, *rest]].astype(object) for part in parts], ignore_index=True)
    return listed.astype({"version": int, "sent_s": float, "ended_s": float}).sort_values("sent_s", kind="stable")


def _on_one_clock(
    writes: pd.DataFrame, reads: pd.DataFrame, error_s: Mapping[str, float]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Widen every write and read by the error of its clock, so that whatever may have overlapped does."""
    named = ["host" in table for table in (writes, reads)]
    if any(named) and not all(named):
        raise InputError(
            "history: column host is in one of the two tables only; both say whose clock it was, or neither"
        )
    hosts = sorted({*writes["host"].astype(str), *reads["host"].astype(str)}) if all(named) else []
    if len(hosts) <= 1:
        return writes, reads
    if unknown := [host for host in hosts if not 0 <= error_s.get(host, np.inf) < np.inf]:
        raise InputError(
            f"history: made by clients on {', '.join(hosts)}, and nothing bounds the clock of {', '.join(unknown)}; "
            "say by how many seconds each may be off, or measure from one host"
        )
    after, before = (table["host"].astype(str).map(error_s) for table in (writes, reads))
    return (
        writes.assign(sent_s=writes["sent_s"] - after, acked_s=writes["acked_s"] + after),
        reads.assign(sent_s=reads["sent_s"] - before, returned_s=reads["returned_s"] + before),
    )


def _nearest(
    reads: pd.DataFrame, acked: pd.DataFrame, on: tuple[str, str], columns: dict[str, str], forward: bool = False
) -> pd.DataFrame:
    """Return columns of the acknowledged write of the key nearest to each read in some order, by the read's place."""
    left, right = (
        pd.Series(frame[name], dtype=float).rename("_on") for frame, name in zip((reads, acked), on, strict=True)
    )
    near = pd.merge_asof(
        reads[["key", "_place"]].assign(_on=left).sort_values("_on"),
        acked[["key", *columns]].rename(columns=columns).assign(_on=right).sort_values("_on"),
        on="_on", by="key", direction="forward" if forward else "backward", allow_exact_matches=not forward,
    )  # fmt: skip
    return near.set_index("_place").sort_index()[list(columns.values())]


def _check_writers(writes: pd.DataFrame) -> None:
    ordered = writes.sort_values(["key", "version"])
    same = ordered["key"] == ordered["key"].shift()
    twice = same & (ordered["version"] == ordered["version"].shift())
    early = same & (ordered["sent_s"] < ordered["acked_s"].fillna(ordered["sent_s"]).shift())
    for wrong, what in ((twice, "stands twice"), (early, "was sent before the last was over")):
        if wrong.any():
            row = ordered[wrong].iloc[0]
            raise InputError(f"history: version {row['version']} of key {row['key']!r} {what}; a key has one writer")


def _check_versions(writes: pd.DataFrame, reads: pd.DataFrame) -> None:
    sent = reads.merge(writes[["key", "version", "sent_s"]], on=["key", "version"], how="left", suffixes=("", "_write"))
    strange = (reads["version"].to_numpy() != 0) & ~(sent["sent_s_write"] <= sent["returned_s"]).to_numpy()
    if strange.any():
        row = reads[strange].iloc[0]
        raise InputError(
            f"history: a read of key {row['key']!r} returned version {row['version']}, which nobody had sent"
        )
