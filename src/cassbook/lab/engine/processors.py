"""Which processors nodes may use: all, one of their own each, or a share of all that is enforced by the kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from cassbook.core.errors import InputError

#: Where the kernel's controller of processor time is mounted: of version 1, and of version 2.
_GROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
_PERIOD_US = 20_000
#: Threads that start while affinities are set have those of the thread that starts them; so all are set twice.
_PASSES = 2


def check_own(nodes: int) -> None:
    """Refuse (InputError) a processor of their own for more nodes than there are processors."""
    cores = os.cpu_count() or 1
    if nodes > cores:
        raise InputError(f"processors: own: {nodes} nodes need as many processors, and here are {cores}; take fewer")


def check_quota() -> None:
    """Refuse (InputError) quotas where the kernel lets this user set none."""
    try:
        _made("cassbook-check").rmdir()
    except OSError as error:
        raise InputError(
            f"processors: quota: this user may not limit processor time here ({error.strerror}); it takes a writable "
            "control group, as root has in a container of its own; leave these sections out"
        ) from None


@contextmanager
def own(nodes: Sequence[psutil.Process]) -> Iterator[None]:
    """Within the block each node runs on a processor of its own, whatever else runs there."""
    every = sorted(os.sched_getaffinity(0))
    try:
        for place, node in enumerate(nodes):
            _pin(node, {every[place % len(every)]})
        yield
    finally:
        for node in nodes:
            with suppress(psutil.NoSuchProcess):
                _pin(node, set(every))


def _pin(node: psutil.Process, cores: set[int]) -> None:
    for _ in range(_PASSES):
        for thread in node.threads():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread.id, cores)


@dataclass(slots=True)
class Throttled:
    """For how long the nodes were kept from a processor by their quotas, in seconds, together."""

    seconds: float = 0.0


@contextmanager
def quota(nodes: Sequence[psutil.Process], cores: float) -> Iterator[Throttled]:
    """Within the block each node gets at most so many processors' time; yields what says for how long that held it."""
    throttled, groups = Throttled(), list[Path]()
    try:
        for node in nodes:
            group = _made(f"cassbook-{node.pid}")
            groups.append(group)
            _limit(group, cores)
            (group / "cgroup.procs").write_text(str(node.pid))
        yield throttled
    finally:
        for node, group in zip(nodes, groups, strict=False):
            throttled.seconds += _throttled_s(group)
            with suppress(OSError):
                (group.parent / "cgroup.procs").write_text(str(node.pid))
            with suppress(OSError):
                group.rmdir()


def _made(name: str) -> Path:
    """Make a control group; OSError where that is not allowed."""
    parent = next((path for path in _GROUPS if path.is_dir()), _GROUPS[-1])
    group = parent / name
    group.mkdir(exist_ok=True)  # of a run that was killed
    if not any((group / limit).exists() for limit in ("cpu.cfs_quota_us", "cpu.max")):
        group.rmdir()
        raise OSError(0, "no controller of processor time")
    return group


def _limit(group: Path, cores: float) -> None:
    quota_us = round(cores * _PERIOD_US)
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota_us} {_PERIOD_US}")
        return
    (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(quota_us))


def _throttled_s(group: Path) -> float:
    """Read it from the kernel's counters: nanoseconds in version 1, microseconds in version 2."""
    counts = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(counts.get("throttled_time", 0)) / 1e9 + int(counts.get("throttled_usec", 0)) / 1e6
