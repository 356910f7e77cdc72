"""The catalogue of live experiments. A new one is an entry here and a module that makes it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cassbook.core.errors import InputError
from cassbook.core.paths import resource
from cassbook.core.releases import DEFAULT_ENGINE, RELEASES, STUDY
from cassbook.records.distance_experiments import DISTANCE_QUESTIONS

if TYPE_CHECKING:  # to list the catalogue needs no driver
    from cassbook.lab.experiments.experiment import Experiment

_ANY = tuple(RELEASES)
#: Their nodes know options of tables, or of cassandra.yaml, that 4.0 took away.
_BEFORE_4 = tuple(version for version, release in RELEASES.items() if release.major < (4, 0))

_SINCE_4 = tuple(version for version in RELEASES if version not in _BEFORE_4)

_METAVARS = {"map": "RUN", "profile": "PROFILE"}


@dataclass(frozen=True, slots=True)
class Entry:
    """An experiment as the catalogue lists it."""

    question: str
    minutes: int  # three blocks take about so long on two cores
    maker: str  # module of this package and what makes it, `module:name`; imported when it is asked for
    engines: tuple[str, ...] = _ANY  # Cassandra versions it can be measured on, the usual one first
    #: What it needs, a record or profiles: a keyword of the maker, and an option of `cassbook experiment`.
    needs: str = ""

    @property
    def option(self) -> str:
        """Return what it needs as `cassbook experiment` takes it; empty for nothing."""
        return f"--{self.needs} {_METAVARS[self.needs]}" if self.needs else ""

    def make(self, **needed: Any) -> Experiment:
        """Make the experiment from what it needs; raise InputError if that is missing, or there is something else."""
        if set(needed) != ({self.needs} if self.needs else set()):
            wanted = self.option or "nothing more"
            given = ", ".join(f"--{name}" for name in needed) or "nothing"
            raise InputError(f"experiment: it needs {wanted}; {given} was given")
        module, _, function = self.maker.partition(":")
        made: Experiment = getattr(importlib.import_module(f"cassbook.lab.experiments.{module}"), function)(**needed)
        return made


Catalogue = Mapping[str, Entry]

CATALOGUE: Catalogue = {
    "staleness-three": Entry(
        "How stale are reads of three replicas, side by side and far apart, at rest and under load?",
        40, "staleness.setups:three",
    ),
    "staleness-five": Entry(
        "How stale are reads of five replicas, side by side and far apart?",
        35, "staleness.setups:five",
    ),
    "staleness-study": Entry(
        "How long do reads and writes take in each setting of the ccm study, on eight nodes with three replicas?",
        40, "staleness.setups:study", _BEFORE_4,
    ),
    "staleness-scenes": Entry(
        "Message by message, what is a read repair, a hint, and a naive and a safe switch of setting?",
        10, "staleness.scenes:ScenesExperiment",
    ),
    "staleness-oracle": Entry(
        "What does Cassandra 1.2's own predictor say, and what do its reads return?",
        60, "staleness.setups:oracle", (STUDY.version,),
    ),
    "distance-coordinators": Entry(
        DISTANCE_QUESTIONS["coordinators"],
        21, "distance.comparisons:coordinators",
    ),
    "distance-uplinks": Entry(
        DISTANCE_QUESTIONS["uplinks"],
        12, "distance.comparisons:uplinks",
    ),
    "distance-asynchronous": Entry(
        DISTANCE_QUESTIONS["asynchronous"],
        17, "distance.comparisons:asynchronous",
    ),
    "distance-proxy": Entry(
        DISTANCE_QUESTIONS["proxy"],
        6, "distance.comparisons:proxy",
    ),
    "distance-two-centres": Entry(
        DISTANCE_QUESTIONS["two-centres"],
        14, "distance.comparisons:two_centres",
    ),
    "distance-speculation": Entry(
        DISTANCE_QUESTIONS["speculation"],
        13, "distance.comparisons:speculation", _BEFORE_4,
    ),
    "distance-timeouts": Entry(
        DISTANCE_QUESTIONS["timeouts"],
        10, "distance.comparisons:timeouts",
    ),
    "calibration": Entry(
        "What does a request cost the nodes and the client, by operation, level, replicas, size of a row and load?",
        45, "calibration:calibration",
    ),
    "faults": Entry(
        "What does each setting make of the faults of a profile, such as faults-kill, or of several?",
        15, "faults.experiment:of_profiles", needs="profile",
    ),
    "faults-all": Entry(
        "What does each setting make of each fault: all schedules that come with cassbook but those of tables?",
        120, "faults.experiment:every",
    ),
    "faults-tables-2.1": Entry(
        "A node is killed, another cut off: what do a table's read repair and speculative retry do, before 4.0?",
        8, "faults.experiment:tables_before_4", _BEFORE_4,
    ),
    "faults-tables-5.0": Entry(
        "A node is killed, another cut off: what do a table's read repair and speculative retry do?",
        8, "faults.experiment:tables", _SINCE_4,
    ),
    "interleaving-carry-over": Entry(
        "Levels that alternate in slices: for how long does a change of level show in latency, and whose?",
        40, "interleaving.carry_over:CarryOverExperiment",
    ),
    "interleaving-designs": Entry(
        "How much narrower are ratios of levels that alternate in slices than of levels measured one after the other?",
        30, "interleaving.designs:DesignExperiment",
    ),
    "interleaving-same": Entry(
        "Labels that stand for the same level: how often do intervals and tests say that they differ?",
        55, "interleaving.same:SameLevelExperiment",
    ),
    "adviser-shift": Entry(
        "While a load shifts, how fast are the adviser, fixed settings and the paper's switching, and what is lost?",
        160, "adviser.shift:shift", needs="map",
    ),
    "adviser-failing": Entry(
        "While nodes fail at random and settings are switched, do later reads return every acknowledged write?",
        60, "adviser.failures:failures", needs="map",
    ),
    "adviser-switches": Entry(
        "What does each switch of setting lose, the paper's and the safe one, with a late replica?",
        15, "adviser.switches:switches", needs="map",
    ),
}  # fmt: skip


def named(name: str, catalogue: Catalogue = CATALOGUE) -> Entry:
    """Find an experiment by its name; raise InputError if there is none."""
    if name not in catalogue:
        if name.startswith("faults-") and (resource("profiles") / f"{name}.yaml").is_file():
            raise InputError(f"experiment: {name!r} is a profile; use `faults --profile {name}`")
        raise InputError(f"experiment: there is no {name!r}; use one of {', '.join(catalogue)}")
    return catalogue[name]


def usual_engine(entry: Entry) -> str:
    """Return the Cassandra version that an experiment is measured on unless another is asked for."""
    return DEFAULT_ENGINE if DEFAULT_ENGINE in entry.engines else entry.engines[0]
