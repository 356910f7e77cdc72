"""Read the Parquet of cassandra-easy-stress (`--parquet`): one row per operation, successful or not.

Columns as its ParquetCollector writes them: operation (the statement's kind: Mutation, SelectStatement without its
ending, Deletion, DDL), success, failure_reason (the exception's class), service_start_time_ms and service_duration_ns
from the moment the request was sent, request_start_time_ms and request_duration_ns from the moment it should have been.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cassbook.core.errors import InputError
from cassbook.core.schema import OPERATIONS, OUTCOMES
from cassbook.core.units import US_PER_MS
from cassbook.ingest import pipes
from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.log import Log
from cassbook.ingest.samples import Operations, Spool

FORMAT = "cassandra-easy-stress Parquet"
EXPECTED = "times and durations that are not negative"
COLUMNS = (
    "operation", "success", "failure_reason", "service_start_time_ms", "service_duration_ns", "request_start_time_ms",
    "request_duration_ns",
)  # fmt: skip
_TIMES = COLUMNS[3:]
#: Largest value that is a time: the end of year 2261 in milliseconds since 1970, and as long in nanoseconds.
_MOST = {name: 9.2e12 if name.endswith("_ms") else 9.2e18 for name in _TIMES}
#: A mutation is an upsert; the tool does not distinguish inserts from updates.
_OPERATION_OF = {"Mutation": "UPDATE", "Select": "READ", "SelectStatement": "READ"}
#: What the samples have no place for. Any other name is of a version whose operations are not known.
_LEFT_OUT = frozenset({"Deletion", "DDL", "Stop"})
_UNKNOWN = "UNKNOWN"
#: Columns before a request's time was kept apart from the service's.
_OLD_TIMES = frozenset({"start_time_ms", "duration_ns"})
_OUTCOME_OF = {
    "DriverTimeoutException": "client_timeout", "RequestThrottlingException": "client_timeout",
    "ReadTimeoutException": "read_timeout", "WriteTimeoutException": "write_timeout",
    "UnavailableException": "unavailable", "NoNodeAvailableException": "unavailable",
    "OverloadedException": "overloaded", "BootstrappingException": "bootstrapping",
    "ReadFailureException": "read_failure", "WriteFailureException": "write_failure",
    "ClosedConnectionException": "connection_lost", "HeartbeatException": "connection_lost",
}  # fmt: skip
_OTHER = "server_error"
_BATCH_ROWS = 1 << 20
_NS_US = 1000.0


def read(path: Path, tally: Tally, folder: Path) -> Log:
    """Read a Parquet file to its end.

    Raise InputError if it is no such Parquet, is damaged, or holds a row with a negative time, unless those are
    skipped.
    """
    log = Log(tally, FORMAT, Spool(folder, intended=True))
    for operations in parts(path, log):
        log.add(operations)
    finish(log)
    return log


def parts(path: Path, log: Log) -> Iterator[Operations]:
    """Yield the operations of a file, row group by row group; counts and damage go to the log."""
    row = 0
    try:
        with pipes.open_raw(path) as raw, pq.ParquetFile(raw) as file:
            missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
            if missing:
                if b"cassbook_schema_version" in (file.schema_arrow.metadata or {}):
                    raise InputError(
                        f"{path}: is what `cassbook read` wrote, which `show` and `report` take; give the log itself"
                    )
                lacks = ", ".join(missing)
                if set(file.schema_arrow.names) >= _OLD_TIMES:
                    raise InputError(
                        f"{path}: is of an older easy-cass-stress, which has one time per request (no column {lacks}); "
                        "that of cassandra-easy-stress is read"
                    )
                raise InputError(f"{path}: is Parquet, but not of cassandra-easy-stress (no column {lacks})")
            _check_types(path, file.schema_arrow)
            for batch in file.iter_batches(_BATCH_ROWS, columns=list(COLUMNS)):
                yield _operations(batch, log, row)
                row += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is damaged ({error})") from None


def _check_types(path: Path, schema: pa.Schema) -> None:
    kinds = {
        "operation": (_is_text, "text"),
        "failure_reason": (_is_text, "text"),
        "success": (_is_truth, "true or false"),
    }
    for name in COLUMNS:
        fits, expected = kinds.get(name, (_is_number, "a number"))
        if not fits(schema.field(name).type):
            found = schema.field(name).type
            raise InputError(f"{path}: column {name} is {found}; in cassandra-easy-stress it is {expected}")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_truth(kind: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(kind))


def finish(log: Log) -> None:
    """Say what the columns mean for whoever reads the samples."""
    log.notes.append("Mutation: the tool does not distinguish inserts from updates; both are UPDATE here")
    unknown = {name: n for name, n in log.counts.items() if _operation_of(name) == _UNKNOWN}
    if unknown:
        named = ", ".join(f"{name} {n:,}" for name, n in unknown.items())
        log.notes.append(f"not known to read or to write, so UNKNOWN: {named}")
    log.notes.append("intended_s is when a request should have been sent, to the millisecond")


def _operations(batch: pa.RecordBatch, log: Log, row: int) -> Operations:
    columns = {name: batch.column(name) for name in COLUMNS}
    good = _sound(columns, log, row)
    operation, names = _mapped(columns["operation"], lambda name: _place(OPERATIONS, _operation_of(name)))
    outcome, _ = _mapped(columns["failure_reason"], lambda name: OUTCOMES.index(_OUTCOME_OF.get(name, _OTHER)))
    outcome[columns["success"].to_numpy(zero_copy_only=False).astype(bool)] = OUTCOMES.index("ok")
    log.counts.update(names)
    log.left_out.update({name: n for name, n in names.items() if name in _LEFT_OUT})
    kept = good & (operation >= 0)
    started_ms, duration_ns, request_ms = (
        np.nan_to_num(columns[name].to_numpy(zero_copy_only=False))[kept]
        for name in ("service_start_time_ms", "service_duration_ns", "request_start_time_ms")
    )
    latency_us = duration_ns / _NS_US
    started_us, intended_us = (np.asarray(ms, np.int64) * US_PER_MS for ms in (started_ms, request_ms))
    return Operations(operation[kept], outcome[kept], started_us, latency_us, intended_us)


def _operation_of(name: str) -> str | None:
    """Operation of the samples; None for what they have no place for."""
    return None if name in _LEFT_OUT else _OPERATION_OF.get(name, _UNKNOWN)


def _sound(columns: dict[str, pa.Array], log: Log, row: int) -> np.ndarray:
    """Return which rows have all their times, none of them negative; the others are counted in the report."""
    good = np.ones(len(columns["success"]), bool)
    for name in COLUMNS:
        good &= columns[name].is_valid().to_numpy(zero_copy_only=False)
    for name in _TIMES:
        times = columns[name].to_numpy(zero_copy_only=False)  # with NaN for null
        good &= (times >= 0) & (times <= _MOST[name])
    for place in np.flatnonzero(~good).tolist():
        values = {name: columns[name][place].as_py() for name in COLUMNS}
        wrong = [
            f"{name}={v}" for name, v in values.items() if v is None or (name in _MOST and not 0 <= v <= _MOST[name])
        ]
        log.tally.add(Damage(row + place + 1, ", ".join(wrong).encode()))
    return good


def _mapped(column: pa.Array, place: Callable[[str], int]) -> tuple[np.ndarray, Counter[str]]:
    encoded = pc.fill_null(column, "").dictionary_encode()
    words = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    mapped = np.array([place(word) for word in words] or [0], np.int8)[codes]
    number = np.bincount(codes, minlength=len(words)).tolist()
    return mapped, Counter(dict(zip(words, number, strict=True)))


def _place(words: tuple[str, ...], word: str | None) -> int:
    return words.index(word) if word else -1
