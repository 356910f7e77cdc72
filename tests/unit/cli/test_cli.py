"""What a person meets at the command line: messages, exit codes, and nothing started before the input is sound."""

import json
import re

import pytest

from cassbook.core.errors import LaboratoryError
from cassbook.lab import doctor
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import load_profile
from tests.helpers.command import cassbook
from tests.helpers.profiles import write_profile


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch):
    def refuse(self, keep=False):
        pytest.fail("a cluster was started")

    monkeypatch.setattr(CassandraCluster, "start", refuse)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"pure__levels": ["MOST"]}, "'MOST'"),
        ({"cluster__replication_factor": 5}, "replication_factor 5"),
        ({"pure__threads": [0]}, "pure.threads"),
        ({"pure__threads": [-1]}, "pure.threads"),
        ({"mixed__read_shares": [2.0]}, "read_shares"),
        ({"pur": {}}, "pur: unknown key"),
    ],
)
def test_bad_profiles_exit_2_with_one_message(tmp_path, changes, named):
    result = cassbook("run", "--profile", write_profile(tmp_path, **changes), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert named in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_unknown_engine(tmp_path):
    for command in (
        ["run", "--profile", "quick", "--engine", "9.9"],
        ["cluster", "up", "--engine", "9.9"],
        ["doctor", "--engine", "9.9"],
    ):
        result = cassbook(*command)
        assert result.exit_code == 2
        assert "2.1.20" in result.output


def test_more_replicas_than_nodes_by_hand():
    result = cassbook("cluster", "up", "--nodes", 2, "--replication-factor", 3)
    assert result.exit_code == 2
    assert "3 replicas do not fit on 2 nodes" in result.output


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = cassbook("run", "--profile", "quick", "--out", tmp_path / "file" / "run")
    assert result.exit_code == 2
    assert "cannot be written" in result.output


def test_resume_of_nothing_and_of_another_schema(tmp_path):
    result = cassbook("run", "--profile", "quick", "--out", tmp_path / "run", "--resume")
    assert result.exit_code == 2
    assert "there is no record" in result.output
    store = RunStore.create(tmp_path / "run", load_profile("quick"))
    store.notes["schema"] = 7
    store.save_notes()
    result = cassbook("run", "--profile", "quick", "--out", tmp_path / "run", "--resume")
    assert result.exit_code == 2
    assert "schema version 7" in result.output


def test_a_book_of_an_incomplete_run(tmp_path):
    store = RunStore.create(tmp_path / "run", load_profile("quick"))
    assert json.loads((store.folder / "manifest.json").read_text())["complete"] is False
    result = cassbook("book", "--recorded", store.folder)
    assert result.exit_code == 2
    assert "incomplete" in result.output


def test_dry_run_says_how_many_cells_and_how_long():
    result = cassbook("run", "--profile", "paper", "--dry-run")
    assert result.exit_code == 0
    assert "252 cells in 1 block," in result.output
    assert re.search(r"about \d+ to \d+ min\n", result.output)


def test_doctor_exits_1_when_a_cluster_cannot_start(monkeypatch):
    monkeypatch.setattr(doctor.preflight, "shortages", lambda *a: ["3 nodes need 9 MB of memory; 1 MB are available"])
    result = cassbook("doctor")
    assert result.exit_code == 1
    assert "missing this machine          3 nodes need 9 MB" in result.output


def test_doctor_lists_every_engine_with_its_java():
    result = cassbook("doctor")
    for version in ("2.1.20", "2.2.4", "3.11.4", "5.0.9"):
        assert f"Cassandra {version}" in result.output


def test_doctor_survives_a_damaged_engine(monkeypatch):
    def damaged(release):
        raise LaboratoryError("SHA-256 mismatch")

    monkeypatch.setattr(doctor.fetch, "locate", damaged)
    result = cassbook("doctor")
    assert result.exit_code == 1
    assert "SHA-256 mismatch" in result.output
