"""A folder of YCSB raw logs made from a recorded run: real latencies of real cells, in the format that YCSB writes."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

from cassbook.records.run import RecordedRun

THREADS = (10, 50, 100, 300, 500, 1000)
_OFFSET_MS = 1_600_000_000_000
_NAMES = {"READ": "READ", "UPDATE": "UPDATE", "INSERT": "INSERT", "SCAN": "SCAN", "RMW": "READ-MODIFY-WRITE"}


def raw_text(samples: pd.DataFrame) -> str:
    """Samples as YCSB 0.17 writes them: a block an operation, in order of completion, failures under their own name."""
    completed_ms = ((samples["started_s"] + samples["latency_us"] * 1e-6) * 1000).astype("int64") + _OFFSET_MS
    failed = (samples["outcome"] != "ok").map({True: "-FAILED", False: ""})
    named = samples.assign(at=completed_ms, name=samples["operation"].astype(str).map(_NAMES) + failed.astype(str))
    text = []
    for name, block in named.sort_values("at", kind="stable").groupby("name", sort=False):
        rows = zip(block["at"], block["latency_us"].astype("int64"), strict=True)
        text.append(f"{name} latency raw data: op, timestamp(ms), latency(us)\n")
        text.extend(f"{name},{at},{latency}\n" for at, latency in rows)
    return "".join(text)


def make(folder: Path, run: RecordedRun, threads: tuple[int, ...] = THREADS) -> None:
    """Write the pure and mixed cells of some thread counts, and the index."""
    cells = run.cells[(run.cells["kind"] != "warmup") & run.cells["threads"].isin(threads)]
    columns = ["cell_id", "started_s", "operation", "latency_us", "outcome"]
    groups = run.samples(columns, cells["cell_id"].tolist()).groupby("cell_id", observed=True)
    with (folder / "logs.csv").open("w", newline="") as file:
        index = csv.writer(file)
        index.writerow(["file", "engine", "threads", "read_cl", "write_cl", "read_share", "block", "repeat", "ramp_s"])
        for cell in cells.itertuples():
            (folder / f"{cell.cell_id}.txt").write_text(raw_text(groups.get_group(cell.cell_id)))
            settings = (cell.engine, cell.threads, cell.read_cl, cell.write_cl, cell.read_share, cell.block)
            index.writerow([f"{cell.cell_id}.txt", *settings, cell.repeat, 0.2])
