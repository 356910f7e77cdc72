"""Pythons of the versions that the packages claim."""

import os
import shutil
import subprocess
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13")


def interpreter(version):
    """A Python of that version, of pyenv or on the path."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    places = [*map(str, pyenv.glob(f"versions/{version}.*/bin/python{version}")), shutil.which(f"python{version}")]
    for path in filter(None, places):  # on the path may be a shim of pyenv, which runs no version that is switched off
        if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    return None
