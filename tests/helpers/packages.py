"""Build the package from a copy of its sources, and run what was installed."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.helpers.data import ROOT

PIP = ("-m", "pip", "--disable-pip-version-check")
#: All that a build reads; copied, so that it leaves nothing behind in the checkout.
FILES = ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT-AND-DATA")
FOLDERS = ("src", "profiles", "data/published", "data/records")


def run_command(*command: str | Path, **options) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copy_sources(to: Path) -> Path:
    """Copy what a build reads."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "samples")
    for name in (*FILES, *FOLDERS):
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=ignored)
        else:
            shutil.copy(ROOT / name, target)
    return to


def copy_adviser(to: Path) -> Path:
    """Copy what a build of the small adviser reads."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "dist")
    return Path(shutil.copytree(ROOT / "advisor", to / "advisor", ignore=ignored))


def build_wheel(source: Path, to: Path) -> Path:
    """Build a wheel with the build tools of this environment."""
    run_command(
        sys.executable, *PIP, "wheel", ".", "--no-index", "--no-deps", "--no-build-isolation", "-w", to, cwd=source
    )
    (wheel,) = to.glob("*.whl")
    return wheel


def build_sdist(source: Path, to: Path) -> Path:
    """Build a source distribution with the build tools of this environment."""
    code = f"from hatchling.build import build_sdist; build_sdist({str(to)!r})"
    run_command(sys.executable, "-c", code, cwd=source)
    (archive,) = to.glob("*.tar.gz")
    return archive
