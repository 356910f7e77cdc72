"""Texts that are not plain UTF-8: with a byte-order mark, or in UTF-16 as PowerShell's `>` writes it."""

from __future__ import annotations

import codecs
import io
from typing import Any, BinaryIO, cast

_CHUNK = 1 << 16
#: The longer marks first, for that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
#: Bytes from which an encoding without a mark is recognised.
LOOK_BYTES = 64


def encoding_of(head: bytes) -> tuple[str, int]:
    r"""Return a text's encoding and the bytes of its mark, from its first `LOOK_BYTES`.

    UTF-16 without a mark is recognised by every other byte of its characters being zero, as it is in any log.

    Examples
    --------
    >>> encoding_of(b"\xff\xfe["), encoding_of(b"[\x00R\x00E\x00A\x00"), encoding_of(b"[READ], ")
    (('utf-16-le', 2), ('utf-16-le', 0), ('utf-8', 0))
    """
    for mark, name in _MARKS:
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
    name, mark = encoding_of(cast(Any, stream).peek(LOOK_BYTES)[:LOOK_BYTES])
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
