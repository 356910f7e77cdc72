"""Values that hold others: what is bound comes back from the driver's own decoding as what the profile asked for."""

import numpy as np
import pytest
from cassandra import cqltypes

from cassbook.core.errors import InputError
from cassbook.lab.load import values
from cassbook.profile.columns import column_type
from cassbook.profile.values import Values

NUMBER, TEXT = {"distribution": "uniform", "count": 9, "first": 1}, {"size": [2, 5]}
PLACE = cqltypes.UserType.make_udt_class(
    "ks", "place", ("street", "number"), (cqltypes.UTF8Type, cqltypes.Int32Type)
)  # fmt: skip


class Column:
    name = "c"

    def __init__(self, driver_type):
        self.type = driver_type


def back(described, driver_type, size=200):
    """What the driver reads of what is bound."""
    one, type_ = Values.model_validate(described), values.type_of(driver_type)
    drawn = values.draw(one, size, np.random.default_rng(7), type_)
    assert len(drawn) == size
    encoded = values.encode(one, drawn, Column(driver_type), 4, "here")
    return [driver_type.from_binary(part[4:], 4) for part in encoded]


def parsed(name):
    return cqltypes.lookup_casstype(name)


def test_lists_and_sets_have_as_many_elements_as_asked_for():
    lists = back({"each": NUMBER, "length": [0, 3]}, parsed("ListType(Int32Type)"))
    assert {len(one) for one in lists} == {0, 1, 2, 3}
    assert {number for one in lists for number in one} == set(range(1, 10))
    sets = back({"each": TEXT, "length": 4}, parsed("SetType(UTF8Type)"))
    assert {len(one) for one in sets} == {4}
    assert {len(text) for one in sets for text in one} == {2, 3, 4, 5}


def test_maps_tuples_and_vectors():
    maps = back(
        {"keys": NUMBER, "each": {"between": [0, 1]}, "length": [1, 2]}, parsed("MapType(Int32Type, DoubleType)")
    )
    assert {len(one) for one in maps} == {1, 2}
    assert all(1 <= key <= 9 and 0 <= x < 1 for one in maps for key, x in one.items())
    tuples = back({"parts": [NUMBER, TEXT]}, parsed("TupleType(Int32Type, UTF8Type)"))
    assert all(1 <= number <= 9 and 2 <= len(text) <= 5 for number, text in tuples)
    vectors = back({"each": {"between": [-1, 1]}}, parsed("org.apache.cassandra.db.marshal.VectorType(FloatType, 3)"))
    assert {len(one) for one in vectors} == {3}


def test_types_of_ones_own_nested_and_with_null_fields():
    places = back({"fields": {"number": NUMBER}}, PLACE)
    assert all(place.street is None and 1 <= place.number <= 9 for place in places)
    stop = cqltypes.UserType.make_udt_class("ks", "stop", ("at", "tags"), (PLACE, parsed("SetType(UTF8Type)")))
    described = {"fields": {"at": {"fields": {"street": TEXT, "number": NUMBER}}, "tags": {"each": TEXT, "length": 2}}}
    stops = back({"each": described, "length": 2}, cqltypes.ListType.apply_parameters((stop,)))
    assert all(2 <= len(one.at.street) <= 5 and len(one.tags) in {1, 2} for pair in stops for one in pair)


def test_addresses_and_durations_are_numbers():
    assert back(NUMBER | {"first": 2130706433, "count": 1}, cqltypes.InetAddressType, 1) == ["127.0.0.1"]
    assert back(NUMBER | {"first": 2**40, "count": 1}, cqltypes.InetAddressType, 1) == ["::100:0:0"]
    (duration,) = back(NUMBER | {"first": 5_000_000_000, "count": 1}, cqltypes.DurationType, 1)
    assert (duration.months, duration.days, duration.nanoseconds) == (0, 0, 5_000_000_000)


@pytest.mark.parametrize(
    ("text", "driver_type"),
    [
        ("list<int>", parsed("ListType(Int32Type)")),
        ("map<text, set<bigint>>", parsed("MapType(UTF8Type, SetType(LongType))")),
        ("vector<float, 3>", parsed("org.apache.cassandra.db.marshal.VectorType(FloatType, 3)")),
        ("tuple<int, text>", parsed("FrozenType(TupleType(Int32Type, UTF8Type))")), ("int", cqltypes.Int32Type),
    ],
)  # fmt: skip
def test_a_type_read_from_a_statement_is_the_one_that_the_server_says(text, driver_type):
    assert values.type_of(driver_type) == column_type(text)


def test_what_does_not_fit_is_refused_with_the_column():
    for described, driver_type, said in (
        (NUMBER, parsed("ListType(Int32Type)"), "c is list<int>; use {each: {...}, length: [1, 5]}"),
        ({"each": NUMBER}, parsed("SetType(Int32Type)"), "c is set<int>; say how many with length"),
        ({"parts": [NUMBER]}, parsed("TupleType(Int32Type, UTF8Type)"), "with 2 parts; 1 are given"),
        ({"each": NUMBER, "length": 3}, parsed("org.apache.cassandra.db.marshal.VectorType(Int32Type, 3)"),
         "which says how many there are; leave length out"),
    ):  # fmt: skip
        one = Values.model_validate(described)
        with pytest.raises(InputError) as caught:
            values.encode(one, [1], Column(driver_type), 4, "here")
        assert said in str(caught.value)
    with pytest.raises(InputError, match=r"300,\) is no value for c, a list<tinyint>") as caught:
        back({"each": NUMBER | {"first": 300, "count": 1}, "length": 1}, parsed("ListType(ByteType)"))
