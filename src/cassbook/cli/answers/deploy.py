"""What `cassbook deploy` does: predict a deployment, and measure it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cassbook.cli.answers.deploy_notes import Centres, notes, operations, replicated, strategy, surviving
from cassbook.cli.answers.machine import baseline
from cassbook.core.errors import InputError
from cassbook.core.types import Log
from cassbook.deployment.availability import survives
from cassbook.deployment.distances import Distances, Placement, placed, printed, read
from cassbook.deployment.forecast import Forecast, forecast, near
from cassbook.deployment.notation import Host, parse
from cassbook.deployment.replication import Replication, names
from cassbook.ingest.folder import open_run

#: Of a node, as long as there are few of them.
_HEAP_MB, _FEW = 1024, 3
#: With more zones than these, regions are shown instead.
_MOST_ZONES = 6


def place(notation: str, rtt: Path | None, regions: str | None) -> Placement:
    """Read a deployment and its distances; regions as 'eu_west_2,us_west_2', the client's first."""
    deployment = parse(notation)
    places = [name.strip() for name in regions.split(",")] if regions else None
    return placed(deployment, places, printed() if rtt is None else read(rtt))


def predict(
    placement: Placement, level: str, threads: float, run: str, policy: str, replication: Replication | None
) -> tuple[list[Forecast], dict[str, Any]]:
    """Forecast reads and writes on the ground of a run, and say what the run was measured on (see `baseline`).

    Only what the run's version of Cassandra accepts at the level is forecast.
    """
    ground = open_run(run)
    known = baseline(run, ground.manifest)
    accepted = operations(level, known["engine"])
    return forecast(placement, level, threads, near(ground.statistics), policy, replication, accepted), known


def text(predictions: Sequence[Forecast], known: Mapping[str, Any], matrix: bool = False) -> str:
    """Return the answer, then what it is computed from; `matrix` has a row for each host."""
    model = predictions[0].model
    placement = model.placement
    lines = [
        f"{placement.deployment}  in {_places(placement)}",
        f"{model.level}, {predictions[0].threads:g} in flight, coordinator {_coordinators(predictions[0])}",
    ]
    for one in predictions:
        lines.append(
            f"  {one.operation.lower() + 's':7} {one.latency_ms:.1f} ms, {one.throughput_per_s:,.0f} a second, "
            f"bound by {_BOUNDS[one.bound]}"
        )
    lines += [*surviving(model), *Centres(model, known["engine"]).lines(), replicated(model)]
    lines.append(
        f"the baseline without distance is {known['run']}: {known['note']}; nodes of their own do more, "
        "and --run takes a run of yours"
    )
    lines += [*notes(model, known), *round_trips(placement, matrix)]
    return "\n".join(lines)


def _places(placement: Placement) -> str:
    """Name the regions, and whose the first is."""
    client, *others = placement.regions
    return ", ".join([f"{client} (the client's)", *others])


_BOUNDS = {
    "distance": "distance",
    "coordinator": "what a coordinator holds at a time (native_transport_max_threads)",
    "processors": "the processors of the baseline's machine",
}


def _coordinators(prediction: Forecast) -> str:
    alike: dict[str, list[str]] = {}
    for way in prediction.model.ways():
        waits = f"{way.client_ms:.1f} ms away, waits {way.hold_ms:.1f} ms for replicas"
        shares = {f"{ms:.1f}": 0.0 for ms, _ in way.holds}
        for ms, share in way.holds:
            shares[f"{ms:.1f}"] += share
        if len(shares) > 1:
            waits += ": " + ", ".join(f"{ms} for {share:.0%} of rows" for ms, share in shares.items())
        alike.setdefault(waits, []).append(way.coordinator)
    return "; ".join(f"{', '.join(coordinators)} ({waits})" for waits, coordinators in alike.items())


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


def as_json(predictions: Sequence[Forecast], known: Mapping[str, Any], measured: pd.DataFrame | None = None) -> str:
    """Return the same for programs."""
    model = predictions[0].model
    placement, count = model.placement, survives(model)
    table: dict[str, Any] = {
        "deployment": str(placement.deployment), "regions": list(placement.regions), "level": model.level,
        "threads": predictions[0].threads, "policy": model.policy, "replication": model.replication,
        "client_region": placement.regions[0], "strategy": strategy(model),
        "survives": {f"{one.operation.lower()}s": count if count >= 0 else None for one in predictions},
        "data_centres": {name: [host.name for host in own] for name, own in placement.data_centres().items()},
        "coordinators": [
            {"name": way.coordinator, "client_ms": way.client_ms, "hold_ms": way.hold_ms,
             "holds": [{"hold_ms": ms, "share": share} for ms, share in way.holds]}
            for way in model.ways()
        ],
        **Centres(model, known["engine"]).as_dict(),
        "cores": known["cores"], "baseline": dict(known), "notes": notes(model, known),
        "predicted": [
            {"operation": one.operation, "bound": one.bound, "latency_ms": one.latency_ms.as_dict(3),
             "throughput_per_s": one.throughput_per_s.as_dict(3)}
            for one in predictions
        ],
    }  # fmt: skip
    if measured is not None:
        table["measured"] = measured.to_dict("records")
    return json.dumps(table, indent=2)


def measure(
    placement: Placement, level: str, threads: int, engine: str, policy: str, folder: Path, log: Log,
    means: str = "relay", replication: Replication | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Measure reads and writes of a deployment on this machine, behind the relay.

    Columns: operation, latency_ms, throughput_per_s, marks.

    Raises InputError: see `measurable`.
    """
    from cassbook.lab.run.measure import measure as run
    from cassbook.profile.profile import Profile

    where, nodes = placement.deployment, len(placement.deployment.replicas)
    longest_s = placement.rtt_ms().to_numpy().max() * 3 / 1000
    profile = Profile.model_validate(
        {
            "name": folder.name, "title": str(where), "engine": engine, "seed": 20211207,
            "cluster": {
                "nodes": nodes, "replication_factor": measurable(placement, replication),
                "heap_mb": _HEAP_MB if nodes <= _FEW else _HEAP_MB // 2,
            },
            "table": {"record_count": 10_000},
            "load": {
                "coordinator": _policy(policy, placement), "ramp_s": 1 + longest_s, "steady_s": 5 + 10 * longest_s,
            },
            "pure": {"threads": [threads], "levels": [level]},
            "distance": {
                "deployments": {"asked": {"notation": str(where), "regions": list(placement.regions)}},
                "distances": rows(placement.distances),
                "means": means,
            },
        }
    )  # fmt: skip
    store = open_run(str(run(profile, folder, log=log)))
    cells = store.statistics
    cells = cells[cells["kind"] == "pure"]
    return pd.DataFrame(
        {
            "operation": np.where(cells["read_share"] == 1, "READ", "WRITE"),
            "latency_ms": cells["latency_us"] / 1000,
            "throughput_per_s": cells["throughput_per_s"],
            "marks": cells["marks"],
        }
    )


def measurable(placement: Placement, replication: Replication | None) -> int:
    """Return the replication factor that a cluster for `--measure` is to have.

    Raises InputError if rows are to be on some nodes of a data centre: the laboratory's keyspaces have them on all, or
    go round the ring.
    """
    if not isinstance(replication, Mapping):
        return len(placement.deployment.replicas) if replication is None else replication
    whole = {name: len(hosts) for name, hosts in placement.data_centres().items()}
    if any(replication.get(name, 0) != count for name, count in whole.items()):
        each = ",".join(f"{name}={count}" for name, count in whole.items())
        raise InputError(
            f"--measure: takes rows on every node (--replication {each}) or a number (SimpleStrategy); "
            "leave it out to predict other replication by data centre"
        )
    return len(placement.deployment.replicas)


def _policy(policy: str, placement: Placement) -> str:
    nodes = [host.name for host in placement.deployment.replicas]
    return f"node{nodes.index(policy) + 1}" if policy in nodes else policy


def rows(distances: Distances) -> list[dict[str, Any]]:
    """Return distances as rows of a profile: from, to, there_ms, back_ms, and jitter and bandwidth if there are."""
    listed = []
    for (sender, receiver), link in distances.links.items():
        back = distances.links.get((receiver, sender), link)
        row = {"from": sender, "to": receiver, "there_ms": link.delay_ms, "back_ms": back.delay_ms}
        extra = {"jitter_ms": link.jitter_ms} if link.jitter_ms else {}
        extra |= {"mbit_per_s": link.mbit_per_s} if np.isfinite(link.mbit_per_s) else {}
        listed.append(row | extra)
    return listed


def folder_name(placement: Placement, level: str, threads: int) -> str:
    """Name the folder of the run that `--measure` makes."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{placement.deployment} {' '.join(placement.regions)} {level} {threads}")
    return f"deploy-{words.strip('-')}"
