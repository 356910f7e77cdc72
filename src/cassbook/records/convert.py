"""Rewrite the manifest of a record of before into today's: `python -m cassbook.records.convert FOLDER ...`.

A manifest of today is left as it is, and so is every other file of a record; switches of setting that were recorded as
one file (`NAME.json`) become a folder that holds it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cassbook.core.errors import InputError
from cassbook.core.files import sums
from cassbook.records import manifest
from cassbook.records.kinds import RUN, recorded_of

_SWITCHES, _SHIFT = "adviser-switches", "adviser-shift"
#: What manifests called experiments before there was one catalogue.
_RENAMED = {name: f"staleness-{name}" for name in ("three", "five", "scenes", "study", "oracle")} | {
    name: f"distance-{name}"
    for name in ("coordinators", "uplinks", "asynchronous", "proxy", "two-centres", "speculation", "timeouts")
}


def convert(path: Path) -> Path:
    """Convert a record in place: its folder, or the file of recorded switches; return its folder.

    Raises InputError if it is no record.
    """
    if path.suffix == ".json" and path.is_file():
        return _foldered(path)
    try:
        notes = dict(json.loads((path / manifest.NAME).read_text(encoding="utf-8")))
        if "kind" not in notes:
            manifest.write(path, _converted(path, notes))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: holds no manifest to convert ({error})") from None
    return path


def _foldered(path: Path) -> Path:
    try:
        engine = str(json.loads(path.read_text(encoding="utf-8"))[0]["engine"])
        folder = path.with_suffix("")
        folder.mkdir()
    except FileExistsError:
        raise InputError(f"{path}: becomes the folder {folder}, which is there already; move one of them") from None
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise InputError(f"{path}: is no list of recorded switches ({error!r})") from None
    file = path.rename(folder / path.name)
    head = {"kind": recorded_of(_SWITCHES).kind, "schema": 1, "engine": engine, "complete": True}
    manifest.write(folder, head | {"experiment": _SWITCHES, "sums": sums([file])})
    return folder


def _converted(folder: Path, notes: dict[str, Any]) -> dict[str, Any]:
    """Rename what has another name today, and add the kind."""
    listed = notes.pop("artefacts", {})
    if "trial" not in notes and "schema_version" in notes:
        head: dict[str, Any] = {"kind": RUN, "schema": notes.pop("schema_version")}
    else:
        experiment = notes.pop("trial", _SHIFT)
        experiment = _RENAMED.get(experiment, experiment)
        head = {"kind": recorded_of(experiment).kind, "schema": 1, "experiment": experiment}
        if not listed and "schedule" in notes:  # the first runs of a schedule had no sums
            listed = sums(sorted(folder.glob("b*-*.json")))
    return head | notes | ({"sums": listed} if listed else {})


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("cassbook: name the folders of the records to convert")
    try:
        for name in sys.argv[1:]:
            sys.stdout.write(f"{convert(Path(name))}\n")
    except InputError as error:
        sys.exit(f"cassbook: {error}")
