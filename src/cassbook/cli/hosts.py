"""The part of `cassbook run` that deals with an existing cluster: its options, and the question before it writes."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cassbook.core.errors import InputError
from cassbook.core.words import counted

if TYPE_CHECKING:
    from cassbook.core.types import Log
    from cassbook.lab.engine.existing_cluster import ExistingCluster, Hosts
    from cassbook.lab.run.hosts import Written
    from cassbook.lab.run.remote import Clients
    from cassbook.lab.run.workers import Asked
    from cassbook.profile.profile import Profile

_ALLOWED_MB = 500
#: What somebody agrees to is an estimate: so many times as much is what was agreed to.
_AS_ASKED = 1.5
F = TypeVar("F", bound=Callable[..., Any])
_file = click.Path(path_type=Path)
_OPTIONS = (
    click.option(
        "--hosts",
        help="Existing cluster to measure instead: HOST,HOST or HOST:PORT, some of its nodes. User name and password "
        "come from CASSBOOK_USERNAME and CASSBOOK_PASSWORD.",
    ),
    click.option("--dc", help="With --hosts: data centre to measure. Default: the only one."),
    click.option(
        "--other-dc",
        multiple=True,
        metavar="NAME",
        help="With --hosts: data centre that holds as many replicas too, for levels that wait for it. May be repeated.",
    ),
    click.option("--keyspace", help="With --hosts: keyspace to make and drop; must not exist. Default: cassbook."),
    click.option(
        "--read-existing",
        multiple=True,
        metavar="KEYSPACE.TABLE",
        help="With --hosts: measure the SELECTs of own workloads on this table as it is, with keys sampled from it; "
        "nothing is written. Several of one keyspace can be named.",
    ),
    click.option("--keep-keyspace", is_flag=True, help="With --hosts: do not drop it at the end."),
    click.option(
        "--at-most-mb",
        type=click.IntRange(min=0),
        help=f"With --hosts: MB over all replicas that are written without a question. Default: {_ALLOWED_MB}.",
    ),
    click.option("--yes", is_flag=True, help="With --hosts: do not ask."),
    click.option(
        "--find-capacity",
        is_flag=True,
        help="With --hosts: load the cluster until it carries no more, for a profile's `open.load_shares`. Default: "
        "`open.rates_per_s` only, rising, never above the highest.",
    ),
    click.option(
        "--clients",
        metavar="ADDRESS",
        help="With --hosts: Dask scheduler, tcp://HOST:PORT or tls://..., whose workers send the load.",
    ),
    click.option("--clients-tls-ca", type=_file, help="Certificates that signed the scheduler's, PEM, for tls://."),
    click.option("--clients-tls-cert", type=_file, help="Certificate of this machine for the scheduler, PEM."),
    click.option("--clients-tls-key", type=_file, help="Its key, PEM."),
    click.option("--tls", is_flag=True, help="With --hosts: encrypt, and check the servers' certificates."),
    click.option("--tls-ca", type=_file, help="Certificates that signed the servers', PEM. Default: the system's."),
    click.option("--tls-cert", type=_file, help="Certificate of this client, PEM, where the servers ask for one."),
    click.option("--tls-key", type=_file, help="Its key, PEM, without a passphrase."),
    click.option("--tls-skip-hostname", is_flag=True, help="Do not ask that a certificate names its server's address."),
    click.option("--tls-old-ciphers", is_flag=True, help="Also AES-CBC with SHA-1: Cassandra before 4.0 by default."),
)


def host_options(command: F) -> F:
    """Give a command the options of an existing cluster."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked_hosts(options: dict[str, Any], engine: str | None) -> Hosts | None:
    """Turn the options into what is asked, or None without --hosts; touches no network.

    Raises InputError for options that contradict one another, and files and variables that are missing.
    """
    from cassbook.lab.engine.connect import Access, Tls
    from cassbook.lab.engine.existing_cluster import Hosts, contact_points

    given = {name for name, value in options.items() if value is not None and value is not False and value != ()}
    if "hosts" not in given:
        if given:
            raise InputError(f"--{min(given).replace('_', '-')}: needs --hosts, which is not given")
        return None
    if engine is not None:
        raise InputError("--engine: an existing cluster runs what it runs; leave it out with --hosts")
    lone = sorted(name for name in given if name.startswith("tls_"))
    if lone and "tls" not in given:
        raise InputError(f"--{lone[0].replace('_', '-')}: needs --tls, which is not given")
    if options["tls_key"] and not options["tls_cert"]:
        raise InputError("--tls-key: needs --tls-cert, which is not given")
    tls = None
    if options["tls"]:
        tls = Tls(
            options["tls_ca"],
            options["tls_cert"],
            options["tls_key"],
            not options["tls_skip_hostname"],
            options["tls_old_ciphers"],
        )
        tls.context()  # a wrong file is reported before anything else
    points, port = contact_points(options["hosts"])
    access = Access.from_environment(tls, port)
    keyspace, read = _read_existing(options)
    keyspace = keyspace or options["keyspace"] or "cassbook"
    others = tuple(dict.fromkeys(options["other_dc"]))
    return Hosts(points, options["dc"], access, keyspace, options["keep_keyspace"], read, others)


def _read_existing(options: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the keyspace and the tables that exist and are read; nothing where none are.

    Raises InputError for tables of several keyspaces, and for options about a keyspace of the run's own.
    """
    from cassbook.lab.load.existing_keys import table_name

    named = [table_name(text) for text in options["read_existing"]]
    if not named:
        return "", ()
    for name in ("keyspace", "keep_keyspace", "at_most_mb", "find_capacity", "other_dc"):
        if options[name]:
            raise InputError(f"--{name.replace('_', '-')}: not with --read-existing, which makes and writes nothing")
    keyspaces = sorted({keyspace for keyspace, _ in named})
    if len(keyspaces) > 1:
        raise InputError(f"--read-existing: tables of one keyspace; {' and '.join(keyspaces)} are several")
    return keyspaces[0], tuple(dict.fromkeys(table for _, table in named))


def asked_clients(options: dict[str, Any], profile: Profile) -> Asked | None:
    """Turn the options into the scheduler that is asked for, or None without --clients; touches no network.

    Raises InputError for options that contradict one another or the profile, and files that are missing.
    """
    files = {name: options[f"clients_tls_{name}"] for name in ("ca", "cert", "key")}
    if options["clients"] is None:
        for name in (name for name, path in files.items() if path):
            raise InputError(f"--clients-tls-{name}: needs --clients, which is not given")
        return None
    if profile.load.steady_s is None:
        raise InputError("--clients: client processes share one steady window in seconds: give load.steady_s")
    from cassbook.lab.run.workers import Asked

    return Asked(options["clients"], **files)


@contextmanager
def placed_clients(
    asked: Asked | None,
    cluster: ExistingCluster | None,
    profile: Profile,
    folder: Path,
    resume: bool,
    log: Log,
) -> Iterator[tuple[Profile, Clients | None]]:
    """Connect to the scheduler, if one is asked for, and check its workers, before anything is written.

    Returns the profile with as many client processes as will run.

    Raises InputError for workers that cannot take part. Raises LaboratoryError if no scheduler answers.
    """
    if asked is None or cluster is None:
        yield profile, None
        return
    from cassbook.lab.run.remote import Clients
    from cassbook.lab.run.workers import Workers
    from cassbook.records import manifest
    from cassbook.records.kinds import RUN

    begun_with = manifest.read(folder, RUN)["profile"]["load"]["client_processes"] if resume else None
    with Workers(asked, log) as workers:
        for line in workers.described():
            log(line)
        clients = Clients(workers, cluster.access, cluster.release.protocol)
        count = clients.processes_for(profile, begun_with)
        clients.check(cluster.addresses)
        yield profile.model_copy(update={"load": profile.load.model_copy(update={"client_processes": count})}), clients


def look(
    hosts: Hosts, profile: Profile, log: Log, find_capacity: Callable[[str], bool]
) -> tuple[Profile, ExistingCluster]:
    """Look at the cluster; also return the profile with the release and the number of nodes that were found.

    `find_capacity`: whether what it carries may be looked for, once its version is known.

    Raises InputError for what does not fit. Raises LaboratoryError if it cannot be reached.
    """
    from cassbook.lab.engine.existing_cluster import ExistingCluster
    from cassbook.lab.run.hosts import profile_for

    cluster = ExistingCluster(hosts, profile.cluster.replication_factor, uuid.uuid4().hex[:12], log)
    return profile_for(profile, cluster, log, find_capacity(cluster.release.version)), cluster


def announce(cluster: ExistingCluster, profile: Profile, folder: Path, resume: bool, log: Log) -> Written:
    """Show what will be done to the cluster; return what that writes.

    `profile`: that fits it. `folder`: of the run; where `resume` is true it says what is left to do and whose the
    keyspace is.

    Raises InputError if the keyspace is somebody's.
    """
    from cassbook.core.schema import read_cells
    from cassbook.lab.run.hosts import open_load, written
    from cassbook.lab.run.plan import plan
    from cassbook.records import manifest
    from cassbook.records.kinds import RUN

    cells = [cell for block in plan(profile) for cell in block]
    if resume:
        cluster.take_up(manifest.read(folder, RUN).get("existing_cluster", {}).get("run", cluster.run))
        done = set(read_cells(folder / "cells.csv")["cell_id"]) if (folder / "cells.csv").exists() else set()
        cells = [cell for cell in cells if cell.cell_id not in done]
    cluster.check_keyspace()
    amount = written(profile, cells)
    for line in (*picture(cluster, profile, amount), *open_load(profile)):
        log(line)
    return amount


def confirm(amount: Written, options: dict[str, Any]) -> float | None:
    """Ask, if what is to be written is more than was allowed; return how many MB may be, or None without a bound.

    `options`: the command's own: `at_most_mb`, `yes`.

    Raises InputError before anything is written: the answer is no, or nobody is there to answer.
    """
    allowed = _ALLOWED_MB if options["at_most_mb"] is None else options["at_most_mb"]
    if options["yes"]:
        return None
    if amount.total_mb <= allowed:
        return float(allowed)
    _ask(amount, allowed)
    return _AS_ASKED * amount.total_mb


def picture(cluster: ExistingCluster, profile: Profile, amount: Written) -> list[str]:
    """Which cluster, and what will be done to it, in lines."""
    here = len(cluster.addresses)
    lines = [
        f"cluster {cluster.name!r}, Cassandra {cluster.release.version}, data centre {cluster.data_centre!r}: "
        f"{here} of {counted(here + len(cluster.silent), 'node')} {'answers' if here == 1 else 'answer'} "
        f"({', '.join(cluster.addresses)})"
    ]
    if cluster.silent:
        lines.append(f"no answer from {', '.join(cluster.silent)}: requests that need them will fail, and be counted")
    elsewhere = cluster.asked.other_centres
    end = "kept at the end" if cluster.asked.keep_keyspace else "dropped at the end"
    if cluster.read:
        tables = ", ".join(cluster.read)
        return [*lines, f"keyspace {cluster.keyspace}: {tables} {'is' if len(cluster.read) == 1 else 'are'} read, at "
                        "ONE to ALL as the settings say; nothing is made, written or dropped"]  # fmt: skip
    replicas = counted(profile.cluster.replication_factor, "replica")
    if elsewhere:
        replicas += f" in each of {', '.join((cluster.data_centre, *elsewhere))}"
    lines += [
        f"keyspace {cluster.keyspace}: made for this run, {replicas}, {end}; {_untouched(len(cluster.others))}",
        f"writes, over all replicas: tables {amount.table_mb:.0f} MB, "
        f"updates about {amount.updates_mb:.0f} MB{_by(amount)}",
    ]
    return lines


def _by(amount: Written) -> str:
    """Say what an estimate takes for granted."""
    if not amount.per_s:
        return ""
    return f" at {amount.per_s:,.0f} requests a second, which the warm-up puts right"


def _untouched(others: int) -> str:
    """Say what becomes of the keyspaces that are somebody's."""
    if not others:
        return "there is no other there"
    return f"the {'other' if others == 1 else f'{others} others'} there {'is' if others == 1 else 'are'} not touched"


def _ask(amount: Written, allowed_mb: int) -> None:
    question = f"this writes about {amount.total_mb:.0f} MB, more than the {allowed_mb} MB that are allowed"
    if not _at_a_terminal():
        raise InputError(f"{question}; nothing was written. Give --at-most-mb {amount.total_mb + 1:.0f}, or --yes")
    if not click.confirm(f"{question}. Go on?", err=True):
        raise InputError("nothing was written, as you said")


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()
