"""What a run was made with: machine, versions, profile, and the sum of each file it left."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from cassbook import __version__
from cassbook.engine.checksums import sha256
from cassbook.profile import Profile
from cassbook.schema import SCHEMA_VERSION


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def begin(profile: Profile) -> dict[str, Any]:
    """Return the manifest of a run that begins now; no path, no host name, no password goes in."""
    return {
        "schema_version": SCHEMA_VERSION,
        "complete": False,
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "engine": profile.engine,
        "seed": profile.seed,
        "profile": profile.model_dump(mode="json"),
        "versions": {
            "cassbook": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("cassandra-driver", "ccm", "numpy", "pyarrow")},
        },
        "machine": {
            "cpu": _cpu_model(),
            "cores": psutil.cpu_count(),
            "memory_mb": psutil.virtual_memory().total // 2**20,
            "system": f"{platform.system()} {platform.release()}",
            "python_build": sys.version.split("[")[-1].rstrip("]"),
        },
        "load_before": os.getloadavg()[0],
        "cluster_starts": [],
    }


def sums(folder: Path) -> dict[str, str]:
    """SHA-256 of each artefact of a run folder, by relative path; the manifest itself is not among them."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "manifest.json")
    return {p.relative_to(folder).as_posix(): sha256(p) for p in files}
