"""The light path's frames and verdicts, held against the driver's own encoder and real response bodies."""

import struct

import pytest
from cassandra import ConsistencyLevel
from cassandra.protocol import ExecuteMessage, ProtocolHandler

from cassbook.core import schema
from cassbook.lab.load import wire

ID = bytes(range(16))
KEY = wire.value(b"user1")


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("level", ["ONE", "QUORUM", "ALL", "LOCAL_QUORUM"])
@pytest.mark.parametrize("values", [[b"user1"], [b"x" * 100, b"user1"]])
def test_frames_are_the_drivers_but_for_skipped_metadata(protocol, level, values):
    message = ExecuteMessage(ID, values, ConsistencyLevel.name_to_value[level])
    expected = bytearray(ProtocolHandler.encode_message(message, 77, protocol, None, False))
    flags = 9 + 2 + len(ID) + 2  # behind the header, the statement's id and the level
    assert expected[flags] == 0x01
    expected[flags] |= 0x02  # the driver asks for the columns' description with every answer; we do not
    body = wire.execute_prefix(ID, level, len(values)) + b"".join(map(wire.value, values))
    assert wire.encode(body, 77, protocol) == bytes(expected)


def rows(count, first=KEY, flags=0x04):
    return struct.pack(">iiii", 2, flags, 11, count) + (first * count)


def test_a_read_counts_only_if_it_returned_its_row():
    assert wire.judge(8, rows(1), KEY) == schema.OK
    assert wire.judge(8, rows(0), KEY) == schema.MISSING_ROW
    assert wire.judge(8, rows(1, wire.value(b"user2")), KEY) == schema.MISSING_ROW
    assert wire.judge(8, rows(1, flags=0x05), KEY) == schema.OK  # 2.1 sets the global table bit as well


def test_a_scan_may_return_fewer_rows_than_it_asked_for_but_not_more_and_not_none():
    assert wire.judge(8, rows(1), KEY, 3) == wire.judge(8, rows(3), KEY, 3) == schema.OK
    assert wire.judge(8, rows(4), KEY, 3) == wire.judge(8, rows(0), KEY, 3) == schema.MISSING_ROW
    assert wire.judge(8, rows(3, wire.value(b"user2")), KEY, 3) == schema.MISSING_ROW
    assert wire.judge(8, rows(2), KEY) == schema.MISSING_ROW


def test_a_query_that_may_come_back_empty_takes_any_number_of_rows():
    assert (
        wire.judge(8, rows(0), KEY, 0) == wire.judge(8, rows(7), KEY, 0) == wire.judge(8, rows(7), b"", 0) == schema.OK
    )
    assert wire.judge(8, rows(7, wire.value(b"user2")), KEY, 0) == schema.MISSING_ROW
    assert wire.judge(8, rows(1), b"") == schema.OK
    assert schema.OUTCOMES[wire.judge(8, struct.pack(">i", 1), b"", 0)] == "server_error"


def test_an_answer_of_another_kind_is_not_a_success():
    void = struct.pack(">i", 1)
    assert wire.judge(8, void, None) == schema.OK
    assert schema.OUTCOMES[wire.judge(8, void, KEY)] == "server_error"  # a read is not answered by nothing
    assert schema.OUTCOMES[wire.judge(8, rows(1, flags=0x02), KEY)] == "server_error"
    assert schema.OUTCOMES[wire.judge(6, b"", None)] == "server_error"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (0x1000, "unavailable"),
        (0x1001, "overloaded"),
        (0x1100, "write_timeout"),
        (0x1200, "read_timeout"),
        (0x1300, "read_failure"),
        (0x1500, "write_failure"),
        (0x2200, "server_error"),
    ],
)
def test_errors_are_told_apart(code, kind):
    assert schema.OUTCOMES[wire.judge(0, struct.pack(">i", code) + b"\0\0", None)] == kind
