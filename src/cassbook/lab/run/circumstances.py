"""When, where and with what a measurement is made: the first lines of every manifest."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from cassbook import __version__
from cassbook.core.schema import SCHEMA_VERSION
from cassbook.profile.profile import Profile
from cassbook.records.kinds import RUN

#: For how long the machine's load is sampled before something is measured.
LOOK_S = 1.0
_LSCPU_S = 10


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _hypervisor() -> str:
    """Return under which hypervisor this machine runs; empty where `lscpu` knows of none, or is missing."""
    try:
        listed = subprocess.run(
            ["lscpu"], capture_output=True, text=True, check=True, timeout=_LSCPU_S, env=os.environ | {"LC_ALL": "C"}
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    named = [
        line.split(":", 1)[1].strip() for line in listed.stdout.splitlines() if line.startswith("Hypervisor vendor")
    ]
    return named[0] if named else ""


def now() -> str:
    """Return the moment as manifests give it: UTC, in whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def machine() -> dict[str, Any]:
    """Return what this machine is, without its name."""
    return {
        "cpu": _cpu_model(),
        "hypervisor": _hypervisor(),
        "cores": psutil.cpu_count(),
        "memory_mb": psutil.virtual_memory().total // 2**20,
        "system": f"{platform.system()} {platform.release()}",
        "python_build": sys.version.split("[")[-1].rstrip("]"),
    }


def circumstances() -> dict[str, Any]:
    """Return when, where and with what something that begins now is measured; no path and no host name goes in."""
    return {
        "begun": now(),
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
    of_profile = {"engine": profile.engine, "seed": profile.seed, "profile": profile.model_dump(mode="json")}
    if profile.fixed_rates:
        of_profile["fixed_rates"] = profile.fixed_rates
    return {
        "kind": RUN, "schema": SCHEMA_VERSION, "complete": False, **of_profile, **circumstances(), "cluster_starts": [],
    }  # fmt: skip
