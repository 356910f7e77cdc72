"""Which commands read the record of which experiment: what a command says that was given a record it does not read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cassbook.core.paths import runs_dir

#: Records of schedules of faults, whose experiments have names that begin so; `show` and `report` read them.
FAULTS, ADVISED = "faults", "adviser-failing"
_SHOWN = ("show {record}", "report {record} --output FILE.html")
#: By the beginning of the experiment's name, the longest first: commands, in which {record} stands for the record.
READERS: Mapping[str, tuple[str, ...]] = {
    "adviser-switches": ("chapter adapting -p switches={record}",),
    "adviser-shift": ("chapter adapting -p shift={record}",),
    ADVISED: (*_SHOWN, "chapter failures-adviser -p newer={record}"),
    FAULTS: (*_SHOWN, "chapter failures -p own={record}"),
    "calibration": ("predict --run {record}", "chapter queueing-calibrated -p calibrated_today={record}"),
    "staleness-three": (
        "stale --run {record} --r 1 --w 1 --t 10", "chapter staleness-measured -p probed_today={record}",
    ),
    "staleness-five": ("stale --run {record} --r 1 --w 1 --t 10", "chapter staleness-measured -p probed_five={record}"),
    "staleness-scenes": ("chapter staleness-measured -p played={record}",),
    "staleness-study": ("chapter ccm-latency -p measured={record}",),
    "staleness-oracle": ("chapter ccm-predictor -p predicted={record}",),
    "distance-": ("chapter mitigating-distance -p version=VERSION",),
    "interleaving-designs": ("chapter interleaving -p designs={record}",),
    "interleaving-carry-over": ("chapter interleaving -p carried={record}",),
    "interleaving-same": ("chapter interleaving -p same={record}",),
}  # fmt: skip
#: What records made before there was one catalogue call their experiment.
_BEFORE = {name: f"staleness-{name}" for name in ("three", "five", "scenes", "study", "oracle")} | {
    name: f"distance-{name}"
    for name in ("coordinators", "uplinks", "asynchronous", "proxy", "two-centres", "speculation", "timeouts")
}


def holds_faults(experiment: str) -> bool:
    """Whether the records of an experiment are of schedules of faults (see `faults.FaultRun`)."""
    return experiment.startswith((FAULTS, ADVISED))


#: What the manifest of a ride of the adviser has, which does not name its experiment.
_RIDE = frozenset({"map", "schedule", "terms", "window_s"})


def experiment_of(notes: Mapping[str, Any]) -> str | None:
    """Return the experiment that a manifest is of; None where it is of none, as a run's."""
    named = notes.get("trial")
    return str(named) if named is not None else "adviser-shift" if set(notes) >= _RIDE else None


def unread(folder: Path, experiment: str, wanted: str) -> str:
    """Say that a record is of another experiment than what is `wanted`, and which commands read it."""
    record = folder.name if folder.resolve().parent == runs_dir().resolve() else str(folder)
    return f"{folder}: is the record of an experiment, {experiment}, and no {wanted}; {readers(experiment, record)}"


def readers(experiment: str, record: str) -> str:
    """Say which commands read a record: 'what reads it: `cassbook show X`, ...'.

    >>> readers("oracle", "mine")
    'what reads it: `cassbook chapter ccm-predictor -p predicted=mine`'
    """
    name = _BEFORE.get(experiment, experiment)
    commands = next((known for begins, known in READERS.items() if name.startswith(begins)), ())
    said = [f"`cassbook {command.format(record=record)}`" for command in commands]
    return f"what reads it: {', '.join(said) or '`cassbook.records.experiment.Results`, in Python'}"
