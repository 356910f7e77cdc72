"""What `cassbook show` prints, and `cassbook run` at its end."""

import io
import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from cassbook.lab.run import measure
from cassbook.records import run as records
from cassbook.shown import results as shown_results
from tests.helpers.command import cassbook
from tests.helpers.data import ROOT

LOGS = ROOT / "tests" / "data" / "logs"
QUICK = ROOT / "data" / "records" / "quick-2.1.20"


@pytest.fixture(scope="module")
def shown():
    """The text of a run of every kind of cell."""
    return cassbook("show", "standard-5.0.9").stdout


def test_a_table_by_cell_fits_a_terminal_and_explains_itself(shown):
    assert max(map(len, shown.splitlines())) <= 120
    lines = {tuple(line.split()[:3]): line for line in shown.splitlines()}
    assert "1.05 ±24%" in lines["READ", "ONE", "10"]
    assert lines["READ", "ONE", "10"].endswith("0 lag")
    for said in (
        "Cassandra 5.0.9, 268 cells in 7 blocks", "Mixes of reads and writes", "Cold starts, QUORUM, 500 threads",
        "at ONE/ALL reads survive 2 dead replicas, writes none",
        "p99.9 of 40 cells is not shown: it needs 10,000 operations per cell",
        "Marked lag (22 cells): the client's event loop was late by more than 5 % of the latency.",
    ):  # fmt: skip
        assert said in shown


@pytest.mark.parametrize("run", ["foretold-5.0.9", "standard-5.0.9"])
def test_an_interval_beyond_the_value_itself_is_said_to_determine_nothing(run):
    text = cassbook("show", run).stdout
    assert "±n.d., not determined, where that is more than 100" in " ".join(text.split())
    assert text.count("±n.d.") > 1
    assert max(int(reach) for reach in re.findall(r"±(\d+)%", text)) <= 100
    assert ">999%" not in text
    assert max(map(len, text.splitlines())) <= 120


def test_a_cell_of_many_marks_or_a_long_name_fits_a_terminal_too():
    table = pd.DataFrame(
        {"operation": ["reads 10 %", "WRITE"], "level": ["QUORUM/QUORUM", "LOCAL_QUORUM"], "threads": ["1000", "10"]}
        | {name: ["1117 ±n.d.", "12.3 ±31%"] for name in ("ops/s", "mean", "p50", "p95", "p99", "p99.9")}
        | {"errors": ["6", "0"], "marks": ["errors,little,lag,clock", ""]}
    )
    lines = shown_results.columns(table).splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[2] == "    marked errors,little,lag,clock"
    table["operation"] = ["workload " + 40 * "x", "workload orders"]
    lines = shown_results.columns(table).splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[1] == f"workload {40 * 'x'}, QUORUM/QUORUM"
    assert lines[2].split()[0] == "1000"
    assert lines[4:] == ["workload orders, LOCAL_QUORUM", lines[5]]


def test_a_log_that_failed_is_refused_with_the_command_that_reads_it():
    done = cassbook("show", ROOT / "tests" / "data" / "failed-logs" / "stress-2.1.20.log")
    assert done.exit_code == 2
    assert "`cassbook read --skip-damaged`" in done.stderr
    assert "nothing was written" not in done.stderr


def test_samples_are_shown_and_where_only_logs_will_do_that_is_said(tmp_path):
    samples = tmp_path / "samples.parquet"
    assert cassbook("read", LOGS / "ycsb-0.17.0" / "raw.txt", "--output", samples).exit_code == 0
    assert cassbook("show", samples).exit_code == 0
    done = cassbook("compare", samples, samples, "--format", "json")
    assert done.exit_code == 0, done.output
    assert {row["ratio"] for row in json.loads(done.stdout)["figures"] if row["first_value"]} == {1.0}
    done = cassbook("advise", "--run", samples, "--threads", "10", "--reads", "0.5")
    assert done.exit_code == 2
    assert "is what `cassbook read` wrote" in done.stderr
    assert "give the log itself" in done.stderr


def test_json_and_csv_have_every_figure_with_both_bounds():
    answer = json.loads(cassbook("show", "standard-5.0.9", "--format", "json").stdout)
    assert (answer["run"], answer["engine"], answer["replication_factor"]) == ("standard-5.0.9", "5.0.9", 3)
    first = answer["cells"][0]
    for name in ("throughput_{}per_s", "latency_{}us", "p50_{}us", "p95_{}us", "p99_{}us", "p999_{}us"):
        assert first[name.format("low_")] < first[name.format("")] < first[name.format("high_")]
    assert (first["survives_reads"], first["survives_writes"]) == (2, None)
    table = pd.read_csv(io.StringIO(cassbook("show", "standard-5.0.9", "--format", "csv").stdout))
    assert len(table) == len(answer["cells"]) == 268
    assert table["p999_us"].isna().sum() == 40


def test_markdown_has_a_table_per_kind():
    text = cassbook("show", QUICK, "--format", "md").stdout
    assert text.startswith("# quick-2.1.20: Cassandra 2.1.20, 99 cells in 2 blocks")
    assert "\n## Mixes of reads and writes\n\n| operation" in text


def test_without_histograms_as_in_the_wheel_p999_is_named(monkeypatch):
    monkeypatch.setattr(records, "is_packaged", lambda folder: True)
    is_file = type(QUICK).is_file
    monkeypatch.setattr(type(QUICK), "is_file", lambda path: path.suffix != ".hlog" and is_file(path))
    text = cassbook("show", "uniform-2.1.20").stdout
    assert "their histograms are not in the installed package" in text


@pytest.mark.parametrize("name", ["ycsb-0.17.0/raw.txt", "stress-2.1.20/mixed.log", "stress-3.11.4/mixed.hdr"])
def test_a_log_is_shown(name):
    done = cassbook("show", LOGS / name)
    assert done.exit_code == 0, done.output
    assert "workload mixed unknown/unknown" in done.stdout
    said = "is as the log prints it" if name.endswith(".log") else "is not shown: it needs 10,000 operations per cell"
    assert re.search(rf"p99\.9 of \d cells? {said}", done.stdout)


def test_what_read_wrote_is_shown(tmp_path):
    assert cassbook("read", LOGS / "ycsb-0.17.0" / "raw.txt", "--output", tmp_path / "raw.parquet").exit_code == 0
    done = cassbook("show", tmp_path / "raw.parquet", "--format", "json")
    cells = {cell["operation"]: cell for cell in json.loads(done.stdout)["cells"]}
    whole = cells.pop("workload mixed")
    twice = cells.pop("RMW")["operations"]  # their read and update count by themselves
    assert whole["operations"] == sum(cell["operations"] for cell in cells.values()) == 694 - twice
    assert whole["interval"] == "one cluster start"
    assert cassbook("read", LOGS / "stress-2.1.20" / "mixed.log", "--output", tmp_path / "f.parquet").exit_code == 0
    done = cassbook("show", tmp_path / "f.parquet")
    assert done.exit_code == 0
    assert "workload mixed unknown/unknown" in done.stdout


def test_a_run_ends_with_its_results(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "measure", lambda profile, folder, **_: shutil.copytree(QUICK, folder))
    done = cassbook("run", "--profile", "quick", "--output", tmp_path / "mine")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("mine: Cassandra 2.1.20, 99 cells in 2 blocks")
    done = cassbook("run", "--profile", "quick", "--output", tmp_path / "again", "--format", "json")
    assert len(json.loads(done.stdout)["cells"]) == 99


def test_versions_that_are_measured_in_turn_have_folders_of_their_own(tmp_path, monkeypatch):
    def made(profiles, **_):
        return [Path(shutil.copytree(QUICK, folder)) for folder in profiles]

    monkeypatch.setattr(measure, "measure_in_turn", made)
    asked = ("run", "--profile", "quick", "--engine", "2.1.20,5.0.9")
    done = cassbook(*asked, "--output", tmp_path / "mine", "--format", "json")
    assert done.exit_code == 0, done.output
    assert [run["run"] for run in json.loads(done.stdout)] == ["mine-2.1.20", "mine-5.0.9"]
    done = cassbook(*asked, "--output", tmp_path / "again")
    assert "again-2.1.20: Cassandra 2.1.20, 99 cells in 2 blocks" in done.stdout
    alone, both = (
        json.loads(cassbook("run", "--profile", "quick", "--engine", engine, "--dry-run", "--format", "json").stdout)
        for engine in ("2.1.20", "2.1.20,5.0.9")
    )
    assert (both["cells"], both["blocks"]) == (2 * alone["cells"], 2 * alone["blocks"])


@pytest.mark.parametrize(
    ("engine", "said"), [("2.1.20,2.1.20", "names a version twice"), ("2.1.20,9.9", "2.1.20"), ("2.1.20,", "2.1.20")]
)
def test_versions_that_cannot_be_measured_in_turn(engine, said, tmp_path):
    done = cassbook("run", "--profile", "quick", "--engine", engine, "--output", tmp_path / "mine")
    assert done.exit_code == 2
    assert said in done.output
    assert not list(tmp_path.iterdir())


def test_a_forecast_as_json():
    answer = json.loads(cassbook("run", "--profile", "paper", "--dry-run", "--format", "json").stdout)
    assert (answer["cells"], answer["blocks"]) == (252, 1)
    assert answer["minutes"] > 1
