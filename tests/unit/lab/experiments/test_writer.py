"""The catalogue of experiments, and how one is recorded, interrupted and resumed."""

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.lab.experiments.catalogue import CATALOGUE, Entry, named, usual_engine
from cassbook.lab.experiments.experiment import Experiment, in_random_order
from cassbook.lab.experiments.workbench import figures
from cassbook.lab.experiments.writer import record
from cassbook.lab.load.recorder import Window
from cassbook.profile.profile import load_profile
from cassbook.records.experiment import Results
from tests.helpers import made_runs

QUIET = {"log": lambda _: None}


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_every_entry_makes_an_experiment_that_has_rows_and_numbers(name):
    entry = named(name)
    given = {
        "map": lambda: LatencyMap(made_runs.run(noise=0.0), "known"),
        "profile": lambda: [load_profile("faults-kill"), load_profile("faults-links")],
    }
    needed = {entry.needs: given[entry.needs]()} if entry.needs else {}
    experiment = entry.make(**needed)
    assert entry.question.endswith("?")
    assert usual_engine(entry) in entry.engines
    assert all(experiment.on(setup).rows() > 0 for setup in experiment.setups)
    assert json.loads(json.dumps([experiment.notes(), [each.notes() for each in experiment.setups.values()]]))
    for each in experiment.setups.values():
        each.cluster(usual_engine(entry), print)
    with pytest.raises(InputError, match="experiment: it needs "):
        entry.make(**({} if needed else {"map": None}))


def test_an_unknown_experiment_is_named_with_the_known(tmp_path):
    with pytest.raises(InputError, match="'magic'; use one of staleness-three, "):
        record("magic", tmp_path, "2.1.20")


def test_an_engine_that_it_cannot_be_measured_on_is_refused_before_anything_is_written(tmp_path):
    folder = tmp_path / "new"
    with pytest.raises(InputError, match=r"engine: 2\.1\.20 .*predictor.*1\.2\.0"):
        record("staleness-oracle", folder, "2.1.20")
    with pytest.raises(InputError, match=r"engine: '9\.9' is unknown"):
        record("distance-uplinks", folder, "9.9")
    with pytest.raises(InputError, match=r"distance-speculation .*5\.0\.9; use one of 2\.1\.20"):
        record("distance-speculation", folder, "5.0.9")
    assert not folder.exists()


@dataclass
class Nowhere:
    """A set-up whose cluster is none; it cannot be started more than `starts` times."""

    name: str
    starts: int = 100

    @contextmanager
    def _cluster(self):
        self.starts -= 1
        if self.starts < 0:
            raise KeyboardInterrupt
        yield SimpleNamespace(notes=lambda: {"java": "none"})

    def cluster(self, engine, log):
        return self._cluster()

    def notes(self):
        return {"nodes": 0}


@dataclass(frozen=True)
class Tossing(Experiment):
    """Two rows per cluster start, one of them with a table."""

    setups: dict = field(default_factory=lambda: {name: Nowhere(name) for name in ("left", "right")})
    tosses: int = 5

    def rows(self):
        return 2

    def measure(self, cluster, rng):
        for panel in range(2):
            seen = pd.DataFrame({"toss": rng.integers(2, size=self.tosses if panel else 0)})
            yield {"panel": panel, "heads": int(seen["toss"].sum()), "seen": seen}


@pytest.fixture
def tossing():
    """An experiment, and a catalogue in which its one entry is all that it needs."""
    experiment = Tossing()

    class Made(Entry):
        def make(self, **_):
            return experiment

    catalogue = {"toss-coins": Made("How many heads?", 1, "")}
    return SimpleNamespace(experiment=experiment, options={"catalogue": catalogue, **QUIET})


@dataclass(frozen=True)
class Aiming(Experiment):
    """Shots, of which each set-up has its own."""

    BY_SETUP = ("setups", "shots")

    shots: dict

    def points(self):
        return [shot for shots in self.shots.values() for shot in shots]

    def measure(self, cluster, rng):
        yield from ({"shot": shot} for shot in in_random_order(self.points(), rng))


def test_an_experiment_on_one_setup_has_what_belongs_to_it_and_all_other_numbers():
    aiming = Aiming({"left": (1, 2, 3), "right": (4,)}, setups={name: Nowhere(name) for name in ("left", "right")})
    left, right = aiming.on("left"), aiming.on("right")
    assert (left.rows(), right.rows(), aiming.rows()) == (3, 1, 4)
    assert sorted(row["shot"] for row in left.measure(None, np.random.default_rng(1))) == [1, 2, 3]
    assert list(right.setups) == ["right"]
    assert aiming.notes() == {"shots": {"left": (1, 2, 3), "right": (4,)}}
    (spec,) = [setup.spec for setup in Aiming({"three": ()}).setups.values()]
    assert (spec.nodes, spec.replication_factor) == (3, 3)


def test_a_record_holds_rows_tables_and_their_sums(tossing, tmp_path):
    folder = record("toss-coins", tmp_path / "new", "2.1.20", 2, **tossing.options)
    results = Results(str(folder))
    assert len(results.rows) == 8
    assert results.manifest["experiment"] == "toss-coins"
    assert results.manifest["cluster_starts"][0]["java"] == "none"
    seen = results.table("seen").groupby(["start", "setup"])["toss"].agg(["size", "sum"])
    assert (seen["size"] == 5).all()
    assert seen["sum"].equals(results.rows.groupby(["start", "setup"])["heads"].sum().rename("sum"))


def test_an_interrupted_record_is_resumed_with_what_is_missing_and_gives_the_same(tossing, tmp_path):
    whole = record("toss-coins", tmp_path / "whole", "2.1.20", **tossing.options)
    tossing.experiment.setups["left"].starts = 1
    with pytest.raises(KeyboardInterrupt):
        record("toss-coins", tmp_path / "part", "2.1.20", **tossing.options)
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "part").glob("start-*")}
    assert done
    with pytest.raises(InputError, match="is not complete"):
        Results(str(tmp_path / "part"))
    with pytest.raises(InputError, match=r"not complete; .*--resume.* new"):
        record("toss-coins", tmp_path / "part", "2.1.20", **tossing.options)
    tossing.experiment.setups["left"].starts = 100
    part = record("toss-coins", tmp_path / "part", "2.1.20", resume=True, **tossing.options)
    assert all(path.stat().st_mtime_ns == at for path, at in done.items())
    assert Results(str(part)).rows.equals(Results(str(whole)).rows)


def test_a_complete_record_is_not_touched(tossing, tmp_path):
    folder = record("toss-coins", tmp_path / "new", "2.1.20", **tossing.options)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    with pytest.raises(InputError, match="experiment, complete; "):
        record("toss-coins", folder, "2.1.20", **tossing.options)
    assert record("toss-coins", folder, "2.1.20", resume=True, **tossing.options) == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


#: Of an incomplete record.
HEAD = {"schema": 1, "engine": "5.0.9", "complete": False}
RUN = json.dumps(HEAD | {"kind": "run", "profile": {}, "begun_unix_s": 0.0, "cluster_starts": []})


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mine.txt", "mine", "is not empty and holds no experiment"),
        ("manifest.json", RUN, "holds a record with another experiment, engine, starts, seed, setups"),
        ("manifest.json", '{"trial": "toss-coins"}', "`python -m .*convert"),
        ("manifest.json", "{", r"manifest\.json: is damaged"),
        (
            "manifest.json",
            json.dumps(HEAD | {"kind": "tables", "experiment": "toss-coins", "starts": 9}),
            "holds a record with another engine, starts, seed, setups",
        ),
    ],
)
def test_a_folder_of_something_else_is_left_alone(tossing, tmp_path, name, content, message, resume):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        record("toss-coins", tmp_path, "2.1.20", resume=resume, **tossing.options)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == content


def test_figures_are_of_what_began_in_the_window():
    samples = [(0.5, 9.0, 0), (1.0, 0.1, 0), (1.5, 0.3, 0), (1.9, 12.0, 2), (2.0, 9.0, 0)]
    columns = figures(samples, Window(1.0, 2.0))
    assert columns["n_ok"] == 2
    assert columns["latency_ms"] == pytest.approx(200)
    assert columns["errors"] == "client_timeout:1"
    assert columns["throughput_per_s"] == 2
    with pytest.raises(LaboratoryError, match="within 1 s: client_timeout:1"):
        figures(samples[3:4], Window(1.0, 2.0))
