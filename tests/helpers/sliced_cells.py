"""Cells measured in turns, whose latencies have known ratios."""

import numpy as np
import pandas as pd

from cassbook.latency.slices import COLUMNS

RATIOS = {"ONE": 1.0, "QUORUM": 2.0, "ALL": 2.5}


def sliced_cells(blocks, rounds, drift, rng):
    """Pure reads at 100 threads: every block and every round has a speed of its own, which all levels share."""
    cells, slices = [], []
    for block in range(1, blocks + 1):
        speed = np.exp(rng.normal(0, 0.5) + drift * np.cumsum(rng.normal(size=rounds)))
        for number, (level, ratio) in enumerate(RATIOS.items()):
            cell_id = f"b{block}-{level}"
            latency_us = 10_000 * ratio * speed * np.exp(rng.normal(0, 0.01, rounds))
            cells.append({"cell_id": cell_id, "level": level, "block": block, "latency_us": latency_us.mean()})
            slices += [
                dict.fromkeys(COLUMNS, 0) | {"cell_id": cell_id, "round": place, "slice": 3 * place + number,
                                             "latency_us": value}
                for place, value in enumerate(latency_us)
            ]  # fmt: skip
    table = pd.DataFrame(cells).assign(
        engine="2.1.20", deployment="d", kind="pure", workload="", condition="", threads=100, rate_per_s=np.nan,
        read_share=1.0,
    )  # fmt: skip
    return table.assign(read_cl=table["level"], write_cl=table["level"]), pd.DataFrame(slices)
