"""What the 2016 paper prints of its own system: demands of Tables 2 and 3, as defaults."""

from __future__ import annotations

from functools import cache
from typing import Any

from cassbook import published
from cassbook.core.consistency import LEVELS, replicas_waited_for
from cassbook.core.errors import InputError
from cassbook.queueing.network import Demands, Network, Operation

NODES, REPLICATION = 4, 3
#: Jobs of section 5.1.
JOBS = 45
#: Of its table: 10 fields of so many bytes.
FIELD_LENGTH = 100


@cache
def demands(level: str) -> Demands:
    """Demands at a level; an InputError for one that Table 2 has not."""
    if level not in LEVELS:
        raise InputError(f"level: Table 2 has no {level!r}; use one of {', '.join(LEVELS)}, or give demands")
    cpu = published.table("d16_table2")
    at_level = cpu[(cpu["level"] == level) & cpu["cpu_demand_ms"].notna()]
    others = dict(published.table("d16_table3").itertuples(index=False, name=None))
    return Demands(
        dict(zip(at_level["class"], at_level["cpu_demand_ms"].astype(float), strict=True)), others["Disk"],
        others["Network Request"], others["Network Data"], others["YCSB CPU"],
    )  # fmt: skip


def level_with(waits: int, replication: int) -> str:
    """Level of Table 2 whose demands fit a read that waits for so many: one, all, or a part of them."""
    if waits == 1:
        return "ONE"
    return "ALL" if waits == replication and waits != replicas_waited_for("QUORUM", replication) else "QUORUM"


def network(
    consistency: str | int,
    nodes: int = NODES,
    replication: int = REPLICATION,
    own_demands: Demands | None = None,
    ask_all: bool = False,
    **options: Any,
) -> Network:
    """Return the paper's network for reads at a level, or that wait for so many replicas.

    `own_demands` stand in place of the printed ones. With `ask_all`, section 5.3's 'real QUORUM', all replicas are
    asked and the first answers that suffice are taken. Options are those of `Network`; an InputError for a level above
    the replication, or numbers that do not fit.
    """
    waits = consistency if isinstance(consistency, int) else replicas_waited_for(consistency, replication)
    level = consistency if consistency in LEVELS else level_with(waits, replication)
    read = Operation(own_demands or demands(str(level)), replication if ask_all else waits, waits)
    return Network((read,), nodes, replication, **options)
