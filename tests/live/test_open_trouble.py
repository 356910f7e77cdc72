"""Open arrivals with trouble: a node that hangs, is killed, and is dead, at the rate that the mix had without it."""

import json

import pytest
import yaml

from cassbook.core.schema import OPEN, TRIAL, read_cells
from cassbook.lab.run import ladder, open_cells, strikes
from tests.helpers.command import cassbook

pytestmark = pytest.mark.live
RATE = 150.0
PLACE = {"read_shares": [0.5], "rates_per_s": [RATE], "find_capacity": False, "repeats": 1, "measured_s": 5.0,
         "lead_in_s": 1.0, "most_in_flight": 10_000}  # fmt: skip
PROFILE = {
    "name": "trouble", "title": "Trouble", "engine": "5.0.9", "seed": 4, "table": {"record_count": 600},
    "load": {"steady_s": 1.0}, "warm_up": {"cap_s": 4.0}, "cluster": {"heap_mb": 512},
    "open": [
        PLACE | {"settings": ["ONE/ONE", "2R-2W"]},
        PLACE | {"settings": ["2R-2W"], "trouble": "pause"},
        PLACE | {"settings": ["2R-2W"], "trouble": "kill"},
        PLACE | {"settings": ["ONE/ONE", "1R-3W"], "trouble": "dead_node"},
    ],
}  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch):
    for module in (ladder, open_cells):
        monkeypatch.setattr(module, "TRIAL_S", 4.0)
    for module in (strikes, open_cells):
        monkeypatch.setattr(module, "BEFORE_S", 3.0)
    (tmp_path / "trouble.yaml").write_text(yaml.safe_dump(PROFILE))
    done = cassbook("run", "--profile", tmp_path / "trouble.yaml", "--output", tmp_path / "run")
    assert done.exit_code == 0, done.output
    return tmp_path / "run"


def test_every_part_is_a_cell_at_the_same_rate(run):
    cells = read_cells(run / "cells.csv")
    opened = cells[cells["kind"] == OPEN].set_index("condition")
    assert set(opened["rate_per_s"]) == {RATE}
    strikes_of = {one["strike"]: one for one in json.loads((run / "manifest.json").read_text())["strikes"]}
    assert set(strikes_of) == {"pause", "kill"}
    for strike, one in strikes_of.items():
        assert set(one["noticed_s"]) == {"1", "2"}
        before, unnoticed, noticed, asked = (opened.loc[f"{strike}_{part}"] for part in open_cells.PARTS)
        assert before["errors"] == noticed["errors"] == ""
        assert before["measured_s"] == pytest.approx(3.0, abs=0.2)
        assert unnoticed["measured_s"] == pytest.approx(max(one["noticed_s"].values()), abs=0.2)
        kept = 2 / 3 if strike == "pause" else 1  # a connection to a node that hangs stays, and takes its third
        assert noticed["n_due"] == pytest.approx(kept * RATE * noticed["measured_s"], rel=0.3)
        assert strike == "kill" or asked["operations"] > RATE
    dead = opened.loc["dead_node"].set_index("write_cl")
    assert dead.loc["ONE", "errors"] == ""
    kind, _, count = dead.loc["ALL", "errors"].partition(":")
    assert kind == "unavailable"  # at once: all know that it is dead
    assert int(count) == pytest.approx(dead.loc["ALL", "operations"] / 2, rel=0.3)
    assert (opened["node_cpu_us_per_op"].drop(["pause_asked", "kill_asked"]) > 0).all()
    assert set(cells.loc[cells["kind"] == TRIAL, "condition"]) == {"", "warm_up"}
    shown = cassbook("show", run)
    assert shown.exit_code == 0, shown.output
