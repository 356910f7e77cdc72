"""Recognise a benchmark log by what is in it, whatever its name; gzip and Zstandard are opened on the way.

Of a compressed log that is damaged or cut short, the whole lines up to there can be unpacked. Texts that are not plain
UTF-8 are opened too: with a byte-order mark, or in UTF-16 as PowerShell's `>` writes it. What is not
read is recognised too, and refused with what to give instead.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from cassbook.core.errors import InputError
from cassbook.ingest import pipes
from cassbook.ingest.damage import Tally
from cassbook.ingest.ycsb_lines import GO_HEADER, HEADER

#: What decompressors raise; of an OSError, only one that is not the system's.
DAMAGE = (gzip.BadGzipFile, zlib.error, EOFError, OSError)
_CHUNK = 1 << 16
#: The longer marks first, for that of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
#: Bytes from which an encoding without a mark is recognised.
_ENCODING_BYTES = 64
#: As much of a log as is looked at: YCSB prints its properties and status lines before the first measurement.
_LOOK_BYTES = 4 << 20
_GZIP, _ZSTD, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
#: Archives and packed files, by their first bytes.
_PACKED = (
    (b"PK\x03\x04", "is a ZIP archive; unpack it (`unzip FILE`) and give the logs in it"),
    (b"\xfd7zXZ\x00", "is packed by xz; `xz -dc FILE | cassbook read -` reads it"),
    (b"BZh", "is packed by bzip2; `bzip2 -dc FILE | cassbook read -` reads it"),
    (b"\x04\x22\x4d\x18", "is packed by lz4; `lz4 -dc FILE | cassbook read -` reads it"),
    (b"\x1f\x9d", "is packed by compress; `zcat FILE | cassbook read -` reads it"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive; unpack it (`7z x FILE`) and give the logs in it"),
    (b"SQLite format 3\x00", "is a database of SQLite, no log"),
)
_TAR, _TAR_AT = b"ustar", 257
_TAR_HINT = "is a tar archive; unpack it (`tar -xf FILE`) and give the logs in it"

_PREFIX_HINT = (
    "each line of it has {} in front; take that off, with `sed 's/{}//'`, and give what is left, each client's lines "
    "in a file of their own"
)
_FIGURE = rb"(?:\[[\w%.-]+\], [^,\n]+, |[A-Z][A-Z_-]+,\d{9,},\d+|type[, ]+total ops,|total,? +\d)"
#: Logs of tools and pipelines, by a line that they have. The first that is found is said.
_OTHERS = (
    (rb"^[\w.-]+ +\| " + _FIGURE, _PREFIX_HINT.format("a service's name, as docker compose puts it,", "^[^|]*| ")),
    (rb"^\[pod/[^\]]+\] ", _PREFIX_HINT.format("a pod's name, as kubectl puts it,", r"^\[pod[^]]*\] ")),
    (rb"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:std\w+ [FP] )?" + _FIGURE,
     _PREFIX_HINT.format("a time", r"^[^ ]* ")),
    (rb"^Count +Latency \(p99\) +1min|Latency \(p99\)\S* +\S*1min \(req/s\)",
     "is what cassandra-easy-stress or tlp-stress shows while it runs, which holds one percentile of moving windows; "
     "run it with `--parquet FILE` (easy-stress) and give that"),
    ("^(?:CONFIG|SUMMARY STATS) \u2550+".encode(),
     "is a report of latte, which is not read; give a log of HdrHistogram (`latte hdr REPORT.json`)"),
    (rb"-- BEGIN METRICS DETAIL --|\btype=(?:GAUGE|TIMER|HISTOGRAM), name=",
     "is a log of NoSQLBench, whose figures are of intervals; run it with `--log-histograms FILE.hdr` and give that"),
    (rb"^\|? *OPERATION *\| *TAKES\(S\)",
     "is a table of go-ycsb; run it with `outputstyle=plain`, or with `measurementtype=raw`, and give that"),
    (rb"^Using request distribution '.*' a keyrange of|^Run finished, takes ",
     "is the console of go-ycsb without its measurements; give its last lines, such as `READ   - Takes(s): ...`, or "
     "the file of `measurement.output_file`"),
    (rb"^ *Value +Percentile +TotalCount +1/\(1-Percentile\)",
     "is a distribution of percentiles (.hgrm), which holds no intervals; give the HdrHistogram log it was made of"),
    (rb"^total,interval_op_rate,|^Averages from the middle 80% of values:",
     "is of a cassandra-stress before 2.1, which is not read; 2.1 and later are"),
    (rb"^Command line: .*-(?:t|load)\b|^YCSB Client \d|^\[OVERALL\]",
     "is YCSB's console without its figures: the test did not end, or they are in the file that `exportfile` names"),
    (rb'\A"?cell_id"?,"?started_s"?,"?intended_s"?,',
     "is what `cassbook read --output FILE.csv` wrote, which is for other programs; give the log itself, or read it "
     "with `--output FILE.parquet` and show that"),
    (rb'\A"?file"?,"?tag"?,"?(?:threads"?,"?at_s|started_s"?,"?length_s)"?,',
     "is the table that `cassbook read --output FILE.csv` wrote, which is for other programs; give the log itself, or "
     "read it with `--output FILE.parquet` and show that"),
    (rb"^<{7} |^>{7} ", "has marks of a merge in it (`<<<<<<<`): two versions of one file; take one out"),
    (rb"(?i)^\s*<(?:!DOCTYPE )?html", "is a page in HTML; give the tool's own log"),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern, re.MULTILINE), hint) for pattern, hint in _OTHERS)
_COLOURS = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


def from_system(error: BaseException) -> bool:
    """Whether an error is the system's, such as of a disk, not a decompressor's."""
    return isinstance(error, OSError) and error.errno is not None


class Salvaged(io.RawIOBase):
    """A decompressed stream that ends, with its last whole line, where its compression is damaged.

    The line that is cut is left out, for its beginning would pass for a smaller number. `open_again` opens the log at
    its beginning; it is called again where unpacking fails, to have the last bytes one by one. `say` is called with how
    many bytes could be unpacked and with the error, where it ends early.
    """

    def __init__(
        self,
        open_again: Callable[[], BinaryIO],
        unpack: Callable[[BinaryIO], BinaryIO],
        say: Callable[[int, Exception], None],
    ) -> None:
        self._open, self._unpack, self._say = open_again, unpack, say
        self._opened: list[BinaryIO] = []
        self._stream = self._begin()
        self._unpacked = 0
        self._ready = self._held = b""
        self._over = False

    def close(self) -> None:
        """Close what was opened."""
        for file in self._opened:
            file.close()
        super().close()

    def _begin(self) -> BinaryIO:
        self._opened.append(self._open())
        return self._unpack(self._opened[-1])

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; 0 at the end."""
        while not self._ready and not self._over:
            self._fill()
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _fill(self) -> None:
        """Get more lines ready."""
        failed: Exception | None = None
        try:
            chunk = self._stream.read(_CHUNK)
        except DAMAGE as error:
            if from_system(error):
                raise
            chunk, failed = self._to_the_damage(), error
        self._unpacked += len(chunk)
        self._over = failed is not None or not chunk
        lines = self._held + chunk
        end = lines.rfind(b"\n") + 1 if failed or chunk else len(lines)
        self._ready, self._held = lines[:end], lines[end:]
        if failed:
            self._say(self._unpacked, failed)

    def _to_the_damage(self) -> bytes:
        """Read from the beginning what came behind the last whole chunk, byte by byte."""
        rest = bytearray()
        try:
            stream = self._begin()
            stream.read(self._unpacked)
            while byte := stream.read(1):
                rest += byte
        except DAMAGE as error:
            if from_system(error):
                raise
        return bytes(rest)


def encoding_of(head: bytes) -> tuple[str, int]:
    r"""Return a text's encoding and the bytes of its mark, from its first `_ENCODING_BYTES`.

    UTF-16 without a mark is recognised by every other byte of its characters being zero, as it is in any log.

    >>> encoding_of(b"\xff\xfe["), encoding_of(b"[\x00R\x00E\x00A\x00"), encoding_of(b"[READ], ")
    (('utf-16-le', 2), ('utf-16-le', 0), ('utf-8', 0))
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return name, len(mark)
    even, odd = head[0::2], head[1::2]
    if len(odd) > 2:  # noqa: PLR2004 - a few characters
        if not any(odd) and all(even[: len(odd)]):
            return "utf-16-le", 0
        if not any(even) and all(odd):
            return "utf-16-be", 0
    return "utf-8", 0


def as_utf8(stream: BinaryIO) -> BinaryIO:
    """Return a stream, read to its first byte, without a byte-order mark and in UTF-8; as it is, where it is so."""
    name, mark = encoding_of(cast(Any, stream).peek(_ENCODING_BYTES)[:_ENCODING_BYTES])
    if mark:
        stream.read(mark)
    return stream if name == "utf-8" else cast(BinaryIO, io.BufferedReader(_Recoded(stream, name), _CHUNK))


class _Recoded(io.RawIOBase):
    """A stream in another encoding, as UTF-8."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(name)(errors="replace")
        self._ready = b""
        self._over = False

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; 0 at the end."""
        while not self._ready and not self._over:
            chunk = self._stream.read(_CHUNK)
            self._over = not chunk
            self._ready = self._decoder.decode(chunk, final=self._over).encode("utf-8", "replace")
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


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

    `watch` is called with the bytes of the file that were read; not for a log that is read by lines. If `tally` skips
    damage, a log whose compression is damaged ends there, and the tally says so. Raise InputError if it cannot be read,
    or its compression is damaged.
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
        return encoding_of(file.read(_ENCODING_BYTES))[0] != "utf-8"


def recognise(path: Path, skip_damaged: bool = False) -> Format:
    """Tell a log's format from its content; with `skip_damaged` from what can be unpacked of a damaged one.

    Raise InputError if it is empty or of no format that cassbook reads.
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


def refusal(head: bytes, archives: bool = False) -> str:
    """Return why a file is not read and what to give instead, from its beginning, decompressed; empty if unknown.

    With `archives` it looks for archives only, whose contents may pass for a log.
    """
    if archives:
        if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
            return _TAR_HINT
        return next((hint for magic, hint in _PACKED if head.startswith(magic)), "")
    head = _COLOURS.sub(b"", head)
    return next((hint for pattern, hint in _PATTERNS if pattern.search(head)), "")
