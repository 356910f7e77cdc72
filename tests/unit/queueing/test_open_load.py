"""Networks under Poisson arrivals: the analysis against closed forms and the simulation, and what is refused."""

import math
from dataclasses import replace

import pytest

from cassbook.core.errors import InputError
from cassbook.queueing import paper
from cassbook.queueing.calibration import Calibrated, Costs, Question
from cassbook.queueing.network import Demands, Law, Network, Operation, Readings
from cassbook.queueing.open_load import ANALYTIC, SIMULATED, capacity_per_s, has_product_form, open_load

REQUESTS = 200_000


def one_node(ms=1.0, cores=1, law=None, disk_ms=0.0, **options):
    """A request that is one visit of one processor, and of a disk where that takes time."""
    demands = Demands({"read-local": ms, "read-remote": ms, "read-remote-ID": 1.0}, disk_ms)
    readings = Readings(node_cores=cores, region="none", law=law or Law())
    return Network((Operation(demands, 1, 1),), 1, 1, readings, **options)


def waiting_in_mmc(servers, load):
    """Mean wait of M/M/c in units of the service time, `load` in servers (Erlang's C formula)."""
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last) / (servers - load)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_one_processor_is_mm1_whatever_the_law_of_its_times(load):
    for law in (Law(), Law("constant"), Law("hyper", 4.0)):
        found = open_load(one_node(law=law), 1000 * load, requests=0)
        assert (found.method, found.response_ms) == (ANALYTIC, pytest.approx(1 / (1 - load)))
        assert found.utilisation["node1 CPU"] == pytest.approx(load)


@pytest.mark.parametrize(("cores", "rate"), [(2, 600), (2, 1900), (4, 3400)])
def test_several_cores_are_mmc(cores, rate):
    found = open_load(one_node(cores=cores), rate, requests=0)
    assert found.response_ms == pytest.approx(1 + waiting_in_mmc(cores, rate / 1000))
    assert found.utilisation["node1 CPU"] == pytest.approx(rate / 1000 / cores)
    assert math.isnan(found.p99_ms)


def test_stations_in_a_row_add_up_and_the_simulation_agrees():
    network = one_node(0.5, cores=2, disk_ms=0.8)
    found = open_load(network, 700, requests=REQUESTS)
    expected = 0.5 * (1 + waiting_in_mmc(2, 0.35)) + 0.8 / (1 - 0.56)
    assert found.response_ms == pytest.approx(expected)
    simulated = open_load(replace(network, readings=replace(network.readings, region="reads"), region_limit=10_000),
                          700, requests=REQUESTS)  # fmt: skip
    assert simulated.method == SIMULATED
    assert simulated.response_ms == pytest.approx(expected, rel=0.03)
    for name, busy in found.utilisation.items():
        assert simulated.utilisation[name] == pytest.approx(busy, abs=0.01), name


def test_p99_of_one_queue_is_log_100_times_its_mean():
    """M/M/1, first come, first served: response times are exponential."""
    network = one_node(0.0, disk_ms=1.0)
    found = open_load(network, 600, requests=400_000)
    assert found.response_ms == pytest.approx(1 / 0.4)
    assert found.p99_ms == pytest.approx(math.log(100) / 0.4, rel=0.06)


def test_work_that_costs_more_where_many_are_there_is_a_birth_death_process():
    network = one_node(slowdown=(1.0, 1.25))
    found = open_load(network, 500, requests=0)
    weights = [1.0] + [0.5 * (0.5 * 1.25) ** k for k in range(400)]
    jobs = sum(n * weight for n, weight in enumerate(weights)) / sum(weights)
    assert found.response_ms == pytest.approx(2 * jobs)
    assert found.utilisation["node1 CPU"] == pytest.approx(1 - 1 / sum(weights))
    assert capacity_per_s(network) == pytest.approx(800)


def test_what_has_no_product_form_is_simulated():
    chain = one_node(disk_ms=0.5)
    assert has_product_form(chain)
    for changed in (
        replace(chain, readings=replace(chain.readings, law=Law("constant"))),  # a disk serves in order
        replace(chain, readings=replace(chain.readings, region="cpu")),
        replace(chain, shared_cores=2),
        paper.network("QUORUM"),
    ):
        assert not has_product_form(changed)
    found = open_load(replace(chain, readings=replace(chain.readings, law=Law("constant"))), 800, requests=REQUESTS)
    # What leaves the processor is Poisson, so that the disk is M/D/1.
    assert found.response_ms == pytest.approx(1 / 0.2 + 0.5 * (1 + 0.4 / 2 / 0.6), rel=0.05)


def test_a_client_that_goes_first_leaves_the_nodes_what_it_does_not_take():
    costs = Costs(0.4, 0.3, 0.3, 0.0, 0.1, 0.5, 0.5)
    calibrated = Calibrated({"READ": costs}, (1.2, 1.0, 0.9), {"READ": 0.0}, 3, 2)
    network = calibrated.network(Question("READ", "QUORUM", 3, 3))
    most = capacity_per_s(network)
    work_ms = 0.1 + 0.9 * (0.4 + 0.3 + 0.3)
    assert most == pytest.approx(2000 / work_ms)
    low, high = (open_load(network, part * most, requests=50_000) for part in (0.2, 0.8))
    assert low.response_ms < high.response_ms
    assert low.p99_ms < high.p99_ms
    assert low.utilisation["CPU"] < high.utilisation["CPU"] < 1
    again = open_load(network, 0.2 * most, requests=50_000)
    assert again == low


@pytest.mark.parametrize("rate", [1000, 5000])
def test_more_than_it_carries_is_refused_with_what_it_carries(rate):
    with pytest.raises(InputError, match=r"rate: .* are more than this cluster carries, 1000; .*Give a lower rate"):
        open_load(one_node(), rate)


@pytest.mark.parametrize("rate", [0, -1, math.inf, math.nan])
def test_a_rate_is_a_number_above_zero(rate):
    with pytest.raises(InputError, match="give a number above 0"):
        open_load(one_node(), rate)
