"""Clocks that can be set and disks that can be filled, of a process that is no node but is started as one."""

import errno
import os
import shutil
import subprocess
import sys
import time

import psutil
import pytest

from cassbook.core.errors import InputError
from cassbook.lab.engine import breakage


def may_mount():
    """Whether this user may mount a disk in a namespace of its own."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]  # noqa: S108
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def started(node, script):
    """What a script prints that is started as a node's JVM is."""
    command = 'within=; . "$1/launch.sh"; $within "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["sh", "-c", command, "sh", str(node), sys.executable, script], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.skipif(breakage.faketime() is None, reason="libfaketime is not installed: pip install libfaketime")
@pytest.mark.parametrize("by_ms", [0.0, 2500.0, -1500.0])
def test_a_clock_is_set_and_the_one_that_only_goes_on_is_not(tmp_path, by_ms):
    breakage.give_clock(tmp_path)
    breakage.set_clock(tmp_path, by_ms)
    before = time.time(), time.monotonic()
    wall, monotonic = map(float, started(tmp_path, "import time; print(time.time(), time.monotonic())").split())
    after = time.time(), time.monotonic()
    assert before[0] - 1e-3 <= wall - by_ms / 1000 <= after[0] + 1e-3
    assert before[1] <= monotonic <= after[1]


def test_without_libfaketime_no_clock_is_set(tmp_path, monkeypatch):
    monkeypatch.setattr(breakage, "faketime", lambda: None)
    with pytest.raises(InputError, match="pip install libfaketime"):
        breakage.give_clock(tmp_path)
    assert not list(tmp_path.iterdir())


WRITE = "import sys, pathlib; pathlib.Path(sys.argv[1], 'commitlogs', 'log').write_bytes(b'x' * 4096)"


@pytest.mark.skipif(not may_mount(), reason="this user may not mount anything in a namespace of its own")
def test_a_small_disk_is_filled_to_the_last_byte_and_freed(tmp_path):
    breakage.give_small_disk(tmp_path, 4)
    holder = psutil.Process(int((tmp_path / "holder.pid").read_text()))
    try:
        started(tmp_path, WRITE)
        assert not list((tmp_path / "commitlogs").iterdir()), "it lies on the small disk alone"
        breakage.fill(tmp_path)
        with pytest.raises(subprocess.CalledProcessError) as caught:
            started(tmp_path, WRITE.replace("'log'", "'second'"))
        assert os.strerror(errno.ENOSPC) in caught.value.stderr
        breakage.free(tmp_path)
        breakage.free(tmp_path)
        size = "print(pathlib.Path(sys.argv[1], 'commitlogs', 'log').stat().st_size)"
        assert started(tmp_path, f"{WRITE}; {size}") == "4096"
    finally:
        holder.kill()
