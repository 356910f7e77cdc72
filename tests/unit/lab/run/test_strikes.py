"""A load under which a node is struck is split where requests were due; rates are those without it."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cassbook.core.schema import CELLS, SAMPLES
from cassbook.lab.load.loop import Outcome
from cassbook.lab.load.recorder import Window
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.ladder import Known
from cassbook.lab.run.open_cells import PARTS
from cassbook.lab.run.strikes import Struck, in_parts
from cassbook.latency.cell_checks import Due

EPOCH = 1000.0
CELL = Cell("b1-open-mix50-share0.4-kill-QUORUM+QUORUM", "open", 4096, "QUORUM", "QUORUM", 0.5, 1, 1, 0, load_share=0.4)


def parts():
    return [
        CELL.__class__(**{name: getattr(CELL, name) for name in Cell.__slots__}
                       | {"cell_id": f"{CELL.cell_id}-{part}", "cell_group": CELL.cell_id, "condition": f"kill_{part}"})
        for part in PARTS
    ]  # fmt: skip


def samples(due_s, coordinators):
    count = len(due_s)
    text = {"cell_id": [parts()[0].cell_id] * count, "operation": ["READ"] * count, "outcome": ["ok"] * count,
            "phase": ["steady"] * count, "coordinator": coordinators}  # fmt: skip
    numbers = {"started_s": due_s, "intended_s": due_s, "latency_us": np.full(count, 500.0)}
    return pa.table({name: numbers.get(name, text.get(name, [None] * count)) for name in SAMPLES.names}, schema=SAMPLES)


#: Of ten that were due one was still in flight, and two were never sent. One of these had waited, as had three more.
DUE = Due(
    10, 1, np.array([30.0, 39.0]), np.array([10.2, 22.0, 33.0, 39.0]), np.array([0.5, 9.9, 10.1, 23.5]),
    np.array([1e-5, 2e-5, 3e-5, 4e-5]),
)  # fmt: skip


def split(noticed_s, due_s=(-1.0, 0.5, 9.9, 10.1, 10.2, 22.0, 23.5, 33.0, 41.0), struck_at=(4,)):
    """A window of 40 s from 0; the node, R3, is struck at 10 s; requests at the places in `struck_at` asked it."""
    outcome = Outcome(Window(EPOCH, EPOCH + 40.0), 4.0, 9, 1.0, DUE)
    seen = Struck(EPOCH + 10.0, {node: EPOCH + at_s for node, at_s in noticed_s.items()}, others=2)
    asked = ["R3" if place in struck_at else "R1" for place in range(len(due_s))]
    return in_parts(parts(), outcome, samples(np.array(due_s), asked), seen, EPOCH, "R3")


def test_requests_belong_where_they_were_due():
    measured = split({1: 20.0, 2: 23.0})
    rows = measured.samples.to_pandas()
    assert [cell_id.rpartition("-")[2] for cell_id in rows["cell_id"].astype(str)] == [
        "before", "before", "before", "unnoticed", "asked", "unnoticed", "noticed", "noticed", "noticed",
    ]  # fmt: skip
    assert rows["phase"].astype(str).tolist() == ["warmup", *["steady"] * 7, "drain"]
    assert [measured.turns.measured_s(part) for part in range(4)] == pytest.approx([10, 13, 17, 30])
    assert measured.turns.begun_s(0.0) == pytest.approx([0, 10, 23, 10])
    assert rows["slice"].isna().tolist() == [True, *[False] * 7, True]


def test_what_was_never_answered_is_counted_once_where_it_was_due():
    measured = split({1: 20.0, 2: 23.0})
    due = [outcome.due for outcome in measured.outcomes]
    assert [one.n_due for one in due] == [2, 2, 2 + 2, 1 + 1]
    assert [one.n_unsent for one in due] == [0, 0, 2, 0]
    assert [one.n_in_flight for one in due] == [0, 0, 0, 1]
    assert [outcome.operations for outcome in measured.outcomes] == [2, 2, 2, 1]
    assert measured.windows == [[(EPOCH, EPOCH + 10)], [(EPOCH + 10, EPOCH + 23)], [(EPOCH + 23, EPOCH + 40)], []]


def test_what_waited_or_left_late_is_where_its_sample_is():
    due = [outcome.due for outcome in split({1: 20.0, 2: 23.0}).outcomes]
    assert [one.n_waited for one in due] == [0, 1, 2, 1]
    assert [one.late_s.tolist() for one in due] == [[1e-5, 2e-5], [3e-5], [4e-5], []]
    assert [len(one.left_s) for one in due] == [2, 1, 1, 0]


def test_where_some_node_does_not_notice_nothing_is_after_it():
    measured = split({1: 20.0})
    names = measured.samples["cell_id"].to_pylist()
    assert not any(name.endswith("-noticed") for name in names)
    assert [measured.turns.measured_s(part) for part in range(4)] == pytest.approx([10, 30, 0, 30])


def recorded(*rows):
    base = {name: np.nan if kind == "float64" else 0 if kind == "int64" else "" for name, kind in CELLS.items()}
    base |= {"kind": "open", "read_share": 0.5, "block": 1}
    return pd.DataFrame([base | row for row in rows]).astype(CELLS)


def test_the_rate_is_that_of_the_same_mix_and_share_without_trouble():
    one = {"cell_group": "g", "read_cl": "QUORUM", "write_cl": "QUORUM", "carried_per_s": 4000.0, "load_share": 0.4,
           "rate_per_s": 1200.0}  # fmt: skip
    others = [one | change | {"rate_per_s": 7.0, "carried_per_s": 9.0} for change in (
        {"block": 2}, {"read_share": 0.9}, {"kind": "trial"}, {"condition": "dead_node"}, {"workload": "D"},
    )]  # fmt: skip
    known = Known.of(recorded(one, *others), CELL)
    found = known.with_rate(CELL)
    assert (found.rate_per_s, found.own_share, found.carried_per_s) == (1200.0, 0.3, 4000.0)
    assert math.isnan(Known.of(recorded(*others), CELL).with_rate(CELL).rate_per_s)
