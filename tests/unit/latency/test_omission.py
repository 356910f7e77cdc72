"""Coordinated omission: service and response time of one stall, told apart."""

import numpy as np
import pandas as pd
import pytest

from cassbook.latency import omission
from cassbook.records import digest


class Run:
    """A node stands still from 1 s to 2 s: at 100 a second with 10 places, and in a closed loop of 10 threads."""

    def __init__(self):
        nan = float("nan")
        rows = [("closed", nan, "healthy"), ("closed-p", nan, "paused_node"), ("paced-p", 100.0, "paused_node")]
        self.cells = pd.DataFrame(
            [(i, "paced", r, c, "ONE", 10, 1, 5.0) for i, r, c in rows],
            columns=["cell_id", "kind", "rate_per_s", "condition", "read_cl", "threads", "block", "steady_from_s"],
        )
        self.manifest = {
            "pauses": [{"cell_id": i, "node": 2, "from_s": 6.0, "to_s": 7.0} for i in ("closed-p", "paced-p")]
        }

    @property
    def histograms(self):
        return digest.counted(pd.concat([self.samples(digest.COLUMNS, [i]) for i in self.cells["cell_id"]]))

    def samples(self, columns, cells):
        (cell_id,) = cells
        if cell_id == "paced-p":
            intended = 5.0 + np.arange(400) / 100
            started, latency = intended.copy(), np.full(400, 0.002)
            stalled = (intended >= 6.0) & (intended < 7.0)
            first = np.flatnonzero(stalled)[:10]
            latency[first] = 7.0 - intended[first]  # ten wait for the node, the rest for a place
            rest = np.flatnonzero(stalled)[10:]
            started[rest] = 7.0
        else:
            started, intended = 5.0 + np.arange(4000) / 1000, np.full(4000, np.nan)
            latency = np.full(4000, 0.002)
            if cell_id == "closed-p":
                latency[1000:1010] = 1.0
        frame = pd.DataFrame({"cell_id": cell_id, "started_s": started, "intended_s": intended})
        same = {"operation": "READ", "outcome": "ok", "phase": "steady", "slice": None}
        return frame.assign(latency_us=latency * 1e6, **same)[columns]


def test_the_closed_loop_hides_what_the_response_time_shows():
    closed_ms, paced_ms = omission.hidden(Run(), "ONE")
    assert closed_ms == pytest.approx(2.0)  # ten of four thousand are no percentile
    assert paced_ms > 900


def test_service_and_response_time_are_never_mixed():
    table = omission.table(Run()).reset_index().set_index("time")
    assert table.index.tolist() == ["service", "service", "service", "response"]
    assert table["rate_per_s"].tolist() == pytest.approx([np.nan, np.nan, 100, 100], nan_ok=True)
    assert set(table["threads"]) == {10}
    paced = table[table["rate_per_s"] == 100]
    assert paced.loc["service", "p50_ms"] == pytest.approx(2.0, abs=0.05)
    assert paced.loc["response", "p99_ms"] > 900


def test_the_pause_is_told_in_seconds_of_the_window():
    run = Run()
    assert omission.pause_of(run, run.cells.iloc[1]) == (1.0, 2.0)


def test_the_two_cells_of_the_figure_are_the_closed_and_the_paced():
    assert [part["cell_id"].tolist() for part in omission.paused_cells(Run(), "ONE")] == [["closed-p"], ["paced-p"]]


def test_a_run_whose_nodes_were_never_paused_has_no_such_cells():
    run = Run()
    run.cells = run.cells.assign(condition="healthy")
    assert [len(part) for part in omission.paused_cells(run, "ONE")] == [0, 0]
    assert all(np.isnan(omission.hidden(run, "ONE")))


def test_a_run_without_such_cells_says_so_with_nothing():
    run = Run()
    run.cells = run.cells.assign(kind="pure")
    assert omission.table(run).empty
    assert all(np.isnan(omission.hidden(run, "ONE")))
    assert all(np.isnan(omission.hidden(None, "ONE")))
