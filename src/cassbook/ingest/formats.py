"""Recognise a benchmark log by what is in it, whatever its name; gzip and Zstandard are opened on the way."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from cassbook.core.errors import InputError
from cassbook.ingest import pipes
from cassbook.ingest.damage import Tally
from cassbook.ingest.encodings import LOOK_BYTES, as_utf8, encoding_of
from cassbook.ingest.not_read import refusal
from cassbook.ingest.packed import DAMAGE, Salvaged, from_system
from cassbook.ingest.ycsb_lines import GO_HEADER, HEADER

#: As much of a log as is looked at: YCSB prints its properties and status lines before the first measurement.
_LOOK_BYTES = 4 << 20
_GZIP, _ZSTD, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"


class Format(Enum):
    """A kind of log."""

    YCSB_RAW = "YCSB raw"
    YCSB_TEXT = "YCSB text summary"
    YCSB_JSON = "YCSB JSON summary"
    GO_YCSB = "go-ycsb summary"
    HDR_LOG = "HdrHistogram log"
    STRESS = "cassandra-stress console log"
    EASY_STRESS = "cassandra-easy-stress Parquet"

    @property
    def holds_operations(self) -> bool:
        """Whether it has one row per operation; the others hold summaries or histograms only."""
        return self in (Format.YCSB_RAW, Format.EASY_STRESS)


#: In this order: a raw file has a text summary behind, and HdrHistogram logs may be printed among other things.
_MARKS = (
    (Format.YCSB_RAW, re.compile(
        rb"^(?:[A-Za-z_-]+(?:,\d+,\d+\r?$|" + re.escape(HEADER) + rb")|" + GO_HEADER + rb"\r?$)", re.MULTILINE
    )),
    (Format.HDR_LOG, re.compile(rb'^#\[Histogram log|^"StartTimestamp",|^[^\n]*,HIST[A-Za-z0-9+/]', re.MULTILINE)),
    (Format.STRESS, re.compile(rb"^type[, ]+total ops,|^Results:\r?$|^Running [^\n]*with \d+ thread", re.MULTILINE)),
    (Format.YCSB_JSON, re.compile(rb'^\s*\[?\s*\{\s*"metric"\s*:', re.MULTILINE)),
    (Format.GO_YCSB, re.compile(rb'^[A-Z_]+ *- Takes\(s\): |^\[\{".*"Takes\(s\)":', re.MULTILINE)),
    (Format.YCSB_TEXT, re.compile(rb"^\[[A-Za-z0-9_%.-]+\], [^,\n]+, ", re.MULTILINE)),
)  # fmt: skip


class _Watched:
    """A file that reports how far it has been read."""

    def __init__(self, file: BinaryIO, watch: Callable[[int], object]) -> None:
        self._file, self._watch = file, watch

    def read(self, size: int = -1) -> bytes:
        """Read, and report how many bytes."""
        content = self._file.read(size)
        self._watch(len(content))
        return content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def open_log(
    path: Path, watch: Callable[[int], object] | None = None, tally: Tally | None = None
) -> Iterator[BinaryIO]:
    """Open a log for its bytes, decompressed, in UTF-8 and without a byte-order mark.

    Parameters
    ----------
    path : Path
    watch : callable, optional
        Called with the bytes of the file that were read; not called for a log that is read by lines.
    tally : Tally, optional
        If it skips damage, a log whose compression is damaged ends there, and the tally says so.

    Raises
    ------
    InputError
        If it cannot be read, or its compression is damaged.
    """
    try:
        with pipes.open_raw(path) as file:
            magic = file.read(4)
            file.seek(0)
            packed = cast(BinaryIO, _Watched(file, watch)) if watch else file
            if not _is_packed(magic):
                yield as_utf8(packed)
            elif tally is not None and tally.skip:
                salvaged = Salvaged(lambda: pipes.open_raw(path), _unpacked, tally.cut_short)
                with io.BufferedReader(salvaged, 1 << 20) as stream:
                    yield as_utf8(cast(BinaryIO, stream))
            else:
                with _unpacked(packed) as unpacked:
                    # Arrow's stream has no lines of its own.
                    lines = unpacked if magic != _ZSTD else cast(BinaryIO, io.BufferedReader(unpacked, 1 << 20))
                    yield as_utf8(lines)
    except DAMAGE as error:
        if from_system(error):
            raise InputError(f"{path}: cannot be read ({cast(OSError, error).strerror})") from None
        raise InputError(
            f"{path}: its compression is damaged or cut short ({error}); `cassbook read --skip-damaged` reads what "
            "comes before"
        ) from None


def _is_packed(magic: bytes) -> bool:
    return magic.startswith(_GZIP) or magic == _ZSTD


def _unpacked(file: BinaryIO) -> BinaryIO:
    """Decompress a file, from where it stands."""
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(_GZIP):
        return cast(BinaryIO, gzip.open(file))
    # Arrow's, for the zstandard package takes a stream that is cut short for one that ends.
    return cast(BinaryIO, pa.CompressedInputStream(file, "zstd"))


def compressed(path: Path) -> bool:
    """Whether a log is packed by gzip or Zstandard, which is read from its beginning only."""
    with pipes.open_raw(path) as file:
        return _is_packed(file.read(4))


def from_beginning(path: Path) -> bool:
    """Whether a log can be read from its beginning only: it is packed, or no UTF-8."""
    if compressed(path):
        return True
    with pipes.open_raw(path) as file:
        return encoding_of(file.read(LOOK_BYTES))[0] != "utf-8"


def recognise(path: Path, skip_damaged: bool = False) -> Format:
    """Tell a log's format from its content.

    Parameters
    ----------
    path : Path
    skip_damaged : bool
        Look at what can be unpacked of a log whose compression is damaged.

    Raises
    ------
    InputError
        If it is empty or of no format that cassbook reads.
    """
    tally = Tally(path, skip_damaged, "")
    with open_log(path, tally=tally) as stream:
        head = stream.read(_LOOK_BYTES)
    if not head.strip():
        raise InputError(f"{path}: {tally.cut or 'is empty'}")
    if head.startswith(_PARQUET):
        if compressed(path):
            raise InputError(f"{path}: is Parquet inside gzip or Zstandard; unpack it first")
        return Format.EASY_STRESS
    if archive := refusal(head, archives=True):
        raise InputError(f"{path}: {archive}")
    for form, mark in _MARKS:
        if mark.search(head):
            return form
    if other := refusal(head):
        raise InputError(f"{path}: {other}")
    known = ", ".join(form.value for form in Format)
    raise InputError(f"{path}: is no log that cassbook knows, gzip and Zstandard included; it reads {known}")


def logs_in(folder: Path) -> list[str]:
    """Return the names of the logs in a folder, whatever else is in it."""
    names = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith("."):
            with suppress(InputError):
                recognise(path)
                names.append(path.name)
    return names
