"""Round trips of a deployment in as few lines as say all of them."""

from __future__ import annotations

import pandas as pd

from cassbook.deployment.distances import Placement
from cassbook.deployment.notation import Host
from cassbook.deployment.replication import names

#: With more zones than these, regions are shown instead.
_MOST_ZONES = 6


def round_trips(placement: Placement, matrix: bool = False) -> list[str]:
    """Return the table in lines: between zones, between regions where there are many, or by host with `matrix`.

    All hosts of a zone are as far from those of another, and all zones of a region as far from one another.
    """
    hosts = placement.rtt_ms()
    zones: dict[tuple[int, int], list[Host]] = {}
    for host in placement.deployment.hosts:
        zones.setdefault((host.region, host.zone), []).append(host)
    if matrix or len(zones) == len(hosts) <= _MOST_ZONES:
        return ["round trips, ms:", _printed(hosts)]
    if len(zones) <= _MOST_ZONES:
        labels = [_label(own) for own in zones.values()]
        shown = pd.DataFrame(
            [[hosts.loc[a[0].name, b[-1].name] for b in zones.values()] for a in zones.values()], labels, labels
        )
        return ["round trips, ms (--matrix shows each host):", _printed(shown)]
    regions: dict[int, list[Host]] = {}
    for host in placement.deployment.hosts:
        regions.setdefault(host.region, []).append(host)
    labels = [placement.regions[region] for region in regions]
    shown = pd.DataFrame(
        [[_between(hosts, a, b) for b in regions.values()] for a in regions.values()], labels, labels
    )  # fmt: skip
    return ["round trips, ms, of a region with itself between its zones (--matrix shows each host):", _printed(shown)]


def _between(hosts: pd.DataFrame, a: list[Host], b: list[Host]) -> float:
    """Round trip between hosts of two regions, or of two zones of one."""
    return float(hosts.loc[[host.name for host in a], [host.name for host in b]].to_numpy().max())


def _label(hosts: list[Host]) -> str:
    """Name the hosts of a zone, the client among them."""
    nodes = [host for host in hosts if host.name != "C"]
    client = ["C"] if len(nodes) < len(hosts) else []
    return ", ".join([*client, *([names(nodes)] if nodes else [])])


def _printed(table: pd.DataFrame) -> str:
    return table.to_string(float_format="{:.1f}".format, index_names=False)
