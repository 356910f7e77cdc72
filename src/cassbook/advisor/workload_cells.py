"""Cells of a run's workloads, own ones above all, as a map of latencies takes them.

The mix is a part of a workload: it is measured at its own read share and at no other. Several workloads on the same
tables, at different read shares, span a map over shares; a point between two of them is a mixture of their operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.errors import InputError

#: YCSB's presets that use the one table of a block; D and E, which insert, have a copy each.
_ON_THE_TABLE = frozenset("ABCF")
#: A load whose share of reads differs by no more than this from a workload's is taken for that workload: the part of
#: reads is a little another one by requests than by operations, where an operation reads and then writes.
SAME_MIX = 0.1


def names(workload: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return one name, several, or none as a tuple."""
    return () if workload is None else (workload,) if isinstance(workload, str) else tuple(workload)


def shares(cell_stats: pd.DataFrame) -> dict[str, float]:
    """Share of reads of each workload that was measured in a closed loop, in order of name."""
    cells = _closed(cell_stats)
    return {str(name): float(share) for name, share in cells.groupby("workload")["read_share"].first().items()}


def _closed(cell_stats: pd.DataFrame) -> pd.DataFrame:
    if "workload" not in cell_stats.columns:
        return cell_stats.iloc[:0].assign(workload="")
    chosen = (cell_stats["kind"] == "workload") & (cell_stats["workload"] != "")
    if "rate_per_s" in cell_stats.columns:
        chosen &= cell_stats["rate_per_s"].isna()
    return cell_stats[chosen]


def as_mixed(cell_stats: pd.DataFrame, wanted: Sequence[str], name: str) -> pd.DataFrame:
    """Return the closed-loop cells of some workloads as mixed cells at their read shares.

    Raises
    ------
    InputError
        For a workload that was not measured, and for two of one read share.
    """
    measured = shares(cell_stats)
    for workload in wanted:
        if workload not in measured:
            known = ", ".join(measured) or "none"
            raise InputError(f"workload: {name} has no cells of {workload!r}; measured workloads: {known}")
    of_all = [measured[workload] for workload in wanted]
    if len(np.unique(np.round(of_all, 6))) < len(of_all):
        listed = ", ".join(f"{workload} {measured[workload]:.0%}" for workload in wanted)
        raise InputError(f"workload: {listed}; workloads make one map by their shares of reads, which must differ")
    cells = _closed(cell_stats)
    return cells[cells["workload"].isin(wanted)].assign(kind="mixed")


def check_same_tables(profile: Mapping[str, Any], wanted: Sequence[str]) -> None:
    """Refuse workloads that do not use the same tables, loaded in the same way, as far as a run's profile says.

    Raises
    ------
    InputError
        If their latencies do not belong on one map.
    """
    if len(wanted) < 2 or _ON_THE_TABLE.issuperset(wanted):  # noqa: PLR2004 - one is always alike
        return
    part = profile.get("workloads") or {}
    own = {section["name"]: (section.get("create"), section.get("load")) for section in part.get("own", ())}
    first = own.get(wanted[0])
    if first is None or any(own.get(workload) != first for workload in wanted[1:]):
        raise InputError(
            f"workload: {', '.join(wanted)} do not use the same tables; one map takes A, B, C and F, or own workloads "
            "whose `create` and `load` are the same"
        )


def without_settings(cell_stats: pd.DataFrame, name: str, wanted: Sequence[str], others: Sequence[str]) -> str:
    """Say that nothing can be advised for the `wanted` workloads, and what could be."""
    if wanted:
        pairs = sorted({f"{r}/{w}" for r, w in zip(cell_stats["read_cl"], cell_stats["write_cl"], strict=True)})
        return (
            f"{name}: workload {', '.join(wanted)} was measured at {', '.join(pairs)}, and no strong setting is among "
            "them at every share of reads; measure some, such as QUORUM/QUORUM"
        )
    text = f"{name}: no strong setting has both its reads and its writes measured"
    if not others:
        return text
    return f"{text}; it holds workloads {', '.join(others)}: choose one with --workload"
