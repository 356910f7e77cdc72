"""A map of a run's workloads: at their own mixes, for the settings that were measured, and for nothing else."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor import map_cells
from cassbook.advisor.latency_map import LatencyMap
from cassbook.cli import advise as command
from cassbook.cli.answers import advise
from cassbook.core.errors import InputError
from cassbook_advisor.policy import Forecast, Policy, SweepCost, Terms
from cassbook_advisor.regime import Regime
from cassbook_advisor.window import Load
from tests.helpers.made_cells import cell_stats

DEMANDS_US = {("ONE", "ALL"): 100.0, ("QUORUM", "QUORUM"): 150.0, ("ONE", "QUORUM"): 50.0}
OTHER = {"name": "other", "create": ["CREATE TABLE b"], "load": None}
PROFILE = {
    "workloads": {
        "own": [
            {"name": "orders", "create": ["CREATE TABLE a"], "load": {"rows": 1}},
            {"name": "reports", "create": ["CREATE TABLE a"], "load": {"rows": 1}},
            OTHER,
        ]
    }
}


def cells(*workloads, blocks=3, pairs=DEMANDS_US, rate_per_s=np.nan):
    """Cells of workloads, given as (name, share of reads, factor): latency is threads times the demand."""
    rng = np.random.default_rng(1)
    rows = [
        {"kind": "workload", "workload": name, "threads": threads, "read_cl": pair[0], "write_cl": pair[1],
         "read_share": share, "block": block, "rate_per_s": rate_per_s,
         "latency_us": threads * demand_us * factor * np.exp(rng.normal(0, 0.001))}
        for name, share, factor in workloads
        for threads in (10, 100)
        for pair, demand_us in DEMANDS_US.items() if pair in pairs
        for block in range(blocks)
    ]  # fmt: skip
    return cell_stats(*rows)


def orders(**changes):
    return LatencyMap(cells(("orders", 0.8, 1.0), **changes), "mine", workloads=["orders"])


def test_a_point_of_one_workload_is_at_its_own_mix():
    latency_map = orders()
    assert [setting.name for setting in latency_map.settings] == ["1R-3W", "2R-2W"]  # ONE/QUORUM is not strong
    advice = latency_map.advise(55, latency_map.workload_share)
    assert advice.fastest.latency_us.value == pytest.approx(5500, rel=0.01)
    assert advice.recommended.setting.name == "2R-2W"
    assert advice.mixed
    text = advise.point(latency_map.advise(55, latency_map.workload_share), "text")
    assert text.startswith("mine, workload orders, 55 threads, 80% reads, 3 cluster starts")
    assert json.loads(advise.point(latency_map.advise(55, 0.8), "json"))["workloads"] == ["orders"]


def test_its_map_has_one_row():
    latency_map = orders()
    text = advise.domain(latency_map.advise_all(), "text")
    assert sum(line.startswith("80%") for line in text.splitlines()) == 2  # what survives, and by speed alone
    assert "90%" not in text
    rows = advise.points(latency_map.advise_all())
    assert [(row["read_share"], row["threads"]) for row in rows] == [(0.8, 10), (0.8, 100)]


def test_a_load_of_nearly_the_same_mix_is_taken_for_the_workload_and_no_other():
    latency_map = orders()
    near, far = latency_map.means_us([50], [0.75, 0.5])[0, :, 0]
    assert near == pytest.approx(5000, rel=0.01)
    assert np.isnan(far)
    with pytest.raises(InputError, match=r"reads: 0\.5; .*orders .*80% reads"):
        latency_map.advise(50, 0.5)


def test_an_adviser_goes_by_it_at_its_own_mix_and_stays_at_others():
    policy = Policy(orders(), 3, Terms(survive=0))
    here = Regime.settled(3, 2, 2), SweepCost(1.0)
    assert policy.best(Load(1000.0, 0.75, 50.0), *here).setting.name == "1R-3W"
    assert not isinstance(policy.best(Load(1000.0, 0.3, 50.0), *here), Forecast)


def test_several_make_a_map_over_shares_of_reads():
    stats = cells(("orders", 0.6, 1.0), ("reports", 0.95, 2.0))
    latency_map = LatencyMap(stats, "mine", workloads=["orders", "reports"])
    assert latency_map.workload_share is None
    middle = latency_map.means_us([10], [0.775])[0, 0, 0]
    assert middle == pytest.approx(1500, rel=0.01)
    with pytest.raises(InputError, match=r"reads: 0\.5 .*mine .*0\.6 to 0\.95"):
        latency_map.advise(10, 0.5)
    rows = advise.points(latency_map.advise_all())
    assert sorted({row["read_share"] for row in rows}) == [0.6, 0.7, 0.8, 0.9, 0.95]


@pytest.mark.parametrize(
    ("stats", "workloads", "said"),
    [
        (cells(("orders", 0.8, 1.0)), [], "workloads orders: choose one with --workload"),
        (cells(("orders", 0.8, 1.0)), ["order"], r"no cells of 'order'; measured workloads: orders"),
        (cells(("a", 0.8, 1.0), ("b", 0.8, 1.0)), ["a", "b"], r"a 80%, b 80%; .*must differ"),
        (
            cells(("orders", 0.8, 1.0), pairs=[("ONE", "QUORUM")]), ["orders"],
            r"workload orders was measured at ONE/QUORUM",
        ),
        (cells(("orders", 0.8, 1.0), rate_per_s=500.0), ["orders"], "measured workloads: none"),
    ],
)  # fmt: skip
def test_what_makes_no_map_is_said(stats, workloads, said):
    with pytest.raises(InputError, match=said):
        LatencyMap(stats, "mine", workloads=workloads)


@pytest.mark.parametrize("wanted", [["orders"], ["orders", "reports"], ["A", "B", "C"], ["D"]])
def test_workloads_on_the_same_tables_go_together(wanted):
    map_cells.check_same_tables(PROFILE, wanted)


@pytest.mark.parametrize("wanted", [["orders", "other"], ["A", "D"], ["orders", "A"], ["mine", "yours"]])
def test_workloads_on_other_tables_do_not(wanted):
    with pytest.raises(InputError, match="same tables"):
        map_cells.check_same_tables(PROFILE, wanted)


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ((10.0, 0.5, False, True), "--reads: the mix is a part of the workload"),
        ((None, None, False, True), "give --workload and either --threads or --map"),
        ((10.0, None, True, True), "give --workload and either --threads or --map"),
        ((10.0, None, False, False), "give both --threads and --reads, or --map alone"),
    ],
)
def test_points_that_say_too_little_or_too_much(point, said):
    with pytest.raises(InputError, match=said):
        command._check_point("standard-2.1.20", *point)


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["workload"], "give --workload orders"),
        (["workload", "pure"], "or --workload orders with --threads or --map"),
    ],
)
def test_a_run_of_workloads_names_them(monkeypatch, kinds, said):
    stats = cells(("orders", 0.8, 1.0))
    known = pd.concat([stats.assign(kind=kind) for kind in kinds], ignore_index=True)
    monkeypatch.setattr("cassbook.ingest.folder.open_run", lambda name: SimpleNamespace(statistics=known))
    with pytest.raises(InputError, match=said):
        command._check_point("mine", None, None, False, False)
