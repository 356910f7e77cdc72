"""Nodes whose clock can be set and whose disk can be filled, without root: libfaketime, and a user namespace.

A node's launcher reads `launch.sh` in the node's folder, if there is one, before it starts the JVM.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.files import write_text

_LAUNCH, _CLOCK, _DISK, _FILLER = "launch.sh", "clock", "disk", "filler"
#: Room for the commit log and the rows of an experiment, little enough to be filled in a second.
DISK_MB = 256
_ON_DISK = ("data0", "commitlogs", "saved_caches", "hints")
_PIECE_BYTES = 1 << 20
#: Mounts a small disk in a mount namespace of its own, and holds it until it is killed.
_HOLD = """
disk=$1; node=$(dirname "$disk"); size=$2; shift 2
mount -t tmpfs -o "size=${size}m" tmpfs "$disk" || exit 1
for name in "$@"; do
    mkdir -p "$disk/$name" "$node/$name" && mount --bind "$disk/$name" "$node/$name" || exit 1
done
echo held
exec sleep infinity
"""


def faketime() -> Path | None:
    """Return the library that sets a process's clock, or None where it is not installed."""
    found = importlib.util.find_spec("libfaketime")
    if found is None or found.origin is None:
        return None
    library = Path(found.origin).parent / "vendor" / "libfaketime" / "src" / "libfaketime.so.1"
    return library if library.is_file() else None


def give_clock(node: Path) -> None:
    """Have a node, by its folder, started with a clock that `set_clock` can set; InputError without libfaketime."""
    library = faketime()
    if library is None:
        raise InputError(
            "clock: a node's clock is set by libfaketime, which is not here (its package has it for Linux on x86-64): "
            "pip install libfaketime"
        )
    set_clock(node, 0.0)
    _add(
        node,
        f"export LD_PRELOAD={library} FAKETIME_TIMESTAMP_FILE={node / _CLOCK} FAKETIME_CACHE_DURATION=1 "
        # The JVM waits by the monotonic clock: without the last, its waits are shifted too, and a minute passes
        # until a node has started.
        "FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_FORCE_MONOTONIC_FIX=0",
    )


def set_clock(node: Path, by_ms: float) -> None:
    """Set a node's clock ahead of the machine's; it looks once a second."""
    write_text(node / _CLOCK, f"{by_ms / 1000:+.3f}\n")


def give_small_disk(node: Path, size_mb: int = DISK_MB) -> None:
    """Have a node, by its folder, started with its data and commit log on a small disk.

    The disk lasts as long as the process that holds it, which ends with the cluster. A LaboratoryError gives the reason
    why it cannot be mounted.
    """
    disk = node / _DISK
    disk.mkdir()
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _HOLD, "hold", str(disk), str(size_mb)]
    holder = subprocess.Popen(
        [*command, *_ON_DISK], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert holder.stdout is not None  # noqa: S101 - a pipe was asked for
    assert holder.stderr is not None  # noqa: S101 - a pipe was asked for
    if holder.stdout.readline() != "held\n":
        raise LaboratoryError(f"fill: no small disk can be mounted without root here: {holder.stderr.read().strip()}")
    _add(node, f'within="nsenter --preserve-credentials --user --mount --target {holder.pid}"')
    write_text(node / "holder.pid", str(holder.pid))


def fill(node: Path) -> None:
    """Fill a node's small disk to the last byte."""
    with _filler(node).open("wb", buffering=0) as stream:
        piece = b"\0" * _PIECE_BYTES
        while piece:
            try:
                stream.write(piece)
            except OSError:  # full: the rest in smaller pieces
                piece = piece[: len(piece) // 2]


def free(node: Path) -> None:
    """Remove what fills a node's disk; harmless to repeat."""
    _filler(node).unlink(missing_ok=True)


def _filler(node: Path) -> Path:
    """The file that fills a disk, by the way through the process that holds it."""
    holder = (node / "holder.pid").read_text()
    return Path(f"/proc/{holder}/root") / os.path.relpath(node / _DISK / _FILLER, "/")


def _add(node: Path, line: str) -> None:
    path = node / _LAUNCH
    write_text(path, f"{path.read_text() if path.exists() else ''}{line}\n")
