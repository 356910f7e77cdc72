"""Where things lie: the project's own files, the cache, the records, an installed browser."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cassbook.core.errors import InputError

#: The file that makes a folder of logs one (`ingest.log_folder`).
LOGS_INDEX = "logs.csv"
_PACKAGE = Path(__file__).resolve().parents[1]
_CHECKOUT = _PACKAGE.parents[1]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def resource(name: str) -> Path:
    """Folder `name` ('data/published', 'profiles'): inside an installed wheel, else in the checkout."""
    packaged = _PACKAGE / name
    return packaged if packaged.is_dir() else _CHECKOUT / name


def cache_dir() -> Path:
    """Engines, Java runtimes and running clusters; CASSBOOK_CACHE or XDG_CACHE_HOME move it."""
    named = os.environ.get("CASSBOOK_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cassbook"


def project_root() -> Path:
    """Return the checkout that holds the notebooks: the nearest folder above the working directory with `_toc.yml`.

    Falls back to the checkout this package was installed from, so notebooks may be opened from anywhere, and for an
    installed wheel to the working directory itself.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "_toc.yml").is_file() and (folder / "notebooks").is_dir():
            return folder
    return _CHECKOUT if (_CHECKOUT / "_toc.yml").is_file() else here


def checkout() -> Path:
    """Return the checkout, for what an installed package has not: the notebooks and the pages of the book.

    Raises InputError if there is none.
    """
    root = project_root()
    if not (root / "_toc.yml").is_file():
        raise InputError(
            "no checkout of cassbook above this folder: clone its repository and run the command there, for the "
            "notebooks and pages are not part of the installed package"
        )
    return root


def records_dir() -> Path:
    """Return the folder of the records: the checkout's, else what an installed wheel has of them."""
    root = project_root()
    return root / "data" / "records" if (root / "_toc.yml").is_file() else resource("data/records")


def is_packaged(folder: Path) -> bool:
    """Whether a folder is part of an installed wheel, which has the tables of records and no samples."""
    return folder.resolve().is_relative_to(_PACKAGE)


def browser() -> str | None:
    """Return the path of an installed Chromium, None where there is none."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)
