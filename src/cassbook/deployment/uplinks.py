"""Distances of scenario b whose ways up and down differ, in bandwidth or in time."""

from __future__ import annotations

import pandas as pd

from cassbook.deployment.distances import Distances, from_table, printed

#: Clients and cluster of scenario b, and how many megabits a second go up and down.
CLIENTS, CLUSTER = "eu_west_2", "ap_south_1"
_NARROW, _WIDE = 2.0, 20.0
#: Where the two ways differ in time: this much of the round trip is the way up.
_LONGER_SHARE = 0.9


def _ways(up_mbit_per_s: float, down_mbit_per_s: float, up_share: float = 0.5) -> Distances:
    """Distances of scenario b with different ways up (to the cluster) and down."""
    table = printed()
    rtt_ms = 2 * table.between(CLIENTS, CLUSTER).delay_ms
    zones_ms = 2 * table.between(CLUSTER, CLUSTER).delay_ms
    up_ms, down_ms = rtt_ms * up_share, rtt_ms * (1 - up_share)
    rows = [
        {"from": CLIENTS, "to": CLUSTER, "there_ms": up_ms, "back_ms": down_ms, "mbit_per_s": up_mbit_per_s},
        {"from": CLUSTER, "to": CLIENTS, "there_ms": down_ms, "back_ms": up_ms, "mbit_per_s": down_mbit_per_s},
        {"from": CLUSTER, "to": CLUSTER, "there_ms": zones_ms / 2, "back_ms": zones_ms / 2, "mbit_per_s": None},
    ]
    return from_table(
        pd.DataFrame(rows, dtype=object),
        f"up {up_ms:g} ms, {up_mbit_per_s:g} Mbit/s; down {down_ms:g} ms, {down_mbit_per_s:g} Mbit/s",
    )


def uplink_distances() -> dict[str, Distances | None]:
    """Return the compared distances by name; None for those of the scenario itself."""
    return {
        "equal": None,
        "both narrow": _ways(_NARROW, _NARROW),
        "narrow up": _ways(_NARROW, _WIDE),
        "narrow down": _ways(_WIDE, _NARROW),
        "long up": _ways(1000, 1000, _LONGER_SHARE),
        "long down": _ways(1000, 1000, 1 - _LONGER_SHARE),
    }
