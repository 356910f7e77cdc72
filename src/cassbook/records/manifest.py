"""What a record says of itself: its kind, how it was made, and the sum of each file it left; and the way to open any.

Everything recorded lies in a folder of `data/records`, or one of its user's, with one `manifest.json`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from cassbook.core.errors import InputError
from cassbook.core.files import write_text
from cassbook.core.paths import project_root, records_dir
from cassbook.core.schema import READ_VERSIONS
from cassbook.records.kinds import KINDS, RUN, read_by

NAME = "manifest.json"
#: What manifests had before they named their kind.
_OLDER = frozenset({"schema_version", "trial", "artefacts", "schedule"})
_CONVERT = "python -m cassbook.records.convert"


class Manifest(BaseModel):
    """A record's `manifest.json`.

    All else is kept as it is: machine, versions, cluster starts, and what an experiment notes.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    kind: str  # which reader opens it (`kinds.KINDS`)
    #: `schema` in the file: of a run's samples and cells (`core.schema`); 1 of an experiment.
    schema_version: int = Field(alias="schema")
    engine: str  # version of Cassandra
    complete: bool  # false until the last file is in place
    profile: dict[str, Any] | None = None  # of a run: what was measured
    experiment: str | None = None  # of any other record: its name in the catalogue
    sums: dict[str, str] = {}  # SHA-256 of each file, by its path in the folder

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind not in KINDS:
            raise ValueError(f"kind: {self.kind!r} is none of {', '.join(KINDS)}")
        needed = {"profile", "begun_unix_s", "cluster_starts"} if self.kind == RUN else {"experiment"}
        if missing := needed - self.model_fields_set - set(self.model_extra or ()):
            raise ValueError(f"{', '.join(sorted(missing))} missing")
        if self.complete and not self.sums:
            raise ValueError("it lists no files")
        return self


def processors(machine: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the processors of a machine as manifests have it: times and rates compare on the same ones alone."""
    return machine.get("cpu"), machine.get("cores")


def find(name_or_path: str | Path) -> Path | None:
    """Return the folder of a record, by its path or its name in `data/records`; None where there is none."""
    places = (Path(name_or_path), project_root() / name_or_path, records_dir() / name_or_path)
    return next((place for place in places if (place / NAME).is_file()), None)


def located(name_or_path: str | Path, *kinds: str) -> Path:
    """Return the folder of a record, as `find` does.

    Raises InputError if there is none; it names the records of these kinds, by default of all.
    """
    if folder := find(name_or_path):
        return folder
    known = [name for name, notes in recorded() if not kinds or notes["kind"] in kinds]
    raise InputError(
        f"{name_or_path}: there is no record (no {NAME}) of that name or path; recorded here: "
        f"{', '.join(known) or 'none'}"
    )


def recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record of `data/records`, by name, with its manifest; a damaged one is left to whoever opens it."""
    for path in sorted(records_dir().glob(f"*/{NAME}")):
        try:
            yield path.parent.name, read(path.parent)
        except InputError:
            continue


def kind_of(name_or_path: str | Path) -> str | None:
    """Return the kind of a record; None where there is none, as in a folder of logs.

    Raises InputError if its manifest is damaged or an older one.
    """
    folder = find(name_or_path)
    return None if folder is None else str(read(folder)["kind"])


def read(folder: Path, *kinds: str) -> dict[str, Any]:
    """Read a record's manifest.

    `kinds`: which ones the caller reads, by default all.

    Returns its content, valid as `Manifest`.

    Raises InputError if it is missing, damaged, an older one, of another schema version, or of none of these kinds.
    """
    path = folder / NAME
    try:
        notes = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder}: there is no record (no {NAME})") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is damaged ({error}); restore it or measure again") from None
    if isinstance(notes, dict) and "kind" not in notes and _OLDER & set(notes):
        raise InputError(f"{path}: was written by an older cassbook; `{_CONVERT} {folder}` rewrites it")
    try:
        Manifest.model_validate(notes)
    except ValidationError as error:
        raise InputError(f"{path}: is damaged ({_said(error)}); restore it or measure again") from None
    if kinds and notes["kind"] not in kinds:
        raise InputError(unread(folder, notes, KINDS[kinds[0]].noun))
    if notes["kind"] == RUN and notes["schema"] not in READ_VERSIONS:
        known = " and ".join(map(str, READ_VERSIONS))
        raise InputError(f"{path}: has schema version {notes['schema']}, this cassbook reads {known}")
    return dict(notes)


def write(folder: Path, notes: dict[str, Any]) -> None:
    """Write a record's manifest, which must be valid as `Manifest`; it appears whole or not at all."""
    Manifest.model_validate(notes)
    write_text(folder / NAME, json.dumps(notes, indent=1) + "\n")


def unread(folder: Path, notes: dict[str, Any], wanted: str) -> str:
    """Say that a record is not what is `wanted`, and which commands read it."""
    record = folder.name if folder.resolve().parent == records_dir().resolve() else str(folder)
    what = "a run of a profile" if notes["kind"] == RUN else f"the record of an experiment, {notes['experiment']},"
    return f"{folder}: is {what} and no {wanted}; {read_by(notes.get('experiment'), record)}"


def _said(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, each['loc']))}: {each['msg']}".removeprefix(": Value error, ") for each in error.errors()
    )


def open_record(name_or_path: str | Path) -> Any:
    """Open a record with the reader of its kind.

    Parameters
    ----------
    name_or_path : str or Path
        Its name in `data/records`, or its folder.

    Returns
    -------
    RecordedRun, Results, StalenessRun, OracleRun, CalibrationRun, FaultRun, AdvisedRun, ScheduleRuns or DataFrame
        Recorded switches of setting are a table (`schedule_runs.recorded_switches`).

    Raises
    ------
    InputError
        If there is none, or it is damaged, not complete, or differs from its manifest's sums.
    """
    folder = located(name_or_path)
    kind = KINDS[read(folder)["kind"]]
    return getattr(importlib.import_module(kind.module), kind.reader)(folder)
