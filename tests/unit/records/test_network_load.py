"""A calibrated network that is asked of settings: what it says is what it says of one operation at a time."""

import numpy as np
import pytest

from cassbook.queueing.calibration import Question
from cassbook.queueing.open_load import capacity_per_s
from cassbook.records import open_record
from cassbook.records.network_load import NetworkLoad


@pytest.fixture(scope="module")
def asked():
    return NetworkLoad(open_record("calibration-5.0.9").calibrated(), 3, 3)


def test_a_price_is_the_ratio_of_what_the_networks_carry_start_by_start(asked):
    fits = open_record("calibration-5.0.9").calibrated()
    of = {
        level: np.array([capacity_per_s(fit.network(Question("READ", level, 3, 3))) for fit in fits])
        for level in ("ONE", "ALL")
    }
    found = asked.price(1.0, "ALL/ALL", "ONE/ONE")
    assert found.value == pytest.approx(float(np.exp(np.log(of["ONE"] / of["ALL"]).mean())))
    assert found.low < found.value < found.high
    assert asked.price(1.0, "ONE/ALL", "ONE/ONE").value == pytest.approx(1.0)  # no writes, whatever their level
    alone = [asked.price(share, "QUORUM/QUORUM", "ONE/ONE").value for share in (0.0, 1.0)]
    assert min(alone) < asked.price(0.5, "QUORUM/QUORUM", "ONE/ONE").value < max(alone)


def test_jobs_of_a_closed_loop_pay_no_more_than_the_busiest_station_takes(asked):
    closed, carried = (asked.price(1.0, "QUORUM/QUORUM", "ONE/ONE", jobs) for jobs in (64, 0))
    assert 1 < closed.value < 1.5 * carried.value


def test_responses_grow_with_the_share_and_there_is_none_from_capacity_on(asked):
    ms = [asked.response_ms("QUORUM/QUORUM", 1.0, share) for share in (0.1, 0.5, 0.9)]
    assert ms[0] < ms[1] < ms[2]
    assert np.isnan(asked.response_ms("QUORUM/QUORUM", 1.0, 1.0))
