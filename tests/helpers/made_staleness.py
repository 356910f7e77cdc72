"""A record of the probe, made on a cluster that is up already."""

import numpy as np

from cassbook.lab.experiments.writer import write_rows
from tests.helpers.experiments import noted


def probed(folder, name, experiment, cluster):
    """Measure the one setup of an experiment, as a record of that name; the folder."""
    ((where, setup),) = experiment.setups.items()
    rows = [{"start": 1, "setup": where} | row for row in experiment.measure(cluster, np.random.default_rng(1))]
    assert len(rows) == experiment.rows()
    write_rows(folder / f"start-1-{where}.csv", rows)
    starts = [{"start": 1, "setup": where, **cluster.notes()}]
    return noted(
        folder, name, engine=cluster.release.version, starts=1, numbers=experiment.notes(),
        setups={where: setup.notes()}, cluster_starts=starts,
    )  # fmt: skip
