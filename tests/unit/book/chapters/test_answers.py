"""The answers say what the records behind them say, and no more than their intervals allow."""

import re
from types import SimpleNamespace

import pandas as pd
import pytest

from cassbook.book.chapters import answers, answers_figures, price
from cassbook.book.provenance import Source, recorded_sources
from cassbook.core.errors import InputError, LackingError
from cassbook.core.estimate import Estimate
from cassbook.ingest.folder import open_run
from cassbook.records import fault_costs, open_record
from cassbook.records.faults import FaultRun

RUN, PROBED, FAILING = "standard-2.1.20", "stale-three-2.1.20", "faults-2.1.20"


@pytest.fixture(scope="module")
def source():
    return recorded_sources([open_run(RUN)])[0]


@pytest.fixture(scope="module")
def failing():
    return FaultRun(FAILING)


@pytest.fixture(scope="module")
def steps(source, failing):
    return answers.ladder(source, open_record(PROBED), failing)


@pytest.fixture
def mixes(monkeypatch):
    """A run of two mixes: one whose fastest setting differs significantly from 2R-2W, and one whose does not."""
    rows = {
        ("made", "reads 10 %", "1R-3W/2R-2W"): (1.2, 1.3), ("made", "reads 10 %", "3R-1W/2R-2W"): (0.9, 1.1),
        ("made", "reads 90 %", "1R-3W/2R-2W"): (0.5, 0.6), ("made", "reads 90 %", "3R-1W/2R-2W"): (1.4, 1.5),
    }  # fmt: skip
    index = pd.MultiIndex.from_tuples(list(rows), names=["run", "operation", "ratio"])
    figures = [Estimate(value, 2 * value - high, high, 3) for value, high in rows.values()]
    table = pd.DataFrame({"mean": figures, "p99": [*figures[:2], Estimate(0.8, 0.5, 1.3, 3), float("nan")]}, index)
    monkeypatch.setattr(price, "table", lambda sources, kind: table)
    return answers.choices(None)


def test_a_side_costs_what_its_level_costs_whatever_the_other_side_does(source, steps):
    prices = price.table([source]).droplevel("run")
    assert (
        steps.loc["2R-1W", "read_mean"] == steps.loc["2R-2W", "read_mean"] == prices.loc[("READ", "QUORUM/ONE"), "mean"]
    )
    assert steps.loc["1R-3W", "write_p99"] == prices.loc[("WRITE", "ALL/ONE"), "p99"]
    assert steps.loc["1R-3W", "read_mean"].value == 1


def test_only_quorums_on_both_sides_are_strong_and_survive_on_both_sides(steps):
    survive = steps[(steps["reads"] > 0) & (steps["writes"] > 0)]
    assert [name for name in survive.index if answers.strong(name)] == ["2R-2W"]
    words = answers.in_words(steps)
    assert words["1R-3W"][["dead replicas, reads", "dead replicas, writes"]].tolist() == [
        "2",
        "0",
    ]
    assert (words.loc["three regions: fresh at once, %", ["1R-3W", "2R-2W", "3R-1W"]] == "always*").all()
    assert words.loc["side by side: fresh at once, %", "1R-1W"].startswith(
        f"{100 * steps.loc['1R-1W', 'near'].value:.0f} ["
    )
    assert words.loc["reads, mean", "1R-3W"] == "1"


def test_the_records_behind_the_page_are_named_with_their_days(source, failing):
    behind = answers.evidence(source, open_record(PROBED), failing)
    assert behind["costs_from"].startswith(f"{source.run.name}, 20")
    assert behind["fresh_from"].startswith(PROBED)
    assert behind["fails_from"].startswith(f"{FAILING}, 20")


def test_a_setting_that_cannot_be_told_from_the_safe_one_is_not_advised(mixes):
    assert mixes["setting"].to_dict() == {"reads 90 %": "1R-3W", "reads 10 %": "2R-2W"}
    assert set(mixes["tail"]) == {"2R-2W"}, "at p99 no interval lies below 1"
    words = answers.choices_in_words(mixes)
    assert set(words["fastest by p99"]) == {"2R-2W"}
    assert words.loc["reads 10 %", "fastest strong setting"] == "none differs significantly from 2R-2W"
    assert words.loc["reads 10 %", "a dead replica"] == "stops nothing"
    assert words.loc["reads 90 %", "a dead replica"] == "stops writing"
    assert words.loc["reads 90 %", "mean, times 2R-2W's"] == "0.50 [0.40, 0.60]"


def test_the_prose_counts_gains_and_those_that_hold_in_the_tail(source, steps, mixes, failing):
    quoted = answers.values(steps, mixes, source, open_record(PROBED), failing)
    assert (quoted["gains"], quoted["stopped"], quoted["tails"]) == ("1 of 2", 1, 0)
    assert (quoted["most_mix"], quoted["most_setting"]) == ("90 %", "1R-3W")
    assert (quoted["tail_setting"], quoted["tail_mixes"]) == ("2R-2W", "2 of 2")
    assert re.fullmatch(r"\d+\.\d \[.+\] % of writes", quoted["most_dead"])
    assert quoted["dead_version"] == "2.1.20"
    assert quoted["far_half_ms"] <= quoted["safe_half_ms"]
    assert quoted["overlapping_stale"] == 0


def test_the_front_page_begins_with_at_most_five_numbers(source, steps, mixes, failing):
    quoted = answers.values(steps, mixes, source, open_record(PROBED), failing)
    text = re.sub(r"<[^>]+>", "", answers.headline(quoted).data)
    numbers = re.findall(r"\d[\d.,]*", text)
    assert len(numbers) <= 5
    assert quoted["safe_read_mean"].startswith(f"{numbers[0]} [")
    assert "[" not in text


def test_three_regions_are_quoted_by_a_median_that_a_cluster_start_had_and_by_their_range(
    source, steps, mixes, failing
):
    quoted = answers.values(steps, mixes, source, open_record(PROBED), failing)
    ms = sorted(steps.loc["1R-1W", "far_read_ms"])
    assert len(ms) == quoted["far_starts"] == 3
    assert quoted["far_weak_read"] == f"{ms[1]:.1f} [{ms[0]:.1f}, {ms[2]:.1f}]"
    assert answers.in_words(steps).loc["three regions: a read after its write, ms", "1R-1W"] == f"{ms[1]:.0f}"
    assert 100 < quoted["far_nearest_ms"] < 140


def test_the_weakest_setting_is_staler_beside_a_load_than_alone(source, steps, mixes, failing):
    quoted = answers.values(steps, mixes, source, open_record(PROBED), failing)
    alone, loaded = (float(quoted[name].split(" ")[0]) for name in ("near_fresh", "loaded_fresh"))
    assert loaded < alone
    assert re.fullmatch(r"\d+ of [\d,]+", quoted["same_replica"])


def test_a_side_leaves_unanswered_what_its_level_does_while_a_node_is_dead(steps, failing):
    dead = fault_costs.while_dead(failing)
    assert steps.loc["2R-1W", "read_dead"] == dead.loc["2R-2W", "reads"]
    assert steps.loc["2R-1W", "write_dead"] == dead.loc["3R-1W", "writes"]
    words = answers.in_words(steps)
    shown = words.loc["dead node: writes unanswered, %", ["1R-1W", "1R-3W"]].tolist()
    assert shown == [dead.loc[name, "writes"].text(digits=0) for name in ("3R-1W", "1R-3W")]
    assert shown[0].startswith("0 (at most 0.2")


def test_in_the_recorded_run_the_tail_names_another_setting_than_the_mean_where_writes_prevail(source):
    chosen = answers.choices(source)
    assert chosen.loc["reads 10 %", ["setting", "tail"]].tolist() == ["3R-1W", "1R-3W"]
    assert set(chosen["tail"]) == {"1R-3W"}


def test_the_figure_has_strong_settings_on_grey_and_names_every_setting(steps):
    figure = answers_figures.ladder(steps)
    for panel in figure.axes:
        assert [tick.get_text() for tick in panel.get_xticklabels()] == list(steps.index)
    assert "what reads cost in a busy closed loop" in repr(figure)


def test_a_record_of_five_replicas_and_a_run_without_levels_are_refused_by_name(source, failing):
    with pytest.raises(InputError, match=r"probed: .*5 replicas; .* 3"):
        answers.ladder(source, open_record("stale-five-2.1.20"), failing)
    alone = recorded_sources([open_run("foretold-5.0.9")])[0]
    with pytest.raises(LackingError, match=r"Recorded 5\.0\.9 .*two levels.*100 threads"):
        answers.ladder(alone, open_record(PROBED), failing)


def test_a_run_without_mixes_is_lacking(source):
    stats = source.cell_stats
    pure = Source("mine", SimpleNamespace(statistics=stats[stats["kind"] == "pure"], slices=source.run.slices))
    with pytest.raises(LackingError, match=r"Mine .*mixes.*1R-3W, 2R-2W or 3R-1W"):
        answers.choices(pure)
