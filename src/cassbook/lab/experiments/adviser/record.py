"""Record the shifting load: every actor goes through the same schedule, on each of several clusters.

A run folder holds a file a (block, actor), written whole and by rename, so that an interrupted recording goes on with
what is missing; `manifest.json` says how it was made.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from cassbook import __version__
from cassbook.advisor.adviser import Adviser
from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.policy import Policy, Terms
from cassbook.advisor.sweep import TableSweep
from cassbook.advisor.window import Window
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.files import write_text
from cassbook.core.progress import bar
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.experiments.adviser import scene
from cassbook.lab.experiments.adviser.shifting import SCHEDULE, Advising, Fixed, Naive, Phase, Ride
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.ycsb import KEYSPACE, Usertable, create_table
from cassbook.lab.run.client import fill
from cassbook.profile.profile import TablePart

ACTORS = ("adaptive", "naive", "1R-3W", "2R-2W", "3R-1W")
#: Setting that all begin in; the table is loaded at ALL, so any would do.
_START = "2R-2W"
_WINDOW_S, _INTERVAL_S = 5.0, 0.5
#: Whoever runs this load knows how long it stays as it is; to believe in longer would be unfair to both that switch.
_TERMS = Terms(horizon_s=SCHEDULE[0].seconds)
_LOAD_THREADS, _TIMEOUT_S = 64, 12.0
_SEED = 20200912
_WARM_UP = (Phase(20, 100, 0.5),)
#: Watchers beside the load: few and slow, so that they are not a load themselves.
_WATCH = scene.Plan(keys=40, writers=2, readers=2, pause_s=0.01)
_QUANTILES = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99}

Say = Callable[[str], None]


def record(
    folder: Path,
    latency_map: LatencyMap,
    engine: str,
    blocks: int = 3,
    terms: Terms | None = None,
    records: int = 100_000,
    schedule: Sequence[Phase] = SCHEDULE,
    say: Say = print,
) -> Path:
    """Record what is missing of a run.

    Parameters
    ----------
    folder : Path
        New, or one to go on with that was begun alike.
    latency_map : LatencyMap
        Of a run on this machine with the same engine; what the policy goes by.
    engine : str
    blocks : int
        Cluster starts; in each all actors ride, in random order.
    terms : Terms, optional
    records : int
        Rows of usertable.
    schedule : sequence of Phase
    say : callable
        Takes each line of progress.

    Returns
    -------
    Path
        The folder, complete.

    Raises
    ------
    InputError
        If the folder holds a run that was begun otherwise.
    """
    terms = terms or _TERMS
    notes = _notes(latency_map, engine, blocks, terms, records, schedule)
    _begin(folder, notes)
    order = {b: np.random.default_rng([_SEED, b]).permutation(ACTORS).tolist() for b in range(1, blocks + 1)}
    todo = {b: [a for a in actors if not _path(folder, b, a).is_file()] for b, actors in order.items()}
    left = sum(map(len, todo.values()))
    with bar(blocks * len(ACTORS), blocks * len(ACTORS) - left, "ride") as progress:
        for block, actors in todo.items():
            if actors:
                _block(
                    folder, block, actors, latency_map, engine, terms, records, tuple(schedule), say, progress.update
                )
    done = json.loads((folder / "manifest.json").read_text()) | {"complete": True}
    write_text(folder / "manifest.json", json.dumps(done, indent=1))
    return folder


def _notes(
    latency_map: LatencyMap, engine: str, blocks: int, terms: Terms, records: int, schedule: Sequence[Phase]
) -> dict[str, Any]:
    return {
        "engine": engine, "map": latency_map.name, "blocks": blocks, "records": records, "start": _START,
        "terms": asdict(terms), "schedule": [asdict(phase) for phase in schedule],
        "window_s": _WINDOW_S, "interval_s": _INTERVAL_S, "package": __version__,
        "machine": {"cores": psutil.cpu_count(), "memory_gb": round(psutil.virtual_memory().total / 2**30, 1)},
        "python": platform.python_version(), "kernel": platform.release(),
    }  # fmt: skip


def _begin(folder: Path, notes: dict[str, Any]) -> None:
    path = folder / "manifest.json"
    if path.is_file():
        there = json.loads(path.read_text())
        differs = sorted(key for key, value in notes.items() if there.get(key) != value and key not in _MAY_DIFFER)
        if differs:
            raise InputError(f"{path}: was begun with another {', '.join(differs)}; use another folder")
        return
    folder.mkdir(parents=True, exist_ok=True)
    began = {"began": datetime.now(UTC).isoformat(timespec="seconds"), "load_before": psutil.getloadavg()[0]}
    write_text(path, json.dumps(notes | began | {"complete": False}, indent=1))


#: A later session may run on a machine that was updated meanwhile.
_MAY_DIFFER = frozenset({"python", "kernel"})


def _path(folder: Path, block: int, actor: str) -> Path:
    return folder / f"b{block}-{actor}.json"


def _block(
    folder: Path,
    block: int,
    actors: list[str],
    latency_map: LatencyMap,
    engine: str,
    terms: Terms,
    records: int,
    schedule: tuple[Phase, ...],
    say: Say,
    advance: Callable[[], Any],
) -> None:
    with CassandraCluster(engine, Spec(), name="shifting", say=say) as cluster:
        session = cluster.connect()
        part = TablePart(record_count=records)
        create_table(session, part, 3)
        scene.create(session, KEYSPACE)
        nodes = Nodes(session, cluster.addresses)
        rng = np.random.default_rng([_SEED, block, int(time.time())])
        table = Usertable(session, part, cluster.addresses, "token_aware", 0, rng)
        if failed := fill(nodes, table, _LOAD_THREADS, _TIMEOUT_S):
            raise LaboratoryError(f"the table could not be loaded: {failed} inserts failed")
        cluster.flush(session, table.name)
        warm = Fixed(session, _START, Window(_WINDOW_S))
        Ride(nodes, table, warm, rng).run(_WARM_UP, say)
        try:
            for actor in actors:
                say(f"block {block}: {actor}")
                found = _ride(actor, session, nodes, table, latency_map, terms, schedule, rng, say)
                write_text(_path(folder, block, actor), json.dumps({"block": block, "actor": actor} | found))
                advance()
        finally:
            nodes.close()
            session.cluster.shutdown()


def _ride(
    name: str,
    session: Any,
    nodes: Nodes,
    table: Usertable,
    latency_map: LatencyMap,
    terms: Terms,
    schedule: tuple[Phase, ...],
    rng: np.random.Generator,
    say: Say,
) -> dict[str, Any]:
    adviser, at_rest = None, None
    if name == "adaptive":
        tables = [table.name.partition(".")[2], scene.TABLE]
        # Other rides wrote to the same rows at lower levels. What this sweep takes is also what an operator would know.
        at_rest = TableSweep(session, KEYSPACE, tables).now()
        options: dict[str, Any] = {"sweep_s": at_rest.seconds, "window_s": _WINDOW_S, "interval_s": _INTERVAL_S}
        adviser = Adviser(session, KEYSPACE, tables, latency_map, _START, terms=terms, **options)
        actor: Any = Advising(adviser)
    elif name == "naive":
        policy = Policy(latency_map, 3, terms)
        actor = Naive(session, _START, Window(_WINDOW_S), policy, _INTERVAL_S)
    else:
        actor = Fixed(session, name, Window(_WINDOW_S))
    # Every ride's watchers begin with rows that all replicas have, and with sequence numbers of their own.
    scene.create(session, KEYSPACE)
    ride = Ride(nodes, table, actor, rng)
    try:
        with scene.Load(session, actor, actor, _WATCH, keyspace=KEYSPACE) as watch:
            ride.run(schedule, say)
    finally:
        if adviser is not None:
            adviser.close()
    found = summary(ride, watch, schedule)
    if adviser is not None and at_rest is not None:
        found["sweep_at_rest"] = asdict(at_rest)
        found["sweeps"] = [asdict(cost) for cost in adviser.sweeps.measured]
    return found


def summary(ride: Ride, watch: scene.Load, schedule: Sequence[Phase]) -> dict[str, Any]:
    """What is kept of a ride.

    Returns
    -------
    dict
        phases: a row a phase, and one of number 0 for the whole: seconds, n, errors, mean_us, p50_us, p95_us, p99_us,
        read_mean_us, write_mean_us; seconds: mean latency and requests by second; levels: when which were in force;
        watch: reads, violations, writes, errors, and how late and how many versions behind the violations were.
    """
    samples = ride.samples()
    rows = [_figures(samples, 0)]
    rows += [_figures(samples[samples["phase"] == k], k) for k in range(1, len(schedule) + 1)]
    good = samples[samples["ok"]]
    by_second = good.groupby(good["started_s"].astype(int))["latency_us"].agg(["mean", "size"])
    judged = watch.judged()
    bad = judged[~judged["consistent"]]
    return {
        "phases": rows,
        "seconds": {
            "second": by_second.index.tolist(),
            "mean_us": by_second["mean"].round(1).tolist(),
            "n": by_second["size"].tolist(),
        },
        "levels": [[round(at - ride.began, 3), reads, writes] for at, reads, writes in ride.levels],
        "watch": {
            "reads": len(judged), "writes": len(watch.writes), "errors": watch.errors, "violations": len(bad),
            "behind_ms": bad["behind_ms"].round(1).tolist(), "versions_behind": bad["versions_behind"].tolist(),
        },
    }  # fmt: skip


def _figures(samples: pd.DataFrame, phase: int) -> dict[str, Any]:
    good = samples[samples["ok"]]
    latency = good["latency_us"]
    quantiles = {name: round(float(latency.quantile(q)), 1) for name, q in _QUANTILES.items()}
    of = {flag: float(latency[good["read"] == flag].mean()) for flag in (True, False)}
    return {
        "phase": phase, "n": len(good), "errors": int((~samples["ok"]).sum()),
        "mean_us": round(float(latency.mean()), 1),
        **quantiles, "read_mean_us": round(of[True], 1), "write_mean_us": round(of[False], 1),
        "seconds": round(float(samples["started_s"].max() - samples["started_s"].min()), 2),
    }  # fmt: skip
