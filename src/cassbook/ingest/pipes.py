"""Logs that come through a pipe: standard input, or a named one.

A log is read twice, so they are put down on the disk first. The file has no name and is removed with the process. While
it is there, the pipe's path stands for it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from cassbook.core.errors import InputError, LaboratoryError

STANDARD_INPUT = Path("-")
_SAME = Path("/dev/stdin")
_SPOOLED: dict[Path, BinaryIO] = {}


def is_pipe(path: Path) -> bool:
    """Whether a path is one that can be read only once."""
    return path == STANDARD_INPUT or (path.exists() and not path.is_file() and not path.is_dir())


@contextmanager
def spooled(paths: Sequence[Path], folder: Path) -> Iterator[None]:
    """Put what comes through the pipes among some paths into files in a folder, until the block ends.

    Raise InputError if standard input is a terminal, or cannot be read, LaboratoryError if the folder cannot be written
    to.
    """
    with ExitStack() as stack:
        for path in filter(is_pipe, paths):
            _SPOOLED[path] = stack.enter_context(_copied(path, folder))
            stack.callback(_SPOOLED.pop, path)
        yield


@contextmanager
def _copied(path: Path, folder: Path) -> Iterator[BinaryIO]:
    from_standard_input = path in (STANDARD_INPUT, _SAME)
    if from_standard_input and sys.stdin.isatty():
        raise InputError(
            f"{path}: standard input is a terminal; pipe a log into it, as in `zcat LOG.gz | cassbook read -`"
        )
    try:
        source = sys.stdin.buffer if from_standard_input else path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    with ExitStack() as stack:
        if not from_standard_input:
            stack.enter_context(source)
        try:
            copy = stack.enter_context(tempfile.TemporaryFile(dir=folder))
            shutil.copyfileobj(source, copy, 1 << 20)
            copy.flush()
        except OSError as error:
            raise LaboratoryError(f"{folder}: {path} cannot be kept there ({error.strerror or error})") from error
        yield copy


def open_raw(path: Path) -> BinaryIO:
    """Open a file for its bytes, or what came through a pipe."""
    if path not in _SPOOLED:
        return path.open("rb")
    again = os.fdopen(os.dup(_SPOOLED[path].fileno()), "rb")
    again.seek(0)
    return again


def size_of(path: Path) -> int:
    """Bytes of a file, or of what came through a pipe."""
    return os.fstat(_SPOOLED[path].fileno()).st_size if path in _SPOOLED else path.stat().st_size
