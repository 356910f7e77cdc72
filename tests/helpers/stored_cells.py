"""Cells as a run stores them, with samples of known latencies."""

from cassbook.core.schema import CELLS
from cassbook.lab.load.recorder import Recorder, Window
from cassbook.lab.load.slices import AlternatingTurns
from cassbook.lab.run.plan import Cell

NODES = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]


def record(store, cell_id, rows=1000, window=None):
    """Write `rows` samples of a cell, 1 ms apart, latencies 1 to `rows` us."""
    window = window or Window(0.1, 0.9)
    recorder = Recorder(store.sample_path(cell_id), [cell_id], NODES, 0.0, window)
    for i in range(rows):
        recorder.add(i / 1000, (i + 1) / 1e6, i % 2, 0 if i % 10 else 8, i % 3)
    return recorder


def row(cell_id, block=1):
    return row_of(Cell(cell_id, "pure", 10, "ONE", "ONE", 1.0, block, block, 0))


def row_of(cell):
    """What `cells.csv` has of a cell: what was planned, and nothing in the other columns."""
    numbers = {name: 0 for name, kind in CELLS.items() if kind in {"int64", "float64"}}
    texts = {name: "" for name, kind in CELLS.items() if kind == "str"}
    return {**numbers, **texts, **{name: getattr(cell, name) for name in Cell.__slots__}}


def finish(store, *cell_ids, block=1):
    for cell_id in cell_ids:
        record(store, cell_id).close()
        store.finish_cell(row(cell_id, block))


def alternate(store, slices, begins=0.1, **changes):
    """Put down two cells that alternated: 1 ms apart, latencies of 1 ms in x and 2 ms in y."""
    names, window = ["b1-x", "b1-y"], Window(begins, begins + slices.whole_s, slices)
    recorder = Recorder(store.sample_path("b1-g"), names, NODES, store.epoch, window)
    window.steady_from += store.epoch
    window.steady_to += store.epoch
    turns = AlternatingTurns([0, 1], slices, window.steady_from)
    for i in range(1500):
        number, variant = turns.at(store.epoch + i / 1000)
        recorder.add(store.epoch + i / 1000, (variant + 1) / 1000, 0, 0, 0, slice_=number)
    rows = [
        row(name) | {"cell_group": "b1-g", "slices": 2, "measured_s": slices.measured_s(number),
                     "steady_from_s": begins, "steady_to_s": begins + slices.whole_s, "little_ratio": 1.01} | changes
        for number, name in enumerate(names)
    ]  # fmt: skip
    store.finish_group(rows, recorder.close(), window.slices)
