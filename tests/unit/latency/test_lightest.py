"""From the lightest load to heavier ones: where a queue is what it is said to be, its prediction is exact."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import LackingError
from cassbook.latency import lightest
from cassbook.latency.lightest import LINE, NETWORK, QUEUE, erlang_c, errors, off, predictions, wait_s

CAPACITY, BASE_US = 4000.0, 300.0


def cells(response_us, shares=(0.1, 0.4, 0.8), blocks=3, busy=True):
    rows = [
        {
            "cell_id": f"b{block}-{at}", "kind": "open", "condition": "", "engine": "5.0.9", "deployment": "",
            "workload": "", "read_share": 1.0, "arrivals": "poisson", "read_cl": "ONE", "write_cl": "ONE",
            "load_share": at, "own_share": at, "rate_per_s": at * CAPACITY, "carried_per_s": CAPACITY, "block": block,
            "busy_share": at if busy else np.nan, "latency_us": 1.0, "response_us": response_us(at * CAPACITY, block),
        }
        for block in range(1, blocks + 1)
        for at in shares
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("servers", [1, 2, 8])
@pytest.mark.parametrize("busy", [0.05, 0.5, 0.95])
def test_erlangs_c_is_the_sum_that_defines_it(servers, busy):
    offered = servers * busy
    terms = np.cumprod([1.0, *(offered / k for k in range(1, servers + 1))])
    last = terms[-1] / (1 - busy)
    assert erlang_c(servers, offered) == pytest.approx(last / (terms[:-1].sum() + last))


def test_a_queue_with_two_servers_is_predicted_exactly_by_its_own_law():
    made = cells(lambda rate, block: BASE_US + 1e6 * wait_s(rate, CAPACITY, 2))
    found = predictions(made, processors=2)
    queue = found[found["method"] == QUEUE]
    assert len(queue) == 2 * 3
    assert queue["ratio"].to_numpy() == pytest.approx(1.0)
    assert queue["capacity_per_s"].to_numpy() == pytest.approx(CAPACITY)
    table = errors(found).set_index(["method", "at"])
    assert table.loc[(QUEUE, 0.8), "low"] == pytest.approx(1.0)
    known, heavy = (BASE_US + 1e6 * wait_s(at * CAPACITY, CAPACITY, 2) for at in (0.1, 0.8))
    assert table.loc[(LINE, 0.8), "ratio"] == pytest.approx(known * 0.9 / 0.2 / heavy)


def test_the_line_is_exact_for_one_shared_server_and_the_network_is_shifted_to_the_lightest():
    made = cells(lambda rate, block: 200.0 * block / (1 - rate / CAPACITY))
    found = predictions(made, 2, network=lambda setting, reads, share: 0.2 / (1 - share))
    assert off(found)[:, LINE].to_numpy() == pytest.approx(1.0)
    network = found[(found["method"] == NETWORK) & (found["block"] == 1)]
    assert network["ratio"].to_numpy() == pytest.approx(1.0)
    assert (found.loc[(found["method"] == NETWORK) & (found["block"] == 3), "ratio"] < 1).all()


def test_a_rate_beyond_what_the_processors_can_do_is_counted_and_is_no_figure():
    made = cells(lambda rate, block: 500.0).assign(busy_share=0.2)  # at a tenth of capacity
    found = predictions(made, 2)
    heavy = errors(found).set_index(["method", "at"])
    assert heavy.loc[(QUEUE, 0.8), ["blocks", "beyond"]].tolist() == [3, 3]
    assert np.isnan(heavy.loc[(QUEUE, 0.8), "ratio"])
    assert heavy.loc[(QUEUE, 0.4), "beyond"] == 0


def test_what_is_lacking_is_named():
    with pytest.raises(LackingError, match="how busy the processors were"):
        predictions(cells(lambda rate, block: 500.0, busy=False), 2)
    assert lightest.predictions(cells(lambda rate, block: 1.0), 2, lightest=0.3).empty
