"""Pages of a table's files in the kernel's cache: how many there are, and dropping them, which needs no root.

`posix_fadvise(DONTNEED)` lets go of clean pages that no process has mapped. A node that reads its data files through
`mmap` keeps what it touched, so what really went is counted afterwards with `mincore`, not assumed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cassbook.core.errors import LaboratoryError

#: More than this left in memory, and the pages were not cold.
LEFT_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Residency:
    """Pages of a set of files, in bytes."""

    files: int
    size: int  # all pages of these files
    resident: int  # those in memory

    @property
    def share(self) -> float:
        """Share of the pages that lie in memory, 0 where there is none."""
        return self.resident / self.size if self.size else 0.0


def table_files(node_folders: Sequence[Path], table: str) -> list[Path]:
    """Every file of the SSTables of `table` ("keyspace.name") in local nodes' folders: data, indexes, filters."""
    keyspace, name = table.split(".")
    return sorted(
        path for folder in node_folders for path in folder.glob(f"data*/{keyspace}/{name}-*/*-*.*") if path.is_file()
    )


def residency(files: Sequence[Path]) -> Residency:
    """Count the pages of `files` in memory, by `mincore`, which touches none; LaboratoryError if that fails."""
    counts = [_pages(path) for path in _existing(files)]
    return Residency(len(counts), sum(n for n, _ in counts) * mmap.PAGESIZE, sum(n for _, n in counts) * mmap.PAGESIZE)


def drop_pages(node_folders: Sequence[Path], table: str) -> tuple[Residency, Residency]:
    """Ask the kernel to drop what it caches of the SSTables of `table` ("keyspace.name"), and count what went.

    Each file is synchronised first, for a page that is not on the disk yet cannot be dropped. Returned are the data
    files (`-Data.db`) before and after: what a read without its row in memory has to fetch. Indexes, which nodes map in
    any release, are to go as well; the mapped part of them stays. LaboratoryError where the system has no
    `posix_fadvise` (macOS), or there is no SSTable.
    """
    if not hasattr(os, "posix_fadvise"):
        raise LaboratoryError("this system has no posix_fadvise, so its pages cannot be made cold")
    files = table_files(node_folders, table)
    data = [path for path in files if path.name.endswith("-Data.db")]
    if not data:
        raise LaboratoryError(f"{table} has no SSTable whose pages could be dropped")
    before = residency(data)
    for path in _existing(files):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
    return before, residency(data)


def _existing(files: Sequence[Path]) -> Iterator[Path]:
    """Files that are still there: a compaction may have replaced some since they were listed."""
    return (path for path in files if path.exists())


def _pages(path: Path) -> tuple[int, int]:
    """How many pages a file has, and how many of them lie in memory."""
    size = path.stat().st_size
    if size == 0:
        return 0, 0
    pages = -(-size // mmap.PAGESIZE)
    present = np.empty(pages, dtype=np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as mapped:
        view = np.frombuffer(mapped, dtype=np.uint8)
        address, length = ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(size)
        failed = libc.mincore(address, length, ctypes.c_void_p(present.ctypes.data))
        del view, address  # a mapping that is looked at cannot be closed
    if failed:
        raise LaboratoryError(f"{path.name}: mincore failed ({os.strerror(ctypes.get_errno())})")
    return pages, int((present & 1).sum())
