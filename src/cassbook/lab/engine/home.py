"""A folder that ccm can start any release from: the release's jars under one small launcher of our own.

The shipped scripts test for Javas that are no longer made and differ from release to release; ours differ in one
list of JVM options, which `jvm_options` derives and a test can read.
"""

from __future__ import annotations

import os
import shutil
from importlib import resources
from pathlib import Path

from cassbook.core.releases import Release
from cassbook.lab.engine.fetch import Installation
from cassbook.lab.engine.java import Java

OPTIONS_VARIABLE = "CASSBOOK_JVM_OPTIONS"
_OPENED = (
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.management/com.sun.management.internal",
)
_EXPORTED = (
    "java.base/java.lang.ref",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "jdk.unsupported/sun.misc",
)


def jvm_options(release: Release, java: Java, heap_mb: int, lib: Path) -> list[str]:
    """JVM options of a node, one per entry.

    The heap is fixed; a quarter of it is the young generation where CMS runs. `lib` holds the jars, for the jamm agent
    (Cassandra measures its objects through it).
    """
    options = ["-ea", f"-Xms{heap_mb}M", f"-Xmx{heap_mb}M", "-Xss512k", "-XX:+DisableExplicitGC"]
    # The first keeps a node from writing outside its folder; the second is the node's own choice of start-up pause.
    options += ["-XX:+PerfDisableSharedMem", "-Dcassandra.skip_wait_for_gossip_to_settle=0"]
    options += ["-Djava.net.preferIPv4Stack=true", "-Dlogback.configurationFile=logback.xml"]
    options += [f"-javaagent:{jar}" for jar in sorted(lib.glob("jamm-*.jar"))]
    if release.major < (2, 1):
        options += ["-Dlog4j.configuration=log4j-server.properties", "-Dlog4j.defaultInitOverride=true"]
        options.append("-Djava.rmi.server.hostname=127.0.0.1")  # where its MBeans say they are, once opened
    if java.feature == 8:  # noqa: PLR2004 - what the releases shipped with
        options += [f"-Xmn{heap_mb // 4}M", "-XX:+UseParNewGC", "-XX:+UseConcMarkSweepGC"]
        options += ["-XX:CMSInitiatingOccupancyFraction=75", "-XX:+UseCMSInitiatingOccupancyOnly"]
        return options
    options += ["-XX:+UseG1GC", "-XX:MaxGCPauseMillis=300", "-Djdk.attach.allowAttachSelf=true"]
    options += [f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED]
    options += [f"--add-exports={name}=ALL-UNNAMED" for name in _EXPORTED]
    if release.major == (2, 2):
        # Its netty reads a field of java.nio.Buffer that Java 9 closed: without this every CQL connection fails.
        options.append("-Dcassandra.native.epoll.enabled=false")
    return options


def further_options() -> list[str]:
    """JVM options that CASSBOOK_JVM_OPTIONS adds, separated by blanks; a run's manifest notes them."""
    return os.environ.get(OPTIONS_VARIABLE, "").split()


def environment(java: Java, prepared: Path, nice: int) -> dict[str, str]:
    """Return the variables that our launcher reads: where Java and the prepared home are, and the priority."""
    return {"JAVA_HOME": str(java.home), "CASSBOOK_HOME": str(prepared), "CASSBOOK_NICE": str(nice)}


def prepare(installation: Installation, java: Java, heap_mb: int, home: Path) -> Path:
    """Write a home for ccm at `home`: links to the release's jars, our launcher, the release's cassandra.yaml.

    Its `0.version.txt` gives ccm the version.
    """
    templates = resources.files("cassbook.lab.engine").joinpath("templates")
    conf, binaries = home / "conf", home / "bin"
    conf.mkdir(parents=True)
    binaries.mkdir()
    release = installation.release
    lib = installation.home / "lib"
    (home / "lib").symlink_to(lib.resolve(), target_is_directory=True)
    (home / "0.version.txt").write_text(release.version)
    for name in ("cassandra", "cassandra.in.sh"):
        (binaries / name).write_text(templates.joinpath(name).read_text())
    (binaries / "cassandra").chmod(0o755)
    (conf / "cassandra-env.sh").write_text(templates.joinpath("cassandra-env.sh").read_text())
    for name in ("logback.xml", "logback-tools.xml"):
        (conf / name).write_text(templates.joinpath("logback.xml").read_text())
    (conf / "log4j-server.properties").write_text(templates.joinpath("log4j-server.properties").read_text())
    options = [*jvm_options(release, java, heap_mb, home / "lib"), *further_options()]
    (conf / "cassbook.jvm").write_text("".join(f"{option}\n" for option in options))
    if release.tarball_sha256 is None:
        series = ".".join(map(str, release.major))
        (conf / "cassandra.yaml").write_text(templates.joinpath(f"cassandra-{series}.yaml").read_text())
    else:
        shutil.copy(installation.home / "conf" / "cassandra.yaml", conf / "cassandra.yaml")
    (conf / "cassandra-rackdc.properties").write_text("dc=datacenter1\nrack=rack1\n")
    (conf / "cassandra-topology.properties").write_text("default=datacenter1:rack1\n")
    return home
