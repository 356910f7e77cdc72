"""What a staleness run says beyond its curves: errors of the probe, ways of messages, cost of tracing, settings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cassbook.core.consistency import setting_waiting_for
from cassbook.core.estimate import Estimate
from cassbook.deployment.notation import CLIENT
from cassbook.records.staleness import StalenessRun
from cassbook.staleness import curves, pbs


def strong_checked(run: StalenessRun) -> tuple[int, int]:
    """Return reads of settings whose quorums meet, and how many were not consistent: what the probe gets wrong."""
    panels = run.panels[run.panels["r"] + run.panels["w"] > run.panels["n"]]
    reads = run.reads.merge(panels[["start", "setup", "panel"]], on=["start", "setup", "panel"])
    return int(reads["reads"].sum()), int(reads.loc[reads["versions_behind"] > 0, "reads"].sum())


def ways(run: StalenessRun, setup: str) -> pd.DataFrame:
    """Return what traces make of a write's way to a replica and back, against the round trips that echoes took on the
    same relay.

    Index (from, to) by node; asked_ms, echo_ms (median, mean over cluster starts), least_ms, median_ms (W +
    A of writes that were traced beside the least load), inside_ms (median less echo: what both nodes themselves took).
    """
    starts = [start["distances"] for start in run.results.manifest["cluster_starts"] if start["setup"] == setup]
    echoes = pd.DataFrame([row for start in starts for row in start])
    nodes = sorted({name for name in [*echoes["from"], *echoes["to"]] if name != CLIENT})
    echoes = echoes.groupby(["from", "to"])[["asked_ms", "median_ms"]].mean()
    panels = run.panels[run.panels["setup"] == setup]
    idle = panels.loc[panels["threads"] == panels["threads"].min(), ["start", "setup", "panel"]]
    legs = run.legs[run.legs["kind"] == "UPDATE"].astype({"back_ms": float})
    legs = legs.merge(idle, on=["start", "setup", "panel"])
    rows = {}
    for (a, b), ms in legs[legs["coordinator"] != legs["replica"]].groupby(["coordinator", "replica"])["back_ms"]:
        names = (nodes[int(str(a))], nodes[int(str(b))])
        asked_ms, echo_ms = echoes.loc[names if names in echoes.index else names[::-1]]
        rows[names] = (asked_ms, echo_ms, ms.min(), ms.median(), ms.median() - echo_ms)
    columns = ["asked_ms", "echo_ms", "least_ms", "median_ms", "inside_ms"]
    index = pd.MultiIndex.from_tuples(list(rows), names=["from", "to"])
    return pd.DataFrame(list(rows.values()), index, columns)


def nearest_round_trip_ms(run: StalenessRun, setup: str) -> float:
    """Return the round trip from a node to the nearest other, by echoes: mean over nodes and cluster starts."""
    starts = [start["distances"] for start in run.results.manifest["cluster_starts"] if start["setup"] == setup]
    echoes = pd.DataFrame([row | {"start": number} for number, start in enumerate(starts) for row in start])
    echoes = echoes[(echoes["from"] != CLIENT) & (echoes["to"] != CLIENT)]
    both = pd.concat([echoes, echoes.rename(columns={"from": "to", "to": "from"})])
    return float(both.groupby(["start", "from"])["median_ms"].min().mean())


def tracing_cost(run: StalenessRun) -> dict[int, Estimate]:
    """Return how many times as long a traced read of one replica takes, over cluster starts, by threads beside the
    probe.
    """
    panels = run.panels[run.panels["traced_read_ms"].notna() & (run.panels["r"] == 1)]
    panels = panels.assign(log=np.log(panels["traced_read_ms"] / panels["read_ms"]))
    logs = panels.groupby(["threads", "start"])["log"].mean()
    return {int(str(threads)): Estimate.ratio(np.exp(group)) for threads, group in logs.groupby(level=0)}


def versions(run: StalenessRun, setup: str, most: int = 10) -> pd.DataFrame:
    """Return P(one of the last k versions) at once, 1R-1W, where versions are written one after the other.

    Columns: threads, k, those of `curves.over_t`, predicted (from the panel's traces: the k-th last version had so
    many more writes' time to arrive, and replicas take versions in order) and formula (quorums that do not expand).
    """
    panels = run.panels[(run.panels["setup"] == setup) & (run.panels["versions"] > 1)]
    parts = []
    for threads in sorted(set(panels["threads"])):
        rows = panels[panels["threads"] == threads]
        written, n = int(rows["versions"].iloc[0]), int(rows["n"].iloc[0])
        seen = curves.over_k(run.counted(setup, threads, 1, 1, written), 0.0, min(most, written))
        traced, between_ms = run.traced(setup, threads, 1, 1), float(rows["write_ms"].mean())
        predicted = [traced.p_consistent((k - 1) * between_ms) for k in seen["k"]]
        formula = [pbs.k_staleness(n, 1, 1, int(k)) for k in seen["k"]]
        parts.append(seen.assign(threads=threads, predicted=predicted, formula=formula))
    return pd.concat(parts, ignore_index=True)


def frontier(runs: Iterable[StalenessRun]) -> pd.DataFrame:
    """Return every setting: what it costs, and how soon reads are consistent.

    Columns: n, setup, threads, setting, r, w, read_ms, write_ms, read_p99_ms, write_p99_ms (geometric means over
    cluster starts), latency_ms (half reads, half writes), p0 with low and high, t_999_ms (0 where quorums meet; NaN
    where it was not reached within the waits), least_reads (after any wait).
    """
    rows = []
    for run in runs:
        panels = run.panels[run.panels["versions"] == 1]
        figures = ["read_ms", "write_ms", "read_p99_ms", "write_p99_ms"]
        logs = panels.assign(**{name: np.log(panels[name]) for name in figures})
        by_setting = logs.groupby([*curves.CASE, "r", "w"])[figures].mean()
        means = by_setting.apply(np.exp).reset_index()
        for row in means.to_dict("records"):
            n, threads, r, w = (int(row[name]) for name in ("n", "threads", "r", "w"))
            seen = curves.over_t(run.counted(str(row["setup"]), threads, r, w))
            rows.append({
                **row, "setting": setting_waiting_for(r, w), "latency_ms": (row["read_ms"] + row["write_ms"]) / 2,
                "p0": float(seen["p"].iloc[0]), "low": float(seen["low"].iloc[0]), "high": float(seen["high"].iloc[0]),
                "t_999_ms": 0.0 if r + w > n else curves.reached_ms(seen), "least_reads": int(seen["reads"].min()),
            })  # fmt: skip
    return pd.DataFrame(rows)
