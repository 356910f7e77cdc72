"""The experiments as they are planned, and how their records are read."""

import json

import numpy as np
import pandas as pd
import pytest

from cassbook.book.chapters import mitigating_distance
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.files import sums
from cassbook.ingest.folder import open_run
from cassbook.lab.experiments import recording
from cassbook.lab.experiments.distance.catalogue import TRIALS
from cassbook.lab.experiments.distance.loaded import figures
from cassbook.lab.experiments.staleness.catalogue import PROBES
from cassbook.lab.load.recorder import Window
from cassbook.records.experiment import Results


@pytest.mark.parametrize("name", list(TRIALS))
def test_every_experiment_can_be_told_and_has_rows(name):
    trial = recording.named(name)
    assert trial.question.endswith("?")
    assert all(trial.rows(setup) for setup in trial.setups)
    assert json.loads(json.dumps(trial.notes()))


def test_an_unknown_experiment_is_named_with_the_known(tmp_path):
    with pytest.raises(InputError, match="there is no 'magic'; use one of coordinators, "):
        recording.record("magic", tmp_path, "2.1.20")


def test_an_engine_that_it_cannot_be_measured_on_is_refused_before_anything_is_written(tmp_path):
    folder = tmp_path / "new"
    with pytest.raises(InputError, match=r"engine: 2\.1\.20 has no predictor of its own; ask Cassandra 1\.2\.0"):
        recording.record("oracle", folder, "2.1.20", catalogue=PROBES)
    with pytest.raises(InputError, match=r"engine: '9\.9' is unknown"):
        recording.record("uplinks", folder, "9.9")
    assert not folder.exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and holds no experiment"):
        recording.record("uplinks", tmp_path, "2.1.20")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_experiment_begun_otherwise_is_not_gone_on_with(tmp_path):
    notes = {"trial": "uplinks", "engine": "2.1.20", "starts": 9, "complete": False}
    (tmp_path / "manifest.json").write_text(json.dumps(notes))
    with pytest.raises(InputError, match="was begun with another starts, seed, setups, numbers"):
        recording.record("uplinks", tmp_path, "2.1.20")


def test_figures_are_of_what_began_in_the_window():
    samples = [(0.5, 9.0, 0), (1.0, 0.1, 0), (1.5, 0.3, 0), (1.9, 12.0, 2), (2.0, 9.0, 0)]
    found = figures(samples, Window(1.0, 2.0))
    assert found["n_ok"] == 2
    assert found["latency_ms"] == pytest.approx(200)
    assert found["errors"] == "client_timeout:1"
    assert found["throughput_per_s"] == 2
    with pytest.raises(LaboratoryError, match="not one request was answered within 1 s: client_timeout:1"):
        figures(samples[3:4], Window(1.0, 2.0))


@pytest.fixture
def recorded(tmp_path):
    """Two starts of a setup: condition 'slow' takes twice as long as 'fast'."""
    rng = np.random.default_rng(1)
    for start in (1, 2, 3):
        base = rng.uniform(9, 11)
        rows = [
            {"start": start, "setup": "c", "round": r, "condition": name, "latency_ms": base * factor, "errors": None}
            for r in (1, 2)
            for name, factor in (("fast", 1), ("slow", 2))
        ]
        pd.DataFrame(rows).to_csv(tmp_path / f"start-{start}-c.csv", index=False)
    notes = {"complete": True, "artefacts": sums(tmp_path.glob("*.csv"))}
    (tmp_path / "manifest.json").write_text(json.dumps(notes))
    return tmp_path


def test_ratios_are_within_a_start(recorded):
    results = Results(str(recorded))
    ratio = results.ratio("latency_ms", {"condition": "slow"}, {"condition": "fast"})
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))
    means = results.mean("latency_ms", ["condition"])
    assert means["slow"].n == 3
    assert means["slow"].low < means["slow"].value < means["slow"].high
    assert set(results.rows["errors"]) == {""}
    with pytest.raises(InputError, match="no row with"):
        results.ratio("latency_ms", {"condition": "none"}, {"condition": "fast"})


def test_what_is_not_complete_is_not_read(recorded):
    (recorded / "manifest.json").write_text('{"complete": false}')
    with pytest.raises(InputError, match="is not complete"):
        Results(str(recorded))
    (recorded / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest\.json: is damaged"):
        Results(str(recorded))
    with pytest.raises(InputError, match="there is no recorded experiment"):
        Results("nothing-of-the-kind")
    with pytest.raises(InputError, match=r"^[^(]*oracle-1.2.0: is the record of an experiment, oracle, and"):
        open_run("oracle-1.2.0")


def test_what_is_not_as_recorded_is_not_read(recorded):
    with (recorded / "start-2-c.csv").open("a") as stream:
        stream.write("x")
    with pytest.raises(InputError, match=r"start-2-c\.csv: is not what was recorded"):
        Results(str(recorded))
    (recorded / "start-2-c.csv").unlink()
    with pytest.raises(InputError, match=r"start-2-c\.csv: is missing"):
        Results(str(recorded))


def written(folder, rows, **manifest):
    """A recorded experiment of these rows."""
    pd.DataFrame(rows).to_csv(folder / "start-1-x.csv", index=False)
    notes = {"complete": True, "artefacts": sums(folder.glob("*.csv")), **manifest}
    (folder / "manifest.json").write_text(json.dumps(notes))
    return Results(str(folder))


def ride(timeout, stalled, calm):
    """Rows of a time-out: (requests, unanswered, expired, mean latency) while stalled, and while calm again."""
    phases = {"stalled": (2, *stalled), "calm again": (3, *calm)}
    return [
        {"start": start, "timeout": timeout, "phase": phase, "place": place, "requests": n, "unanswered": lost,
         "expired": expired, "latency_ms": ms, "longest_ms": ms}
        for start in (1, 2) for phase, (place, n, lost, expired, ms) in phases.items()
    ]  # fmt: skip


def test_the_best_fixed_time_out_is_one_that_brings_answers(tmp_path):
    rows = ride("0.1 s", (0, 0, 0, None), (20, 20, 900, 12000.0)) + ride(
        "0.5 s", (100, 0, 90, 600.0), (500, 0, 0, 130.0)
    )
    rows += ride("12 s", (10, 0, 0, 5000.0), (500, 0, 0, 135.0)) + ride(
        "run time", (200, 0, 210, 400.0), (400, 0, 60, 160.0)
    )
    found = written(tmp_path, rows, numbers={"timeouts": ["0.1 s", "0.5 s", "12 s", "run time"]})
    assert mitigating_distance.timeouts_told(found) == pytest.approx({
        "stalled_observed": 400, "stalled_longest": 5000, "stalled_best": 600, "calm_observed": 160, "calm_best": 130,
        "given_up": 15,
    })  # fmt: skip
    shown = mitigating_distance.timeouts(found)
    assert shown.loc["0.1 s", ("stalled", "mean, ms")] == "none began"
    assert shown.loc["run time", ("stalled", "given up")] == "105.0"


def test_what_a_row_more_costs_by_the_proxy(tmp_path):
    rows = [
        {"start": start, "way": way, "rows_a_page": size, "latency_ms": start * ms}
        for start in (1, 2)
        for way, ms_by_size in (("direct", {1: 100.0, 20: 2000.0}), ("proxy", {1: 110.0, 20: 300.0}))
        for size, ms in ms_by_size.items()
    ]
    told = mitigating_distance.proxy_told(written(tmp_path, rows))
    assert told["spared"] == "6.67 [6.67, 6.67]"
    assert told["a_row_ms"].startswith("15.0 ±")  # 10 and 20
