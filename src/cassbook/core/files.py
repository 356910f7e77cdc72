"""Write files that appear whole or not at all; compare files with their pinned SHA-256."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from cassbook.core.errors import ChecksumError, InputError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield where to write a file or a folder that takes its place at `path` by rename, once the block has succeeded.

    Whatever was written is removed if the block fails. Each writer has a draft of its own, so that of two processes
    which write the same file the later one wins, and neither sees half of it.

    >>> import tempfile
    >>> note = Path(tempfile.mkdtemp(), "note.txt")
    >>> with whole(note) as draft:
    ...     _ = draft.write_text("done")
    ...     print(note.exists())
    False
    >>> note.read_text()
    'done'
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.draft")
    try:
        yield draft
        draft.replace(path)
    finally:
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            with suppress(OSError):  # never written, or its folder could not be
                draft.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file (UTF-8) that appears whole or not at all."""
    with whole(path) as draft:
        draft.write_text(text, encoding="utf-8")


def sha256(path: Path) -> str:
    """Hex digest of a file, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: Path, pinned: str) -> None:
    """Raise unless `path` has the pinned sum.

    Raises ChecksumError with the file, the pinned and the found sum.
    """
    actual = sha256(path)
    if actual != pinned:
        raise ChecksumError(
            f"{path}: SHA-256 mismatch\n  pinned {pinned}\n  found  {actual}\n"
            "The file is damaged or not the release it claims to be; remove it and try again."
        )


def sums(files: Iterable[Path]) -> dict[str, str]:
    """Name and sum of each file of a record, for its manifest."""
    return {path.name: sha256(path) for path in files}


def hash_of(listed: Mapping[str, str]) -> str:
    """Return one hash over the sums of a record's files; a page shows it, so that no old output can pass for new."""
    return hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()


def check_recorded(folder: Path, listed: Mapping[str, str]) -> None:
    """Raise unless a record's folder holds what its manifest lists, unchanged.

    Raises InputError with the first file that is missing or differs.
    """
    for name, pinned in listed.items():
        path = folder / name
        if not path.is_file():
            raise InputError(f"{path}: is missing, though the manifest lists it")
        actual = sha256(path)
        if actual != pinned:
            raise InputError(f"{path}: is not what was recorded (SHA-256 {actual}, manifest says {pinned})")
