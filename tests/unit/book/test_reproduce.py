"""What `make reproduce` does with what it finds, without a cluster: notebooks and rendering are recorded, not run."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from cassbook.book import build, execution, needs
from cassbook.core.errors import InputError
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import load_profile


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """Calls of `execute` and `build`, in order."""
    monkeypatch.setenv("CASSBOOK_BUILD", str(tmp_path))
    calls = []

    def execute(notebook, output, parameters, loud):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.touch()
        calls.append(parameters)

    monkeypatch.setattr(execution, "execute", execute)
    monkeypatch.setattr(build, "build", lambda fresh, log: calls.append(fresh) or tmp_path / "html" / "index.html")
    return calls


def interrupted(tmp_path, **overrides):
    profile = load_profile("quick", **overrides)
    store = RunStore.create(tmp_path / "runs" / "quick-2.1.20", profile)
    store.close()
    return store


def test_measures_then_builds_with_what_was_measured(tmp_path, steps):
    index = build.reproduce("quick", None, lambda line: None)
    assert index == tmp_path / "html" / "index.html"
    measured, fresh = steps
    assert measured["profile"] == "quick"
    assert measured["engine"] == "2.1.20"
    assert measured["resume"] is False
    assert fresh == tmp_path / "runs" / "quick-2.1.20"
    assert (build.paths.project_root() / measured["out"]).resolve() == fresh


def test_goes_on_with_an_interrupted_run_of_the_same_profile(tmp_path, steps):
    store = interrupted(tmp_path)
    build.reproduce("quick", None, lambda line: None)
    assert steps[0]["resume"] is True
    assert store.folder.is_dir()


@pytest.mark.parametrize("state", ["complete", "other profile", "damaged"])
def test_sets_aside_what_it_cannot_go_on_with(tmp_path, steps, state):
    store = interrupted(tmp_path)
    path = store.folder / "manifest.json"
    notes = json.loads(path.read_text())
    if state == "complete":
        notes["complete"] = True
    elif state == "other profile":
        notes["profile"]["seed"] += 1
    path.write_text("{" if state == "damaged" else json.dumps(notes))
    kept = path.read_text()
    build.reproduce("quick", None, lambda line: None)
    assert steps[0]["resume"] is False
    assert not store.folder.exists()
    assert (tmp_path / "runs" / "quick-2.1.20-before" / "manifest.json").read_text() == kept


def shown(
    pure_threads=range(10, 100, 10),
    levels=("ONE", "QUORUM", "ALL"),
    pairs=(("ONE", "ALL"), ("QUORUM", "QUORUM"), ("ALL", "ONE")),
    apart=False,
):
    rows = [
        ("pure", level if apart else 0, t, level, level, share)
        for t in pure_threads
        for level in levels
        for share in (0.0, 1.0)
    ]
    rows += [("mixed", 0, 50, *pair, 0.5) for pair in pairs]
    cells = pd.DataFrame(rows, columns=["kind", "block", "threads", "read_cl", "write_cl", "read_share"])
    return SimpleNamespace(cells=cells, folder="mine")


@pytest.mark.parametrize(
    ("run", "named"),
    [
        (shown(levels=("ONE", "ALL")), "reads at QUORUM; writes at QUORUM"),
        (shown(pure_threads=[10, 50]), "thread counts"),
        (shown(apart=True), "reads at all of ONE, QUORUM, ALL in one block; .*writes at all"),
        (shown(pairs=()), "mixed cells at 1R-3W, 2R-2W, 3R-1W"),
    ],
)
def test_a_run_that_the_chapters_cannot_draw_is_refused_before_any_runs(run, named):
    with pytest.raises(InputError, match=named):
        needs.check_shown(run)


def test_a_run_that_has_it_all_is_shown():
    needs.check_shown(shown())


def test_two_runs_without_a_cell_in_common_are_not_shown_side_by_side():
    needs.check_pair(shown(), shown(pure_threads=[90, 500]))
    with pytest.raises(InputError, match=r"no pure cell .*threads 10, .*90 and 15, 500\)"):
        needs.check_pair(shown(), shown(pure_threads=[15, 500]))
