"""The quorum join with processor sharing, against another simulator: LINE's LDES engine.

It is no part of the locked environment; `pip install "cassbook[line]"` brings it.
"""

import pytest

from cassbook.queueing.network import Demands, Network, Operation, Readings
from cassbook.queueing.simulation import run

line = pytest.importorskip("line_solver", reason='LINE is not installed: pip install "cassbook[line]"')

ASKED, CORES, SERVE_MS, THINK_MS, SAMPLES, SEED = 3, 2, 1.0, 5.0, 400_000, 23_000


def by_line(jobs, waits):
    """Requests per ms, and jobs at the processors, as LDES has them."""
    model = line.Network("quorum")
    clients, cpu = line.Delay(model, "clients"), line.Queue(model, "cpu", line.SchedStrategy.PS)
    cpu.set_number_of_servers(CORES)
    fork = line.Fork(model, "fork")
    join = line.Join(model, "join", fork)
    job = line.ClosedClass(model, "job", jobs, clients, 0)
    clients.set_service(job, line.Exp(1 / THINK_MS))
    cpu.set_service(job, line.Exp(1 / SERVE_MS))
    fork.set_tasks_per_link(ASKED)
    if waits < ASKED:
        join.set_strategy(job, line.JoinStrategy.QUORUM)
        join.set_required(job, waits)
    ways = model.init_routing_matrix()
    for here, there in ((clients, fork), (fork, cpu), (cpu, join), (join, clients)):
        ways.set(job, job, here, there, 1.0)
    model.link(ways)
    try:
        table = line.SolverLDES(model, seed=SEED, samples=SAMPLES).get_avg_table()
    except RuntimeError as error:
        pytest.skip(f"LDES does not run here: {error}")
    by_station = {str(row["Station"]): row for row in table.to_dict("records")}
    return float(by_station["clients"]["Tput"]), float(by_station["cpu"]["QLen"])


@pytest.mark.parametrize("waits", [2, 3])
@pytest.mark.parametrize("jobs", [1, 2, 5, 12])
def test_joins_that_wait_for_some_of_the_replicas(jobs, waits):
    # The coordinator's own replica, the fourth, answers at once; the others share the machine's processors.
    demands = Demands({"read-local": 0.0, "read-remote": 0.0, "read-remote-ID": SERVE_MS}, client_ms=1e-9)
    network = Network(
        (Operation(demands, ASKED + 1, waits + 1),), ASKED + 1, ASKED + 1, Readings(region="none"),
        shared_cores=CORES, think_ms=THINK_MS,
    )  # fmt: skip
    ours, (per_ms, present) = run(network, jobs, SAMPLES), by_line(jobs, waits)
    assert 1000 * per_ms == pytest.approx(ours.throughput_per_s.value, rel=0.01)
    assert present == pytest.approx(ours.jobs_at["CPU"].value, rel=0.02)
