"""Records of experiments that tests make up."""

import pandas as pd

from cassbook.core.files import sums
from cassbook.records import manifest
from cassbook.records.experiment import Results
from cassbook.records.kinds import recorded_of


def noted(folder, experiment="made-up", **notes):
    """Give a folder the manifest of a complete record of what is in it; the folder."""
    files = [path for path in folder.iterdir() if path.name != manifest.NAME]
    head = {"kind": recorded_of(experiment).kind, "schema": 1, "experiment": experiment, "engine": "2.1.20"}
    manifest.write(folder, head | {"complete": True, "sums": sums(files)} | notes)
    return folder


def written(folder, rows, tables=None, **notes):
    """A recorded experiment of these rows, and of tables by name that they have with them."""
    pd.DataFrame(rows).to_csv(folder / "start-1-x.csv", index=False)
    for name, table in (tables or {}).items():
        pd.DataFrame(table).to_parquet(folder / f"start-1-x-{name}.parquet", index=False)
    return Results(noted(folder, **notes))
