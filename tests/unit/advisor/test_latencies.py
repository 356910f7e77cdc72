"""The file that the small adviser reads: written from runs, read without numpy, refused where it does not fit."""

import itertools
import json
import logging
import math
from datetime import UTC, datetime, timedelta
from importlib import resources
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
from scipy import special

from cassbook.advisor import map_file
from cassbook.advisor.latency_map import LatencyMap
from cassbook.core import consistency
from cassbook.core.consistency import Replicas
from cassbook.core.errors import LackingError
from cassbook.latency.open_loads import OpenLoads
from cassbook.latency.uncertainty import paired_p as by_scipy
from cassbook_advisor import latencies as module
from cassbook_advisor.errors import InputError
from cassbook_advisor.latencies import Latencies, Limit
from cassbook_advisor.levels import levels, replicas_waited_for
from cassbook_advisor.policy import Policy, SweepCost, Terms
from cassbook_advisor.regime import Regime
from cassbook_advisor.student import incomplete_beta, paired_p
from cassbook_advisor.window import Load
from tests.helpers.command import cassbook
from tests.helpers.open_curves import curves

CONTENT = {
    "schema": "cassbook-advisor", "version": 1, "run": "mine", "engine": "5.0.9", "replication": 3, "data_centre": None,
    "measured": "2026-11-01T10:00:00+00:00", "by": "p99", "workloads": [], "load": "rate", "loads": [100, 1000, 2000],
    "read_shares": [0.0, 1.0],
    "settings": [
        {"name": "2R-2W", "read_cl": "QUORUM", "write_cl": "QUORUM",
         "latency_us": [[[1000, 2000, 4000], [2000, 3000, None]]] * 3, "limit": {"keeps": True, "to_per_s": 1500}},
        {"name": "1R-3W", "read_cl": "ONE", "write_cl": "ALL",
         "latency_us": [[[1000, 2000, 4000], [500 + k, 700 + k, 900 + k]] for k in range(3)],
         "limit": {"keeps": True, "to_per_s": 1800}},
        {"name": "3R-1W", "read_cl": "ALL", "write_cl": "ONE", "latency_us": [[[1, 1, 1], [1, 1, 1]]] * 3,
         "limit": {"keeps": False, "why": "p99 within 20 ms at no rate that was measured"}},
    ],
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "map.json"
    file.write_text(json.dumps(CONTENT))
    return file


def test_a_figure_between_points_is_interpolated_and_outside_there_is_none(path):
    found = Latencies.of_file(path)
    at = found.at(Load(550.0, 0.5, 3.0))
    assert at["2R-2W"] == pytest.approx([(1500 + 2500) / 2] * 3)
    assert at["1R-3W"] == pytest.approx([(1500 + 600 + k) / 2 for k in range(3)])
    assert found.at(Load(2000.0, 0.0, 1.0))["2R-2W"] == (4000.0,) * 3
    for load in (Load(2001.0, 0.5, 3.0), Load(50.0, 0.5, 3.0), Load(1500.0, 1.0, 1.0), Load(0.0, math.nan, 0.0)):
        assert all(math.isnan(figure) for figure in found.at(load)["2R-2W"])
    assert found.blocks == (1, 2, 3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "other"}, "is not of schema 'cassbook-advisor'; write it with cassbook advise"),
        ({"version": 2}, "is version 2 of its schema, this package reads 1"),
        ({"loads": [3, 2, 1]}, "loads: are not ascending numbers"),
        ({"load": "threads"}, "load: 'threads' is neither 'in flight' nor 'rate'"),
        ({"settings": []}, "has no settings"),
        ({"replication": "many"}, "is damaged"),
        ({"settings": [CONTENT["settings"][0] | {"latency_us": [[[1]]]}]}, "is not by block, share of reads and load"),
        ({"settings": [{"name": "2R-2W"}]}, "is damaged: 'read_cl' is missing"),
        ({"measured": "2024-01-01"}, "was measured 2024-01-01, "),
        ({"measured": "last week"}, "is no date in ISO 8601"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_what_would(path, change, said):
    path.write_text(json.dumps(CONTENT | change))
    with pytest.raises(InputError, match=r"map\.json: ") as caught:
        Latencies.of_file(path)
    assert said in str(caught.value)


def test_a_truncated_or_missing_file_is_named(path):
    path.write_text(path.read_text()[:50])
    with pytest.raises(InputError, match=r"map\.json: is no JSON .* cassbook advise"):
        Latencies.of_file(path)
    with pytest.raises(InputError, match="cannot be read"):
        Latencies.of_file(path.with_name("other.json"))


def test_run_and_date_are_said_in_the_log_and_age_has_a_limit(path, caplog):
    old = (datetime.now(UTC) - timedelta(days=40)).isoformat()
    path.write_text(json.dumps(CONTENT | {"measured": old}))
    with caplog.at_level(logging.INFO, "cassbook.advisor"):
        Latencies.of_file(path)
    assert "run mine, Cassandra 5.0.9, measured " in caplog.text
    with pytest.raises(InputError, match="40 days ago, more than 30; measure again"):
        Latencies.of_file(path, max_age_days=30)


def test_limits_exclude_settings_at_rates_that_they_are_not_known_to_keep(path):
    policy = Policy(Latencies.of_file(path), 3, Terms(survive=0, margin=0.0))
    sweep, at_2r2w = SweepCost(0.0, 1.0), Regime.settled(3, 2, 2)
    within = policy.consider(Load(1000.0, 0.0, 3.0), at_2r2w, sweep)
    assert (within.wanted, within.kind) == (None, "best")
    beyond = policy.consider(Load(1700.0, 1.0, 3.0), at_2r2w, sweep)
    assert (beyond.wanted, beyond.kind) == ((1, 3), "limits")
    assert "2R-2W is not known to keep the limits at 1.7e+03 requests per second" in beyond.reason
    nothing = policy.consider(Load(1900.0, 1.0, 3.0), at_2r2w, sweep)
    assert (nothing.wanted, nothing.kind) == (None, "limits")
    assert "no other setting is" in nothing.reason
    # the fastest of all breaks the limits, and is never chosen
    assert not policy.may_choose(3, 1, 100.0)
    assert policy.may_choose(1, 3, 1800.0)
    assert not policy.may_choose(1, 3, 1801.0)
    assert Limit(None).allows(1.0) is False


def test_settings_that_survive_too_little_are_left_for_one_within_the_limits(path):
    policy = Policy(Latencies.of_file(path), 3, Terms(survive=1))
    decision = policy.consider(Load(1000.0, 0.5, 3.0), Regime.settled(3, 1, 3), SweepCost(0.0, 1.0))
    assert (decision.wanted, decision.kind) == ((2, 2), "survives more")


@pytest.mark.parametrize("by", ["mean", "p95"])
def test_what_a_map_writes_gives_its_figures_again(tmp_path, by):
    latency_map = LatencyMap.of_run("quick-2.1.20", by=by)
    (tmp_path / "map.json").write_text(json.dumps(map_file.of_map(latency_map)))
    found = Latencies.of_file(tmp_path / "map.json", max_age_days=1e6)
    assert (found.name, found.replicas, found.by) == ("quick-2.1.20", 3, by)
    assert [(s.name, s.read_cl, s.write_cl) for s in found.settings] == [
        (s.name, s.read_cl, s.write_cl) for s in latency_map.settings
    ]
    low, high = latency_map.threads[[0, -1]]
    for share, threads in itertools.product(latency_map.grid_shares, latency_map.threads):
        load = Load(10.0, float(share), float(threads))
        ours, theirs = found.at(load), latency_map.at(load)
        for name, figures in theirs.items():
            if by == "mean" or share in (0.0, 1.0):
                assert ours[name] == pytest.approx(figures, rel=1e-4, nan_ok=True), (name, share, threads)
    between = Load(10.0, 0.55, float(np.sqrt(low * high)))
    for name, figures in latency_map.at(between).items():
        assert found.at(between)[name] == pytest.approx(figures, rel=1e-4 if by == "mean" else 0.3, nan_ok=True)


def test_the_commands_json_is_such_a_file(tmp_path):
    done = cassbook("advise", "--run", "quick-2.1.20", "--map", "--format", "json")
    content = json.loads(done.stdout)
    assert {row["read_share"] for row in content["points"]} >= {0.0, 0.5, 1.0}
    assert Latencies.of_json(content).load == module.IN_FLIGHT
    options = ("--by", "p99", "--bound-ms", "30", "--format", "json", "--reads", "1")
    done = cassbook("advise", "--run", "load-pilot-5.0.9", "--map", *options)
    content = json.loads(done.stdout)
    found = Latencies.of_json(content)
    assert (found.load, found.read_shares, found.by) == (module.RATE, (1.0,), "p99")
    assert set(found.limits) == {setting.name for setting in found.settings}
    by_name = {one["setting"]: one for one in content["points"]}
    for name, limit in found.limits.items():
        if limit.keeps:
            assert limit.to_per_s <= by_name[name]["capacity_per_s"] * 1.0001


def of_centres(*settings):
    """What is written of a run with three replicas in each of two data centres."""
    cells = curves(shares=(), own=(), rates=(400.0, 800.0, 1600.0), carried=dict.fromkeys(settings, 4000.0))
    loads = OpenLoads(cells, "mine", {"[C]": Replicas((3, 3))}, "p99")
    return map_file.of_loads(SimpleNamespace(name="mine", manifest={"engine": "5.0.9"}), loads, loads.mixes)


def test_of_several_data_centres_it_has_the_local_settings_with_the_replicas_of_one():
    found = Latencies.of_json(of_centres("LOCAL_QUORUM/LOCAL_QUORUM", "QUORUM/QUORUM", "LOCAL_ONE/LOCAL_ONE"))
    assert [setting.name for setting in found.settings] == ["LOCAL_QUORUM/LOCAL_QUORUM"]
    assert found.replicas == 3
    assert [one.name for one in Policy(found, 3, Terms(survive=1)).choice] == ["LOCAL_QUORUM/LOCAL_QUORUM"]
    with pytest.raises(LackingError, match=r"^mine: has no setting .* measure LOCAL_QUORUM/LOCAL_QUORUM"):
        of_centres("QUORUM/QUORUM", "LOCAL_ONE/LOCAL_ONE")


def test_a_setting_that_can_miss_a_write_is_never_chosen():
    weak = {"name": "ONE/ONE", "read_cl": "ONE", "write_cl": "ONE", "latency_us": [[[1, 1, 1], [1, 1, 1]]] * 3}
    unlimited = [{name: value for name, value in one.items() if name != "limit"} for one in CONTENT["settings"]]
    policy = Policy(Latencies.of_json(CONTENT | {"settings": [*unlimited, weak]}), 3, Terms(survive=0))
    assert "ONE/ONE" not in {one.name for one in policy.choice}
    decision = policy.consider(Load(500.0, 0.5, 5.0), Regime.settled(3, 2, 2), SweepCost(1.0))
    assert decision.wanted != (1, 1)


def test_the_published_schema_is_of_what_is_written_and_read():
    schema = json.loads(resources.files("cassbook_advisor").joinpath("map.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    for content in (CONTENT, map_file.of_map(LatencyMap.of_run("quick-2.1.20"))):
        assert list(check.iter_errors(content)) == []
    assert {schema["properties"][name]["const"] for name in ("schema", "version")} == {module.SCHEMA, module.VERSION}
    for required in schema["required"]:
        without = {name: value for name, value in CONTENT.items() if name != required}
        assert list(check.iter_errors(without))
        with pytest.raises(InputError):
            Latencies.of_json(without)


def test_constants_and_levels_are_those_of_the_package():
    assert (map_file.SCHEMA, map_file.VERSION) == (module.SCHEMA, module.VERSION)
    assert (map_file.IN_FLIGHT, map_file.RATE) == (module.IN_FLIGHT, module.RATE)
    for n in range(1, 8):
        assert levels(n) == consistency.levels(n)
        for level in levels(n).values():
            assert replicas_waited_for(level, n) == consistency.replicas_waited_for(level, n)
    assert levels(3, local=True) == {1: "LOCAL_ONE", 2: "LOCAL_QUORUM", 3: "ALL"}


def test_student_without_scipy_is_student():
    rng = np.random.default_rng(4)
    for n in (2, 3, 5, 7, 30):
        for _ in range(20):
            differences = rng.normal(rng.uniform(-1, 1), 1, n)
            assert paired_p(differences.tolist()) == pytest.approx(by_scipy(differences), rel=1e-8, abs=1e-12)
    assert math.isnan(paired_p([1.0]))
    assert (paired_p([2.0, 2.0]), paired_p([0.0, 0.0])) == (0.0, 1.0)
    for a, b, x in itertools.product((0.5, 1.0, 3.0, 20.0), (0.5, 2.0), (0.01, 0.3, 0.9)):
        assert incomplete_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-9)
