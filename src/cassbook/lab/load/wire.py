"""The light path: EXECUTE frames from bytes that are ready, responses judged without decoding rows.

The driver keeps its connections and its event loop; only its message objects are bypassed. Frames are those
of the native protocol, versions 3 and 4 (sections 2, 4.1.6, 4.2.5 and 9 of its specification).
"""

from __future__ import annotations

import struct
from typing import Any

from cassbook.core.consistency import LEVEL_CODES
from cassbook.core.schema import MISSING_ROW, OK, OUTCOMES

_EXECUTE, _ERROR, _RESULT = 0x0A, 0x00, 0x08
_VOID, _ROWS = 1, 2
_WITH_VALUES, _SKIP_METADATA = 0x01, 0x02
_HAS_MORE_PAGES, _NO_METADATA = 0x02, 0x04
#: Flag of a frame: trace this request; and of its answer, which then begins with the trace's id.
TRACING = 0x02

_BY_ERROR_CODE = {
    0x1000: OUTCOMES.index("unavailable"),
    0x1001: OUTCOMES.index("overloaded"),
    0x1002: OUTCOMES.index("bootstrapping"),
    0x1100: OUTCOMES.index("write_timeout"),
    0x1200: OUTCOMES.index("read_timeout"),
    0x1300: OUTCOMES.index("read_failure"),
    0x1500: OUTCOMES.index("write_failure"),
}
_OTHER_ERROR = OUTCOMES.index("server_error")

_header = struct.Struct(">BBhBi").pack
_int = struct.Struct(">i").unpack_from
_four_ints = struct.Struct(">iiii").unpack_from
_four_ints_size = struct.calcsize(">iiii")


def value(content: bytes) -> bytes:
    """Encode a [bytes] value: its length, then itself."""
    return struct.pack(">i", len(content)) + content


def execute_prefix(query_id: bytes, level: str, values: int) -> bytes:
    """First part of an EXECUTE body: statement, level, flags and the number of values that follow."""
    flags = _WITH_VALUES | _SKIP_METADATA
    return struct.pack(">H", len(query_id)) + query_id + struct.pack(">HBH", LEVEL_CODES[level], flags, values)


def encode(
    body: bytes,
    stream: int,
    protocol: int,
    compressor: Any = None,
    allow_beta_protocol_version: bool = False,
    flags: int = 0,
) -> bytes:
    """Frame an EXECUTE body; the signature is that of the driver's encoder, but for the frame's flags."""
    return _header(protocol, flags, stream, _EXECUTE, len(body)) + body


def judge(opcode: int, body: bytes, expected: bytes | None, most_rows: int = 1) -> int:
    """Outcome of a response, as an index into OUTCOMES.

    `expected` is None where an answer without rows is due; else what the first column of the first row must begin with,
    as a [bytes] value (b"" is any row). From one to `most_rows` rows must come back; with 0 any number, also none.
    """
    if opcode == _RESULT:
        if expected is None:
            return OK if _int(body)[0] == _VOID else _OTHER_ERROR
        if len(body) < _four_ints_size:
            return _OTHER_ERROR
        kind, flags, _, rows = _four_ints(body)
        if kind == _ROWS and flags & (_NO_METADATA | _HAS_MORE_PAGES) == _NO_METADATA:
            fit = rows == 1 or 1 < rows <= most_rows or not most_rows
            return OK if fit and (body.startswith(expected, 16) or not rows) else MISSING_ROW
        return _OTHER_ERROR
    if opcode == _ERROR:
        return _BY_ERROR_CODE.get(_int(body)[0], _OTHER_ERROR)
    return _OTHER_ERROR
