"""Find an unpacked Cassandra, or fetch one.

Sources, in order: a folder the user names (CASSBOOK_CASSANDRA_HOME), ccm's own repository, Maven Central
(kept in the cache, so that it is asked once), ccm's download of the Apache tarball.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cassbook.core.children import described
from cassbook.core.errors import ChecksumError, InputError, LaboratoryError
from cassbook.core.files import check
from cassbook.core.paths import cache_dir
from cassbook.core.releases import Release

HOME_VARIABLE = "CASSBOOK_CASSANDRA_HOME"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"


@dataclass(frozen=True, slots=True)
class Installation:
    """An unpacked server whose own jar has the pinned sum, and where it came from."""

    release: Release
    home: Path
    source: str


def server_jar(release: Release, home: Path) -> Path | None:
    """Path of the server's own jar in an unpacked home, or None."""
    for name in (f"apache-cassandra-{release.version}.jar", f"cassandra-all-{release.version}.jar"):
        if (home / "lib" / name).is_file():
            return home / "lib" / name
    return None


def _verified(release: Release, home: Path, source: str) -> Installation:
    jar = server_jar(release, home)
    if jar is None:
        raise InputError(
            f"{source}: {home} holds no Cassandra {release.version} (lib/apache-cassandra-{release.version}.jar)"
        )
    check(jar, release.server_jar_sha256)
    return Installation(release, home, source)


def _ccm_home(release: Release) -> Path:
    base = Path(os.environ.get("CCM_CONFIG_DIR") or Path.home() / ".ccm")
    return base / "repository" / release.version


def _cached_home(release: Release) -> Path:
    return cache_dir() / "cassandra" / release.version


def locate(release: Release) -> Installation | None:
    """Find the server without fetching anything.

    InputError if CASSBOOK_CASSANDRA_HOME names a folder without this release; LaboratoryError if a jar's sum is not the
    pinned one.
    """
    named = os.environ.get(HOME_VARIABLE)
    if named:
        return _verified(release, Path(named).expanduser(), HOME_VARIABLE)
    for home, source in (
        (_ccm_home(release), "ccm repository"),
        (_cached_home(release), "Maven Central (cached)"),
    ):
        if server_jar(release, home):
            return _verified(release, home, source)
    return None


def obtain(release: Release, log: Callable[[str], None] = print) -> Installation:
    """Find the server, else fetch it: Maven Central first, then ccm's download.

    LaboratoryError on a checksum mismatch (at once), or when no source has it, with what each answered.
    """
    present = locate(release)
    if present:
        return present
    refusals = []
    if shutil.which("mvn"):
        log(f"fetching Cassandra {release.version} from Maven Central")
        try:
            _from_maven(release, _cached_home(release))
            return _verified(release, _cached_home(release), "Maven Central")
        except subprocess.CalledProcessError as error:
            refusals.append(f"Maven Central: {described(error.stdout or '', 'maven')}")
    else:
        refusals.append("Maven Central: there is no `mvn` on the PATH (Debian and conda-forge: package maven)")
    log(f"asking ccm to download Cassandra {release.version}")
    try:
        return _verified(release, _from_ccm(release), "ccm download")
    except ChecksumError:
        raise
    except Exception as error:
        refusals.append(f"ccm's download: {error}")
    raise LaboratoryError(
        f"Cassandra {release.version} could not be obtained:\n  "
        + "\n  ".join(refusals)
        + f"\nUnpack it yourself and let {HOME_VARIABLE} name the folder."
    )


def _from_maven(release: Release, target: Path) -> None:
    """Fetch, check, unpack; the target appears whole, by rename."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch_name:
        scratch = Path(scratch_name)
        if release.tarball_sha256:
            artefact = f"org.apache.cassandra:apache-cassandra:{release.version}:tar.gz:bin"
            _maven(scratch, f"{_PLUGIN}:copy", f"-Dartifact={artefact}", f"-DoutputDirectory={scratch}")
            tarball = scratch / f"apache-cassandra-{release.version}-bin.tar.gz"
            check(tarball, release.tarball_sha256)
            with tarfile.open(tarball) as packed:
                # Python 3.11.0 to 3.11.3 know no filter; the tarball's sum has just been checked.
                packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
                packed.extractall(scratch)  # noqa: S202 - filtered by the line above
            unpacked = scratch / f"apache-cassandra-{release.version}"
            shutil.rmtree(unpacked / "javadoc", ignore_errors=True)
        else:
            unpacked = scratch / "server"
            _assemble(release, scratch, unpacked / "lib")
        shutil.rmtree(target, ignore_errors=True)
        unpacked.rename(target)


def _assemble(release: Release, scratch: Path, lib: Path) -> None:
    """Collect `cassandra-all`, its runtime dependencies and what else the release needs, each jar checked."""
    wanted = (f"org.apache.cassandra:cassandra-all:{release.version}", *release.extra)
    (scratch / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion>"
        "<groupId>cassbook</groupId><artifactId>server</artifactId><version>1</version>"
        f"<dependencies>{''.join(map(_dependency, wanted))}</dependencies></project>"
    )
    _maven(scratch, f"{_PLUGIN}:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={lib}")
    pinned = release.jar_sums()
    jars = {jar.name for jar in lib.glob("*.jar")}
    if jars != set(pinned):
        raise LaboratoryError(
            f"Maven resolved other jars for cassandra-all {release.version} than pinned: "
            f"missing {sorted(set(pinned) - jars)}, unknown {sorted(jars - set(pinned))}"
        )
    for name, digest in pinned.items():
        check(lib / name, digest)


def _dependency(coordinates: str) -> str:
    parts = zip(("groupId", "artifactId", "version"), coordinates.split(":"), strict=True)
    return f"<dependency>{''.join(f'<{tag}>{text}</{tag}>' for tag, text in parts)}</dependency>"


def _maven(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["mvn", "--batch-mode", "--no-transfer-progress", *arguments],
        cwd=folder,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _from_ccm(release: Release) -> Path:
    from ccmlib import repository  # noqa: PLC0415 - imports distutils and writes a config folder when loaded

    folder, _ = repository.setup(f"binary:{release.version}")
    return Path(folder)
