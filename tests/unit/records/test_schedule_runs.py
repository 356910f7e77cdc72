"""Recorded demonstrations, read back."""

import json

import numpy as np
import pandas as pd
import pytest

from cassbook.book.chapters import adapting_figures
from cassbook.core.errors import InputError
from cassbook.lab.experiments.writer import write_rows
from cassbook.records.schedule_runs import ScheduleRuns, by_switch, recorded_switches
from tests.helpers.experiments import noted
from tests.helpers.schedule_records import ACTORS, SCHEDULE, phase, write_schedule_record


def of_actor(actor, mean, block, panel):
    """Rows of an actor, as `ShiftExperiment` yields them: the whole first, with tables."""
    nothing = dict.fromkeys(("by_second", "levels", "missed", "sweeps"), pd.DataFrame())
    violations = int(actor == "naive")
    whole = {
        "watch_reads": 40, "watch_writes": 30, "watch_errors": 0, "watch_violations": violations,
        "by_second": pd.DataFrame({"second": [0, 1], "mean_us": [mean, mean], "n": [50, 50]}),
        "levels": pd.DataFrame([(0.0, 2, 2), (20.0, 1, 3)], columns=["at_s", "reads", "writes"]),
        "missed": pd.DataFrame({"behind_ms": [12.5] * violations, "versions_behind": [1] * violations}),
        "sweeps": pd.DataFrame(),
    }  # fmt: skip
    if actor == "adaptive":
        sweeps = [(False, 10.0, np.nan), (True, 30.0, 1.4)]
        whole["sweeps"] = pd.DataFrame(sweeps, columns=["loaded", "seconds", "slowdown"])
    rows = [phase(0, mean * block) | whole, phase(1, mean * block) | nothing, phase(2, 2 * mean) | nothing]
    common = {"start": block, "setup": "three", "actor": actor}
    return [common | {"panel": panel + place} | row for place, row in enumerate(rows)]


def record(folder):
    """A record of today."""
    for block in (1, 2, 3):
        rows = [of_actor(actor, mean, block, 3 * place) for place, (actor, mean) in enumerate(ACTORS.items())]
        write_rows(folder / f"start-{block}-three.csv", [row for part in rows for row in part])
    noted(folder, "adviser-shift", starts=3, numbers={"schedule": SCHEDULE})


@pytest.fixture(params=[write_schedule_record, record])
def folder(tmp_path, request):
    request.param(tmp_path)
    return tmp_path


def test_figures_are_held_against_the_adaptive_one_of_the_same_block(folder):
    table = ScheduleRuns(folder).figures("mean_us")
    assert table.loc["1R-3W", "ratio"].value == pytest.approx(1.2)
    assert table.loc["1R-3W", "p"] == 0  # the same in every block
    assert np.isnan(table.loc["adaptive", "p"])
    assert table.loc["adaptive", "estimate"].value == pytest.approx(10 * 6 ** (1 / 3))


def test_a_stitched_run_answers_as_much_as_its_phases(folder):
    runs = ScheduleRuns(folder)
    assert runs.manifest["blocks"] == 3
    assert runs.phases["errors"].sum() == 0
    answered = 60 * 100 / 12.0 + 30 * 300 / 60.0  # 1R-3W, then 3R-1W, whose second phase takes twice as long
    latency = runs.stitched(["1R-3W", "3R-1W"])
    assert latency[1] == pytest.approx((60 * 100 + 30 * 300) / answered)


def test_watchers_and_sweeps_are_read(folder):
    rides = ScheduleRuns(folder)
    assert rides.watch.groupby("actor")["violations"].sum().to_dict() == {a: 3 * (a == "naive") for a in ACTORS}
    assert rides.sweeps["seconds"].tolist() == [10.0, 30.0] * 3
    assert rides.sweeps.loc[rides.sweeps["loaded"], "slowdown"].tolist() == [1.4] * 3
    assert rides.watch.groupby("actor")["worst_ms"].max().to_dict() == {a: 12.5 * (a == "naive") for a in ACTORS}
    assert rides.seconds(2)["1R-3W"].to_dict("list") == {"second": [0, 1], "mean_us": [12.0, 12.0], "n": [50, 50]}
    assert rides.levels(3)["naive"]["at_s"].tolist() == [0.0, 20.0]
    assert len(adapting_figures.ride(rides).axes) == 3


def test_an_incomplete_or_missing_recording_is_refused(folder, tmp_path):
    noted(folder, "adviser-shift", complete=False)
    with pytest.raises(InputError, match="not complete; `cassbook experiment adviser-shift --resume`"):
        ScheduleRuns(folder)
    with pytest.raises(InputError, match="there is no record"):
        ScheduleRuns(tmp_path / "nowhere")
    (folder / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        ScheduleRuns(folder)


def test_a_record_of_switches_is_read_like_the_list_of_before(tmp_path):
    for start in (1, 2):
        rows = [
            {"start": start, "setup": "late", "panel": place, "how": how, "now": "2R-2W", "then": "1R-3W", "reads": 9,
             "writes": 5, "errors": 1, "switched_s": 0.0, "violations": len(at),
             "missed": pd.DataFrame({"at_s": at, "behind_ms": [1e3 * t for t in at], "versions_behind": [1] * len(at)})}
            for place, (how, at) in enumerate((("safe", []), ("naive", [0.1, 0.25])))
        ]  # fmt: skip
        write_rows(tmp_path / f"start-{start}-late.csv", rows)
    switches = recorded_switches(noted(tmp_path, "adviser-switches", engine="5.0.9"))
    assert switches["repeat"].tolist() == [1, 1, 2, 2]
    assert set(switches["engine"]) == {"5.0.9"}
    assert switches["at_s"].tolist() == [[], [0.1, 0.25]] * 2
    summed = by_switch(switches).loc[("naive", "2R-2W", "1R-3W")]
    assert (summed["violations"], summed["errors"], summed["worst_ms"], summed["repeats"]) == (4, 2, 250.0, 2)


def test_switches_are_summed_over_repeats(tmp_path):
    rows = [
        {"how": how, "now": "3R-1W", "then": "1R-3W", "repeat": k, "reads": 100, "violations": len(at), "errors": 0,
         "switched_s": s, "at_s": at, "behind_ms": [50.0 * (n + 1) for n in range(len(at))]}
        for k in (1, 2) for how, at, s in (("naive", [0.1, 0.2], 0.0), ("safe", [], 1.5))
    ]  # fmt: skip
    (tmp_path / "switches.json").write_text(json.dumps(rows))
    switches = recorded_switches(noted(tmp_path, "adviser-switches"))
    summed = by_switch(switches)
    assert summed.loc[("naive", "3R-1W", "1R-3W")].to_dict() == {
        "reads": 200, "violations": 4, "errors": 0, "worst_ms": 100.0, "switched_s": 0.0, "repeats": 2,
    }  # fmt: skip
    assert summed.loc[("safe", "3R-1W", "1R-3W"), "violations"] == 0
    assert len(adapting_figures.violations(switches).axes) == 2
