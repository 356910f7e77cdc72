"""Recorded demonstrations, read back."""

import json

import numpy as np
import pytest

from cassbook.book.chapters import adapting_figures
from cassbook.core.errors import InputError
from cassbook.records.schedule_runs import Rides, by_switch, recorded_switches

ACTORS = {"adaptive": 10.0, "naive": 9.0, "1R-3W": 12.0, "2R-2W": 20.0, "3R-1W": 30.0}


def phase(number, mean_us):
    return {"phase": number, "n": 100, "errors": 0, "mean_us": mean_us, "p99_us": 3 * mean_us, "seconds": 60.0}


@pytest.fixture
def folder(tmp_path):
    schedule = [{"seconds": 60, "threads": 100, "read_share": 0.9}]
    (tmp_path / "manifest.json").write_text(json.dumps({"complete": True, "schedule": schedule}))
    for block in (1, 2, 3):
        for actor, mean in ACTORS.items():
            found = {
                "block": block,
                "actor": actor,
                "phases": [phase(0, mean * block), phase(1, mean * block)],
                "seconds": {"second": [0, 1], "mean_us": [mean, mean], "n": [50, 50]},
                "levels": [[0.0, 2, 2], [20.0, 1, 3]],
                "watch": {
                    "reads": 40, "writes": 30, "errors": 0, "violations": int(actor == "naive"),
                    "behind_ms": [12.5] if actor == "naive" else [], "versions_behind": [],
                },
            }  # fmt: skip
            if actor == "adaptive":
                found["sweep_at_rest"] = {"seconds": 10.0, "rows": 1000}
                found["sweeps"] = [{"seconds": 30.0, "slowdown": 1.4}]
            (tmp_path / f"b{block}-{actor}.json").write_text(json.dumps(found))
    return tmp_path


def test_figures_are_held_against_the_adaptive_one_of_the_same_block(folder):
    found = Rides(folder).figures("mean_us")
    assert found.loc["1R-3W", "ratio"].value == pytest.approx(1.2)
    assert found.loc["1R-3W", "p"] == 0  # the same in every block
    assert np.isnan(found.loc["adaptive", "p"])
    assert found.loc["adaptive", "estimate"].value == pytest.approx(20.0)


def test_a_stitched_ride_answers_as_much_as_its_phases(folder):
    rides = Rides(folder)
    rides.manifest["schedule"] = [{"seconds": 60, "threads": 100}, {"seconds": 30, "threads": 300}]
    for ride in rides.rides:
        ride["phases"].append(phase(2, 2 * ACTORS[ride["actor"]]))
    answered = 60 * 100 / 12.0 + 30 * 300 / 60.0  # 1R-3W, then 3R-1W, whose second phase takes twice as long
    found = rides.stitched(["1R-3W", "3R-1W"])
    assert found[1] == pytest.approx((60 * 100 + 30 * 300) / answered)


def test_watchers_and_sweeps_are_told(folder):
    rides = Rides(folder)
    assert rides.watch.groupby("actor")["violations"].sum().to_dict() == {a: 3 * (a == "naive") for a in ACTORS}
    assert rides.sweeps["seconds"].tolist() == [10.0, 30.0] * 3
    assert rides.sweeps.loc[rides.sweeps["loaded"], "slowdown"].tolist() == [1.4] * 3
    assert len(adapting_figures.ride(rides).axes) == 3


def test_an_incomplete_or_missing_recording_is_refused(folder, tmp_path):
    (folder / "manifest.json").write_text(json.dumps({"complete": False}))
    with pytest.raises(InputError, match="is not complete; `cassbook demonstrate shift` goes on"):
        Rides(folder)
    with pytest.raises(InputError, match="cannot be read"):
        Rides(tmp_path / "nowhere")
    (folder / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        Rides(folder)


def test_switches_are_summed_over_repeats(tmp_path):
    rows = [
        {"how": how, "now": "3R-1W", "then": "1R-3W", "repeat": k, "reads": 100, "violations": len(at), "errors": 0,
         "switched_s": s, "at_s": at, "behind_ms": [50.0 * (n + 1) for n in range(len(at))]}
        for k in (1, 2) for how, at, s in (("naive", [0.1, 0.2], 0.0), ("safe", [], 1.5))
    ]  # fmt: skip
    path = tmp_path / "switches.json"
    path.write_text(json.dumps(rows))
    found = recorded_switches(str(path))
    summed = by_switch(found)
    assert summed.loc[("naive", "3R-1W", "1R-3W")].to_dict() == {
        "reads": 200, "violations": 4, "errors": 0, "worst_ms": 100.0, "switched_s": 0.0, "repeats": 2,
    }  # fmt: skip
    assert summed.loc[("safe", "3R-1W", "1R-3W"), "violations"] == 0
    assert len(adapting_figures.violations(found).axes) == 2
