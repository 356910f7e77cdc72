"""How fast `cassbook read` is: a YCSB raw file into samples, and the same rows streamed by bare pyarrow, in pairs."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

#: Shares of the operations, in the order in which their blocks are written.
_SHARES = {"READ": 0.5, "UPDATE": 0.3, "INSERT": 0.1, "READ-MODIFY-WRITE": 0.05, "SCAN": 0.05}
_CHUNK = 1_000_000
_PER_MS = 10

_OURS = """
from pathlib import Path
from cassbook.ingest.common import Options
from cassbook.ingest.merge import read_logs
def work(source, target): read_logs([Path(source)], Path(target), Options(force=True))
"""
#: What pyarrow's documentation has for a file larger than memory: a streaming reader, its batches written as they come.
_BARE = """
import pyarrow.parquet as pq
from pyarrow import csv
def work(source, target):
    with csv.open_csv(source, csv.ReadOptions(column_names=["operation", "at_ms", "latency_us"])) as reader:
        with pq.ParquetWriter(target, reader.schema) as writer:
            for batch in reader: writer.write_batch(batch)
"""
_CHILD = """
import json, resource, sys, time
begun = time.perf_counter()
work(*sys.argv[1:])
seconds = time.perf_counter() - begun
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Pairs of readings of one file."""

    #: Of the file.
    rows: int
    megabytes: int
    #: Seconds of each reading, imports not counted, the interpreter fresh each time.
    ours_s: list[float]
    bare_s: list[float]
    #: Most memory that any of them had resident.
    ours_mb: float
    bare_mb: float

    @property
    def ratios(self) -> list[float]:
        """Time of ours over the bare stream's, pair by pair."""
        return [ours / bare for ours, bare in zip(self.ours_s, self.bare_s, strict=True)]

    def __str__(self) -> str:
        ratio = f"{statistics.median(self.ratios):.2f} ({min(self.ratios):.2f} to {max(self.ratios):.2f})"
        return (
            f"{self.rows:,} rows, {self.megabytes} MB: "
            f"{statistics.median(self.ours_s):.2f} s and {self.ours_mb:.0f} MB, "
            f"bare pyarrow {statistics.median(self.bare_s):.2f} s and {self.bare_mb:.0f} MB; ratio {ratio}"
        )


def make_raw(path: Path, rows: int, text: bool = True, seed: int = 1) -> None:
    """Write a YCSB raw file of `rows` rows in five blocks, about 25 bytes each; without `text`, nothing but those."""
    rng = np.random.default_rng(seed)
    with path.open("wb") as file:
        for name, share in _SHARES.items():
            if text:
                file.write(f"{name} latency raw data: op, timestamp(ms), latency(us)\n".encode())
            for first in range(0, round(rows * share), _CHUNK):
                _write_chunk(file, name, first, min(_CHUNK, round(rows * share) - first), rng)
        if text:
            for name, share in _SHARES.items():
                file.write(f"[{name}], Total Operations, {round(rows * share)}\n".encode())


def _write_chunk(file: BinaryIO, name: str, first: int, rows: int, rng: np.random.Generator) -> None:
    at_ms = 1_600_000_000_000 + np.arange(first, first + rows) // _PER_MS
    latency_us = rng.lognormal(7, 1, rows).astype(np.int64)
    table = pa.table({"name": pa.repeat(name, rows), "at_ms": at_ms, "latency_us": latency_us})
    csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="none"))


def compare(rows: int = 10_000_000, pairs: int = 3, folder: Path | None = None) -> Comparison:
    """Read one file with ours and with a bare stream, in turns, each in a process of its own.

    `folder`: where the files are made, and removed again. Default: the system's place for temporary files.
    """
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        raw, bare = Path(scratch) / "raw.txt", Path(scratch) / "rows.txt"
        make_raw(raw, rows)
        make_raw(bare, rows, text=False)
        out = str(Path(scratch) / "out.parquet")
        readings = [(run_apart(_OURS, str(raw), out), run_apart(_BARE, str(bare), out)) for _ in range(pairs)]
        ours, plain = zip(*readings, strict=True)
        return Comparison(
            rows, raw.stat().st_size // 10**6, [r[0] for r in ours], [r[0] for r in plain],
            max(r[1] for r in ours), max(r[1] for r in plain),
        )  # fmt: skip


def run_apart(work: str, *arguments: str) -> tuple[float, float]:
    """Seconds and most megabytes of a piece of work, in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", work + _CHILD, *arguments], capture_output=True, text=True, check=True)
    seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return float(seconds), float(megabytes)


def main(rows: int = 10_000_000) -> None:
    """Print the comparison."""
    print(compare(rows))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
