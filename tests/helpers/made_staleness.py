"""A record of the probe, made on a cluster that is up already."""

import json

import numpy as np

from cassbook.core.files import sums
from cassbook.lab.experiments.recording import write_rows


def probed(folder, trial, cluster):
    """Measure the one setup of a trial; the folder."""
    ((name, setup),) = trial.setups.items()
    rows = [{"start": 1, "setup": name} | row for row in trial.measure(name, cluster, np.random.default_rng(1))]
    assert len(rows) == trial.rows(name)
    write_rows(folder / f"start-1-{name}.csv", rows)
    manifest = {
        "trial": "tiny", "engine": cluster.release.version, "starts": 1, "numbers": trial.notes(), "complete": True,
        "setups": {name: setup.notes()}, "cluster_starts": [{"start": 1, "setup": name, **cluster.notes()}],
        "artefacts": sums(folder.glob("start-*")),
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
