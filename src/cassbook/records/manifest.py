"""What a run was made with: machine, versions, profile, and the sum of each file it left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cassbook.core.errors import InputError
from cassbook.core.files import sha256
from cassbook.core.schema import READ_VERSIONS
from cassbook.records.readers import experiment_of, unread


def read(folder: Path) -> dict[str, Any]:
    """Read a run folder's manifest.

    Raises
    ------
    InputError
        If it is missing or damaged, or of another schema version.
    """
    path = folder / "manifest.json"
    try:
        notes = json.loads(path.read_text())
        experiment = experiment_of(notes)
        schema_version = notes["schema_version"] if experiment is None else None
        missing = {"complete", "profile", "begun_unix_s", "cluster_starts"} - set(notes)
    except FileNotFoundError:
        raise InputError(f"{folder}: there is no run (no manifest.json)") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: is damaged ({error!r}); restore it or measure again") from None
    if experiment is not None:
        raise InputError(unread(folder, experiment, "run of a profile"))
    if schema_version not in READ_VERSIONS:
        known = " and ".join(map(str, READ_VERSIONS))
        raise InputError(f"{path}: has schema version {schema_version}, this cassbook reads {known}")
    if missing:
        raise InputError(f"{path}: is damaged ({', '.join(sorted(missing))} missing); restore it or measure again")
    return dict(notes)


def sums(folder: Path) -> dict[str, str]:
    """SHA-256 of each artefact of a run folder, by relative path: tables, histograms, and each block's samples."""
    tables = [folder / name for name in ("cells.csv", "slices.csv", "statistics.csv", "histograms.hlog")]
    files = [*(p for p in tables if p.exists()), *sorted((folder / "samples").glob("block-*.parquet"))]
    return {p.relative_to(folder).as_posix(): sha256(p) for p in files}
