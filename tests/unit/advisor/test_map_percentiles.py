"""A map by a percentile: what was measured at measured points, mixed distributions between, and nothing unsupported."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor.latency_map import LatencyMap
from cassbook.cli.answers import advise
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.latency import histograms, percentiles
from cassbook_advisor.policy import Policy, SweepCost, Terms
from cassbook_advisor.regime import Regime
from cassbook_advisor.window import Load
from tests.helpers.command import cassbook
from tests.helpers.made_cells import cell_stats

THREADS = (10, 40)
#: Median demand in us a thread and spread, by operation and level: ALL has the longer tail.
READS = {"ONE": (100.0, 0.3), "QUORUM": (150.0, 0.3), "ALL": (160.0, 1.2)}
WRITES = {"ONE": (100.0, 0.3), "QUORUM": (150.0, 0.3), "ALL": (120.0, 1.2)}
#: The two-thousandth, ... of a standard normal: the same sample in each cell.
NORMAL = np.sort(np.random.default_rng(1).standard_normal(4000))


def us(threads, level, demands, block):
    median, spread = demands[level]
    return threads * median * np.exp(spread * NORMAL) * (1 + 0.02 * block)


def made(blocks=3, operations=4000, few=None, shares=(), marks=""):
    """Statistics and histograms; `few` is (operation, level, threads) with fewer operations in the last block."""
    rows, recorded = [], {}

    def cell(kind, levels, share, threads, block, samples, marked=""):
        cell_id = f"b{block}-{kind}-{levels[0]}-{levels[1]}-{share}-{threads}"
        for operation, values in samples.items():
            recorded[f"{cell_id}.{operation}"] = histograms.histogram(values)
        everything = np.concatenate(list(samples.values()))
        rows.append({
            "cell_id": cell_id, "kind": kind, "read_cl": levels[0], "write_cl": levels[1], "read_share": share,
            "threads": threads, "block": block, "latency_us": everything.mean(), "n_ok": operations, "n_errors": 0,
            "marks": marked,
        })  # fmt: skip

    for block in range(blocks):
        for threads in THREADS:
            for level in READS:
                cell("pure", (level, level), 1.0, threads, block, {"READ": us(threads, level, READS, block)})
                cell("pure", (level, level), 0.0, threads, block, {"UPDATE": us(threads, level, WRITES, block)}, marks)
                if few == (level, threads) and block == blocks - 1:
                    rows[-1]["n_ok"] = 400
            for share in shares:
                samples = {"READ": us(threads, "ONE", READS, block), "UPDATE": us(threads, "ALL", WRITES, block)}
                cell("mixed", ("ONE", "ALL"), share, threads, block, samples)
    return cell_stats(*rows), recorded


def p99_map(by="p99", **changes):
    stats, recorded = made(**changes)
    return LatencyMap(stats, "made", by=by, recorded=lambda: recorded)


def test_a_measured_point_has_the_percentile_of_its_cells_and_their_geometric_mean():
    advice = p99_map().advise(40, 1.0)
    one = next(choice for choice in advice.choices if choice.setting.name == "1R-3W")
    by_block = [np.quantile(us(40, "ONE", READS, block), 0.99) for block in range(3)]
    assert one.by_block_us == pytest.approx(by_block, rel=0.01)
    expected = Estimate.ratio(one.by_block_us)
    assert (one.latency_us.value, one.latency_us.low) == pytest.approx((expected.value, expected.low))
    assert one.interval == "blocks"


def test_over_threads_the_logarithm_of_the_quantile_is_interpolated():
    """On the logarithm of threads, so that a quantile in proportion to threads stays so between the measured ones."""
    latency_map = p99_map()
    ends, middle = latency_map.latencies_us([10, 40], [1.0])[0, 0, 0], latency_map.latencies_us([20], [1.0])[0, 0, 0, 0]
    assert middle == pytest.approx(np.sqrt(ends[0] * ends[1]))
    assert middle == pytest.approx(2 * ends[0], rel=0.01)
    by_mean = latency_map.judged_by("mean")
    assert by_mean.latencies_us([25], [1.0])[0, 0, 0, 0] == pytest.approx(
        by_mean.latencies_us([10, 40], [1.0])[0, 0, 0].mean()
    )


def test_a_mix_of_pure_cells_is_the_percentile_of_their_operations_pooled():
    found = p99_map(blocks=1).latencies_us([40], [0.75])[:, 0, 0, 0]
    for setting, value in zip(p99_map().settings, found, strict=True):
        reads, writes = us(40, setting.read_cl, READS, 0), us(40, setting.write_cl, WRITES, 0)
        pooled = np.concatenate([reads, reads, reads, writes])
        assert value == pytest.approx(np.quantile(pooled, 0.99), rel=0.03)


def test_measured_mixes_are_used_where_there_are_some():
    """The mixed cells hold as many reads as writes, whatever share they are said to have."""
    stats, recorded = made(blocks=1, shares=(0.9,))
    latency_map = LatencyMap(stats, "made", by="p99", recorded=lambda: recorded)
    both = np.concatenate([us(40, "ONE", READS, 0), us(40, "ALL", WRITES, 0)])
    assert latency_map.latencies_us([40], [0.9])[0, 0, 0, 0] == pytest.approx(np.quantile(both, 0.99), rel=0.01)
    reads = us(40, "ONE", READS, 0)
    halfway = np.concatenate([both, reads, reads])  # half of the mixed cell's operations, half of reads alone
    assert latency_map.latencies_us([40], [0.95])[0, 0, 0, 0] == pytest.approx(np.quantile(halfway, 0.99), rel=0.03)


def test_another_figure_may_choose_another_setting():
    by_mean, by_p99 = (p99_map(by).advise(40, 0.5) for by in ("p50", "p99"))
    assert by_mean.fastest.setting.name == "1R-3W"
    assert by_p99.fastest.setting.name == "2R-2W"
    assert (by_p99.recommended.setting.name, by_p99.by) == ("2R-2W", "p99")


def test_one_block_has_an_interval_within_it_that_is_labelled():
    advice = p99_map(blocks=1).advise(40, 0.5)
    assert {choice.interval for choice in advice.choices} == {"one cluster start"}
    assert all(c.latency_us.low < c.latency_us.value < c.latency_us.high for c in advice.choices)
    assert advice.distinguishable is None
    text = advise.point(p99_map(blocks=1).advise(40, 0.5), "text")
    assert "intervals are within one cluster start, by order statistics" in text
    pure = p99_map(blocks=1).advise(40, 1.0).choices[0]
    low, high = percentiles.order_bounds(0.99, 4000)
    reads = us(40, "ONE", READS, 0)
    assert (pure.latency_us.low, pure.latency_us.high) == pytest.approx(np.quantile(reads, [low, high]), rel=0.02)


def test_a_run_that_does_not_support_a_percentile_says_how_many_operations_lack():
    with pytest.raises(InputError, match=r"made: p99\.9 .*10,000 .* 4,000 .*6,000 more"):
        p99_map("p99.9")
    with pytest.raises(InputError, match=r"by: 'p98' .*mean, p50, p95, p99, p99\.9"):
        p99_map("p98")
    stats, _ = made()
    with pytest.raises(InputError, match=r"by: p99 .*histograms.*bare .*mean"):
        LatencyMap(stats, "bare", by="p99")
    with pytest.raises(InputError, match="and sums has sums only"):
        LatencyMap(stats, "sums", by="p99", recorded=dict)


def test_a_cell_with_too_few_operations_is_named_where_it_matters():
    latency_map = p99_map(few=("QUORUM", 40))
    assert {setting.name for setting in latency_map.too_few(40, 0.5)} == {"2R-2W"}
    assert {setting.name for setting in latency_map.too_few(30, 0.5)} == {"2R-2W"}  # rests on 40 threads too
    assert not latency_map.too_few(10, 0.5)
    assert not latency_map.too_few(40, 1.0)
    text = advise.point(latency_map.advise(40, 0.5), "text")
    assert "nothing is recommended: p99 of 2R-2W is not known" in text
    assert "p99 of 2R-2W is not shown" in text
    assert "has 400, 600 more" in text
    answer = json.loads(advise.point(latency_map.advise(40, 0.5), "json"))
    assert (answer["setting"], answer["nearest"], answer["too_few_operations"]) == (None, None, {"2R-2W": 400})
    grid = latency_map.domain([10, 40], [0.5, 1.0])
    assert list(zip(grid["threads"], grid["read_share"], strict=True)) == [(10, 0.5), (10, 1.0), (40, 1.0)]
    assert "p99 of 2R-2W is not known at 10 points" in advise.domain(latency_map.advise_all(), "text")


def test_a_map_as_json_and_csv_names_what_is_not_known():
    latency_map = p99_map(few=("QUORUM", 40))
    rows = {(row["threads"], row["read_share"]): row for row in advise.points(latency_map.advise_all())}
    assert len(rows) == 22
    lacking = [row for row in rows.values() if row["not_known"]]
    assert len(lacking) == 10
    assert {(row["not_known"], row["best"], row["recommended"], row["best_marks"]) for row in lacking} == {
        ("2R-2W", None, None, "")
    }
    table = pd.read_csv(io.StringIO(advise.domain(latency_map.advise_all(), "csv")))
    assert (table["not_known"] == "2R-2W").sum() == table["best"].isna().sum() == 10
    assert "not_known" not in advise.points(latency_map.judged_by("mean").advise_all())[0]


def test_a_map_as_json_recommends_where_only_a_setting_that_survives_less_is_not_known():
    rows = advise.points(p99_map(few=("ALL", 40)).advise_all())
    lacking = [row for row in rows if row["not_known"]]
    assert lacking
    assert {(row["best"], row["recommended"]) for row in lacking} == {(None, "2R-2W")}
    assert all(row["recommended_latency_us"] > 0 and row["recommended_survives_reads"] == 1 for row in lacking)


def test_marks_of_the_cells_that_an_answer_rests_on_are_named():
    stats, _ = made(marks="little")
    latency_map = LatencyMap(stats, "made")
    text = advise.point(latency_map.advise(25, 0.5), "text")
    assert "  marked little (2R-2W, 1R-3W, 3R-1W): " in text
    answer = json.loads(advise.point(latency_map.advise(25, 0.5), "json"))
    assert answer["marks"] == {
        "little": "throughput times latency is more than 5 % off the number of threads (Little's law)"
    }
    assert {row["marks"] for row in answer["settings"]} == {"little"}
    assert "marked" not in advise.point(latency_map.advise(25, 1.0), "text")  # reads alone rest on none of the writes
    drawn = advise.domain(latency_map.advise_all(), "text")
    assert "*  marked little at 20 of 22 points (10 threads, 0% reads; 40 threads, 0% reads;" in drawn
    rows = advise.points(latency_map.advise_all())
    assert [row["best_marks"] for row in rows] == [row["recommended_marks"] for row in rows]
    assert {row["best_marks"] for row in rows if row["read_share"] < 1} == {"little"}
    assert "2R-2W at every point: 10 to 40 threads, 0% to 100% reads" in drawn


@pytest.mark.parametrize(
    ("bound_ms", "survive", "said"),
    [
        (100, 1, "p99 within 100 ms: 2R-2W (all of its interval)"),
        (0.5, 1, "p99 within 0.5 ms: none that survives 1 dead replica; nearest is 2R-2W with "),
        (0.5, 0, "p99 within 0.5 ms: none; nearest is 2R-2W with "),
        (0.5, 2, "p99 within 0.5 ms: none that survives 2 dead replicas; nearest is 2R-2W with "),
    ],
)
def test_a_bound_that_no_setting_keeps_is_an_answer(bound_ms, survive, said):
    text = advise.point(p99_map().advise(40, 0.5, survive=survive), "text", bound_ms)
    assert said in text
    answer = json.loads(advise.point(p99_map().advise(40, 0.5, survive=survive), "json", bound_ms))
    assert answer["bound"]["bound_ms"] == bound_ms
    assert answer["bound"]["kept_by"] == (["2R-2W"] if "all of" in said else [])
    assert (answer["bound"]["nearest"] or {}).get("setting") == (None if "all of" in said else "2R-2W")


def test_a_setting_that_keeps_a_bound_but_survives_too_little_is_named():
    latency_map = p99_map("p50")
    text = advise.point(latency_map.advise(40, 0.9, survive=1), "text", 5.0)
    assert "p50 within 5 ms: none " in text
    assert "nearest is 2R-2W with 6.09" in text
    assert "1R-3W keeps it" in text
    assert ": --survive 0" in text
    answer = json.loads(advise.point(latency_map.advise(40, 0.9, survive=1), "json", 5.0))
    assert answer["bound"]["kept_but_survives_less"] == ["1R-3W"]


def test_the_adviser_goes_by_the_figure_that_its_terms_name():
    latency_map = p99_map("mean")
    load, now = Load(2000.0, 0.5, 40.0), Regime.settled(3, 1, 3)
    by_p50 = Policy(latency_map, 3, Terms(survive=0, by="p50")).consider(load, now, SweepCost(1.0))
    assert by_p50.kind == "best"
    by_p99 = Policy(latency_map, 3, Terms(survive=0, by="p99")).consider(load, now, SweepCost(1.0))
    assert (by_p99.kind, by_p99.forecast.setting.name) == ("faster", "2R-2W")
    assert " by p99" in by_p99.reason
    own = Policy(p99_map("p99"), 3, Terms(survive=0)).consider(load, now, SweepCost(1.0))
    assert own.forecast.setting.name == "2R-2W"
    with pytest.raises(InputError, match=r"by: 'p98' .*mean, p50"):
        Terms(by="p98")


def run(*options):
    return cassbook("advise", "--run", "standard-2.1.20", *options)


@pytest.mark.parametrize("by", ["p50", "p99.9"])
def test_the_command_line_advises_by_a_percentile(by):
    point = ("--threads", "300", "--reads", "0.45", "--survive", "0", "--by", by)
    done = run(*point, "--bound-ms", "20")
    assert done.exit_code == 0, done.output
    assert f"replication 3, by {by}" in done.output
    assert f"{by} of mixes made from pure cells was off by " in done.output
    answer = json.loads(run(*point, "--format", "json").output)
    assert answer["by"] == by
    assert answer["setting"]["latency_low_us"] < answer["setting"]["latency_us"] < answer["setting"]["latency_high_us"]
    assert {row["made_from"] for row in answer["mix_accuracy"]} == {"pure cells", "neighbouring mixes"}
    drawn = run("--map", "--by", by)
    assert drawn.exit_code == 0
    assert f"share of reads (down), by {by}." in drawn.output


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (
            ["--threads", "50", "--reads", "0.5", "--by", "p98"],
            "'p98' is not one of 'mean', 'p50', 'p95', 'p99', 'p99.9'",
        ),
        (["--map", "--by", "p99", "--bound-ms", "20"], "give --threads and --reads instead of --map"),
        (["--threads", "50", "--reads", "0.5", "--bound-ms", "0"], "--bound-ms: 0 is not above 0"),
        (["--threads", "50", "--reads", "0.5", "--bound-ms", "-1"], "--bound-ms: -1 is not above 0"),
        (
            ["--threads", "10", "--reads", "0.95", "--by", "p99.9"],
            "needs 10,000 operations per cell",
        ),
    ],
)
def test_the_command_line_says_what_is_wrong_and_what_would_be_right(options, wrong):
    done = run(*options)
    assert done.exit_code == 2
    assert wrong in done.output


def test_a_calibrated_network_predicts_means_only():
    typed = "advise --run calibration-5.0.9 --nodes 6 --threads 8 --reads 0.5 --by p99"
    done = cassbook(*typed.split())
    assert done.exit_code == 2
    assert "--by p99: not with --nodes, whose network predicts means" in done.output
