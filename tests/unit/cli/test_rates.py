"""What commands say of fixed rates: before they are measured, and of runs whose settings were measured together."""

import json

import pytest

from cassbook.lab.load.slices import Slices
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import load_profile
from tests.helpers.command import cassbook
from tests.helpers.profiles import TWO_SETTINGS
from tests.helpers.stored_cells import alternate


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(TWO_SETTINGS)
    return path


def recorded(folder, profile, **changes):
    """Write a run of two cells that alternated, as earlier versions measured rates."""
    store = RunStore.create(folder, load_profile(str(profile)))
    alternate(store, Slices(0.1, 0.2, (1, 0, 0, 1)), kind="workload", workload="rows", read_share=1.0, **changes)
    store.finish_block(1)
    store.complete()
    store.close()
    return folder


def test_the_dry_run_says_how_rates_are_measured(profile):
    done = cassbook("run", "--profile", profile, "--dry-run")
    assert done.exit_code == 0, done.output
    assert "10 cells in 1 block, " in done.stdout
    assert "at a fixed rate each setting is measured by itself" in done.stdout
    said = json.loads(cassbook("run", "--profile", profile, "--dry-run", "--format", "json").stdout)
    assert (said["design"], said["fixed_rates"]) == ("interleaved", "sequential")
    assert "fixed rate" not in cassbook("run", "--profile", "quick", "--dry-run").output


def test_rates_of_a_group_are_refused_in_one_message_and_shown_with_what_they_are(profile, tmp_path):
    grouped = recorded(tmp_path / "grouped", profile, rate_per_s=1000.0)
    for more in ((), ("--workload", "rows"), ("--format", "json")):
        done = cassbook("capacity", grouped, "--bound-ms", 20, *more)
        assert done.exit_code == 2
        assert "grouped: its fixed rates give no capacity: " in done.stderr
        assert "measure again" in done.stderr
        assert not done.stdout
    assert "where one of them does not carry the rate," in " ".join(cassbook("show", grouped).stdout.split())
    notes = json.loads(cassbook("show", grouped, "--format", "json").stdout)["notes"]
    assert any(note.startswith("At a fixed rate the settings of a workload were measured together") for note in notes)
    assert cassbook("report", grouped, "--output", tmp_path / "report.html").exit_code == 0
    assert "At a fixed rate the settings of a workload were measured together" in (tmp_path / "report.html").read_text()


def test_a_closed_loop_may_alternate(profile, tmp_path):
    closed = recorded(tmp_path / "closed", profile, rate_per_s=float("nan"))
    assert "fixed rate" not in cassbook("show", closed).stdout
