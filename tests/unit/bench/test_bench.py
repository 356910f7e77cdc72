"""What `make bench` stores, and what the book makes of it."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cassbook.bench import clients, generator, open_sender, relay
from cassbook.core.errors import InputError
from cassbook.lab.load.stress import stress_profile
from cassbook.lab.wan.relay import CEILING_BYTES_PER_S, CEILING_CHUNKS_PER_S, Moved
from cassbook.profile.profile import TableSection
from cassbook.records import bench_results


def test_every_point_comes_in_every_round_and_either_goes_first():
    plan = list(generator.points(np.random.default_rng(1)))
    assert len(plan) == 18 * generator.PAIRS
    assert len({(pair, point) for pair, point, _ in plan}) == len(plan)
    assert {first for *_, first in plan} == {True, False}
    rounds = [[point for pair, point, _ in plan if pair == n] for n in (1, 2)]
    assert sorted(rounds[0]) == sorted(rounds[1])
    assert rounds[0] != rounds[1]


def pairs(ratios):
    rows = [("READ", "ONE", 10, n, "ours", 1000.0 * r, 1000.0, 20.0, 90.0, 1.0, 1.0) for n, r in enumerate(ratios)]
    return pd.DataFrame(rows, columns=generator._COLUMNS)


def test_ratios_are_geometric_means_with_their_interval():
    ratio = generator.ratios(pairs([0.5, 1.0, 2.0])).iloc[0]
    assert ratio["ratio"] == pytest.approx(1.0)
    assert ratio["low"] * ratio["high"] == pytest.approx(1.0)
    assert ratio["low"] < 0.5
    assert ratio["pairs"] == 3


def test_equal_pairs_leave_no_doubt():
    ratio = generator.ratios(pairs([1.5] * 5)).iloc[0]
    assert (ratio["low"], ratio["ratio"], ratio["high"]) == pytest.approx((1.5, 1.5, 1.5))


def test_the_profile_of_cassandra_stress_has_the_tables_shape():
    profile = stress_profile(TableSection(record_count=5, field_count=3, field_length=40), "ks")
    assert profile["keyspace"] == "ks"
    assert [c["name"] for c in profile["columnspec"]] == ["y_id", "field0", "field1", "field2"]
    assert {c["size"] for c in profile["columnspec"][1:]} == {"fixed(40)"}


def test_the_recorded_comparison_is_whole_and_meets_its_bars():
    recorded = bench_results.pairs()
    counts = recorded.groupby(["operation", "level", "threads"])["pair"].nunique()
    assert len(counts) == 18
    assert counts.min() >= 5
    ratios = bench_results.throughput_ratios()
    assert ratios["ratio"].median() >= 1.0
    assert ratios["ratio"].min() >= 0.85
    cpu_us = ratios.set_index("threads")["ours_cpu_us_per_op"]
    assert cpu_us[cpu_us.index >= 100].max() <= 40
    assert cpu_us[10].max() <= 75


def test_the_recorded_own_error_has_every_delay_and_no_wrong_row():
    error = bench_results.own_error()
    assert set(error.index.get_level_values("delay_ms")) == {0.0, 1.0, 10.0}
    assert error["wrong"].sum() == 0


def test_what_is_recorded_names_no_path():
    assert not re.search(r"/(home|root|work|tmp)/", json.dumps(bench_results.conditions()))


def test_without_a_record_it_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_results, "project_root", lambda: tmp_path)
    with pytest.raises(InputError, match="make bench"):
        bench_results.pairs()


def test_the_relay_carries_what_it_is_stated_to_carry():
    assert bench_results.relay_added_ms().median() <= relay.BAR_MS
    ceiling = bench_results.relay_ceiling()
    assert ceiling.loc[64, "chunks/s"] >= CEILING_CHUNKS_PER_S
    assert ceiling.loc[16_384, "MB/s"] * 1e6 >= CEILING_BYTES_PER_S
    accuracy = bench_results.relay_accuracy()
    assert list(accuracy["asked_ms"])[-1] == 400
    assert accuracy["kept"].mean() > 0.8


def test_what_is_beyond_the_ceiling_is_known():
    pair = ("a", "b")
    assert not Moved(1.0, {pair: 100}, {pair: 10_000}, (), 0.0, 1).beyond_ceiling
    assert Moved(1.0, {pair: CEILING_CHUNKS_PER_S + 1}, {pair: 10_000}, (), 0.0, 1).beyond_ceiling
    assert Moved(0.5, {pair: 100}, {pair: int(CEILING_BYTES_PER_S)}, (), 0.0, 1).beyond_ceiling


def test_a_workers_client_is_compared_round_by_round_so_that_a_drift_cancels():
    rows = [
        ("READ", "ONE", 100, number, where, drift * (1.02 if where == "worker" else 1.0))
        for number in range(6)
        for where, drift in zip(clients.TURNS, (1000.0, 1010.0, 1020.0, 1030.0), strict=True)
    ]
    turns = pd.DataFrame(rows, columns=["operation", "level", "threads", "round", "where", "throughput_per_s"])
    table = clients.ratios(turns)
    assert list(table["threads"]) == [100, "all"]
    assert table["ratio"].to_list() == pytest.approx([1.02, 1.02])
    assert table["low"].iloc[0] == pytest.approx(table["high"].iloc[0])


def test_an_open_loop_is_compared_with_a_closed_one_of_the_same_rate():
    row = open_sender.measure(200.0, steady_s=1.0, rounds=2)
    assert row["n_due"] > 250  # of 400
    assert 20 < row["closed_per_s"] <= 400  # one in flight for 5 ms: 200 a second where nothing keeps it
    assert min(row["closed_us"], row["open_us"], row["ratio"], row["late_p50_us"]) > 0
    assert row["late_p99_us"] >= row["late_p50_us"]
