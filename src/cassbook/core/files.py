"""Compare files with their pinned SHA-256; a mismatch stops with both sums."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from cassbook.core.errors import ChecksumError, InputError


def sha256(path: Path) -> str:
    """Hex digest of a file, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: Path, pinned: str) -> None:
    """Raise unless `path` has the pinned sum.

    Raises
    ------
    ChecksumError
        With the file, the pinned and the found sum.
    """
    found = sha256(path)
    if found != pinned:
        raise ChecksumError(
            f"{path}: SHA-256 mismatch\n  pinned {pinned}\n  found  {found}\n"
            "The file is damaged or not the release it claims to be; remove it and try again."
        )


def sums(files: Iterable[Path]) -> dict[str, str]:
    """Name and sum of each file of a record, for its manifest."""
    return {path.name: sha256(path) for path in files}


def check_recorded(folder: Path, listed: Mapping[str, str]) -> None:
    """Raise unless a record's folder holds what its manifest lists, unchanged.

    Raises
    ------
    InputError
        With the first file that is missing or differs.
    """
    for name, pinned in listed.items():
        path = folder / name
        if not path.is_file():
            raise InputError(f"{path}: is missing, though the manifest lists it")
        found = sha256(path)
        if found != pinned:
            raise InputError(f"{path}: is not what was recorded (SHA-256 {found}, manifest says {pinned})")
