"""Blocks of a run, sample by sample, as a block of measurements stores them."""

import dataclasses

import numpy as np

from cassbook.lab.load.recorder import Recorder, Window
from cassbook.lab.run.cell import Cell
from tests.helpers.stored_cells import NODES, row_of

WINDOW = Window(0.1, 0.9)
CELLS_OF_BLOCK = [
    Cell("b1-s1-warmup", "warmup", 100, "QUORUM", "QUORUM", 0.5, 1, 1, -1),
    Cell("b1-t0500-read-ONE", "pure", 500, "ONE", "ONE", 1.0, 1, 1, 0),
    Cell("b1-t0700-read-ONE", "pure", 700, "ONE", "ONE", 1.0, 1, 1, 1),
    Cell("b1-t0500-mix50-2R-2W", "mixed", 500, "QUORUM", "QUORUM", 0.5, 1, 1, 2),
    Cell("b1-cold-read-ONE-warm", "cold", 50, "ONE", "ONE", 1.0, 1, 1, 3, condition="warm"),
    Cell("b1-paced500-ONE-healthy", "paced", 50, "ONE", "ONE", 1.0, 1, 1, 4, condition="healthy", rate_per_s=500.0),
]


def measure(store, cell, rows=400):
    """Put a cell down as a block does: samples 2 ms apart from 1.5 ms after their turn, one in ten a time-out."""
    rng = np.random.default_rng([cell.block, *cell.cell_id.encode()])
    window = Window() if cell.kind == "warmup" else WINDOW
    recorder = Recorder(store.sample_path(cell.cell_id), [cell.cell_id], NODES, 0.0, window)
    for i, latency_us in enumerate(rng.integers(500, 5000, rows).tolist()):
        intended = [i / 500 - 0.0015] if cell.kind == "paced" else []
        recorder.add(
            i / 500, latency_us / 1e6, int(cell.read_share < rng.random()), 8 * (i % 10 == 0), i % 3, *intended
        )
    samples = recorder.close()
    bounds = (np.nan, np.nan) if cell.kind == "warmup" else (WINDOW.steady_from, WINDOW.steady_to)
    steady = {"steady_from_s": bounds[0], "steady_to_s": bounds[1]}
    store.finish_cell(row_of(cell) | steady | {"operations": samples.num_rows})


def block(number):
    return [
        dataclasses.replace(cell, cell_id=cell.cell_id.replace("b1-", f"b{number}-"), block=number, repeat=number)
        for cell in CELLS_OF_BLOCK
    ]
