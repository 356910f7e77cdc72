"""How fast percentiles of samples are: `cassbook show` of Parquet, and the same columns streamed by bare pyarrow."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from cassbook.bench.logs import Comparison, run_apart
from cassbook.ingest import samples
from cassbook.ingest.samples import Operations

_BATCH = 100_000

_OURS = """
from pathlib import Path
from cassbook.records.results import of_run
from cassbook.records.sample_stream import SampleFile
def work(source): assert of_run(SampleFile(Path(source))).table["p999_us"].notna().all()
"""
#: What can be no faster: the columns that percentiles need, read row group by row group and dropped.
_BARE = """
import pyarrow.parquet as pq
COLUMNS = ["cell_id", "started_s", "intended_s", "operation", "latency_us", "outcome", "phase"]
def work(source):
    with pq.ParquetFile(source) as file:
        for number in range(file.num_row_groups): file.read_row_group(number, columns=COLUMNS)
"""


def make_samples(path: Path, rows: int, seed: int = 1) -> None:
    """Write samples of one cell, reads and updates, as `cassbook read` does."""
    rng = np.random.default_rng(seed)
    with samples.writing(path, {}) as file:
        for first in range(0, rows, _BATCH):
            n = min(_BATCH, rows - first)
            operation = rng.integers(0, 2, n).astype(np.int8)
            started_us = np.arange(first, first + n, dtype=np.int64) * 100
            made = Operations(operation, np.zeros(n, np.int8), started_us, np.rint(rng.lognormal(7, 0.6, n)))
            file.add(samples.to_batch(made, 0, "made"))


def compare(rows: int = 10_000_000, pairs: int = 3, folder: Path | None = None) -> Comparison:
    """Take percentiles of one file and stream it bare, in turns, each in a process of its own; see `logs.compare`."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        path = Path(scratch) / "samples.parquet"
        make_samples(path, rows)
        readings = [(run_apart(_OURS, str(path)), run_apart(_BARE, str(path))) for _ in range(pairs)]
        ours, plain = zip(*readings, strict=True)
        return Comparison(
            rows, path.stat().st_size // 10**6, [r[0] for r in ours], [r[0] for r in plain],
            max(r[1] for r in ours), max(r[1] for r in plain),
        )  # fmt: skip


def main(rows: int = 10_000_000) -> None:
    """Print the comparison."""
    print(compare(rows))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
