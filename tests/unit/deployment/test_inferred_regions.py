"""What the 2021 paper's tables say of where its hosts were."""

import pytest

from cassbook.deployment import inferred_regions
from cassbook.deployment.distances import placed, printed
from cassbook.deployment.model import Model
from cassbook.deployment.notation import parse


def test_an_assignment_that_made_the_latencies_is_found_first(monkeypatch):
    known = inferred_regions.latencies()
    where = placed(parse(inferred_regions.SCENARIOS["c"]), ("ap_south_1", "ca_central_1", "eu_west_2"), printed())
    service = inferred_regions.service_ms(known, printed())
    made = known.copy()
    for row in made[(made["scenario"] == "c") & (made["threads"] == 100)].itertuples():
        made.loc[row.Index, "latency_ms"] = Model(where, row.level).alone_ms() + service[row.operation, row.level]
    monkeypatch.setattr(inferred_regions, "latencies", lambda: made)
    best = inferred_regions.assignments("c").iloc[0]
    assert best["rms_percent"] == pytest.approx(0, abs=1e-9)
    assert best["regions"].split(", ")[0] == "ap_south_1"


def test_the_coordinator_of_c_is_where_the_second_replica_is_some_120_ms_away():
    implied = inferred_regions.implied()
    assert implied.loc[("c", "READ"), "to_second_ms"] == pytest.approx(128.13 - 6.01)
    assert implied.loc[("d", "READ"), "to_third_ms"] == pytest.approx(299.33 - 126.41)
    assert len(implied) == 6


def test_latency_grows_as_if_some_128_requests_were_held():
    requests = inferred_regions.held_at_coordinator()["requests"]
    assert len(requests) == 8
    assert 90 < requests.min() < requests.max() < 160


def test_throughputs_and_latencies_differ_by_one_factor():
    ratio = inferred_regions.throughput_from_latency()["ratio"]
    assert len(ratio) == 24
    assert (1 / ratio).median() == pytest.approx(2.29, abs=0.1)
