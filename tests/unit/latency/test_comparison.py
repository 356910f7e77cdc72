"""Two made-up runs beside each other: ratios, their intervals, what is said where blocks are missing."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.latency.comparison import choose, compare
from cassbook.latency.percentiles import TooFew
from cassbook.records.run import RecordedRun
from cassbook.shown import comparison as shown
from tests.helpers.command import cassbook
from tests.helpers.compared_runs import blocks, run
from tests.helpers.data import ROOT


def figure(comparison, name="latency_us"):
    rows = comparison.figures[comparison.figures["figure"] == name]
    assert len(rows) == 1
    return rows.iloc[0]


def test_the_interval_of_a_ratio_is_welchs_on_logarithms():
    first, second = [1000.0, 1100.0, 1050.0], [1500.0, 1450.0, 1600.0, 1520.0]
    row = figure(compare(run("a", *blocks(*first)), run("b", *blocks(*second))))
    logs = np.log(first), np.log(second)
    bounds = stats.ttest_ind(logs[1], logs[0], equal_var=False).confidence_interval(0.95)
    assert row["ratio"] == pytest.approx(np.exp(logs[1].mean() - logs[0].mean()))
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((np.exp(bounds.low), np.exp(bounds.high)))
    assert (row["interval"], row["distinguishable"]) == ("blocks", True)
    assert (row["first_value"], row["first_blocks"], row["second_blocks"]) == (
        pytest.approx(np.exp(logs[0].mean())),
        3,
        4,
    )


def in_turn(*pairs):
    """Two runs whose manifests name each other, from (first, second) latencies block by block."""
    first, second = (run(name, *blocks(*column)) for name, column in zip("ab", zip(*pairs, strict=True), strict=True))
    first.manifest["in_turn_with"], second.manifest["in_turn_with"] = ["b"], ["a"]
    return first, second


def test_blocks_of_runs_that_were_measured_in_turn_are_compared_in_pairs():
    """The machine is half as fast in some blocks; the ratio hardly varies."""
    pairs = (1000.0, 1190.0), (2000.0, 2420.0), (1500.0, 1800.0)
    first, second = in_turn(*pairs)
    comparison = compare(first, second)
    wanted = Estimate.ratio([b / a for a, b in pairs])
    row = figure(comparison)
    assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == pytest.approx((wanted.value, wanted.low, wanted.high))
    assert (comparison.paired, row["distinguishable"]) == (True, True)
    assert "compared in pairs" in shown.summary(comparison)[0]
    second.manifest.clear()
    apart = compare(first, second)
    assert (apart.paired, figure(apart)["distinguishable"]) == (False, False)


def test_only_blocks_that_both_have_make_pairs():
    first, second = in_turn((1000.0, 1190.0), (2000.0, 2420.0), (1500.0, 1800.0))
    second.statistics = second.statistics[second.statistics["block"] > 1]
    row = figure(compare(first, second))
    assert row["ratio"] == pytest.approx(np.sqrt(1.21 * 1.2))
    assert (row["interval"], row["distinguishable"]) == ("", None)  # of two blocks nothing is claimed
    second.statistics = second.statistics[second.statistics["block"] > 2]
    assert figure(compare(first, second))["interval"] == "one cluster start"


@pytest.mark.filterwarnings("error")
def test_a_side_that_does_not_vary_is_no_cause_for_a_warning():
    row = figure(compare(run("a", *blocks(1000.0, 1000.0, 1000.0)), run("b", *blocks(1100.0, 1200.0, 1150.0))))
    assert row["distinguishable"] is True
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"]


def test_noise_is_not_a_difference():
    row = figure(compare(run("a", *blocks(900.0, 1200.0, 1000.0)), run("b", *blocks(1000.0, 1100.0, 990.0))))
    assert row["distinguishable"] is False
    row = figure(compare(run("a", *blocks(1000.0, 1001.0)), run("b", *blocks(2000.0, 2001.0))))
    assert (row["interval"], row["distinguishable"]) == ("", None)


def test_false_differences_are_five_in_a_hundred(monkeypatch):
    monkeypatch.setattr("cassbook.latency.comparison.FIGURES", ("latency_us",))
    rng = np.random.default_rng(11)
    rows = [[{**row, "threads": threads} for threads in range(1, 601)
             for row in blocks(*np.exp(rng.normal(7, 0.1, 4)))] for _ in range(2)]  # fmt: skip
    comparison = compare(run("a", *rows[0]), run("b", *rows[1]))
    latency = comparison.figures[comparison.figures["figure"] == "latency_us"]
    assert latency["distinguishable"].astype(bool).mean() == pytest.approx(0.05, abs=0.027)


def test_one_cluster_start_is_said_and_nothing_told_apart():
    row = figure(compare(run("a", *blocks(1000.0)), run("b", *blocks(3000.0))))
    assert (row["interval"], row["distinguishable"]) == ("one cluster start", None)
    half = np.hypot(np.log(1 / 0.9), np.log(1 / 0.9))  # the wider side of each interval
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((3 * np.exp(-half), 3 * np.exp(half)))
    mixed = figure(compare(run("a", *blocks(1000.0, 1100.0, 1050.0)), run("b", *blocks(3000.0))))
    over_blocks = Estimate.mean(np.log([1000, 1100, 1050]))
    half = np.hypot(over_blocks.high - over_blocks.value, np.log(1 / 0.9))
    assert (mixed["interval"], mixed["distinguishable"]) == ("one cluster start", None)
    assert mixed["ratio_high"] == pytest.approx(mixed["ratio"] * np.exp(half))
    text = shown.as_markdown(compare(run("a", *blocks(1000.0)), run("b", *blocks(3000.0))))
    assert "one cluster start" in text
    assert re.search(r"\| unknown +\|", text)


def test_repeats_in_a_block_are_not_blocks():
    row = figure(compare(run("a", {"latency_us": 1000.0}, {"latency_us": 3000.0}), run("b", *blocks(2000.0))))
    assert (row["first_value"], row["first_blocks"], row["interval"]) == (2000, 1, "")
    assert np.isnan(row["ratio_low"])


def test_cells_are_matched_by_what_they_are():
    first = run("a", {"threads": 10}, {"read_share": 0.0, "write_cl": "ALL"}, {"kind": "mixed", "read_share": 0.5},
                {"kind": "workload", "workload": "A", "read_share": 0.5})  # fmt: skip
    second = run("b", {"threads": 10, "write_cl": "ALL"}, {"read_share": 0.0, "write_cl": "QUORUM"},
                 {"kind": "mixed", "read_share": 0.5, "read_cl": "ALL"},
                 {"kind": "workload", "workload": "A", "read_share": 0.5},
                 {"kind": "paced", "rate_per_s": 500.0}, engine="5.0.9")  # fmt: skip
    comparison = compare(first, second)
    assert sorted(set(comparison.figures["operation"])) == ["READ", "workload A"]  # a write level is nothing to a read
    assert comparison.only_first == ["mixed reads 50 % ONE/ONE, 100 threads", "pure WRITE ALL, 100 threads"]
    assert comparison.only_second == [
        "mixed reads 50 % ALL/ONE, 100 threads",
        "paced READ ONE, 100 threads, 500 a second",
        "pure WRITE QUORUM, 100 threads",
    ]
    assert (comparison.first["engine"], comparison.second["engine"]) == ("2.1.20", "5.0.9")
    assert "Only in b: 3 (mixed reads 50 % ALL/ONE, 100 threads;" in shown.as_markdown(comparison)


def test_response_time_is_compared_where_there_is_one():
    paced = {"kind": "paced", "rate_per_s": 100.0, "response_us": 5000.0, "response_low_us": 4900.0,
             "response_high_us": 5100.0}  # fmt: skip
    comparison = compare(run("a", paced, {}), run("b", paced, {}))
    assert figure(comparison, "response_us")["rate_per_s"] == 100
    text = re.sub(" +", " ", shown.as_markdown(comparison))
    assert "| paced | READ | ONE | 100 | 100 | 5000 ±2% |" in text
    assert "| pure | READ | ONE | 100 | | 1000 " in text  # without a rate


def test_formats_agree_and_what_is_unknown_is_null():
    comparison = compare(run("a", *blocks(1000.0)), run("b", *blocks(2000.0)))
    content = json.loads(shown.as_json(comparison))
    assert content["figures"][0]["ratio"] == pytest.approx(2)
    assert content["figures"][0]["distinguishable"] is None
    assert content["figures"][0]["rate_per_s"] is None
    lines = shown.as_csv(comparison).splitlines()
    assert lines[0].startswith("first_run,second_run,kind,")
    assert len(lines) == 1 + len(content["figures"])


def test_nothing_in_common_is_refused():
    with pytest.raises(InputError, match="a and b have no cell in common"):
        compare(run("a", {"threads": 1}), run("b", {"threads": 2}))


def test_the_command_takes_names_and_folders():
    folder = RecordedRun("quick-2.1.20").folder
    result = cassbook("compare", "quick-2.1.20", folder, "--format", "json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.output)
    assert content["only_first"] == content["only_second"] == []
    assert {row["ratio"] for row in content["figures"]} == {1.0}
    assert not any(row["distinguishable"] for row in content["figures"])
    result = cassbook("compare", "quick-2.1.20", "nowhere")
    assert result.exit_code == 2
    assert "nowhere: there is no record" in result.output


def labels(first, second):
    comparison = compare(first, second)
    return comparison.first["label"], comparison.second["label"]


def test_columns_are_headed_by_names_that_differ(tmp_path):
    here, there = run("a", {}), run("a", {})
    assert labels(here, run("b", {})) == ("a", "b")
    assert labels(here, run("a", {}, engine="5.0.9")) == ("a (2.1.20)", "a (5.0.9)")
    here.folder, there.folder = tmp_path / "monday" / "a", tmp_path / "friday" / "a"
    assert labels(here, there) == ("monday/a", "friday/a")
    assert labels(here, here) == ("a (first)", "a (second)")
    text = shown.as_text(compare(here, there))
    assert "monday/a friday/a ratio" in re.sub(" +", " ", text)


@pytest.fixture
def some_differ():
    """100 threads: much slower, but of one start; 10 and 20 threads differ for certain, 20 more; 30 do not."""
    rows = [
        [*blocks(1000.0, threads=100), *blocks(1000.0, 1001.0, 1002.0, threads=10),
         *blocks(1000.0, 1001.0, 1002.0, threads=20), *blocks(900.0, 1100.0, 1000.0, threads=30)],
        [*blocks(9000.0, threads=100), *blocks(1100.0, 1101.0, 1102.0, threads=10),
         *blocks(500.0, 501.0, 502.0, threads=20), *blocks(1000.0, 1200.0, 900.0, threads=30)],
    ]  # fmt: skip
    return compare(run("a", *rows[0]), run("b", *rows[1]))


def test_the_largest_differences_come_first_those_that_are_certain_before_all(some_differ):
    chosen = choose(some_differ, top=15).shown
    latency = chosen[chosen["figure"] == "latency_us"]
    assert latency["threads"].tolist() == [20, 10, 100]
    assert len(choose(some_differ, top=15).shown) == 15
    everything = choose(some_differ, top=1000).shown
    assert len(everything) == len(some_differ.figures)
    assert choose(some_differ) is some_differ


def test_only_what_is_distinguishable_is_shown_on_demand(some_differ):
    chosen = choose(some_differ, only_different=True)
    assert set(chosen.shown["threads"]) == {10, 20}
    assert set(chosen.shown["distinguishable"]) == {True}
    assert "Mean latency is distinguishable in 2 of 3" in shown.as_markdown(chosen)  # of all, not of what is shown
    assert len(json.loads(shown.as_json(chosen))["figures"]) == len(chosen.shown)
    assert "None is distinguishable." in shown.as_text(choose(compare(run("a", {}), run("b", {})), 5, True))


def test_the_command_shows_a_few_on_demand():
    asked = ["compare", "standard-2.1.20", "standard-5.0.9", "--top", "7", "--only-different"]
    content = json.loads(cassbook(*asked, "--format", "json").stdout)
    assert [row["distinguishable"] for row in content["figures"]] == [True] * 7
    text = cassbook(*asked, "--format", "text").stdout
    assert len(text.splitlines()) < 20
    assert "7 of " in text
    csv = cassbook(*asked, "--format", "csv").stdout
    assert len(csv.splitlines()) == 8


def test_what_pairs_of_levels_survive_is_said():
    done = cassbook("compare", "standard-2.1.20", "standard-5.0.9", "--format", "json")
    survives = json.loads(done.stdout)["survives"]
    assert survives["ONE/ALL"]["first"] == {"reads": 2, "writes": 0}
    assert survives["QUORUM/QUORUM"]["second"] == {"reads": 1, "writes": 1}
    text = cassbook("compare", "standard-2.1.20", "standard-5.0.9", "--top", "1").stdout
    assert (
        " Dead replicas that reads/writes survive: ALL/ONE 0/2, ONE/ALL 2/0, ONE/ONE 2/2, QUORUM/QUORUM 1/1.\n" in text
    )


@pytest.mark.parametrize("form", shown.FORMATS)
def test_deployments_of_a_run_are_not_merged(form):
    """The four deployments of the recorded run were averaged into one once."""
    near, far = "{[C, R1, R2, R3]}", "{[C], ([R1]}, {R2}, {R3})"
    both = run("a", *blocks(1000.0, 1010.0, deployment=near), *blocks(5000.0, 5050.0, deployment=far))
    comparison = compare(both, run("b", *blocks(1000.0, 1020.0, deployment=far)))
    row = figure(comparison)
    assert row["deployment"] == far
    assert row["ratio"] == pytest.approx(0.2, rel=0.02)
    assert comparison.only_first == [f"pure READ ONE, 100 threads, {near}"]
    assert far in shown.FORMATS[form](comparison)


def test_runs_of_one_deployment_each_are_compared_whatever_it_is():
    first, second = (run(name, *blocks(1000.0, 1020.0, deployment=name)) for name in "ab")
    assert "deployment" not in compare(first, second).figures.columns


def test_the_recorded_run_of_several_deployments_has_all_of_them():
    done = cassbook("compare", *2 * ["distance-2.1.20"], "--format", "json")
    figures = json.loads(done.output)["figures"]
    assert len({row["deployment"] for row in figures}) == 4
    assert sum(row["figure"] == "latency_us" for row in figures) == 240


@pytest.mark.parametrize("by", ["p50", "p99", "p99.9"])
def test_a_percentile_is_compared_alone(by):
    done = cassbook("compare", "standard-2.1.20", "standard-5.0.9", "--by", by, "--format", "json")
    found = json.loads(done.output)
    assert found["by"] == by
    assert {row["figure"].removeprefix("response_") for row in found["figures"]} == {f"{by.replace('.', '')}_us"}
    assert all(row["first_low"] < row["first_value"] < row["first_high"] for row in found["figures"])
    text = cassbook("compare", "standard-2.1.20", "standard-5.0.9", "--by", by).output
    assert f"{by} is distinguishable in" in text
    assert ("is not shown" in text) == (by == "p99.9")


def test_a_percentile_over_blocks_is_their_geometric_mean():
    first, second = run("a", *blocks(1000.0, 4000.0, 2000.0)), run("b", *blocks(2000.0, 8000.0, 4000.0))
    row = figure(compare(first, second, "p99"), "p99_us")
    assert (row["first_value"], row["second_value"], row["ratio"]) == pytest.approx((2000, 4000, 2))
    expected = Estimate.ratio([1000.0, 4000.0, 2000.0])
    assert (row["first_low"], row["first_high"]) == pytest.approx((expected.low, expected.high))


def test_percentiles_of_too_few_operations_are_named_and_not_shown():
    counts = {"n_ok": 743, "n_errors": 0}
    first, second = run("a", *blocks(1000.0, 1010.0, **counts)), run("b", *blocks(1000.0, 1020.0, **counts))
    comparison = compare(first, second)
    assert "p99_us" not in set(comparison.figures["figure"])
    assert "p95_us" in set(comparison.figures["figure"])
    assert comparison.not_shown == [TooFew("p99", 1, 743)]
    said = "p99 of 1 cell is not shown: it needs 1,000 operations per cell, and the fewest are 743, 257 more."
    assert said in shown.as_markdown(comparison)
    assert said in json.loads(shown.as_json(comparison))["not_shown"]
    with pytest.raises(InputError, match=r"a and b .*by p99: .*1 cell .*1,000 "):
        compare(first, second, "p99")


def test_logs_of_too_few_operations_for_the_percentile_asked_for_say_so():
    logs = ROOT / "tests" / "data" / "logs"
    both = [str(logs / "ycsb-0.17.0" / name) for name in ("client-1.txt", "client-2.txt")]
    done = cassbook("compare", *both, "--by", "p99.9")
    assert done.exit_code == 2
    assert "p99.9 of 6 cells needs 10,000 operations per cell" in done.output


def test_percentiles_that_logs_print_are_compared_as_they_are():
    logs = ROOT / "tests" / "data" / "logs"
    both = [str(logs / name / "mixed.log") for name in ("stress-2.1.20", "stress-3.11.4")]
    printed = [
        float(re.search(r"[Ll]atency 99.9th percentile *: *([\d.]+)", Path(path).read_text())[1]) for path in both
    ]
    done = cassbook("compare", *both, "--by", "p99.9", "--format", "json")
    assert done.exit_code == 0, done.output
    rows = {row["operation"]: row for row in json.loads(done.stdout)["figures"]}
    assert set(rows) == {"workload mixed", "READ", "WRITE"}
    whole = rows["workload mixed"]
    assert [whole["first_value"], whole["second_value"]] == pytest.approx([1000 * value for value in printed])
    text = cassbook("compare", *both, "--by", "p99").output
    assert "1 cell and 2 operations of mixes in both runs" in text
    assert "Cassandra unknown, 1 block\n" in text


def test_what_it_can_be_compared_by_is_said():
    done = cassbook("compare", "standard-2.1.20", "standard-5.0.9", "--by", "p98")
    assert done.exit_code == 2
    assert "'p98' is not one of 'mean', 'p50', 'p95', 'p99', 'p99.9'" in done.output
    with pytest.raises(InputError, match=r"by: p99\.9 .*histograms, .* a "):
        compare(run("a", *blocks(1.0)), run("b", *blocks(1.0)), "p99.9")
