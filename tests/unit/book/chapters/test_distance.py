"""Tables of the chapter on distance."""

import pandas as pd

from cassbook.book.chapters import distance


def test_an_implied_round_trip_is_never_shown_as_negative():
    table = pd.DataFrame({"to_coordinator_ms": [-0.42, 0.0], "to_second_ms": [131.26, 12.0]})
    assert distance.implied_shown(table).to_dict("list") == {
        "to_coordinator_ms": ["about 0", "0.0"],
        "to_second_ms": ["131.3", "12.0"],
    }


def test_short_round_trips_are_quoted_with_the_range_of_what_was_found():
    index = pd.MultiIndex.from_tuples([("a", "C", "R1"), ("a", "R1", "R2"), ("b", "C", "R1")])
    found = pd.DataFrame({"asked_ms": [3.1, 3.1, 111.0], "found_ms": [6.0, 4.0, 112.0]}, index)
    assert distance.near_values(found) == {"near_asked": 3.1, "near_least": 4.0, "near_most": 6.0}
