"""Samples on their way to the disk: written while the cell runs, one Parquet file when it is over."""

from __future__ import annotations

import contextlib
import queue
import threading
from array import array
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cassbook.core.errors import LaboratoryError
from cassbook.core.files import whole
from cassbook.core.schema import OPERATIONS, OUTCOMES, PHASES, SAMPLES
from cassbook.lab.load.slices import Slices, outside

#: Rows, and seconds, that are collected before it hands them over.
_CHUNK = 4096
_CHUNK_S = 0.5
#: Samples keep a microsecond; finer bits of a float64 are noise that would not compress.
_PER_SECOND = 2.0**20
_NONE = float("nan")
_STEADY, _GUARD = PHASES.index("steady"), PHASES.index("guard")


@dataclass(slots=True)
class Chunk:
    """Columns of finished operations, as the event loop appends them."""

    started: array[float] = field(default_factory=lambda: array("d"))
    latency_s: array[float] = field(default_factory=lambda: array("d"))
    intended: array[float] = field(default_factory=lambda: array("d"))
    operation: array[int] = field(default_factory=lambda: array("b"))
    outcome: array[int] = field(default_factory=lambda: array("b"))
    node: array[int] = field(default_factory=lambda: array("b"))
    slice: array[int] = field(default_factory=lambda: array("h"))


@dataclass(slots=True)
class Window:
    """Bounds of a cell's steady phase on the client's monotonic clock, in seconds; infinite until known.

    Where several cells alternate it is the phase of all of them, and `slices` says how it is divided.
    """

    steady_from: float = float("inf")
    steady_to: float = float("inf")
    slices: Slices | None = None


class Recorder:
    """Write the samples of one cell, or of several that alternate (`cell_ids` by variant of the load).

    Until `close` makes the Parquet file, a stream of Arrow batches grows next to it (`.partial`), readable up to its
    last batch whenever the process dies. `nodes` are coordinators by index, `epoch` the monotonic time at which the run
    began; the `window`, which the loop fills in, decides each sample's phase.
    """

    def __init__(self, path: Path, cell_ids: list[str], nodes: list[str], epoch: float, window: Window) -> None:
        self.path = path
        self._partial = path.with_suffix(".partial")
        self._cell_ids, self._nodes, self._epoch, self._window = cell_ids, nodes, epoch, window
        self._queue: queue.SimpleQueue[Chunk | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        # The event loop settles most operations, but time-outs and lost connections come from other threads.
        self._lock = threading.Lock()
        self.chunk = Chunk()
        self._due = 0.0  # when the chunk goes to the disk even if it is not full
        self._stream = pa.ipc.new_stream(str(self._partial), SAMPLES)
        self._thread = threading.Thread(target=self._drain, name=f"recorder {path.stem}", daemon=True)
        self._thread.start()

    def add(
        self,
        started: float,
        latency_s: float,
        operation: int,
        outcome: int,
        node: int,
        intended: float = _NONE,
        slice_: int = outside(0),
    ) -> None:
        """Take one finished operation, from whichever thread settled it; see `loop.Record`."""
        with self._lock:
            self._add(started, latency_s, operation, outcome, node, intended, slice_)

    def _add(
        self, started: float, latency_s: float, operation: int, outcome: int, node: int, intended: float, slice_: int
    ) -> None:
        chunk = self.chunk
        chunk.started.append(started)
        chunk.latency_s.append(latency_s)
        chunk.intended.append(intended)
        chunk.operation.append(operation)
        chunk.outcome.append(outcome)
        chunk.node.append(node)
        chunk.slice.append(slice_)
        if len(chunk.node) >= _CHUNK or started + latency_s > self._due:
            self.chunk = Chunk()
            self._due = started + latency_s + _CHUNK_S
            self._queue.put(chunk)

    def close(self) -> pa.Table:
        """Write the rest, then the Parquet file, by rename; return the samples in order of their start."""
        self._finish()
        with pa.ipc.open_stream(str(self._partial)) as stream:
            samples = stream.read_all().sort_by("started_s")
        write_samples(samples, self.path)
        self._partial.unlink()
        return samples

    def abandon(self) -> None:
        """Stop writing and remove what was written; the cell will be measured again."""
        self._queue.put(None)
        self._thread.join()
        with contextlib.suppress(OSError, pa.ArrowException):  # on a full disk closing fails as writing did
            self._stream.close()
        self._partial.unlink(missing_ok=True)

    def _finish(self) -> None:
        with self._lock:
            self._queue.put(self.chunk)
            self._queue.put(None)
        self._thread.join()
        if self._failure:
            raise LaboratoryError(f"{self._partial.name} could not be written: {self._failure}") from self._failure
        self._stream.close()

    def _drain(self) -> None:
        try:
            while (chunk := self._queue.get()) is not None:
                self._stream.write_batch(self._to_batch(chunk))
        except BaseException as error:  # a full disk must reach the cell, not die in a thread
            self._failure = error

    def _to_batch(self, chunk: Chunk) -> pa.RecordBatch:
        started = np.frombuffer(chunk.started, dtype=np.float64)
        intended = np.frombuffer(chunk.intended, dtype=np.float64)
        begun = np.where(np.isnan(intended), started, intended)
        slice_ = np.frombuffer(chunk.slice, dtype=np.int16)
        latency_us = np.round(np.frombuffer(chunk.latency_s, dtype=np.float64) * 1e6)
        columns = [
            pa.DictionaryArray.from_arrays(pa.array(self._variant(slice_)), self._cell_ids),
            pa.array(self._since_epoch(started)),
            pa.array(self._since_epoch(intended), from_pandas=True),  # NaN, no intention, becomes null
            _labels(chunk.operation, OPERATIONS),
            pa.array(latency_us),
            _labels(chunk.outcome, OUTCOMES),
            _labels(self._phase(begun, slice_), PHASES),
            _labels(chunk.node, self._nodes),
            pa.array(slice_, mask=slice_ < 0),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SAMPLES)

    def _variant(self, slice_: np.ndarray) -> np.ndarray:
        """Which cell each operation belongs to."""
        slices = self._window.slices
        of_slice = np.array(slices.order if slices else [0], dtype=np.int16)
        return np.where(slice_ < 0, -1 - slice_, of_slice[np.maximum(slice_, 0)]).astype(np.int16)

    def _phase(self, begun: np.ndarray, slice_: np.ndarray) -> np.ndarray:
        """Phase of each operation, by when it began: a slice begins with a guard; what is in none does not count."""
        window, slices = self._window, self._window.slices
        phase = (begun >= window.steady_from).astype(np.int8) + (begun >= window.steady_to)
        if slices is not None:
            slice_begun = window.steady_from + slice_ * slices.length_s
            counts = np.where(begun - slice_begun < slices.guard_s, _GUARD, _STEADY)
            phase = np.where(slice_ >= 0, counts, np.where(phase == _STEADY, _GUARD, phase))
        return phase.astype(np.int8)

    def _since_epoch(self, moments: np.ndarray) -> np.ndarray:
        return np.round((moments - self._epoch) * _PER_SECOND) / _PER_SECOND


def write_samples(samples: pa.Table, path: Path) -> None:
    """Write samples as Parquet, by rename; numbers are split by bytes, which is what makes them small."""
    numbers = ["started_s", "intended_s", "latency_us"]
    labels = [name for name in SAMPLES.names if pa.types.is_dictionary(SAMPLES.field(name).type)]
    with whole(path) as draft:
        pq.write_table(
            samples,
            draft,
            compression="zstd",
            compression_level=9,
            use_dictionary=labels,
            use_byte_stream_split=numbers,
            row_group_size=1 << 20,
        )


def _labels(indices: array[int] | np.ndarray, words: tuple[str, ...] | list[str]) -> pa.DictionaryArray:
    numbers = np.frombuffer(indices, dtype=np.int8) if isinstance(indices, array) else indices
    return pa.DictionaryArray.from_arrays(pa.array(numbers), list(words))
