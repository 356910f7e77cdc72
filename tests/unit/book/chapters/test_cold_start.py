"""Tables and figures of cold conditions, of Little's law and of rankings, on cells made for them."""

import numpy as np
import pytest

from cassbook.book import paper_tables
from cassbook.book.chapters import (
    cold_start,
    cold_start_figures,
    coordinated_omission,
    deviation,
    measure,
    models,
    regressions,
)
from cassbook.book.provenance import PUBLISHED, Source, run_of
from cassbook.core.errors import InputError, LackingError
from cassbook.latency.cold_start import CONDITIONS
from cassbook.records.run import RecordedRun
from tests.helpers.cold_cells import SampledRun, cold, noise, samples_of
from tests.helpers.made_cells import cell_stats, make_cells


@pytest.fixture
def run():
    slow = np.r_[np.full(18, 6.0), np.ones(80)]
    cells = make_cells(
        cold("server", "restarted_server", read_cl="ALL"),
        cold("client", "restarted_client", read_share=0.0, write_cl="QUORUM"),
        cold("warm", "warm"),
        cold("warm2", "warm", block=2),
        cold("gone", "cold_pages"),
        cold("short", "cold_pages", read_share=0.0),
        {"cell_id": "pure"},
    )
    parts = {
        "server": samples_of(noise(98) * slow),
        "client": samples_of(noise(60) * np.linspace(5, 1, 60)),
        "warm": samples_of(noise(60)),
        "warm2": samples_of(noise(60)),
        "gone": samples_of(noise(60)),
        "short": samples_of(noise(5)),
    }
    return SampledRun(cells, parts, dropped=("gone",))


def test_each_condition_says_its_end_beside_the_papers(run):
    found = cold_start.cold_conditions(Source("x", run)).loc[("restarted server", "READ", "ALL", 0)]
    assert (found["outcome"], found["ends_ms"], found["factor"]) == (
        cold_start.ENDS, pytest.approx(900), pytest.approx(6, rel=0.01),
    )  # fmt: skip
    table = cold_start.cold_conditions_shown(Source("x", run))
    assert table.columns.tolist() == ["ends, ms", "times slower", "times the warm cell"]
    assert table.iloc[:, :2].reset_index().to_numpy().tolist() == [
        ["paper: every test", "", "", "", "800-1000", "5-8"],
        ["warm", "READ", "ONE", 0, "none", ""],
        ["warm", "READ", "ONE", 2, "none", ""],
        ["restarted client", "WRITE", "QUORUM", 0, "not in 3.0 s", ""],
        ["cold pages", "READ", "ONE", 0, "samples not kept", ""],
        ["cold pages", "WRITE", "ONE", 0, "too short to say", ""],
        ["restarted server", "READ", "ALL", 0, "900", "6.0"],
    ]


def test_a_cell_slow_to_its_end_is_held_against_the_warm_one():
    cells = make_cells(cold("warm", "warm"), cold("slow", "restarted_server"), cold("other", "cold_pages", block=1))
    flat = {name: samples_of(noise(60) * times) for name, times in (("warm", 1), ("slow", 5), ("other", 7))}
    source = Source("x", SampledRun(cells, flat))
    table = cold_start.cold_conditions(source).reset_index().set_index("condition")
    assert table.loc["restarted server", "outcome"] == cold_start.NONE
    assert table["times_warm"].dropna().to_dict() == {"restarted server": pytest.approx(5, rel=0.02)}, (
        "there is no warm cell in the block of cold pages"
    )
    words = cold_start.cold_in_words(source)["restarted_server", "READ"]
    assert words == "in none of 1; whole cells 5.0 times the warm ones"


def test_a_run_without_such_cells_has_the_papers_row_alone():
    for source in (Source("x", SampledRun(make_cells({"cell_id": "a"}))), Source(PUBLISHED)):
        assert cold_start.cold_conditions(source).empty
        table = cold_start.cold_conditions_shown(source)
        assert table["ends, ms"].tolist() == ["800-1000"]
        with pytest.raises(LackingError, match=r"no cell .*cold"):
            cold_start_figures.cold_conditions([source])


def test_the_figure_has_a_panel_a_condition_and_marks_the_end(run):
    figure = cold_start_figures.cold_conditions([Source(PUBLISHED), Source("x", run)])
    assert [axes.get_title() for axes in figure.axes] == ["warm", "restarted client", "cold pages", "restarted server"]
    lines = {axes.get_title(): axes.get_lines() for axes in figure.axes}
    assert [len(lines[name]) for name in ("warm", "restarted client", "cold pages")] == [2, 1, 1]
    series, end = lines["restarted server"]
    assert len(series.get_xdata()) == 98
    assert end.get_xdata()[0] == pytest.approx(0.9)
    assert lines["restarted client"][0].get_linestyle() == ":"


def test_littles_law_by_kind_and_its_marked_cells():
    rows = [
        {"cell_id": "a", "little_ratio": 0.99},
        {"cell_id": "b", "little_ratio": 0.90, "marks": "errors;little"},
        {"cell_id": "c", "little_ratio": 1.01, "kind": "mixed", "marks": "hints"},
        {"cell_id": "d", "little_ratio": 0.2, "kind": "paced", "rate_per_s": 10.0, "marks": "little"},
        {"cell_id": "w", "kind": "warmup"},
    ]
    run = SampledRun(make_cells(*({"rate_per_s": np.nan} | row for row in rows)))
    table = measure.little(run)
    assert table.loc["pure"].tolist() == pytest.approx([2, 0.9, 0.945, 0.99, 1])
    assert table.loc["mixed", "over 5 % off"] == 0
    assert table.index.tolist() == ["mixed", "pure"]


def test_the_recorded_run_counts_its_marks():
    run = RecordedRun("quick-2.1.20")
    table = measure.little(run)
    closed = run.cells[(run.cells["kind"] != "warmup") & run.cells["rate_per_s"].isna()]
    assert table["over 5 % off"].sum() == closed["marks"].str.contains("little").sum()
    assert table["cells"].sum() == (run.cells["kind"] != "warmup").sum()


def test_each_ranking_says_whether_it_is_distinguishable():
    latencies = {"ONE": (100.0, 200.0, 300.0), "QUORUM": (150.0, 300.0, 451.0)}
    rows = [
        {"read_cl": level, "block": b, "latency_us": x} for level, xs in latencies.items() for b, x in enumerate(xs)
    ]
    run = SampledRun(make_cells(), statistics=cell_stats(*rows, {"threads": 20, "latency_us": 1.0}))
    table = paper_tables.rankings(Source("x", run))
    assert table.loc[("READ", 10), ["ranking", "distinguishable"]].tolist() == [("ONE", "QUORUM"), True]
    assert table.loc[("READ", 10), "p_value"] < 0.001
    assert table.loc[("READ", 20), ["ranking", "distinguishable"]].tolist() == [("ONE",), None]
    assert paper_tables.rankings_shown(table).to_numpy().tolist() == [
        ["ONE < QUORUM", "yes", "< 0.001"], ["ONE", "unknown", ""],
    ]  # fmt: skip
    printed = paper_tables.rankings(Source(PUBLISHED))
    assert set(printed["distinguishable"]) == {None}


def test_settings_are_ranked_in_the_same_way():
    mixed = {"kind": "mixed", "read_share": 0.5}
    latencies = {"ALL": (300.0, 610.0, 900.0), "ONE": (100.0, 200.0, 300.0)}
    rows = [mixed | {"read_cl": r, "write_cl": "ALL", "block": b, "latency_us": x}
            for r, xs in latencies.items() for b, x in enumerate(xs)]  # fmt: skip
    table = paper_tables.setting_rankings(
        Source("x", SampledRun(make_cells(), statistics=cell_stats(*rows, {"latency_us": 1.0})))
    )
    assert table.index.tolist() == [(0.5, 10)]
    assert table.iloc[0][["ranking", "distinguishable"]].tolist() == [("1R-3W", "3R-3W"), True]
    assert set(paper_tables.setting_rankings(Source(PUBLISHED))["distinguishable"]) == {None}


def test_an_order_of_settings_shows_which_neighbours_differ_and_whose_winner_is_certain():
    apart, alike = (
        {"ALL": (300.0, 610.0, 900.0), "ONE": (100.0, 200.0, 300.0)},
        {"ALL": (1.0, 3.0, 2.0), "ONE": (1, 2, 3)},
    )
    rows = [{"kind": "mixed", "read_share": share, "read_cl": r, "write_cl": "ALL", "block": b, "latency_us": float(x)}
            for share, latencies in ((0.3, apart), (0.7, alike))
            for r, xs in latencies.items() for b, x in enumerate(xs)]  # fmt: skip
    source = Source("x", SampledRun(make_cells(), statistics=cell_stats(*rows)))
    table = deviation.setting_orders_shown(source)
    assert list(table.columns) == ["30/70", "70/30"]
    assert table.loc[10, "30/70"] == "1R-3W < 3R-3W"
    assert " ~ " in table.loc[10, "70/30"]
    assert deviation.clear_winners(source).to_dict("records") == [{"read_share": 0.3, "threads": 10}]


def test_what_was_cold_in_words():
    step = np.r_[np.full(18, 6.0), np.ones(80)]
    shapes = {"a": step, "b": np.r_[np.full(20, 3.0), np.ones(78)], "c": np.linspace(5, 1, 98), "d": np.ones(98)}
    cells = make_cells(*[cold(name, "cold_pages", block=n) for n, name in enumerate(shapes)])
    run = SampledRun(cells, {name: samples_of(noise(98) * times) for name, times in shapes.items()})
    words = cold_start.cold_in_words(Source("x", run))
    expected = "in 3 of 4 (ends after 900 to 1000 ms, 3.0 to 6.0 times slower; 1 not over when the cell was)"
    assert words["cold_pages", "READ"] == expected
    assert words["cold_pages", "WRITE"] == "not measured"


def test_the_load_of_cold_cells_is_said_once(run):
    assert cold_start.cold_load([Source("x", run), Source("y", run)]) == "ONE, QUORUM, ALL with 4 threads"


def test_every_condition_and_operation_has_its_words(run):
    words = cold_start.cold_in_words(Source("x", run))
    assert set(words) == {(c, o) for c in CONDITIONS for o in ("READ", "WRITE")}
    assert "in 1 of 1 (ends after 900 ms" in words["restarted_server", "READ"]
    assert words["restarted_server", "WRITE"] == "not measured"


def test_a_thread_count_that_cannot_be_drawn_is_refused_with_those_that_can():
    standard, quick = (run_of(name) for name in ("standard-2.1.20", "quick-2.1.20"))
    cold_start.check_threads([standard, quick], 500)
    with pytest.raises(InputError, match=r"threads: of 100, standard, 2\.1\.20 .*use one of 500$"):
        cold_start.check_threads([standard, quick], 100)
    cold_start.check_threads([quick], 100)
    with pytest.raises(InputError, match=r"threads: 5000 .* use one of 10, 50, .*, 1000$"):
        cold_start.check_threads([standard, quick], 5000)


def test_a_level_without_a_paused_node_is_refused_with_those_that_have_one():
    standard = run_of("standard-2.1.20")
    coordinated_omission.check_level([standard], "ONE")
    with pytest.raises(InputError, match=r"level: there are no data for TWO; use one of ONE, QUORUM$"):
        coordinated_omission.check_level([standard], "TWO")


def test_a_series_and_rows_that_there_are_not_are_refused():
    with pytest.raises(InputError, match=r"operation: .* SCAN; use one of READ, WRITE$"):
        models.check_series(Source(PUBLISHED), "SCAN", "ALL")
    with pytest.raises(InputError, match=r"threads: .* 11; use one of 10, 50, .*, 1000$"):
        regressions.equations_at(regressions.printed_equations_check(), [10, 11])
