"""What a run was made with: machine, versions, profile, and the sum of each file it left."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from cassbook import __version__
from cassbook.core.errors import InputError
from cassbook.core.files import sha256
from cassbook.core.schema import SCHEMA_VERSION
from cassbook.profile.profile import Profile

#: How long it is looked how busy the machine is before something is measured.
LOOK_S = 1.0


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    """Return what this machine is, without its name."""
    return {
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(),
        "memory_mb": psutil.virtual_memory().total // 2**20,
        "system": f"{platform.system()} {platform.release()}",
        "python_build": sys.version.split("[")[-1].rstrip("]"),
    }


def circumstances() -> dict[str, Any]:
    """Return when, where and with what something that begins now is measured; no path and no host name goes in."""
    return {
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "cassbook": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("cassandra-driver", "ccm", "numpy", "pyarrow")},
        },
        "machine": machine(),
        "load_before": os.getloadavg()[0],
        "busy_before_percent": psutil.cpu_percent(interval=LOOK_S),
    }


def begin(profile: Profile) -> dict[str, Any]:
    """Return the manifest of a run that begins now; no path, no host name, no password goes in."""
    own = {"engine": profile.engine, "seed": profile.seed, "profile": profile.model_dump(mode="json")}
    return {
        "schema_version": SCHEMA_VERSION, "complete": False, **own, **circumstances(), "cluster_starts": [],
    }  # fmt: skip


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
        experiment = notes.get("trial")
        schema_version = notes["schema_version"] if experiment is None else None
        missing = {"complete", "profile", "begun_unix_s", "cluster_starts"} - set(notes)
    except FileNotFoundError:
        raise InputError(f"{folder}: there is no run (no manifest.json)") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: is damaged ({error!r}); restore it or measure again") from None
    if experiment is not None:
        raise InputError(f"{folder}: is the record of an experiment, {experiment}, and no run of a profile")
    if schema_version != SCHEMA_VERSION:
        raise InputError(f"{path}: has schema version {schema_version}, this cassbook reads {SCHEMA_VERSION}")
    if missing:
        raise InputError(f"{path}: is damaged ({', '.join(sorted(missing))} missing); restore it or measure again")
    return dict(notes)


def sums(folder: Path) -> dict[str, str]:
    """SHA-256 of each artefact of a run folder, by relative path: tables, histograms, and each block's samples."""
    tables = [folder / name for name in ("cells.csv", "statistics.csv", "histograms.hlog")]
    files = [*(p for p in tables if p.exists()), *sorted((folder / "samples").glob("block-*.parquet"))]
    return {p.relative_to(folder).as_posix(): sha256(p) for p in files}
