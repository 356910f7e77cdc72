"""A schedule gone through on the map, against answers worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor import payback
from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.errors import InputError
from cassbook.lab.experiments.adviser.shift import SCHEDULE, Phase
from cassbook_advisor.policy import SweepCost, Terms
from tests.helpers import made_runs

READS, WRITES = Phase(100, 300, 0.9), Phase(100, 300, 0.1)
KNOWING = Terms(margin=0.0, horizon_s=100.0, survive=0)


@pytest.fixture(scope="module")
def latency_map():
    return LatencyMap(made_runs.run(noise=0.0), "known")


def latencies(latency_map, phase):
    means = latency_map.means_us([phase.threads], [phase.read_share])[:, 0, 0]
    return dict(zip((s.name for s in latency_map.settings), means, strict=True))


def harmonic(*parts):
    """Mean latency of a closed loop that spends seconds at latencies."""
    return sum(s for s, _ in parts) / sum(s / latency for s, latency in parts)


def test_fixed_settings_and_a_free_switch(latency_map):
    forecast_us = payback.forecast(latency_map, (READS, WRITES), SweepCost(1e9))
    reads, writes = latencies(latency_map, READS), latencies(latency_map, WRITES)
    for name in reads:
        assert forecast_us[name] == pytest.approx(harmonic((100, reads[name]), (100, writes[name])))
    assert forecast_us[payback.FREE] == pytest.approx(harmonic((100, min(reads.values())), (100, min(writes.values()))))


def test_the_fastest_of_each_phase_is_the_maps(latency_map):
    for phase, name in zip((READS, WRITES), payback.fastest(latency_map, (READS, WRITES)), strict=True):
        means = latencies(latency_map, phase)
        assert means[name] == min(means.values())


def test_a_sweep_that_never_pays_is_never_made(latency_map):
    forecast_us = payback.forecast(latency_map, (READS,), SweepCost(1e9), "2R-2W", KNOWING)
    assert forecast_us[payback.ADAPTIVE] == pytest.approx(latencies(latency_map, READS)["2R-2W"])


def test_the_way_to_lower_reads_takes_as_long_as_the_sweep(latency_map):
    forecast_us = payback.forecast(latency_map, (READS,), SweepCost(10.0, 1.5), "3R-1W", KNOWING)
    at = latencies(latency_map, READS)
    assert forecast_us[payback.ADAPTIVE] == pytest.approx(harmonic((10, 1.5 * at["3R-1W"]), (90, at["1R-3W"])))


def test_the_way_to_lower_writes_takes_no_time(latency_map):
    forecast_us = payback.forecast(latency_map, (WRITES,), SweepCost(1e9, 9.0), "1R-3W", KNOWING)
    assert forecast_us[payback.ADAPTIVE] == pytest.approx(latencies(latency_map, WRITES)["3R-1W"])


def test_a_sweep_goes_on_after_its_load_is_gone(latency_map):
    schedule = (Phase(6, 300, 0.9), Phase(100, 300, 0.9))
    forecast_us = payback.forecast(latency_map, schedule, SweepCost(10.0, 1.5), "3R-1W", KNOWING)
    at = latencies(latency_map, READS)
    assert forecast_us[payback.ADAPTIVE] == pytest.approx(harmonic((10, 1.5 * at["3R-1W"]), (96, at["1R-3W"])))


def test_adapting_pays_from_where_it_is_faster_for_good():
    ratios = pd.DataFrame({payback.ADAPTIVE: [0.9, 1.1, 0.95, 0.9]}, index=[1.0, 2.0, 4.0, 8.0])
    assert payback.pays_from(ratios) == 4
    assert np.isnan(payback.pays_from(ratios + 0.1))
    assert payback.pays_from(ratios - 0.2) == 1


def test_the_longer_a_load_stays_the_nearer_adapting_comes_to_a_free_switch(latency_map):
    over_stays = payback.over_stays(latency_map, SCHEDULE, 1.5, [1, 10, 1000], margin=0.0)
    gap = over_stays[payback.ADAPTIVE] - over_stays[payback.FREE]
    assert (gap >= -1e-12).all()
    assert (np.diff(gap) <= 1e-12).all()
    assert gap.iloc[-1] < 0.002
    assert np.ptp(over_stays[payback.FREE]) == pytest.approx(0, abs=1e-12)


def test_what_the_map_does_not_know_is_refused(latency_map):
    with pytest.raises(InputError, match="5000"):
        payback.forecast(latency_map, (Phase(10, 5000, 0.5),), SweepCost(1.0))


def test_the_shortest_stay_is_where_cost_and_saving_meet():
    (stay,) = payback.shortest_stay([0.2], 1.5)
    assert stay == pytest.approx(3.5)
    assert 1.5 + (stay - 1) * 0.8 == pytest.approx(stay)
