"""A record of the probe, made on a cluster that is up already."""

import numpy as np

from cassbook.lab.experiments.recording import write_rows
from tests.helpers.experiments import noted


def probed(folder, experiment, trial, cluster):
    """Measure the one setup of a trial, as the record of an experiment; the folder."""
    ((name, setup),) = trial.setups.items()
    rows = [{"start": 1, "setup": name} | row for row in trial.measure(cluster, np.random.default_rng(1))]
    assert len(rows) == trial.rows()
    write_rows(folder / f"start-1-{name}.csv", rows)
    starts = [{"start": 1, "setup": name, **cluster.notes()}]
    return noted(
        folder, experiment, engine=cluster.release.version, starts=1, numbers=trial.notes(),
        setups={name: setup.notes()}, cluster_starts=starts,
    )  # fmt: skip
