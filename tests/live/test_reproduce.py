"""`make reproduce` as a newcomer runs it, on a small profile that has every condition: its run and its book."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cassbook.core.paths import project_root
from cassbook.lab.engine.pages import LEFT_TOLERANCE
from cassbook.lab.run.plan import plan
from cassbook.profile.profile import load_profile
from cassbook.records.run import RecordedRun
from tests.conftest import BUILD
from tests.helpers import readme

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left")]

#: Enough thread counts that the book can show it; restarts, cold pages and a paused node. Cells one by one are measured
#: in less time; those of the main path alternate.
PROFILE = """
name: small
title: Every condition once, and what the book draws
engine: 2.1.20
seed: 11
cluster: {heap_mb: 512}
table: {record_count: 4000}
load: {ramp_s: 0.1, steady_s: 0.4}
warm_up: {threads: 40, window_s: 0.5, windows: 2, tolerance: 0.2, cap_s: 2}
pure: {threads: [5, 10, 20, 30, 40, 60], levels: [ONE, QUORUM, ALL], repeats: 1}
mixed: {threads: [20], read_shares: [0.5], repeats: 1}
cold: {threads: 20, levels: [ONE], steady_s: 1.0}
paced:
  rates_per_s: [300]
  threads: 40
  levels: [ONE]
  steady_s: 2.0
  pause: {node: 2, after_s: 0.4, for_s: 0.8}
design: sequential
keep_samples: figures
"""


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """What the command printed, and the folder that it built in; chapters that show no fresh run come from the book."""
    path = tmp_path_factory.mktemp("profile") / "small.yaml"
    path.write_text(PROFILE)
    folder = tmp_path_factory.mktemp("build")
    if (BUILD / "executed").is_dir():
        shutil.copytree(BUILD / "executed", folder / "executed")
    # A newcomer's shell is not inside another make, whose child says more (`make test-rest` is one).
    shell = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(
        ["make", "reproduce", f"PROFILE={path}"],
        env=shell | {"CASSBOOK_BUILD": str(folder)}, cwd=project_root(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, folder


@pytest.fixture(scope="module")
def run(reproduced, tmp_path_factory):
    path = tmp_path_factory.mktemp("planned") / "small.yaml"
    path.write_text(PROFILE)
    recorded = RecordedRun(reproduced[1] / "runs" / "small-2.1.20")
    assert set(recorded.cells["cell_id"]) >= {cell.cell_id for block in plan(load_profile(str(path))) for cell in block}
    return recorded


def test_it_ends_with_the_path_of_a_book_that_shows_the_run(reproduced, run):
    printed, folder = reproduced
    index = folder / "html" / "index.html"
    assert printed.splitlines()[-1].endswith(str(index))
    assert index.is_file()
    pages = folder / "html" / "notebooks"
    assert "measured now" in (pages / "analyse" / "latency.html").read_text()
    assert run.data_hash[:12] in (pages / "measure" / "measure.html").read_text()


@pytest.mark.parametrize("command", readme.on_a_run())
def test_what_the_page_shows_next_works_on_it(command, reproduced, run, tmp_path):
    """Each command of README.md that wants a run, with this one."""
    program, *words = readme.given(command, str(run.folder))
    words = [str(tmp_path / word) if word in ("report.html", "latency.ipynb") else word for word in words]
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *words],
        env=os.environ | {"CASSBOOK_BUILD": str(reproduced[1])}, cwd=project_root(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    made = [Path(word) for word in words if word.startswith(str(tmp_path))]
    assert all(path.stat().st_size > 1000 for path in made)
    assert made or done.stdout.strip()


def steady(run, condition, kind="cold"):
    cell_id = run.cells.query("condition == @condition and kind == @kind")["cell_id"].item()
    samples = run.samples(cells=[cell_id])
    return samples[samples["phase"] == "steady"]


def test_every_request_is_answered_and_every_row_is_there(run):
    """Reads verify their row, so data that a restart lost would show as errors."""
    assert (run.cells["errors"] == "").all()
    assert (run.cells.query("kind in ('cold', 'paced')")["operations"] > 100).all()
    assert run.cells.query("kind == 'cold'")["condition"].tolist() == [
        "warm", "restarted_client", "cold_pages", "restarted_server",
    ]  # fmt: skip


def test_pages_really_left_under_running_nodes(run):
    (note,) = run.manifest["cold_pages"]
    assert note["data_bytes"] > 3 * 4000 * 1000 * 0.9
    assert note["resident_before_bytes"] > 0.9 * note["data_bytes"]
    assert note["resident_after_bytes"] <= LEFT_TOLERANCE * note["data_bytes"]
    assert not run.cells["marks"].str.contains("pages").any()


def test_a_restarted_server_is_slower_than_a_warm_one(run):
    first = {c: steady(run, c)["latency_us"].head(200).median() for c in ("warm", "restarted_server")}
    assert first["restarted_server"] > 1.5 * first["warm"]


def test_a_paused_node_delays_what_it_coordinates_and_then_goes_on(run):
    pauses = {note["cell_id"]: note for note in run.manifest["pauses"]}
    cells = run.cells.query("condition == 'paused_node'").set_index("cell_id")
    assert set(pauses) == set(cells.index)
    for cell_id, note in pauses.items():
        assert note["to_s"] - note["from_s"] == pytest.approx(0.8, abs=0.1)
        assert note["from_s"] - cells.loc[cell_id, "steady_from_s"] == pytest.approx(0.4, abs=0.15)
        samples = run.samples(cells=[cell_id])
        ended_s = samples["started_s"] + samples["latency_us"] / 1e6
        inside = (ended_s > note["from_s"] + 0.1) & (ended_s < note["to_s"])
        assert not (inside & (samples["coordinator"] == "127.0.0.2")).any()
        after = (samples["started_s"] > note["to_s"]) & (samples["coordinator"] == "127.0.0.2")
        assert after.sum() > 10
        assert samples.loc[(samples["coordinator"] == "127.0.0.2"), "latency_us"].max() > 0.6e6


def test_a_closed_loop_hides_what_a_fixed_rate_shows(run):
    """Coordinated omission: 80 requests are due at the paused node, 40 may be in flight, so the rest must wait."""
    paused = run.cells.query("kind == 'paced' and condition == 'paused_node'").set_index("cell_id")["rate_per_s"]
    paced, closed = paused.index[paused == 300].item(), paused.index[paused.isna()].item()
    stats = run.statistics.set_index("cell_id")
    assert stats.loc[paced, "response_us"] > 1.3 * stats.loc[paced, "latency_us"]
    assert np.isnan(stats.loc[closed, "response_us"])
    samples = {cell_id: run.samples(cells=[cell_id]).query("phase == 'steady'") for cell_id in (paced, closed)}
    late_us = (samples[paced]["started_s"] - samples[paced]["intended_s"]) * 1e6
    seen_by_users = (samples[paced]["latency_us"] + late_us > 100_000).mean()
    assert seen_by_users > 5 * (samples[closed]["latency_us"] > 100_000).mean()
