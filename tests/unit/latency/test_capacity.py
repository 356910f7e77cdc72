"""The rate at which response times cross a bound, of ladders whose crossing is known."""

import json

import numpy as np
import pandas as pd
import pytest

from cassbook.cli.answers.capacity import capacities as answer
from cassbook.core.errors import InputError
from cassbook.latency.capacity import AT_LEAST, FAILED, FOUND, LATE, NONE, SOME, UNSENT, capacities
from cassbook.latency.histograms import histogram
from cassbook.latency.percentiles import needed, with_tails
from cassbook.records.run import RecordedRun
from tests.helpers.rate_ladder import RATES, ladder


def test_the_crossing_of_a_power_law_is_exact():
    (found,) = capacities(ladder(power=1.5), 30.0)
    expected = 100 * (30.0 / np.array([1.0, 1.1, 0.9])) ** (1 / 1.5)
    assert found.by_block == pytest.approx(expected)
    assert found.verdict == FOUND
    assert found.per_s.value == pytest.approx(np.exp(np.log(expected).mean()))
    assert found.per_s.low < found.per_s.value < found.per_s.high
    assert found.rates_per_s == RATES


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(150):
        (found,) = capacities(ladder(scales=np.exp(rng.normal(0, 0.2, 4))), 10.0)
        covered.append(found.per_s.low <= 1000 <= found.per_s.high)
    assert 0.9 < np.mean(covered) <= 1


def test_another_figure_has_another_crossing():
    (found,) = capacities(ladder(scales=(1.0, 1.0)), 10.0, "mean")
    assert found.per_s.value == pytest.approx(2000)


def test_a_bound_that_no_rate_keeps_is_an_answer():
    (found,) = capacities(ladder(), 1.0)
    assert found.verdict == NONE
    assert np.isnan(found.per_s.value)
    assert (found.nearest_per_s, found.nearest_ms) == (500.0, pytest.approx(5.0))


def test_a_bound_that_some_blocks_keep_and_others_do_not():
    (found,) = capacities(ladder(), 5.0)  # kept at 500 a second in two of three blocks
    assert found.verdict == SOME
    assert np.isnan(found.by_block).tolist() == [False, True, False]
    assert np.isnan(found.per_s.value)
    assert (found.nearest_per_s, found.nearest_ms, found.missed_by) == (500.0, pytest.approx(5.5), LATE)


def test_a_bound_that_every_rate_keeps_is_known_from_below():
    (found,) = capacities(ladder(), 100.0)
    assert found.verdict == AT_LEAST
    assert found.per_s.value == pytest.approx(4000)
    assert np.isnan(found.per_s.low)


def test_what_was_not_sent_or_failed_keeps_no_bound():
    (found,) = capacities(ladder(marks=lambda rate: "rate" if rate >= 2000 else ""), 100.0)
    assert found.by_block == (1000.0, 1000.0, 1000.0)
    assert found.marks == ""
    (found,) = capacities(ladder(n_errors=lambda rate: 0.02 * 4 * rate if rate >= 2000 else 0.0), 100.0)
    assert found.by_block == (1000.0, 1000.0, 1000.0)
    (found,) = capacities(ladder(n_errors=lambda rate: 0.005 * 4 * rate), 100.0)
    assert found.verdict == AT_LEAST


def test_a_rate_of_which_hardly_anything_was_sent_is_no_rate_with_too_few_operations():
    changes = {
        "marks": lambda rate: "rate;empty" if rate >= 2000 else "",
        "n_ok": lambda rate: 0 if rate >= 2000 else 4e3,
    }
    (found,) = capacities(ladder(response_p99_us=lambda rate: np.nan if rate >= 2000 else 5e3, **changes), 10.0)
    assert found.by_block == (1000.0, 1000.0, 1000.0)
    assert found.left_out_per_s == ()


def test_behind_the_first_rate_that_misses_the_bound_nothing_counts():
    stats = ladder(scales=(1.0,))
    stats.loc[stats["rate_per_s"] == 1000, "response_p99_us"] = 50_000.0
    (found,) = capacities(stats, 25.0)
    assert 500 < found.per_s.value < 1000
    assert np.isnan(found.per_s.low)  # one block


def test_rates_with_too_few_operations_are_left_out_and_named():
    assert needed("p99") == 1000
    (found,) = capacities(ladder(n_ok=lambda rate: int(0.9 * rate)), 10.0)
    assert found.left_out_per_s == (500.0, 1000.0)
    assert found.verdict == NONE
    with pytest.raises(InputError, match=r"p99 .*1,000 .* 40 .*960 more"):
        capacities(ladder(n_ok=lambda rate: int(rate / 100)), 10.0)


@pytest.mark.parametrize(
    ("stats", "arguments", "said"),
    [
        (ladder(rate_per_s=np.nan), (10.0,), "measure a ladder, rates_per_s"),
        (ladder(condition="paused_node"), (10.0,), "no cells at fixed rates"),
        (ladder(), (0.0,), "bound: 0 ms is not above 0"),
        (ladder(), (10.0, "p98"), "'p98' is no figure; use mean, p50, p95, p99, p99.9"),
        (ladder().drop(columns="response_p99_us"), (10.0,), "its statistics hold no p99"),
    ],
)
def test_what_has_no_answer_is_said(stats, arguments, said):
    with pytest.raises(InputError, match=said):
        capacities(stats, *arguments)


def test_p999_comes_from_the_histograms_of_all_operations():
    stats = ladder(scales=(1.0,), n_ok=20_000)
    stats["cell_id"] = [f"b1-paced{rate:g}" for rate in stats["rate_per_s"]]
    recorded = {}
    for rate, cell_id in zip(stats["rate_per_s"], stats["cell_id"], strict=True):
        slow = np.full(30, 10 * rate)  # us: more than one operation in a thousand, all of them updates
        recorded[f"{cell_id}.READ.response"] = histogram(np.full(15_000, 100.0))
        recorded[f"{cell_id}.UPDATE.response"] = histogram(np.concatenate([np.full(4970, 100.0), slow]))
        recorded[f"{cell_id}.READ"] = histogram(np.full(15_000, 1e6))
    (found,) = capacities(with_tails(stats, recorded), 15.0, "p99.9")
    assert found.per_s.value == pytest.approx(1500, rel=0.01)
    assert with_tails(stats, {})["response_p999_us"].isna().all()


class Run:
    name, manifest = "mine", {"profile": {"cluster": {"replication_factor": 3}}}

    def __init__(self, statistics, in_slices=()):
        self.statistics, self.slices = statistics, pd.DataFrame({"cell_id": list(in_slices)}, dtype=str)


def unwrapped(run, bound_ms):
    return " ".join(answer(run, bound_ms, "p99", None, "text").split())


@pytest.mark.parametrize(
    ("scales", "bound_ms", "said", "counts"),
    [  # p99 is 10 times the scale at 1000 a second, the only rate
        ((1, 1, 1, 1, 1, 1, 3), 20.0,
         "at least 1000 a second in 6 of 7 cluster starts, none in one (nearest is 1000 a second with p99 30.0 ms)",
         (6, 0, 1)),
        ((1, 3, 1, 4), 20.0,
         "at least 1000 a second in 2 of 4 cluster starts, none in 2 (nearest is 1000 a second with p99 35.0 ms)",
         (2, 0, 2)),
        ((1, 1), 20.0, "at least 1000 a second; measure higher rates", (2, 0, 0)),
        ((3, 3), 20.0, "none; nearest is 1000 a second with p99 30.0 ms", (0, 0, 2)),
    ],
)  # fmt: skip
def test_starts_that_differ_are_counted(scales, bound_ms, said, counts):
    run = Run(ladder(scales=scales, rates=(1000.0,)))
    assert said in unwrapped(run, bound_ms)
    (row,) = json.loads(answer(run, bound_ms, "p99", None, "json"))["capacities"]
    assert (row["blocks_at_least"], row["blocks_found"], row["blocks_none"]) == counts
    assert [row["by_block_verdict"].count(verdict) for verdict in (AT_LEAST, FOUND, NONE)] == list(counts)
    assert (row["verdict"] == SOME) is (counts[2] > 0 and counts[0] > 0)


def test_starts_that_differ_on_a_ladder_have_their_own_capacities():
    text = unwrapped(Run(ladder(scales=(0.1, 1.0, 1.25, 3.0))), 10.0)
    assert "at least 4000 a second in 1 of 4 cluster starts, 800 to 1000 in 2, none in one " in text
    assert "(nearest is 500 a second with p99 15.0 ms); " in text
    text = unwrapped(Run(ladder(scales=(0.1, 1.0))), 10.0)
    assert "at least 4000 a second in 1 of 2 cluster starts, 1000 in one; measure higher rates" in text
    text = unwrapped(Run(ladder(scales=(1.0, 3.0))), 10.0)
    assert "1000 a second in 1 of 2 cluster starts, none in one (nearest is 500 a second" in text


def test_a_higher_rate_that_keeps_the_bound_is_no_near_miss():
    run = Run(ladder(response_p99_us=lambda rate: 5e3 if rate > 500 else 5e4))
    assert "none; at 500 a second, the lowest rate, " in unwrapped(run, 10.0)


@pytest.mark.parametrize(
    ("changes", "reason", "said"),
    [
        ({"marks": "rate"}, UNSENT, "none; at 500 a second, the lowest rate, fewer requests were sent"),
        ({"n_errors": 100.0}, FAILED, "none; at 500 a second, the lowest rate, too many requests failed"),
    ],
)
def test_a_rate_that_misses_a_bound_which_its_latency_keeps_says_why(changes, reason, said):
    run = Run(ladder(**changes))
    assert said in unwrapped(run, 100.0)
    assert "none; nearest is 500 a second with p99 5.0 ms; reads" in unwrapped(run, 1.0)
    assert json.loads(answer(run, 100.0, "p99", None, "json"))["capacities"][0]["missed_by"] == reason


def named(stats, workload="orders"):
    cell_ids = [f"b{block}-paced{rate:g}-own-{workload}-x" for block, rate in stats[["block", "rate_per_s"]].to_numpy()]
    return stats.assign(cell_id=cell_ids, workload=workload)


def test_rates_that_were_measured_in_groups_are_refused():
    stats = named(ladder())
    run = Run(stats, in_slices=stats["cell_id"])
    why = "mine: its fixed rates give no capacity: an earlier cassbook measured the settings of each rate together"
    for workload in (None, "orders"):
        with pytest.raises(InputError, match=why) as caught:
            answer(run, 10.0, "p99", workload, "text")
        assert "measure again" in str(caught.value)
        assert "design: sequential" in str(caught.value)
    assert "a second" in answer(Run(stats), 10.0, "p99", None, "text")  # of the same figures, measured one by one


def test_of_a_run_with_both_only_what_was_measured_by_itself_is_answered():
    grouped, alone = named(ladder()), named(ladder(), "reports")
    run = Run(pd.concat([grouped, alone], ignore_index=True), in_slices=grouped["cell_id"])
    text = answer(run, 10.0, "p99", None, "text")
    assert "workload reports, QUORUM/QUORUM" in text
    assert "workload orders, QUORUM" not in text
    assert "\n  without workload orders: " in text
    assert max(map(len, text.splitlines())) <= 125
    content = json.loads(answer(run, 10.0, "p99", None, "json"))
    assert [row["workload"] for row in content["capacities"]] == ["reports"]
    assert content["refused_workloads"] == ["orders"]
    with pytest.raises(InputError, match="give no capacity"):
        answer(run, 10.0, "p99", "orders", "text")


def test_the_recorded_rates_were_measured_one_by_one():
    """Their healthy cells never alternated, so they have an answer, start by start."""
    text = unwrapped(RecordedRun("standard-5.0.9"), 20.0)
    assert "50% reads, QUORUM/QUORUM at least 1000 a second in 6 of 7 cluster starts, none in one (" in text
    assert "50% reads, ONE/ONE at least 1000 a second; measure higher rates" in text


def test_the_answer_names_settings_and_what_they_survive():
    run = Run(ladder())
    text = answer(run, 10.0, "p99", None, "text")
    assert text.startswith("mine: highest rate whose p99 response time keeps 10 ms\n  workload orders, QUORUM/QUORUM ")
    assert "a second; reads and writes survive 1 dead replica" in text
    assert "none; nearest is 500 a second with p99 5.0 ms" in answer(run, 1.0, "p99", "orders", "text")
    assert "at least 4000 a second; measure higher rates" in answer(run, 100.0, "p99", "orders", "text")
    (row,) = json.loads(answer(run, 10.0, "p99", "orders", "json"))["capacities"]
    assert row["capacity_per_s"] == pytest.approx(1000, rel=0.02)
    assert row["survives_reads"] == 1
    assert "one cluster start" in answer(Run(ladder(scales=(1.0,))), 10.0, "p99", None, "text")
    assert answer(run, 10.0, "p99", None, "csv").count("\n") == 1
    with pytest.raises(InputError, match=r"'order' .*fixed rates; .*orders"):
        answer(run, 10.0, "p99", "order", "text")
