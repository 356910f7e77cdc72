"""Every record that the repository holds is read by its reader, unchanged, and says what it said."""

import pandas as pd
import pytest

from cassbook.core.files import check_recorded
from cassbook.core.paths import project_root, records_dir
from cassbook.records import bench_results, manifest, open_record
from cassbook.records.calibration import CalibrationRun
from cassbook.records.experiment import Results
from cassbook.records.faults import AdvisedRun, FaultRun
from cassbook.records.kinds import ADVISED, CALIBRATION, FAULTS, ORACLE, RUN, STALENESS, TABLES
from cassbook.records.predictor import OracleRun
from cassbook.records.run import RecordedRun
from cassbook.records.schedule_runs import ScheduleRuns, by_switch, recorded_switches
from cassbook.records.staleness import StalenessRun

DATA = project_root() / "data"
#: Cells, and the median over cells of mean latency, us.
RUNS = {
    "distance-2.1.20": (732, 179783.3),
    "foretold-5.0.9": (256, 8899.8),
    "load-own-processor-5.0.9": (508, 1213.4),
    "load-pilot-5.0.9": (308, 4690.9),
    "quick-2.1.20": (200, 40483.4),
    "standard-2.1.20": (1889, 52023.4),
    "standard-5.0.9": (1889, 43371.0),
    "strong-2.1.20": (436, 14177.7),
    "thesis-1-3.11.4": (219, 31122.3),
    "thesis-2-3.11.4": (546, 46269.4),
    "uniform-2.1.20": (124, 24895.2),
}
#: Experiment, rows, and the median over rows of a column, ms.
EXPERIMENTS = {
    "adviser-failing-2.1.20": ("adviser-failing", 54, "n", 12005.0),
    "adviser-failing-5.0.9": ("adviser-failing", 54, "n", 12004.5),
    "asynchronous-2.1.20": ("distance-asynchronous", 84, "latency_ms", 247.265),
    "calibration-2.2.4": ("calibration", 1200, "latency_ms", 9.889),
    "calibration-5.0.9": ("calibration", 1200, "latency_ms", 10.575),
    "carry-over-2.1.20": ("interleaving-carry-over", 36, "guard_ms", 135.3),
    "coordinators-2.1.20": ("distance-coordinators", 84, "latency_ms", 306.010),
    "designs-2.1.20": ("interleaving-designs", 192, "took_s", 4.4965),
    "fault-tables-2.1.20": ("faults-tables-2.1", 60, "n", 1000.5),
    "fault-tables-5.0.9": ("faults-tables-5.0", 48, "n", 1251.0),
    "faults-2.1.20": ("faults-all", 654, "n", 1776.0),
    "faults-5.0.9": ("faults-all", 654, "n", 1776.5),
    "oracle-1.2.0": ("staleness-oracle", 60, "read_ms", 117.833),
    "proxy-2.1.20": ("distance-proxy", 30, "latency_ms", 297.618),
    "same-2.1.20": ("interleaving-same", 324, "threads", 75.0),
    "scenes-5.0.9": ("staleness-scenes", 84, "panel", 14.5),
    "speculation-2.1.20": ("distance-speculation", 24, "latency_ms", 150.980),
    "stale-five-2.1.20": ("staleness-five", 102, "read_ms", 10.321),
    "stale-three-2.1.20": ("staleness-three", 120, "read_ms", 20.819),
    "stale-three-5.0.9": ("staleness-three", 120, "read_ms", 27.027),
    "study-2.1.20": ("staleness-study", 54, "ours_read_ms", 58.503),
    "timeouts-2.1.20": ("distance-timeouts", 75, "latency_ms", 177.711),
    "two-centres-2.1.20": ("distance-two-centres", 66, "latency_ms", 53.559),
    "uplinks-2.1.20": ("distance-uplinks", 72, "latency_ms", 120.291),
}
#: The adviser's first records, which have no rows.
JSON = {"shift-2.1.20": ScheduleRuns, "switches-2.1.20": pd.DataFrame}
BENCHMARKS = {
    "adviser.csv", "generator-ratios.csv", "generator.csv", "generator.json", "own-error.csv", "relay-accuracy.csv",
    "relay-added.csv", "relay-ceiling.csv",
}  # fmt: skip


#: By kind.
OPENED = {
    RUN: RecordedRun, TABLES: Results, STALENESS: StalenessRun, ORACLE: OracleRun, CALIBRATION: CalibrationRun,
    FAULTS: FaultRun, ADVISED: AdvisedRun,
}  # fmt: skip


def test_no_record_is_without_a_line_here():
    held = {folder: {path.name for path in (DATA / folder).iterdir()} for folder in ("records", "bench")}
    assert held == {"records": {"README.md", *RUNS, *EXPERIMENTS, *JSON}, "bench": {"README.md", *BENCHMARKS}}
    assert {name for name, _ in manifest.recorded()} == {*RUNS, *EXPERIMENTS, *JSON}


@pytest.mark.parametrize("name", sorted([*RUNS, *EXPERIMENTS, *JSON]))
def test_every_record_is_opened_by_its_name_and_its_folder_as_what_it_is(name):
    notes = manifest.read(DATA / "records" / name)
    held = {path.relative_to(DATA / "records" / name).as_posix() for path in (DATA / "records" / name).rglob("*.*")}
    assert held == {manifest.NAME, *notes["sums"]}
    check_recorded(DATA / "records" / name, notes["sums"])
    reader = JSON.get(name) or OPENED[notes["kind"]]
    assert type(open_record(name)) is type(open_record(DATA / "records" / name)) is reader


@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_run_is_read(name):
    run = RecordedRun(name)
    cells, latency_us = RUNS[name]
    assert len(run.cells) == cells
    assert run.statistics["latency_us"].median() == pytest.approx(latency_us, abs=0.1)
    assert len(run.histograms) >= len(run.statistics)


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_an_experiment_is_read(name):
    results = Results(name)
    experiment, rows, column, median_ms = EXPERIMENTS[name]
    assert results.manifest["experiment"] == experiment
    assert len(results.rows) == rows
    assert results.rows[column].median() == pytest.approx(median_ms, abs=1e-3)
    assert results.rows["start"].unique().tolist() == list(range(1, results.manifest["starts"] + 1))
    tables = {file.rpartition("-")[2].removesuffix(".parquet") for file in results.files if file.endswith(".parquet")}
    for table in tables:
        assert {"start", "setup", "panel"} < set(results.table(table).columns)


def test_readers_of_their_own_build_on_it():
    calibrated = CalibrationRun("calibration-2.2.4").calibrated()
    assert calibrated[0].costs["READ"].local == pytest.approx(0.3911, abs=1e-4)
    run = StalenessRun("stale-three-2.1.20")
    assert run.panels["reads"].sum() == 182552
    assert run.tracing_ms("near", 0).value == pytest.approx(1.133, abs=1e-3)
    assert OracleRun("oracle-1.2.0").settings == [(1, 2), (2, 1), (1, 1)]


def test_the_advisers_first_records_are_read():
    runs = ScheduleRuns("shift-2.1.20")
    assert (len(runs.phases), len(runs.watch), len(runs.sweeps)) == (90, 15, 9)
    assert runs.figures("mean_us").loc["2R-2W", "ratio"].value == pytest.approx(1.318, abs=1e-3)
    switches = by_switch(recorded_switches("switches-2.1.20"))
    assert switches["violations"].groupby("how").sum().to_dict() == {"naive": 730, "safe": 0}
    assert switches["repeats"].eq(3).all()


def test_benchmarks_are_read():
    assert len(bench_results.pairs()) == sum(bench_results.throughput_ratios()["pairs"])
    assert bench_results.throughput_ratios()["ratio"].median() > 1
    assert bench_results.conditions()["engine"] == "2.1.20"
    assert bench_results.adviser().loc["read", "median"] < 10
    assert bench_results.own_error().loc[(0.0, 1), "error mean"] == 82
    assert bench_results.relay_added_ms().iloc[0] == 0.2149
    assert bench_results.relay_accuracy().iloc[0]["median_ms"] == pytest.approx(0.4, abs=0.05)
    assert bench_results.relay_ceiling()["chunks/s"].min() > 1000
    assert records_dir() == DATA / "records"
