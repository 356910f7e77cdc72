"""The main path on a real cluster: measure, be killed in the middle, resume through the notebook, read back, show.

The only live tests of `make test`; the others are in `make test-rest`.
"""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from cassbook.book import execution
from cassbook.core import paths
from cassbook.core.schema import read_cells, without_aside
from cassbook.lab.engine.cluster import clusters_dir
from cassbook.lab.run.plan import plan
from cassbook.latency import summaries
from cassbook.latency.cell_checks import LITTLE_TOLERANCE
from cassbook.profile.profile import load_profile
from cassbook.records.run import RecordedRun
from tests.helpers.waiting import wait_for_cells, wait_until

pytestmark = [pytest.mark.live, pytest.mark.main_path, pytest.mark.usefixtures("nothing_left")]
NOTEBOOK = paths.project_root() / "notebooks" / "measure" / "measure.ipynb"


def rows_of(folder):
    path = folder / "cells.csv"
    return read_cells(path) if path.exists() else pd.DataFrame()


def test_killed_resumed_and_sound(tiny, tmp_path):
    folder = tmp_path / "run"
    killed = kill_in_the_middle(tiny, folder)
    tracked = hashlib.sha256(NOTEBOOK.read_bytes()).hexdigest()
    parameters = {"profile": str(tiny), "out": os.path.relpath(folder, paths.project_root()), "resume": True}
    execution.execute(NOTEBOOK, tmp_path / "executed.ipynb", parameters)
    assert hashlib.sha256(NOTEBOOK.read_bytes()).hexdigest() == tracked
    run = RecordedRun(folder)
    check_nothing_was_lost_or_repeated(run, killed, tiny)
    check_samples(run)
    check_a_page_shows_it(folder, tmp_path / "build")


def kill_in_the_middle(profile, folder):
    """Start a run as a person would, SIGKILL it when some cells are done; the rows it had put down."""
    command = [sys.executable, "-m", "cassbook.cli", "run", "--profile", str(profile), "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_cells(process, folder, 5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not list(clusters_dir().glob(f"*-{process.pid}")), within_s=30)  # the watchdog removes it
    rows = rows_of(folder)
    assert len(rows) < 16
    return rows


def check_nothing_was_lost_or_repeated(run, killed, profile):
    cells = run.cells
    pd.testing.assert_frame_equal(cells.iloc[: len(killed)], killed)
    planned = [cell.cell_id for block in plan(load_profile(str(profile))) for cell in block]
    # Whatever the tests' own processes disturbed was measured a second time.
    assert sorted(without_aside(cells)["cell_id"]) == sorted(planned)
    assert cells["cell_id"].is_unique
    assert (cells["kind"] == "warmup").sum() == 2
    assert len(run.manifest["cluster_starts"]) == 2
    assert sorted(cells["cluster_start"].unique()) == [1, 2]


def check_samples(run):
    """Real reads and writes at three levels; Little's law recomputed from the samples."""
    samples = run.samples()
    assert (samples["outcome"] == "ok").all()
    assert samples["latency_us"].between(50, 5e6).all()
    assert set(samples["coordinator"].unique()) == {"127.0.0.1", "127.0.0.2", "127.0.0.3"}
    counts = samples.groupby("cell_id", observed=True).size()
    cells = run.cells.set_index("cell_id")
    assert counts.sort_index().eq(cells["operations"].sort_index()).all()
    stats = summaries.cell_statistics(samples, run.cells).set_index("cell_id")
    assert set(zip(stats["read_cl"], stats["read_share"], strict=True)) >= {
        (level, share) for level in ("ONE", "QUORUM", "ALL") for share in (0.0, 1.0)
    }
    # Each cell is short, so single ones may wander; together they must lie on the law.
    assert (stats["little_ratio"] - 1).abs().median() < LITTLE_TOLERANCE
    assert stats["little_ratio"].between(0.7, 1.3).all()
    marked = cells.loc[stats.index, "marks"].str.contains("little")
    assert marked.eq((cells.loc[stats.index, "little_ratio"] - 1).abs() > LITTLE_TOLERANCE).all()
    assert stats["little_ratio"].sub(cells.loc[stats.index, "little_ratio"]).abs().max() < 1e-3


def check_a_page_shows_it(folder, build_folder):
    """A chapter is executed with the run and rendered, by the command that the README names."""
    command = [sys.executable, "-m", "cassbook.cli", "chapter", "latency", "-p", f"fresh={folder}"]
    done = subprocess.run(
        command, env=os.environ | {"CASSBOOK_BUILD": str(build_folder)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    page = Path(done.stdout.strip())
    assert page.name == "latency.html"
    text = page.read_text()
    assert "measured now" in text
    assert "glue:text" not in text
