"""From the operations of a log to rows of the sample schema, however many there are.

Seconds since the run began are known only when the earliest operation is, and in a log that is not the first
line. So operations wait in a spool on the disk, a file without a name that is removed with the process, and are written
when all logs have been seen. Nothing is held in memory but a few blocks.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from cassbook.core.errors import LaboratoryError
from cassbook.core.files import whole
from cassbook.core.schema import OPERATIONS, OUTCOMES, PHASES, SAMPLES
from cassbook.core.types import Floats
from cassbook.ingest.pipeline import ahead

#: Samples keep a microsecond, as those of our own runs do; finer bits of a float64 would not compress.
_PER_SECOND = 2.0**20
_MICROSECOND_S = 1e-6
_ROW_GROUP = 1 << 20
_COLUMNS = {"operation": pa.int8(), "outcome": pa.int8(), "started_us": pa.int64(), "latency_us": pa.float64()}


@dataclass(slots=True)
class Operations:
    """Some operations of a log; every array has shape (n,)."""

    operation: NDArray[np.int8]  # index into `schema.OPERATIONS`
    outcome: NDArray[np.int8]  # index into `schema.OUTCOMES`
    started_us: NDArray[np.int64]  # when each was sent, microseconds since 1970 on the client's clock
    latency_us: Floats  # service time
    intended_us: NDArray[np.int64] | None = None  # when each should have been sent, for a log that knows


@contextmanager
def _on_disk(folder: Path) -> Iterator[None]:
    """Say of a full disk or a folder that is not ours that it is the output that cannot be written, not the log."""
    try:
        yield
    except OSError as error:
        raise LaboratoryError(f"{folder}: cannot be written to ({error.strerror or error})") from error


class Spool:
    """Operations of one log on their way from its reading to the writing of the samples."""

    def __init__(self, folder: Path, intended: bool = False) -> None:
        self._folder = folder
        with _on_disk(folder):
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`, gone with the process
        self._columns = _COLUMNS | ({"intended_us": pa.int64()} if intended else {})
        self._stream = pa.ipc.new_stream(self._file, pa.schema(self._columns))
        self.rows = 0

    def add(self, operations: Operations) -> None:
        """Put some down."""
        arrays = [pa.array(getattr(operations, name), type) for name, type in self._columns.items()]
        with _on_disk(self._folder):
            self._stream.write_batch(pa.RecordBatch.from_arrays(arrays, names=list(self._columns)))
        self.rows += len(operations.operation)

    def read(self) -> Iterator[Operations]:
        """Give them back, as they were put down; nothing can be added any more."""
        self._stream.close()
        self._file.seek(0)
        with pa.ipc.open_stream(self._file) as stream:
            for batch in stream:
                yield Operations(*(column.to_numpy() for column in batch.columns))

    def close(self) -> None:
        """Let the disk have its space back."""
        self._file.close()


def is_csv(path: Path) -> bool:
    """Whether a name asks for CSV; any other gets Parquet."""
    return path.suffix.lower() == ".csv"


class CsvWriter:
    """Write samples as CSV (see `writing`); it has no place for notes."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        plain = [(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type) for field in SAMPLES]
        self._schema = pa.schema(plain)
        self._csv = csv.CSVWriter(path, self._schema)

    def add(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        with _on_disk(self._folder):
            self._csv.write_table(pa.Table.from_batches([batch]).cast(self._schema))

    def flush(self) -> None:
        """Leave it to the end: nothing waits."""

    def close(self) -> None:
        """End the file."""
        self._csv.close()


class Writer:
    """Write samples as Parquet, row group by row group (see `writing`)."""

    def __init__(self, path: Path, notes: dict[str, str]) -> None:
        self._folder = path.parent
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        labels = [field.name for field in SAMPLES if pa.types.is_dictionary(field.type)]
        schema = SAMPLES.with_metadata((SAMPLES.metadata or {}) | {k.encode(): v.encode() for k, v in notes.items()})
        self._parquet = pq.ParquetWriter(
            path, schema, compression="zstd", compression_level=1, use_dictionary=labels,
            use_byte_stream_split=["started_s", "intended_s", "latency_us"], write_statistics=["cell_id", "started_s"],
        )  # fmt: skip

    def add(self, batch: pa.RecordBatch) -> None:
        """Take some rows; a row group is written when there are enough."""
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= _ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._waiting:
            with _on_disk(self._folder):
                self._parquet.write_table(pa.Table.from_batches(self._waiting), row_group_size=self._rows)
        self._waiting, self._rows = [], 0

    def close(self) -> None:
        """End the file."""
        self._parquet.close()


@contextmanager
def writing(path: Path, notes: dict[str, str]) -> Iterator[Writer | CsvWriter]:
    """Yield a writer of samples; the file appears whole, by rename, or not at all.

    It is CSV where the name ends in .csv, else Parquet, whose metadata get `notes` in addition to the schema's own.
    """
    with whole(path) as draft, closing(CsvWriter(draft) if is_csv(path) else Writer(draft, notes)) as writer:
        yield writer
        writer.flush()


def write(
    path: Path, spools: Sequence[tuple[Spool, int]], cell_id: str, notes: dict[str, str], ramp_s: float = 0.0
) -> None:
    """Write the operations of one or many logs as the samples of one cell.

    Each spool comes with the time that counts as the run's begin on its clock, in microseconds since 1970. `notes` are
    metadata of the file. Operations that were sent earlier than `ramp_s` since the begin are of the warm-up.
    """

    def batches() -> Iterator[tuple[Operations, int]]:
        for spool, epoch_us in spools:
            yield from ((operations, epoch_us) for operations in spool.read())

    with writing(path, notes) as writer:
        for batch in ahead(lambda part: to_batch(*part, cell_id, ramp_s), batches()):
            writer.add(batch)


def to_batch(operations: Operations, epoch_us: int, cell_id: str, ramp_s: float = 0.0) -> pa.RecordBatch:
    """Rows of `schema.SAMPLES`: one cell, steady but for its ramp, coordinator unknown."""
    rows = len(operations.operation)
    phase = (operations.started_us >= epoch_us + round(ramp_s / _MICROSECOND_S)).astype(np.int8)
    intended = operations.intended_us
    columns = [
        _same(0, rows, pa.int16(), [cell_id]),
        _seconds(operations.started_us, epoch_us),
        pa.nulls(rows, pa.float64()) if intended is None else _seconds(intended, epoch_us),
        pa.DictionaryArray.from_arrays(pa.array(operations.operation), list(OPERATIONS)),
        pa.array(operations.latency_us, pa.float64()),
        pa.DictionaryArray.from_arrays(pa.array(operations.outcome), list(OUTCOMES)),
        pa.DictionaryArray.from_arrays(pa.array(phase), list(PHASES)),  # warm-up or steady
        pa.DictionaryArray.from_arrays(pa.nulls(rows, pa.int8()), pa.array([], pa.string())),
        pa.nulls(rows, pa.int16()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SAMPLES)


def _seconds(at_us: NDArray[np.int64], epoch_us: int) -> pa.Array:
    since = (at_us - epoch_us) * (_MICROSECOND_S * _PER_SECOND)
    return pa.array(np.rint(since, out=since) / _PER_SECOND)


def _same(code: int, rows: int, kind: pa.DataType, words: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.full(rows, code, kind.to_pandas_dtype())), words)
