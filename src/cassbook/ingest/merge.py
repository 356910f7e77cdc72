"""`cassbook read`: any number of benchmark logs into one Parquet file, and a report of what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cassbook.core.errors import InputError
from cassbook.core.progress import bar
from cassbook.ingest import (
    easy_stress,
    go_ycsb,
    hdr,
    pipes,
    read_tables,
    samples,
    stress,
    ycsb_raw,
    ycsb_summary,
)
from cassbook.ingest.common import Options, Report, cell_id_of, notes_of, settle, summed_up, tally_of
from cassbook.ingest.formats import Format, open_log, recognise
from cassbook.ingest.hdr import Histograms
from cassbook.ingest.log import Log
from cassbook.ingest.samples import is_csv
from cassbook.ingest.summary import Figures, write_table

_MB, _WORTH_A_BAR = 10**6, 10**8


def read_logs(paths: Sequence[Path], to: Path, options: Options | None = None) -> Report:
    """Read benchmark logs and write what they hold to a file, whole or not at all; return what was read and left out.

    Logs of single operations (YCSB raw, cassandra-easy-stress) become samples, columns `schema.SAMPLES`; many of them
    are the clients of one run and become one cell. Logs of figures become a table `summary.SUMMARIES`, HdrHistogram
    logs one of `hdr.HISTOGRAMS`. Paths are those of logs of one of these three families; pipes too, and `-` for
    standard input. The file is CSV where its name ends in .csv, else Parquet.

    Raise InputError for a log that cannot be read or recognised, logs of different families, clocks that do not
    overlap, a log without an operation, a damaged line, unless those are skipped, or an output that exists, unless it
    is to be overwritten. Nothing is written then.
    """
    options = options or Options()
    _check_place(paths, to, options)
    with pipes.spooled(paths, to.parent):
        return _read_logs(paths, to, options)


def _read_logs(paths: Sequence[Path], to: Path, options: Options) -> Report:
    formats = {path: recognise(path, options.skip_damaged) for path in paths}
    families = {_family(form) for form in formats.values()}
    if len(families) > 1:
        found_in = "; ".join(f"{path.name}: {form.value}" for path, form in formats.items())
        raise InputError(f"logs of operations, of figures and of histograms cannot become one file ({found_in})")
    (family,) = families
    if family == "operations":
        if options.dask:
            from cassbook.ingest.on_dask import read_operations_on  # noqa: PLC0415 - Dask takes a second to import

            return read_operations_on(options.dask, formats, to, options)
        logs = to_samples(formats, to, cell_id_of(list(formats), to), options)
        return summed_up(logs, to, options)
    if options.dask:
        raise InputError("--dask: only logs of single operations outgrow a machine; read this one without it")
    tables: list[Figures | Histograms] = [read_table(path, form, options) for path, form in formats.items()]
    table = read_tables.with_notes(tables)
    if not table.num_rows:
        raise InputError(f"{', '.join(map(str, paths))}: no figure in it; nothing was written")
    write_table(table, to)
    what = "one per interval and tag" if family == "histograms" else "one per figure"
    lines = [line for one in tables for line in one.report()]
    lines.append(f"{to}: {table.num_rows:,} rows, {what}; such logs hold no single operations, so no samples")
    content = {
        "output": str(to), "format": "csv" if is_csv(to) else "parquet", "table": family, "rows": table.num_rows,
        "left_out": 0, "damaged_lines": sum(one.tally.count for one in tables), "clocks": [],
        "logs": [one.content() for one in tables],
    }  # fmt: skip
    return Report(lines, content)


def _check_place(paths: Sequence[Path], to: Path, options: Options) -> None:
    if not paths:
        raise InputError("no log was named")
    for path in paths:
        if pipes.is_pipe(path):
            if options.dask:
                raise InputError(f"{path}: --dask has workers read the logs, and they cannot read a pipe; name a file")
        elif not path.is_file():
            raise InputError(f"{path}: {'is a folder; name the logs in it' if path.is_dir() else 'does not exist'}")
        if path.resolve() == to.resolve():
            raise InputError(f"--output {to}: is one of the logs; name another file")
    doubled = {path for path in paths if [p.resolve() for p in paths].count(path.resolve()) > 1}
    if doubled:
        raise InputError(f"{sorted(doubled)[0]}: is named twice; its operations would count double")
    if options.dask and is_csv(to):
        raise InputError(f"--output {to}: with --dask a folder of Parquet files is written, not CSV")
    if to.is_dir():
        raise InputError(f"--output {to}: is a folder; name a file")
    if to.exists() and not options.force:
        raise InputError(f"--output {to}: exists; --force overwrites it")
    if not to.parent.is_dir():
        raise InputError(f"--output {to}: there is no folder {to.parent}")


def _family(form: Format) -> str:
    return "operations" if form.holds_operations else "histograms" if form is Format.HDR_LOG else "figures"


def to_samples(
    formats: dict[Path, Format], to: Path, cell_id: str, options: Options, ramp_s: float = 0.0
) -> Sequence[Log]:
    """Write the operations of logs, the clients of one cell, as its samples; see `read_logs` and `samples.write`."""
    with ExitStack() as stack:
        logs = []
        watch = stack.enter_context(_shown(formats))
        for path, form in formats.items():
            log = _read_log(path, form, to.parent, options, watch)
            if log.spool:
                stack.callback(log.spool.close)
            logs.append(log)
        begun = settle(logs, options)
        spools = [(log.spool, epoch) for log, epoch in zip(logs, begun, strict=True) if log.spool]
        samples.write(to, spools, cell_id, notes_of(logs, begun), ramp_s)
    return logs


@contextmanager
def _shown(paths: Iterable[Path]) -> Iterator[Callable[[int], None]]:
    """Show a bar over the megabytes of logs that take long; yields what to call with the bytes that were read."""
    total = sum(map(pipes.size_of, paths))
    if total < _WORTH_A_BAR:
        yield lambda size: None
        return
    read = 0
    with bar(total // _MB, 0, "MB") as shown:

        def watch(size: int) -> None:
            nonlocal read
            read += size
            shown.update(read // _MB - shown.n)

        yield watch


def _read_log(path: Path, form: Format, folder: Path, options: Options, watch: Callable[[int], None]) -> Log:
    tally = tally_of(path, form, options)
    if form is Format.EASY_STRESS:
        return easy_stress.read(path, tally, folder)
    with open_log(path, watch, tally) as stream:
        return ycsb_raw.read(stream, tally, folder)


def read_table(path: Path, form: Format, options: Options) -> Figures | Histograms:
    """Read a log of figures or histograms."""
    tally = tally_of(path, form, options)
    with open_log(path, tally=tally) as stream:
        if form is Format.HDR_LOG:
            return hdr.read(stream, tally, options.unit)
        reader = {
            Format.YCSB_TEXT: ycsb_summary.read_text,
            Format.YCSB_JSON: ycsb_summary.read_json,
            Format.GO_YCSB: go_ycsb.read,
        }
        figures = reader.get(form, stress.read)(stream, tally)
    figures.notes += figures.implausible()
    return figures
