"""A cluster that is there already: found from contact points, measured in a keyspace of our own, left as it was."""

from __future__ import annotations

import hashlib
import re
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from cassandra import AlreadyExists, DriverException, Unauthorized
from cassandra.cluster import NoHostAvailable, Session
from cassandra.pool import Host
from typing_extensions import override

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.signals import Cleared, let_through
from cassbook.core.words import counted
from cassbook.lab.engine import cluster_state
from cassbook.lab.engine.any_cluster import AnyCluster
from cassbook.lab.engine.connect import Access, UnsupportedProtocolError, connect, define
from cassbook.lab.engine.preflight import CQL_PORT

#: Newest first. The light path speaks these two; 4 is spoken by every release from 2.2 on, 3 by 2.1.
_PROTOCOLS = (4, 3)
_OLDEST = (2, 1)
_CONNECT_TIMEOUT_S = 10.0
_ATTEMPTS = 3
_MARK = "made_by_cassbook"
_GRANTS = (
    "GRANT CREATE ON ALL KEYSPACES is needed from 2.2 on; in 2.1, where nobody gets rights in what they create, "
    "CREATE, ALTER, DROP, SELECT and MODIFY"
)


def contact_points(text: str) -> tuple[tuple[str, ...], int]:
    """Read `HOST,HOST` or `HOST:PORT,...` (an IPv6 address with a port in brackets) into hosts and their port.

    InputError for an empty name, an impossible port, or ports that differ.
    """
    hosts: list[str] = []
    ports: set[int] = set()
    for part in (p.strip() for p in text.split(",")):
        bracketed = re.fullmatch(r"\[([0-9A-Fa-f:.]+)\](?::(\d+))?", part)
        plain = re.fullmatch(r"([^:\[\]\s]+)(?::(\d+))?", part)
        bare = re.fullmatch(r"([0-9A-Fa-f.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)()", part)
        match = bracketed or plain or bare
        if not match:
            raise InputError(f"--hosts: {part!r} is no HOST or HOST:PORT in {text!r}; separate hosts by commas")
        port = int(match[2] or CQL_PORT)
        if not 0 < port < 1 << 16:
            raise InputError(f"--hosts: {part!r}: a port is 1 to 65535")
        hosts.append(match[1])
        ports.add(port)
    if len(ports) > 1:
        raise InputError(f"--hosts: one port for all nodes is supported, got {', '.join(map(str, sorted(ports)))}")
    return tuple(dict.fromkeys(hosts)), ports.pop()


@dataclass(frozen=True, slots=True)
class Hosts:
    """An existing cluster as a person names it: contact points, credentials, keyspace."""

    contact_points: tuple[str, ...]  # names or addresses of some of its nodes
    data_centre: str | None = None  # whose nodes coordinate and hold the replicas; None where there is only one
    access: Access = field(default_factory=Access)
    keyspace: str = "cassbook"  # the one to make, measure in, and drop
    keep_keyspace: bool = False  # do not drop it at the end
    read: tuple[str, ...] = ()  # tables of `keyspace` that exist and are read; then nothing is made or dropped
    other_centres: tuple[str, ...] = ()  # data centres that hold as many replicas each, and coordinate nothing

    def resolved(self) -> list[str]:
        """Addresses of the contact points; InputError for a name that has none."""
        addresses: list[str] = []
        for name in self.contact_points:
            try:
                entries = socket.getaddrinfo(name, self.access.port, type=socket.SOCK_STREAM)
            except OSError as error:
                raise InputError(f"--hosts: {name!r} has no address ({error.strerror})") from None
            addresses += [str(entry[4][0]) for entry in entries]
        return list(dict.fromkeys(addresses))

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,47}", self.keyspace) or self.keyspace.startswith("system"):
            raise InputError(
                f"--keyspace: {self.keyspace!r} cannot be used; small letters, digits and _, at most 48, not system..."
            )


@dataclass(frozen=True, slots=True)
class FoundRelease:
    """The release that the nodes say they run, whether or not this laboratory has it."""

    version: str
    protocol: int

    @property
    def major(self) -> tuple[int, int]:
        """First two parts of the version, for comparisons."""
        return _major(self.version)


class ExistingCluster(Cleared, AnyCluster):
    """A cluster that somebody else runs; as a context manager, the keyspace in it that one block measures in.

    Making one looks at the cluster: it connects, reads system tables, and writes nothing. An InputError says which
    names, credentials, certificates, data centre, replicas or keyspace do not fit; LaboratoryError if no node can be
    reached. Entering creates the keyspace, all replicas in the one data centre; leaving drops it, and only if it bears
    the mark of this `run`. `name` and `data_centre` are for the person at the terminal, never for a file; `addresses`
    are nodes of the data centre that answer, in order, `silent` those that do not, and `others` keyspaces other than
    Cassandra's own.
    """

    started_here = False
    deployment = "existing"
    release: FoundRelease

    def __init__(self, asked: Hosts, replication_factor: int, run: str, log: Callable[[str], None] = print) -> None:
        self.asked, self.replication_factor, self.run, self.log = asked, replication_factor, run, log
        self.keyspace, self.read = asked.keyspace, asked.read
        first, protocol = _first_contact(asked)
        try:
            metadata = first.cluster.metadata
            self.name = str(metadata.cluster_name)
            everyone = list(metadata.all_hosts())
            self.data_centre = _choose(asked.data_centre, everyone)
            self._check_others(everyone)
            self._check_partitioner(str(metadata.partitioner))
        finally:
            first.cluster.shutdown()
        here = sorted((h for h in everyone if h.datacenter == self.data_centre), key=lambda h: str(h.address))
        self._nodes_in_all = len(everyone)
        self._refuse_shared_addresses(here)
        session = connect([h.address for h in here], protocol, _CONNECT_TIMEOUT_S, asked.access, 1, least=1)
        try:
            answering = {host.address for host in session.get_pool_state()}
            self.addresses = [h.address for h in here if h.address in answering]
            self.silent = [h.address for h in here if h.address not in answering]
            self.release = FoundRelease(self._version(session), protocol)
            self.others = sorted(k for k in session.cluster.metadata.keyspaces if not k.startswith("system"))
            self._comment = self._comment_in(session)
            self._counts_hints = self.hints(session) is not None
            there = session.cluster.metadata.keyspaces.get(self.keyspace)
            self._tables = None if there is None else sorted(there.tables)
            self._replicas = None if there is None else _replicas_in(there.replication_strategy, self.data_centre)
        finally:
            session.cluster.shutdown()
        if asked.read:
            self._check_read()
        if replication_factor > len(self.addresses):
            raise InputError(
                f"replication_factor: {replication_factor} replicas do not fit on the "
                f"{counted(len(self.addresses), 'node')} of data centre {self.data_centre!r} that "
                f"{'answers' if len(self.addresses) == 1 else 'answer'}; change the profile, or name another with --dc"
            )
        ids = sorted(str(host.host_id) for host in here)
        self.fingerprint = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]

    @property
    @override
    def access(self) -> Access:
        return self.asked.access

    @property
    @override
    def replication(self) -> None:
        return None

    @property
    @override
    def apart(self) -> None:
        return None

    @property
    @override
    def nodes_here(self) -> int:
        return 0

    @property
    @override
    def labels(self) -> list[str]:
        """What samples call the coordinators: node1, node2, ...; their addresses are the owner's business."""
        return [f"node{i}" for i in range(1, len(self.addresses) + 1)]

    def description(self) -> dict[str, Any]:
        """Return what the manifest records of the cluster: no name or address, a hash of the nodes' ids."""
        access = self.access
        return {
            "run": self.run,
            "cluster": self.fingerprint,
            "version": self.release.version,
            "protocol": self.release.protocol,
            "coordinators": len(self.addresses),
            "nodes_in_data_centre": len(self.addresses) + len(self.silent),
            "nodes_in_all": self._nodes_in_all,
            "data_centres": 1 + len(self.asked.other_centres),
            "replication_factor": self.replication_factor,
            "reads_existing": bool(self.asked.read),
            "authentication": access.username is not None,
            "tls": access.tls is not None,
            "does_not_apply": ["profile.cluster.heap_mb"],
        }

    @override
    def notes(self) -> dict[str, Any]:
        """Return what the manifest records in place of a cluster start."""
        return {
            "kind": "existing",
            "java": {"version": "unknown", "source": "not asked"},
            "cassandra": "existing cluster",
            "flush": "asked for, not seen",
            "hints": "counted" if self._counts_hints else "unknown",
        }

    @override
    def connect(self) -> Session:
        return connect(self.addresses, self.release.protocol, access=self.access, attempts=_ATTEMPTS)

    @override
    def node_folders(self) -> list[Path]:
        return []

    @override
    def node_process(self, node: int) -> psutil.Process:
        raise _not_ours("looked into")

    @override
    def running(self, node: int) -> psutil.Process | None:
        return None

    @override
    def paused(self, node: int) -> AbstractContextManager[None]:
        raise _not_ours("paused")

    @override
    def restart(self, between: Callable[[], None] | None = None) -> None:
        raise _not_ours("restarted")

    @override
    def begin(self) -> None:
        if not self.asked.read:
            self._make_keyspace()

    @override
    def end(self, error: BaseException | None) -> None:
        """Drop it, unless it is to be kept, or is somebody's who has it read."""
        if self.asked.read:
            return
        if self.asked.keep_keyspace:
            self.log(f"keyspace {self.keyspace} is kept, as you asked")
            return
        try:
            self._drop_keyspace()
        except (DriverException, NoHostAvailable, LaboratoryError, InputError) as failure:
            message = f"keyspace {self.keyspace} could not be dropped ({_short(failure)}); drop it yourself"
            if error is None:
                raise LaboratoryError(message) from None
            self.log(message)

    @override
    def flush(self, session: Session, table: str) -> None:
        """Ask the nodes to flush `table`; whether they have cannot be seen."""
        cluster_state.ask_to_flush(session, table)

    @override
    def hints(self, session: Session) -> int | None:
        """Hints that wait for delivery; None where that cannot be known: from 3.0 on, or without the permission."""
        if self.release.major >= (3, 0):
            return None
        try:
            return cluster_state.pending_hints(session, self.release.major, [])
        except (DriverException, NoHostAvailable):
            return None

    @override
    def barrier(self, session: Session) -> list[str]:
        """Write at ALL through each coordinator to replicas on every node; the reasons of those that failed.

        Nothing where tables that exist are read: no write of ours can be left.
        """
        if self.asked.read:
            return []
        keys = cluster_state.keys_on_every_node(session, self.keyspace, self.addresses)
        return cluster_state.write_at_all(session, len(self.addresses), f"{self.keyspace}.{_MARK}", keys)

    def _check_others(self, everyone: Sequence[Host]) -> None:
        """Refuse (InputError) other data centres that are not there, are the clients' own, or have too few nodes."""
        nodes = Counter(str(host.datacenter) for host in everyone if host.datacenter)
        for name in self.asked.other_centres:
            if name not in nodes:
                raise InputError(f"--other-dc: {name!r} is not there; name one of {_listed(sorted(nodes))}")
            if name == self.data_centre:
                raise InputError(f"--other-dc: {name!r} is the clients' own (--dc); name another, or leave it out")
            if nodes[name] < self.replication_factor:
                raise InputError(
                    f"--other-dc: {self.replication_factor} replicas do not fit on the {counted(nodes[name], 'node')} "
                    f"of {name!r}; change the profile, or leave it out"
                )

    def _check_partitioner(self, partitioner: str) -> None:
        if not partitioner.endswith("Murmur3Partitioner"):
            raise InputError(
                f"--hosts: the cluster uses {partitioner.rsplit('.', 1)[-1]}; Murmur3Partitioner is needed"
            )

    @staticmethod
    def _refuse_shared_addresses(hosts: list[Host]) -> None:
        addresses = [host.address for host in hosts]
        twice = sorted({a for a in addresses if addresses.count(a) > 1})
        if twice:
            raise InputError(f"--hosts: {twice[0]} is the address of more than one node (by port); not supported")

    def _version(self, session: Session) -> str:
        """Return the one release that all coordinators run."""
        by_address = {}
        for host in session.get_pool_state():
            row = session.execute("SELECT release_version FROM system.local", host=host).one()
            by_address[host.address] = str(row.release_version)
        versions = sorted(set(by_address.values()))
        if len(versions) > 1:
            raise InputError(f"--hosts: the nodes run different releases ({', '.join(versions)}): finish the upgrade")
        if _major(versions[0]) < _OLDEST:
            raise InputError(f"--hosts: the nodes run Cassandra {versions[0]}; 2.1 or later is needed")
        return versions[0]

    def _mark(self) -> str:
        return f"made by cassbook for run {self.run}, dropped at its end"

    def take_up(self, run: str) -> None:
        """Resume the run with this identifier: what it left may be dropped. InputError if it cannot be one of ours."""
        if not re.fullmatch(r"[0-9a-f]{12}", run):
            raise InputError(f"manifest.json: is damaged (existing_cluster.run is {run!r})")
        self.run = run

    def check_keyspace(self) -> None:
        """Refuse (InputError) a keyspace that exists already, unless it bears this run's mark; nothing is written.

        One whose tables are read has to exist.
        """
        if not self.asked.read:
            self._is_ours(self._comment)

    def _check_read(self) -> None:
        """Refuse (InputError) to read tables that are not there, or of another replication factor."""
        if self._tables is None:
            raise InputError(f"--read-existing: there is no keyspace {self.keyspace}; there are {_listed(self.others)}")
        if missing := [table for table in self.asked.read if table not in self._tables]:
            raise InputError(
                f"--read-existing: there is no table {missing[0]} in {self.keyspace}; there are {_listed(self._tables)}"
            )
        if self._replicas != self.replication_factor:
            raise InputError(
                f"replication_factor: {self.keyspace} has {self._replicas or 'no'} replicas in {self.data_centre!r}, "
                f"the profile says {self.replication_factor}; give cluster: {{replication_factor: {self._replicas}}}"
            )

    def _comment_in(self, session: Session) -> str | None:
        """Return the comment that marks the keyspace as ours: None without such a keyspace, empty without a mark."""
        keyspace = session.cluster.metadata.keyspaces.get(self.keyspace)
        if keyspace is None:
            return None
        table = keyspace.tables.get(_MARK)
        return str(table.options.get("comment", "")) if table else ""

    def _is_ours(self, comment: str | None) -> bool:
        if comment is None or comment == self._mark():
            return comment is not None
        whose = "is of another run of cassbook, finished, killed or under way" if comment else "is not ours"
        raise InputError(
            f"--keyspace: {self.keyspace} exists and {whose}; nothing was touched. "
            "Name another with --keyspace, or drop it yourself if nothing needs it"
        )

    def _make_keyspace(self) -> None:
        """Create the keyspace with its mark, in place of one that an earlier start of this run left.

        A signal waits until it exists and can be dropped by its mark.
        """
        names = [name.replace("'", "''") for name in (self.data_centre, *self.asked.other_centres)]
        each = ", ".join(f"'{name}': {self.replication_factor}" for name in names)
        replication = f"{{'class': 'NetworkTopologyStrategy', {each}}}"
        with let_through():
            session = self.connect()
        try:
            self._may_drop(session)
            if self._is_ours(self._comment_in(session)):
                define(session, f"DROP KEYSPACE {self.keyspace}")
            define(session, f"CREATE KEYSPACE {self.keyspace} WITH replication = {replication}")
            try:
                mark = f"CREATE TABLE {self.keyspace}.{_MARK} (id int PRIMARY KEY, at double) WITH comment = "
                define(session, f"{mark}'{self._mark()}'")
            except BaseException:
                with suppress(DriverException, NoHostAvailable):  # no mark yet, but it is this request that made it
                    define(session, f"DROP KEYSPACE {self.keyspace}")
                raise
        except AlreadyExists:
            raise InputError(f"--keyspace: {self.keyspace} was made by somebody else just now") from None
        except Unauthorized as error:
            raise InputError(f"--hosts: the user may not do what is needed ({_unnamed(error)}): {_GRANTS}") from None
        except (DriverException, NoHostAvailable) as error:
            raise LaboratoryError(f"keyspace {self.keyspace} could not be made: {_short(error)}") from None
        finally:
            session.cluster.shutdown()

    def _may_drop(self, session: Session) -> None:
        """Fail before anything is written where the maker of a keyspace has no rights in it: before 2.2.

        What is dropped is a name that nobody can have.
        """
        if self.release.major < (2, 2):
            session.execute(f"DROP KEYSPACE IF EXISTS no_{self.run}")

    def _drop_keyspace(self) -> None:
        session = self.connect()
        try:
            if self._is_ours(self._comment_in(session)):
                define(session, f"DROP KEYSPACE {self.keyspace}")
        finally:
            session.cluster.shutdown()


def _replicas_in(strategy: Any, data_centre: str) -> int | None:
    """Replicas that a replication strategy of the driver's has in a data centre; None where it does not say."""
    by_centre = getattr(strategy, "dc_replication_factors", None)
    if by_centre is not None:
        return int(by_centre.get(data_centre, 0))
    factor = getattr(strategy, "replication_factor", None)
    return None if factor is None else int(factor)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _not_ours(what: str) -> LaboratoryError:
    return LaboratoryError(
        f"nodes that the laboratory has not started are not {what}; without --hosts it measures on a cluster of its own"
    )


def _major(version: str) -> tuple[int, int]:
    parts = re.match(r"(\d+)\.(\d+)", version)
    if not parts:
        raise InputError(f"--hosts: the nodes run {version!r}, which is no release of Cassandra that we can read")
    return int(parts[1]), int(parts[2])


def _first_contact(asked: Hosts) -> tuple[Session, int]:
    """Open a session through the contact points, and the protocol they speak."""
    addresses = asked.resolved()
    for protocol in _PROTOCOLS:
        try:
            return connect(addresses, protocol, _CONNECT_TIMEOUT_S, asked.access, 1, least=1), protocol
        except UnsupportedProtocolError:
            continue
    raise InputError(f"--hosts: the nodes speak no native protocol of version {' or '.join(map(str, _PROTOCOLS))}")


def _choose(data_centre: str | None, hosts: list[Host]) -> str:
    """Return the data centre that was named, or the only one."""
    there = sorted({str(host.datacenter) for host in hosts if host.datacenter})
    if data_centre is None and len(there) == 1:
        return there[0]
    if data_centre in there:
        return data_centre
    named = f"{data_centre!r} is not there" if data_centre else "there are several"
    raise InputError(f"--dc: {named}; name one of {', '.join(there)}")


def _unnamed(error: Unauthorized) -> str:
    """What a refusal says but for who was refused."""
    return re.sub(r"(User|user|Role|role) \S+ ", r"\1 ", _short(error))


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:200]
