"""Kinds of records: which class reads each, and which commands read the record of which experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RUN, TABLES, STALENESS, ORACLE, CALIBRATION = "run", "tables", "staleness", "oracle", "calibration"
FAULTS, ADVISED, SCHEDULE, SWITCHES = "faults", "faults-advised", "schedule", "switches"


@dataclass(frozen=True, slots=True)
class Kind:
    """What opens records of a kind: a class or function of a module, imported when the first one is opened."""

    module: str
    reader: str
    noun: str


_OF = "record of `cassbook experiment"
KINDS: Mapping[str, Kind] = {
    RUN: Kind("cassbook.records.run", "RecordedRun", "run of a profile"),
    TABLES: Kind("cassbook.records.experiment", "Results", "record of tables of rows"),
    STALENESS: Kind("cassbook.records.staleness", "StalenessRun", f"{_OF} staleness-three` or `staleness-five`"),
    ORACLE: Kind("cassbook.records.predictor", "OracleRun", f"{_OF} staleness-oracle`"),
    CALIBRATION: Kind("cassbook.records.calibration", "CalibrationRun", f"{_OF} calibration`"),
    FAULTS: Kind("cassbook.records.faults", "FaultRun", f"{_OF} faults-*`"),
    ADVISED: Kind("cassbook.records.faults", "AdvisedRun", f"{_OF} adviser-failing`"),
    SCHEDULE: Kind("cassbook.records.schedule_runs", "ScheduleRuns", f"{_OF} adviser-shift`"),
    SWITCHES: Kind("cassbook.records.schedule_runs", "recorded_switches", f"{_OF} adviser-switches`"),
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is recorded of an experiment: its kind, and commands that read it, in which {record} stands for it."""

    kind: str
    commands: tuple[str, ...]


_SHOWN = ("show {record}", "report {record} --output FILE.html")
_STALE = "stale --run {record} --r 1 --w 1 --t 10"
#: By the beginning of the experiment's name, the longest first.
EXPERIMENTS: Mapping[str, Recorded] = {
    "adviser-switches": Recorded(SWITCHES, ("chapter adapting -p switches={record}",)),
    "adviser-shift": Recorded(SCHEDULE, ("chapter adapting -p shift={record}",)),
    "adviser-failing": Recorded(ADVISED, (*_SHOWN, "chapter failures-adviser -p newer={record}")),
    "faults": Recorded(FAULTS, (*_SHOWN, "chapter failures -p own={record}")),
    "calibration": Recorded(
        CALIBRATION, ("predict --run {record}", "chapter queueing-calibrated -p calibrated_today={record}")
    ),
    "staleness-three": Recorded(STALENESS, (_STALE, "chapter staleness-measured -p probed_today={record}")),
    "staleness-five": Recorded(STALENESS, (_STALE, "chapter staleness-measured -p probed_five={record}")),
    "staleness-scenes": Recorded(TABLES, ("chapter staleness-measured -p played={record}",)),
    "staleness-study": Recorded(TABLES, ("chapter ccm-latency -p measured={record}",)),
    "staleness-oracle": Recorded(ORACLE, ("chapter ccm-predictor -p predicted={record}",)),
    "distance-": Recorded(TABLES, ("chapter mitigating-distance -p version=VERSION",)),
    "interleaving-designs": Recorded(TABLES, ("chapter interleaving -p designs={record}",)),
    "interleaving-carry-over": Recorded(TABLES, ("chapter interleaving -p carried={record}",)),
    "interleaving-same": Recorded(TABLES, ("chapter interleaving -p same={record}",)),
}
_IN_PYTHON = Recorded(TABLES, ())


def recorded_of(experiment: str) -> Recorded:
    """Return what is recorded of an experiment; tables that only Python reads, of one that is not in the catalogue."""
    return next((known for begins, known in EXPERIMENTS.items() if experiment.startswith(begins)), _IN_PYTHON)


def read_by(experiment: str | None, record: str) -> str:
    """Say which commands read the record of an experiment, or a run where there is none.

    >>> read_by("staleness-oracle", "mine")
    'what reads it: `cassbook chapter ccm-predictor -p predicted=mine`'
    """
    commands = (*_SHOWN, "advise --run {record}") if experiment is None else recorded_of(experiment).commands
    said = [f"`cassbook {command.format(record=record)}`" for command in commands]
    return f"what reads it: {', '.join(said) or '`cassbook.records.open_record`, in Python'}"
