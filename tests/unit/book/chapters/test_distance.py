"""Tables of the chapter on distance."""

import pandas as pd

from cassbook.book.chapters import distance


def test_an_implied_round_trip_is_never_shown_as_negative():
    table = pd.DataFrame({"to_coordinator_ms": [-0.42, 0.0], "to_second_ms": [131.26, 12.0]})
    assert distance.implied_shown(table).to_dict("list") == {
        "to_coordinator_ms": ["about 0", "0.0"],
        "to_second_ms": ["131.3", "12.0"],
    }
