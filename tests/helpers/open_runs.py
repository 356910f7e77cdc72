"""A small complete run with cells under open arrivals, whose response times follow a known curve."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cassbook.core.files import sha256
from cassbook.core.schema import CELLS, OPEN, SAMPLES, SCHEMA_VERSION
from cassbook.latency.cells import cell_statistics

#: What each setting carries in a block of scale 1, requests a second, and how long its requests take alone, us.
CARRIED = {"ONE/ONE": 4000.0, "QUORUM/QUORUM": 2500.0, "ONE/ALL": 2000.0}
ALONE_US = {"ONE/ONE": 500.0, "QUORUM/QUORUM": 700.0, "ONE/ALL": 900.0, "ALL/ONE": 800.0}
#: By block: all that it carries is so many times as much.
SCALES = (1.0, 1.1, 0.9)
SHARES, OWN_SHARES = (0.2, 0.4, 0.6, 0.8), (0.5, 0.8)
#: Requests in each cell, and by how much they leave late at the mean.
REQUESTS, LATE_US = 2000, 10.0
MANIFEST = {
    "kind": "run", "schema": SCHEMA_VERSION, "complete": True, "engine": "5.0.9", "begun_unix_s": 0.0,
    "begun": "2026-11-28T10:00:00+00:00", "cluster_starts": [], "machine": {"cpu": "made", "cores": 2},
    "profile": {"name": "open", "cluster": {"nodes": 3, "replication_factor": 3}},
}  # fmt: skip


def mean_us(setting, rate_per_s, scale=1.0):
    """Mean response time, as of M/M/1; responses are exponential, so that p99 is log(100) times as long."""
    return ALONE_US[setting] / (1 - rate_per_s / (CARRIED[setting] * scale))


def open_cells(shares=SHARES, own=OWN_SHARES, rates=(), settings=tuple(CARRIED), read_share=0.5, workload="",
               scales=SCALES, changes=None):  # fmt: skip
    """Cells of one mix as a run records them: in turn at `shares` or `rates`, and alone at `own`.

    `changes`: takes a cell's row and returns what is different.
    """
    mix, rows = workload or f"mix{100 * read_share:.0f}", []
    for block, scale in enumerate(scales, 1):
        weakest = min(CARRIED[setting] for setting in settings) * scale
        places = [(f"share{share:g}", share * weakest, share, settings) for share in shares]
        places += [(f"rate{rate:g}", rate, np.nan, settings) for rate in rates]
        for name, rate, share, in_turn in places:
            rows += [_cell(f"b{block}-open-{mix}-{name}", mix, setting, block, rate, share) for setting in in_turn]
        for setting in (setting for setting in settings if CARRIED[setting] * scale > weakest):
            for share in own:
                rate = share * CARRIED[setting] * scale
                rows.append(_cell(f"b{block}-open-{mix}-own{share:g}", "", setting, block, rate, np.nan))
        for row in rows:
            row.update({"read_share": read_share, "workload": workload})
            if row["block"] == block:
                _load(row, scale)
    return [row | (changes(row) if changes else {}) for row in rows]


def _cell(name, mix, setting, block, rate, share):
    read_cl, write_cl = setting.split("/")
    return {
        "cell_id": f"{name}-{read_cl}+{write_cl}", "kind": OPEN, "cell_group": name if mix else "", "block": block,
        "read_cl": read_cl, "write_cl": write_cl, "rate_per_s": rate, "load_share": share, "threads": 4096,
        "arrivals": "poisson",
    }  # fmt: skip


def _load(row, scale):
    setting = f"{row['read_cl']}/{row['write_cl']}"
    carried = CARRIED[setting] * scale
    row |= {"carried_per_s": carried, "carried_after_per_s": 1.02 * carried, "own_share": row["rate_per_s"] / carried}
    known = row["rate_per_s"] < carried
    row |= {"n_due": REQUESTS if known else 0, "n_waited": 0, "n_in_flight": 0, "n_unsent": 0}
    late = {"late_p50_us": LATE_US * np.log(2), "late_p99_us": LATE_US * np.log(100)}
    row |= late if known else {"marks": "not_carried", "late_p50_us": np.nan, "late_p99_us": np.nan}
    row["mean_us"] = mean_us(setting, row["rate_per_s"], scale) if known else np.nan


def closed_cells(kind="mixed", threads=(16, 64), settings=tuple(ALONE_US), read_share=0.5, scales=SCALES):
    """Cells of closed loops, a hundred times as slow as open ones, so that an average of both is seen."""
    return [
        {"cell_id": f"b{block}-t{count}-{kind}{100 * read_share:.0f}-{setting.replace('/', '+')}", "kind": kind,
         "threads": count, "read_cl": setting.split("/")[0], "write_cl": setting.split("/")[1],
         "read_share": read_share, "block": block, "mean_us": 100 * count * ALONE_US[setting] * scale}
        for block, scale in enumerate(scales, 1) for count in threads for setting in settings
    ]  # fmt: skip


def trials(scales=SCALES, settings=tuple(CARRIED)):
    """Tries of what settings carry, which no table averages."""
    return [
        {"cell_id": f"b{block}-trial-mix50-{setting.replace('/', '+')}", "kind": "trial", "threads": 64,
         "read_cl": setting.split("/")[0], "write_cl": setting.split("/")[1], "read_share": 0.5, "block": block,
         "mean_us": 1e6 * scale}
        for block, scale in enumerate(scales, 1) for setting in settings
    ]  # fmt: skip


def tables(rows):
    """Cells, columns `schema.CELLS`, and their samples, columns `schema.SAMPLES`."""
    defaults = {name: {"str": "", "int64": 0, "float64": np.nan}[kind] for name, kind in CELLS.items()}
    defaults |= {"schema_version": SCHEMA_VERSION, "engine": "5.0.9", "steady_from_s": 0.0}
    whole, samples = [], []
    for order, row in enumerate(rows):
        known, rate = not np.isnan(row["mean_us"]), row.get("rate_per_s", np.nan)
        length_s = REQUESTS / rate if rate > 0 else 1.0
        more = {"order": order, "repeat": row["block"], "operations": REQUESTS * known, "steady_to_s": length_s}
        samples += [_samples(row, length_s)] if known else []
        whole.append(defaults | more | {"measured_s": length_s} | row)
    cells = pd.DataFrame(whole)[list(CELLS)].astype(CELLS)
    return cells, pd.concat(samples, ignore_index=True)


def _samples(row, length_s):
    rng = np.random.default_rng(list(row["cell_id"].encode()))
    shares = (np.arange(REQUESTS) + 0.5) / REQUESTS
    took_us = rng.permutation(-row["mean_us"] * np.log1p(-shares))
    late_us = np.minimum(rng.permutation(-LATE_US * np.log1p(-shares)), took_us)
    due_s = shares * length_s
    closed = row["kind"] != OPEN
    reads = np.arange(REQUESTS) % 100 < 100 * row["read_share"]
    return pd.DataFrame({
        "cell_id": row["cell_id"], "started_s": due_s + (0 if closed else late_us / 1e6),
        "intended_s": np.nan if closed else due_s, "operation": np.where(reads, "READ", "UPDATE"),
        "latency_us": took_us - (0 if closed else late_us), "outcome": "ok", "phase": "steady",
        "coordinator": "127.0.0.1", "slice": pd.array(_slices(row.get("slices", 0)), "Int16"),
    })  # fmt: skip


def _slices(number):
    """Which of a cell's turns each request is of; none where it takes none."""
    return np.arange(REQUESTS) * number // REQUESTS if number else [None] * REQUESTS


def statistics(rows):
    """Statistics of cells, as of a run."""
    cells, samples = tables(rows)
    return cell_statistics(samples, cells)


def write_run(folder, rows, **notes):
    """Write a run's folder."""
    cells, samples = tables(rows)
    (folder / "samples").mkdir(parents=True)
    cells.to_csv(folder / "cells.csv", index=False, lineterminator="\n")
    for block, of_block in samples.groupby(samples["cell_id"].map(cells.set_index("cell_id")["block"])):
        table = pa.Table.from_pandas(of_block, preserve_index=False).cast(SAMPLES)
        pq.write_table(table, folder / "samples" / f"block{block}.parquet")
    written = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = {path.relative_to(folder).as_posix(): sha256(path) for path in written}
    (folder / "manifest.json").write_text(json.dumps(MANIFEST | notes | {"sums": sums}))
    return folder
