"""The simulation and the analysis of queueing networks against closed forms, exact MVA, and each other."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassbook.core.errors import InputError
from cassbook.queueing import event_loop, paper
from cassbook.queueing.loads import ALONE, BRANCH, Loads
from cassbook.queueing.mva import analyse
from cassbook.queueing.network import Demands, Law, Network, Operation, Readings
from cassbook.queueing.simulation import run, simulate

MANY = 400_000


def only_cpu(ms=1.0, **others):
    """Demands of a request that is one visit of one CPU, where its coordinator holds every row."""
    return Demands({"read-local": ms, "read-remote": ms, "read-remote-ID": 1.0}, **others)


def one_node(ms=1.0, cores=1, law=None, **options):
    readings = Readings(node_cores=cores, region="none", law=law or Law())
    return Network((Operation(only_cpu(ms), 1, 1),), 1, 1, readings, **options)


def alone_ms(loads, number):
    """Least mean time of a request that waits for nobody: of parallel ways the longest mean, for no mean of a maximum
    is less. Where some answers are not waited for there is no such bound, and none of it counts.
    """
    network, total = loads.network, 0.0
    operation = network.operations[number]
    for local, way in enumerate(loads.steps[number]):
        chance = network.local_share if local else 1 - network.local_share
        alone, branch = (float(way[list(stages)]["ms"].sum()) for stages in (ALONE, BRANCH))
        total += chance * alone
        if operation.waits == operation.asked and not network.retry_ms:
            look_ms = float(way[event_loop.LOCAL_DISK]["ms"])
            total += chance * (branch if not local else look_ms if operation.asked == 1 else max(look_ms, branch))
    return total


def least_ms(network):
    """Mean time of a request that is alone, bounded from below: of what runs in parallel, the longest mean."""
    each = [alone_ms(Loads(network), number) for number in range(len(network.operations))]
    shares = [operation.share for operation in network.operations]
    return np.average(each, weights=shares) * min(1.0, min(network.slowdown, default=1.0))


def throughput_bounds(network, jobs):
    """Asymptotic bounds of requests per second: all wait for each other always, or nobody ever waits."""
    loads = Loads(network)
    stretch = max((1.0, *network.slowdown)) if network.slowdown else 1.0
    queues_ms = sum(loads.ms.values())
    delays_ms = sum(loads.every_ms.values()) - queues_ms
    least = 1000 * jobs / (network.think_ms + delays_ms + jobs * queues_ms * stretch)
    return least, min(loads.most_per_s, 1000 * jobs / (network.think_ms + least_ms(network)))


def erlang_c(servers, load):
    """Probability that somebody waits in M/M/c, `load` in servers."""
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last)


@pytest.mark.parametrize(("cores", "rate"), [(1, 700), (2, 1500), (4, 3400)])
def test_arrivals_at_a_node_of_several_cores_wait_as_long_as_in_mmc(cores, rate):
    simulated = run(one_node(cores=cores, rate_per_s=rate), 0, MANY)
    load = rate / 1000
    expected = 1 + erlang_c(cores, load) / (cores - load)
    assert simulated.response_ms.value == pytest.approx(expected, rel=0.03)
    assert simulated.throughput_per_s.value == pytest.approx(rate, rel=0.01)
    assert simulated.utilisation["node1 CPU"].value == pytest.approx(load / cores, rel=0.02)
    # Shared processors do not care for the law of service times.
    bursty = run(one_node(cores=cores, rate_per_s=rate, law=Law("hyper", 6.0)), 0, MANY)
    assert bursty.response_ms.value == pytest.approx(expected, rel=0.08)


def test_a_region_for_one_serves_in_order():
    """M/G/1, Pollaczek and Khinchine."""
    law, rate = Law("hyper", 4.0), 600
    network = one_node(rate_per_s=rate, law=law)
    network = replace(network, region_limit=1, readings=replace(network.readings, region="cpu"))
    simulated = run(network, 0, MANY)
    wait = 0.6 * (1 + law.scv) / 2 / (1 - 0.6)
    assert simulated.response_ms.value == pytest.approx(1 + wait, rel=0.06)


@pytest.mark.parametrize("law", [Law("constant"), Law(), Law("erlang", 3), Law("hyper", 5.0)], ids=lambda law: law.kind)
def test_laws_have_their_moments(law):
    """M/G/1 of one client at a disk: response is the service itself."""
    demands = Demands({"read-local": 0.0, "read-remote": 0.0, "read-remote-ID": 0.0}, disk_ms=2.0)
    network = Network((Operation(demands, 1, 1),), 1, 1, Readings(law=law))
    simulated = run(network, 1, 100_000)
    assert simulated.response_ms.value == pytest.approx(2.0, rel=0.02)
    below = simulated.quantile_ms(0.5)
    expected = {"constant": 2.0, "exponential": 2 * math.log(2), "erlang": 2 * 2.674 / 3}.get(law.kind)
    if expected:
        assert below == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("cores", [1, 3])
def test_machines_and_repairmen(cores):
    jobs, think = 12, 5.0
    simulated = run(one_node(cores=cores, think_ms=think), jobs, MANY)
    weight = np.array([
        math.comb(jobs, n) * math.factorial(n) / think**n
        / (math.factorial(n) if n <= cores else math.factorial(cores) * cores ** (n - cores))
        for n in range(jobs + 1)
    ])  # fmt: skip
    chance = weight / weight.sum()
    throughput = 1000 * (chance * np.minimum(np.arange(jobs + 1), cores)).sum()
    assert simulated.throughput_per_s.value == pytest.approx(throughput, rel=0.01)
    assert simulated.response_ms.value == pytest.approx(1000 * jobs / throughput - think, rel=0.02)
    analysed = analyse(one_node(cores=cores, think_ms=think), jobs)
    assert analysed.throughput_per_s[-1] == pytest.approx(throughput, rel=1e-9)


@pytest.mark.parametrize("cores", [2, 4])
@pytest.mark.parametrize("jobs", [1, 3, 15])
def test_on_one_machine_the_client_goes_first(cores, jobs):
    """Clients and node, exponential: a chain of births and deaths in how many wait for the client's thread."""
    client_ms, node_ms = 0.3, 1.0
    network = Network(
        (Operation(only_cpu(node_ms, client_ms=client_ms), 1, 1),), 1, 1, Readings(region="none"), shared_cores=cores
    )  # fmt: skip
    weight = [1.0]
    for k in range(jobs):
        weight.append(weight[-1] * min(jobs - k, cores - min(k, 1)) / node_ms * client_ms)
    throughput = 1000 * sum(weight[1:]) / sum(weight) / client_ms
    simulated = run(network, jobs, MANY)
    assert simulated.throughput_per_s.value == pytest.approx(throughput, rel=0.01)
    assert simulated.utilisation["CPU"].value == pytest.approx(
        throughput * (client_ms + node_ms) / 1000 / cores, rel=0.02
    )
    assert analyse(network, jobs).throughput_per_s[-1] == pytest.approx(throughput, rel=0.08)


def chain(think=3.0):
    """A product form: no fork, every station of one server, one size of messages."""
    demands = Demands(
        {"read-local": 0.8, "read-remote": 0.8, "read-remote-ID": 1.0, "read-local-end": 0.3, "read-remote-end": 0.3},
        0.5, 0.1, 0.1, 0.4,
    )  # fmt: skip
    return Network((Operation(demands, 1, 1),), 1, 1, Readings(client_cores=1, node_cores=1), think_ms=think)


def exact_mva(demands, think, jobs):
    queue = np.zeros(len(demands))
    for n in range(1, jobs + 1):
        residence = np.asarray(demands) * (1 + queue)
        x = n / (think + residence.sum())
        queue = x * residence
    return 1000 * x


@pytest.mark.parametrize("jobs", [1, 4, 20])
def test_a_product_form_is_as_exact_mva_has_it(jobs):
    network = chain()
    demands = list(Loads(network).ms.values())
    assert sorted(demands) == pytest.approx(sorted([0.4, 0.2, 1.1, 0.5, 0.2]))
    expected = exact_mva(demands, 3.0, jobs)
    assert run(network, jobs, MANY).throughput_per_s.value == pytest.approx(expected, rel=0.01)
    assert analyse(network, jobs).throughput_per_s[-1] == pytest.approx(expected, rel=1e-6)
    least, most = throughput_bounds(network, jobs)
    assert least <= expected <= most


@pytest.mark.parametrize("rate", [300, 700])
def test_two_parallel_queues_join_as_nelson_and_tantawi_have_it(rate):
    """Each request goes to both disks at once: (12 - load) / 8 of what one takes."""
    demands = Demands({"read-local": 0.0, "read-remote": 0.0, "read-remote-ID": 0.0}, disk_ms=1.0)
    network = Network((Operation(demands, 2, 2),), 2, 2, Readings(region="none"), rate_per_s=rate)
    load = rate / 1000
    simulated = run(network, 0, MANY)
    assert simulated.response_ms.value == pytest.approx((12 - load) / 8 / (1 - load), rel=0.03)
    # The first of two exponentials, alone in the network.
    first = replace(network, operations=(Operation(demands, 2, 1),), rate_per_s=1.0)
    assert run(first, 0, 100_000).response_ms.value == pytest.approx(0.5, rel=0.02)


def test_what_one_job_takes_is_the_sum_of_its_way():
    constant = Readings(law=Law("constant"))
    demands = paper.demands("ALL")
    network = paper.network("ALL", readings=constant)
    branch = demands.request_ms + demands.cpu_ms["read-remote-ID"] + demands.disk_ms + demands.data_ms
    ways = 2 * (demands.request_ms + demands.data_ms)
    # The second and third request leave one after the other; the branch that is longest decides.
    local = ways + demands.cpu_ms["read-local"] + demands.request_ms + branch + demands.cpu_ms["read-local-end"]
    remote = ways + demands.cpu_ms["read-remote"] + 2 * demands.request_ms + branch + demands.cpu_ms["read-remote-end"]
    expected = 0.75 * local + 0.25 * remote
    simulated = run(network, 1, 20_000)
    assert simulated.response_ms.value == pytest.approx(expected, rel=0.003)
    assert least_ms(network) == pytest.approx(
        expected + demands.client_ms - 0.75 * demands.request_ms - 0.25 * 2 * demands.request_ms
    )


def test_the_same_seed_gives_the_same_figures():
    first, again, other = (simulate(10, "QUORUM", seed=seed, requests=20_000) for seed in (1, 1, 2))
    assert first.response_ms == again.response_ms
    assert first.response_ms != other.response_ms
    assert (first.histogram == again.histogram).all()


@settings(max_examples=12, deadline=None)
@given(
    nodes=st.integers(1, 6), spare=st.integers(0, 5), waits=st.integers(1, 6), more=st.integers(0, 2),
    jobs=st.integers(1, 40), cores=st.integers(1, 4), region=st.sampled_from(["none", "cpu", "cpu-disk", "reads"]),
    limit=st.integers(1, 32), aware=st.booleans(), receiver=st.booleans(), two=st.booleans(), together=st.booleans(),
)  # fmt: skip
def test_stations_are_as_busy_as_their_work_says(
    nodes, spare, waits, more, jobs, cores, region, limit, aware, receiver, two, together
):
    """Utilisation law and Little's law, whatever the network."""
    replication = max(1, nodes - spare)
    waits = min(waits, replication)
    asked = min(waits + more, replication)
    ways = "two" if two else "one"
    readings = Readings(2, cores, region, ways, ways, receiver)
    network = Network(
        (Operation(paper.demands("QUORUM"), asked, waits),), nodes, replication, readings, limit,
        shares=tuple(range(1, nodes + 1)), token_aware=aware, shared_cores=cores if together else 0, think_ms=0.5,
    )  # fmt: skip
    simulated, loads = run(network, jobs, 60_000), Loads(network)
    x = simulated.throughput_per_s.value / 1000
    for name, ms in loads.ms.items():
        servers = {"client CPU": 1 if together else 2, "CPU": cores}.get(name, cores if "CPU" in name else 1)
        assert simulated.utilisation[name].value == pytest.approx(x * ms / servers, rel=0.06, abs=0.01), name
    client = loads.network.operations[0].demands.client_ms
    assert jobs >= x * (simulated.response_ms.value + client) * 0.99
    low, high = throughput_bounds(network, jobs)
    assert low * 0.97 <= 1000 * x <= high * 1.03


@pytest.mark.parametrize("level", ["ONE", "QUORUM", "ALL"])
@pytest.mark.parametrize("cores", [1, 2, 4, 8])
def test_the_analysis_is_near_the_simulation(level, cores):
    network = paper.network(level, readings=Readings(node_cores=cores))
    analysed = analyse(network, 200)
    off = [
        analysed.throughput_per_s[jobs - 1] / run(network, jobs, 60_000).throughput_per_s.value - 1
        for jobs in (1, 5, 20, 45, 100, 200)
    ]
    assert np.mean(np.abs(off)) < 0.03, off
    assert np.max(np.abs(off)) < 0.10, off


@pytest.mark.parametrize("cores", [2, 3, 4, 8])
def test_more_jobs_never_carry_less(cores):
    for level in ("ONE", "QUORUM", "ALL"):
        x = analyse(paper.network(level, readings=Readings(node_cores=cores)), 600).throughput_per_s
        assert (np.diff(x) > -1e-9 * x[1:]).all(), level
        assert x[-1] <= Loads(paper.network(level, readings=Readings(node_cores=cores))).most_per_s


def test_asking_all_costs_what_the_late_answers_take():
    quorum, real = (paper.network("QUORUM", ask_all=all_asked) for all_asked in (False, True))
    assert Loads(real).ms["node1 CPU"] == pytest.approx(
        Loads(quorum).ms["node1 CPU"] + paper.demands("QUORUM").cpu_ms["read-remote-ID"] / 4
    )
    light = [run(network, 1, MANY).throughput_per_s.value for network in (quorum, real)]
    heavy = [run(network, 60, MANY).throughput_per_s.value for network in (quorum, real)]
    assert light[1] > light[0]
    assert heavy[1] < 0.85 * heavy[0]


def test_speculative_retries_help_where_one_node_is_slow_to_answer():
    demands = replace(paper.demands("ONE"), disk_ms=0.5)
    readings = Readings(law=Law("hyper", 20.0))
    plain, retrying = (
        run(paper.network("ONE", own_demands=demands, readings=readings, retry_ms=ms), 4, 100_000) for ms in (0.0, 5.0)
    )
    assert retrying.quantile_ms(0.99) < plain.quantile_ms(0.99)
    assert retrying.jobs_at["delay"].value > 0


def test_slowdown_changes_what_a_processor_can_do():
    quick = run(one_node(slowdown=(1.0, 0.8, 0.5)), 10, MANY)
    assert quick.throughput_per_s.value == pytest.approx(2000, rel=0.02)
    assert analyse(one_node(slowdown=(1.0, 0.8, 0.5)), 10).throughput_per_s[-1] == pytest.approx(2000, rel=0.02)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: simulate(10, "ALL", nodes=2), r"replication: 3 .*2 nodes; use 1 to 2"),
        (lambda: simulate(10, 4), r"read: waits for 4 .*use 1 <= waits <= asked <= 3"),
        (lambda: simulate(0, "ONE"), r"jobs: 0 and arrivals 0/s; give the one or the other"),
        (lambda: simulate(10, "ONE", demands=only_cpu(-1.0)), r"demands: read-local is -1\.0 ms; it must be 0 or more"),
        (lambda: Demands({"read-local": 1.0}), r"demands: .*'read-remote'.*in ms"),
        (lambda: Demands({"read-loca": 1.0}), r"demands: there is no class 'read-loca'; use read-local, "),
        (lambda: Demands(dict.fromkeys(("read-local", "read-remote", "read-remote-ID"), 0.0)), r"zero everywhere"),
        (lambda: paper.demands("TWO"), r"level: .*'TWO'; use one of ONE, QUORUM, ALL"),
        (lambda: run(one_node(rate_per_s=1200.0), 0, MANY), r"more come than are served; lower the arrivals"),
        (lambda: Law("erlang", 1.5), r"erlang has a whole number of stages"),
        (lambda: Network((), 4, 3), r"operations: a request does something"),
        (lambda: paper.network("ONE", shares=(1.0,)), r"shares: 1 for 4 nodes"),
        (lambda: analyse(one_node(rate_per_s=1.0), 3), r"analysis: for closed networks"),
    ],
)
def test_what_does_not_fit_is_said(wrong, message):
    with pytest.raises(InputError, match=message):
        wrong()


def test_the_analysis_takes_more_nodes_than_the_simulation():
    demands = only_cpu(0.5, client_ms=0.1)
    many = Network((Operation(demands, 1, 1),), 100, 3, Readings(region="none"))
    analysis = analyse(many, 4)
    # 3 of 100 coordinators hold the row; the others ask a node, which takes 1 ms.
    assert analysis.response_ms[0] == pytest.approx(0.5 + 0.97 * 1.0)
    assert analysis.utilisation["node100 CPU"][-1] == pytest.approx(analysis.utilisation["node1 CPU"][-1])
    with pytest.raises(InputError, match=r" 1 to 62 .*mva\.analyse"):
        run(many, 4)
    with pytest.raises(InputError, match=r"nodes: 1001; use 1 to 1000"):
        replace(many, nodes=1001)
