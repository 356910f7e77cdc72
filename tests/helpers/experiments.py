"""Records of experiments that tests make up."""

import json

import pandas as pd

from cassbook.core.files import sums
from cassbook.records.experiment import Results


def written(folder, rows, tables=None, **manifest):
    """A recorded experiment of these rows, and of tables by name that they have with them."""
    pd.DataFrame(rows).to_csv(folder / "start-1-x.csv", index=False)
    for name, table in (tables or {}).items():
        pd.DataFrame(table).to_parquet(folder / f"start-1-x-{name}.parquet", index=False)
    files = [*folder.glob("*.csv"), *folder.glob("*.parquet")]
    notes = {"complete": True, "artefacts": sums(files), **manifest}
    (folder / "manifest.json").write_text(json.dumps(notes))
    return Results(str(folder))
