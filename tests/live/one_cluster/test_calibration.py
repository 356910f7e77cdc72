"""What requests cost on a real cluster, measured in a few short cells, traced, and put into the queueing network."""

import numpy as np
import pandas as pd
import psutil
import pytest

from cassbook.lab.experiments.calibration.measuring import CalibrationTrial, Cell
from cassbook.lab.experiments.experiment import SideBySide
from cassbook.queueing.calibration import Question, calibrate
from cassbook.queueing.mva import analyse

pytestmark = pytest.mark.live


def test_demands_of_a_running_cluster_predict_its_throughput(cluster):
    cells = tuple(
        Cell("READ", level, jobs, replication=replication)
        for level, replication in (("ONE", 3), ("QUORUM", 3), ("ALL", 3), ("ONE", 1))
        for jobs in (1, 8)
    )
    trial = CalibrationTrial(
        {"only": SideBySide(cluster.spec)}, {"only": cells}, repetitions=3, ramp_s=0.3, steady_s=0.8, records=500,
        traced=15, traced_in=("only",), warm_up_s=3.0,
    )  # fmt: skip
    rows = list(trial.measure("only", cluster, np.random.default_rng(1)))
    phases = pd.concat([row.pop("phases") for row in rows])
    measured = pd.DataFrame(rows)
    assert len(measured) == trial.rows("only")
    assert (measured["errors"] == "").all()
    assert measured["compiling"].between(0, psutil.cpu_count()).all()
    # A cell of a second that falls into a pause answers a dozen requests, so the middle one of three counts.
    assert measured.groupby(["level", "jobs", "replication"])["node_cpu_us"].median().between(20, 20_000).all()
    assert measured["busy"].between(0.05, 1.05).all()
    # A node that looks itself, and asks two others: two messages come and go beside what a single look takes.
    # The least of the cells counts: what else goes on in nodes that are hardly warm only adds to it.
    cost = measured[measured["replication"] == 3].pivot_table("node_cpu_us", "jobs", "level").min()
    assert cost["ALL"] > cost["ONE"]
    assert phases.groupby("level").size().min() >= 3
    assert phases.loc[phases["level"] == "ALL", "serve_us"].notna().all()
    fit = calibrate(measured[measured["level"] != "QUORUM"], phases, cluster.spec.nodes, psutil.cpu_count())
    foretold = analyse(fit.network(Question("READ", "QUORUM", 3, 3)), 8).throughput_per_s[-1]
    # Nodes are hardly warm: what is asked is that it is no other order of magnitude.
    seen = measured.query("level == 'QUORUM' and jobs == 8")["throughput_per_s"].median()
    assert seen / 3 < foretold < 3 * seen
