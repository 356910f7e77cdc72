"""Logs of operations that outgrow one machine, read by the workers of a Dask cluster, partition by partition.

Every worker must see the logs and the place of the output under the same paths, and have cassbook installed. A YCSB raw
file is cut into ranges of bytes, each of which takes the lines that begin in it; a compressed file, UTF-16, or Parquet,
is one partition. The workers first look (counts, windows, damage), then, when the run's begin is known, read again and
write a part each: the output is a folder of Parquet files, which Arrow, pandas and Dask read as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import Client

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.files import whole
from cassbook.core.progress import bar
from cassbook.ingest import easy_stress, ycsb_raw
from cassbook.ingest.common import Options, Report, cell_id_of, notes_of, settle, summed_up, tally_of
from cassbook.ingest.damage import Tally
from cassbook.ingest.formats import Format, from_beginning, open_log
from cassbook.ingest.log import Log
from cassbook.ingest.samples import Operations, to_batch, writing
from cassbook.ingest.ycsb_lines import BLOCK_BYTES, blocks, parse

PARTITION_BYTES = 256 << 20
_CONNECT_S = 10


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of a log: the lines that begin in bytes [start, end), or, with `end` None, all of it."""

    path: Path
    form: Format
    start: int = 0
    end: int | None = None

    def blocks(self, tally: Tally | None = None) -> Iterator[bytes]:
        """Whole lines, some million at a time; a tally may take damage of the compression."""
        with open_log(self.path, tally=tally) as stream:
            if self.end is None:
                yield from blocks(stream)
                return
            at = self.start or stream.tell()  # behind a byte-order mark
            if self.start:  # the line that the range begins in belongs to the one before
                stream.seek(at - 1)
                at += len(stream.readline()) - 1
            while at < self.end:
                block = stream.read(min(BLOCK_BYTES, self.end - at))
                block += b"" if block.endswith(b"\n") else stream.readline()
                if not block:
                    return
                at += len(block)
                yield block


def partitions(formats: dict[Path, Format], size: int = PARTITION_BYTES) -> list[Partition]:
    """Cut logs into partitions of about `size` bytes, in file order."""
    parts = []
    for path, form in formats.items():
        length = path.stat().st_size
        if form is not Format.YCSB_RAW or from_beginning(path):
            parts.append(Partition(path, form))
        else:
            parts += [Partition(path, form, at, min(at + size, length)) for at in range(0, length, size)]
    return parts


def read_operations_on(
    address: str, formats: dict[Path, Format], to: Path, options: Options, size: int = PARTITION_BYTES
) -> Report:
    """Read logs of operations on a Dask cluster; as `merge.read_logs`, but `to` becomes a folder.

    Raise InputError as `merge.read_logs`, LaboratoryError if the scheduler does not answer, or a log changes while it
    is read.
    """
    if to.exists():
        raise InputError(f"--output {to}: exists already, and with --dask becomes a folder; name another place")
    parts = partitions({path.resolve(): form for path, form in formats.items()}, size)
    with _connected(address) as client:
        logs = _merged(parts, _run(client, survey, parts), options)
        begun = dict(zip([log.tally.path for log in logs], settle(logs, options), strict=True))
        notes = notes_of(logs, list(begun.values()))
        with whole(to.resolve()) as draft:
            draft.mkdir()
            places = [draft / f"part-{number:05d}.parquet" for number in range(len(parts))]
            epochs = [begun[part.path] for part in parts]
            cell_id = cell_id_of(list(formats), to)
            written = _run(client, write_part, parts, epochs, places, cell_id=cell_id, notes=notes)
            if sum(written) != sum(log.rows for log in logs):
                raise LaboratoryError(f"a log changed while it was read ({', '.join(log.name for log in logs)})")
    return summed_up(logs, to, options)


def _connected(address: str) -> Client:
    try:
        return Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise LaboratoryError(f"--dask {address}: no scheduler answers there ({error})") from None


def _run(client: Client, function: Any, *columns: Sequence[Any], **same: Any) -> list[Any]:
    """Results of a function on the workers, in order."""
    futures = client.map(function, *columns, pure=False, **same)
    results = []
    with bar(len(futures), 0, "partition") as shown:
        for future in futures:
            results.append(future.result())
            shown.update()
    return results


def _merged(parts: Sequence[Partition], surveys: Sequence[Log], options: Options) -> list[Log]:
    """One log a file from those of its partitions, which come in file order."""
    logs: dict[Path, Log] = {}
    for part, seen in zip(parts, surveys, strict=True):
        log = logs.setdefault(part.path, Log(tally_of(part.path, part.form, options), part.form.value, None))
        log.tally.add_all(seen.tally, log.lines)
        log.begins += [(log.lines + line, mark) for line, mark in seen.begins]
        log.order.add_all(seen.order, log.lines)
        for unit, line in seen.units.items():
            log.units.setdefault(unit, log.lines + line)
        log.lines += seen.lines
        log.counts.update(seen.counts)
        log.left_out.update(seen.left_out)
        log.rows += seen.rows
        log.first_us, log.last_us = min(log.first_us, seen.first_us), max(log.last_us, seen.last_us)
        log.back_ms = max(log.back_ms, seen.back_ms)
    for part in {part.path: part for part in parts}.values():
        finish = easy_stress.finish if part.form is Format.EASY_STRESS else ycsb_raw.finish
        finish(logs[part.path])
    return list(logs.values())


def survey(part: Partition) -> Log:
    """Look at a partition: what is in it, its window, its damaged lines. Runs on a worker."""
    log = Log(Tally(part.path, skip=True, expected=""), part.form.value, spool=None)
    if part.form is Format.EASY_STRESS:
        for operations in easy_stress.parts(part.path, log):
            log.add(operations)
    else:
        ycsb_raw.gather(log, map(parse, part.blocks(log.tally)))
    return log


def write_part(part: Partition, begun_us: int, path: Path, cell_id: str, notes: dict[str, str]) -> int:
    """Write a partition's samples and count them. Runs on a worker."""
    rows = 0
    with writing(path, notes) as writer:
        for operations in _operations(part):
            if len(operations.operation):
                writer.add(to_batch(operations, begun_us, cell_id))
                rows += len(operations.operation)
    return rows


def _operations(part: Partition) -> Iterator[Operations]:
    if part.form is Format.EASY_STRESS:
        return easy_stress.parts(part.path, Log(Tally(part.path, skip=True, expected=""), part.form.value, None))
    tally = Tally(part.path, skip=True, expected="")
    return (ycsb_raw.to_operations(parse(block)) for block in part.blocks(tally))
