"""Compare files with their pinned SHA-256; a mismatch stops with both sums."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cassbook.errors import ChecksumError


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
