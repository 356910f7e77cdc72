"""Tables of the chapter on the load generator: what an operation costs the client and the nodes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook.book.source import Source


def cpu_budget(source: Source) -> pd.DataFrame:
    """Return the processor time of an operation at saturation: of the whole machine, of the client, and the rest, of
    the nodes.

    Cores divided by throughput, at the thread count with the most of it; pure cells, means over blocks.

    Returns
    -------
    DataFrame
        Index (operation, level); columns threads, 'throughput, 1/s', 'machine, us/op', 'client, us/op',
        'nodes, us/op' and 'times ONE' (the nodes' share against ONE).
    """
    run = source.run
    assert run is not None  # noqa: S101 - only runs have cells
    stats = source.level_stats
    stats = stats.loc[stats.groupby(["operation", "level"], sort=False)["throughput_per_s"].idxmax()]
    table = stats.set_index(["operation", "level"])[["threads", "throughput_per_s"]]
    cells = run.cells[run.cells["kind"] == "pure"]
    operation = np.where(cells["read_share"] == 1.0, "READ", "WRITE")
    keys = [operation, cells["read_cl"].rename("level"), cells["threads"]]
    of_client = cells.groupby(keys)["client_cpu_us_per_op"].mean()
    at = table.set_index("threads", append=True).index
    client_us = pd.Series(of_client.reindex(at).to_numpy(), table.index)
    cores = run.manifest.get("machine", {}).get("cores", np.nan)  # logs do not tell
    machine_us = cores * 1e6 / table["throughput_per_s"]
    nodes_us = machine_us - client_us
    one_us = nodes_us.xs("ONE", level="level").reindex(table.index.get_level_values("operation")).to_numpy()
    table = table.rename(columns={"throughput_per_s": "throughput, 1/s"}).round()
    columns = {"machine, us/op": machine_us, "client, us/op": machine_us - nodes_us, "nodes, us/op": nodes_us}
    return table.assign(
        **{name: value.round() for name, value in columns.items()}, **{"times ONE": nodes_us / one_us}
    ).round(2)
