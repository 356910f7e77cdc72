"""A client process on a worker of a Dask cluster against a local one: what going through a scheduler costs.

Both are processes of this machine and load one cluster by turns, local, worker, worker, local (ABBA), so that a drift
of the machine or the cluster is felt by both alike.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from distributed import LocalCluster

from cassbook.core.errors import LaboratoryError
from cassbook.core.estimate import Estimate
from cassbook.core.files import write_text
from cassbook.core.paths import project_root
from cassbook.core.progress import bar
from cassbook.core.types import Log
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.connect import Access, connect
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.ycsb import KEYSPACE, create_table
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.client import Client, Place
from cassbook.lab.run.processes import ClientProcesses
from cassbook.lab.run.remote import Clients
from cassbook.lab.run.warmup import WarmUp
from cassbook.lab.run.workers import Asked, Workers
from cassbook.profile.profile import LoadSection, Profile, PureSection, TableSection

ENGINE = "2.1.20"
ROUNDS, TURNS = 15, ("local", "worker", "worker", "local")
POINTS = (("READ", "ONE", 100), ("UPDATE", "QUORUM", 100), ("READ", "ONE", 10))
_POINT = ["operation", "level", "threads"]
_RAMP_S, _STEADY_S = 1.0, 4.0
_PROFILE = Profile(
    name="clients", title="one client process, here or on a worker", seed=1, engine=ENGINE,
    table=TableSection(record_count=20_000), load=LoadSection(steady_s=_STEADY_S), pure=PureSection(threads=[100]),
)  # fmt: skip


def ratios(turns: pd.DataFrame) -> pd.DataFrame:
    """Ratio of throughputs, worker over local, by point and of all: geometric mean over rounds with its 95 % interval.

    `turns`: one row per turn: operation, level, threads, round, where, throughput_per_s.

    Columns: operation, level, threads ('all' in the last row), ratio, low, high, rounds.
    """
    sums = turns.pivot_table("throughput_per_s", [*_POINT, "round"], "where", aggfunc="sum", sort=False)
    over = (sums["worker"] / sums["local"]).reset_index(name="ratio")
    groups: list[tuple[Any, pd.DataFrame]] = list(over.groupby(_POINT, sort=False))
    rows = []
    for key, group in [*groups, (("all", "all", "all"), over)]:
        ratio = Estimate.ratio(group["ratio"])
        bounds = {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
        rows.append(dict(zip(_POINT, key, strict=True)) | bounds | {"rounds": ratio.n})
    return pd.DataFrame(rows)


def compare(log: Log = print) -> pd.DataFrame:
    """Measure all turns; one row each."""
    rows: list[dict[Hashable, Any]] = []
    with (
        CassandraCluster(ENGINE, Spec(), name="bench", log=log) as cluster,
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1") as dask,
        Workers(Asked(dask.scheduler_address), log) as workers,
        TemporaryDirectory() as folder,
    ):
        place = _filled(cluster)
        clients = Clients(workers, Access(), cluster.release.protocol)
        epoch = time.perf_counter()
        with (
            ClientProcesses(1, _PROFILE, place, [1], epoch) as local,
            clients.place(1, _PROFILE, place, [1], epoch) as there,
            bar(ROUNDS * len(POINTS) * len(TURNS), 0, "turn") as progress,
        ):
            for number in range(ROUNDS):
                for point in POINTS:
                    for where in TURNS:
                        processes = local if where == "local" else there
                        rate = _throughput_per_s(processes, point, Path(folder) / "turn.parquet")
                        row: dict[Hashable, Any] = dict(zip(_POINT, point, strict=True))
                        rows.append(row | {"round": number, "where": where, "throughput_per_s": rate})
                        progress.update()
    return pd.DataFrame(rows)


def _filled(cluster: CassandraCluster) -> Place:
    """Make and load the table, and warm the cluster up."""
    session = cluster.connect()
    create_table(session, _PROFILE.table, 3)
    session.cluster.shutdown()
    reach = partial(connect, cluster.addresses, cluster.release.protocol)
    place = Place(reach, cluster.addresses, cluster.labels, KEYSPACE)
    with closing(Client(_PROFILE, place, [0], 0.0)) as client, TemporaryDirectory() as folder:
        if client.fill(client.usertable, 64):
            raise LaboratoryError("the table could not be loaded")
        warm = Cell("warm", "warmup", 100, "QUORUM", "QUORUM", 0.5, 1, 1, -1)
        client.run([warm], Bound(until=WarmUp(_PROFILE.warm_up)), Path(folder) / "warm.parquet")
    return place


def _throughput_per_s(processes: ClientProcesses, point: tuple[str, str, int], path: Path) -> float:
    operation, level, threads = point
    cell = Cell("turn", "pure", threads, level, level, float(operation == "READ"), 1, 1, 0)
    _, samples = processes.run([cell], Bound(_RAMP_S, _STEADY_S), path)
    return _steady(samples) / _STEADY_S


def _steady(samples: pa.Table) -> int:
    """Operations of the steady window, all of which must have succeeded."""
    steady = samples.filter(pc.equal(samples["phase"].cast(pa.string()), "steady"))
    failed = pc.sum(pc.not_equal(steady["outcome"].cast(pa.string()), "ok")).as_py()
    if failed or not steady.num_rows:
        raise LaboratoryError(f"{failed or 'all'} of {steady.num_rows} operations failed")
    return int(steady.num_rows)


def main(folder: Path | None = None) -> None:
    """Measure, and print one row per point and one of all."""
    folder = folder or project_root() / "_build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    turns = compare()
    write_text(folder / "clients.csv", turns.round(1).to_csv(index=False, lineterminator="\n"))
    table = ratios(turns)
    print(table.round(3).to_string(index=False))
    last = table.iloc[-1]
    print(
        f"throughput, a worker's client over a local one: {last['ratio']:.3f} ({last['low']:.3f} to {last['high']:.3f})"
    )


if __name__ == "__main__":
    main()
