"""What can be unpacked of a compressed log that is damaged or cut short: its whole lines up to there."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

#: What decompressors raise; of an OSError, only one that is not the system's.
DAMAGE = (gzip.BadGzipFile, zlib.error, EOFError, OSError)
_CHUNK = 1 << 16


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
