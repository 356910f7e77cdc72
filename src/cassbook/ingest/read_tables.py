"""Tables of figures or histograms that `cassbook read` wrote as Parquet, read back as the logs they are from."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import InputError
from cassbook.ingest.damage import Tally
from cassbook.ingest.hdr import HISTOGRAMS, Histograms, Interval
from cassbook.ingest.summary import SUMMARIES, Figure, Figures

_KIND, _NOTES = b"cassbook_table", b"cassbook_notes"
_FIGURES, _HISTOGRAMS = (schema.metadata[_KIND] for schema in (SUMMARIES, HISTOGRAMS))


def with_notes(tables: list[Figures | Histograms]) -> pa.Table:
    """Return the table of several logs, which keeps what a reader of each must know."""
    names = [one.tally.path.name for one in tables]
    if len(set(names)) < len(names):  # logs of one name in several folders
        names = ["/".join(one.tally.path.parts[-2:]) for one in tables]
    named = [
        table.set_column(0, table.schema.field(0), pa.array([name] * table.num_rows, pa.string()))
        for name, table in zip(names, (one.table() for one in tables), strict=True)
    ]
    said = [{"notes": one.remarks(), "format": getattr(one, "format", "")} for one in tables]
    notes = json.dumps(dict(zip(names, said, strict=True)), ensure_ascii=False).encode()
    table = pa.concat_tables(named)
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _NOTES: notes})


def holds_table(path: Path) -> bool:
    """Whether a file is such a table."""
    try:
        with pq.ParquetFile(path) as file:
            return _KIND in (file.schema_arrow.metadata or {})
    except (OSError, pa.ArrowInvalid):
        return False


def read(path: Path) -> list[Figures | Histograms]:
    """Return the logs in a table, each by its own name; raise InputError if the file is damaged."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error})") from None
    metadata = table.schema.metadata or {}
    kind, notes = metadata.get(_KIND), json.loads(metadata.get(_NOTES, b"{}"))
    rows = table.to_pylist()
    logs: list[Figures | Histograms] = []
    for name in dict.fromkeys(str(row["file"]) for row in rows):
        own, tally = [row for row in rows if row["file"] == name], Tally(Path(name), False, "")
        of = notes.get(name, {})
        said = [line.replace("--unit changes", "`cassbook read --unit` changes") for line in of.get("notes", [])]
        if kind == _HISTOGRAMS:
            intervals = [
                Interval(row["tag"], row["started_s"], row["length_s"], HdrHistogram.decode(row["histogram"]))
                for row in own
            ]
            logs.append(Histograms(tally, own[0]["unit"], False, intervals, notes=said))
        elif kind == _FIGURES:
            columns = SUMMARIES.names[1:]
            logs.append(Figures(tally, of.get("format", ""), [Figure(*(row[c] for c in columns)) for row in own], said))
        else:
            raise InputError(f"{path}: is a table of a kind that this cassbook does not know ({kind!r})")
    return logs
