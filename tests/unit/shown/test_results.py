"""What is said of a run's results: what figures rest on, what is missing, and what marks mean."""

import numpy as np
import pytest

from cassbook.latency.results import results
from cassbook.shown.results import explained_results, sections
from tests.helpers.made_cells import cells

BLOCKS = [{"block": number} for number in range(3)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (BLOCKS, "geometric means"),
        ([{"latency_low_us": 900.0, "latency_high_us": 1100.0}], "not what another cluster start would"),
        (
            [{"block": 0, "n_ok": 5000}, {"block": 1, "n_ok": 700}],
            "p99 of 1 cell is not shown: it needs 1,000 operations per cell, and the fewest are 700, 300 more.",
        ),
        (BLOCKS, "p99.9 of 1 cell is not shown: their histograms"),
        ([{"rate_per_s": 500.0, "response_us": 7000.0}], "should have started"),
        ([{}, {"latency_us": np.nan, "read_cl": "TWO"}], "1 cell had no successful operation, so no latency either."),
        ([{"n_errors": 10, "n_unknown": 2}], "Of 10 errors, 2 are writes that may have taken effect all the same."),
        ([{"marks": "lag;little"}], "Marked lag (1 cell): the client's event loop was late"),
        ([{"marks": "moonlight"}], "Marked moonlight (1 cell): a mark that this cassbook does not know."),
    ],
)
def test_a_reader_is_told_what_figures_rest_on_and_what_is_missing(rows, said):
    assert said in "\n".join(explained_results(results(cells(*rows), None)))


def test_a_run_without_cells_says_nothing():
    assert explained_results(results(cells({}).iloc[:0], None, 3)) == []


def test_columns_have_units_and_the_reach_of_their_intervals():
    of = results(
        cells(*({"block": n, "latency_us": us, "marks": "lag;pages"} for n, us in enumerate([1e3, 2e3, 4e3]))), None
    )
    ((title, table),) = sections(of)
    (row,) = table.to_dict("records")
    assert title.startswith("Reads alone and writes alone")
    assert (row["mean"].partition(" ")[0], row["p99.9"], row["marks"]) == ("2.00", "-", "lag,pages")
