"""The ordinary driver session, set up alike for every use: a local cluster, or an existing one with its locks."""

from __future__ import annotations

import logging
import os
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cassandra import AuthenticationFailed, DriverException, OperationTimedOut
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import WhiteListRoundRobinPolicy
from cassandra.pool import Host

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.lab.engine.preflight import CQL_PORT

USERNAME, PASSWORD = "CASSBOOK_USERNAME", "CASSBOOK_PASSWORD"
_ATTEMPTS = 20
#: A node that lost the news of a change asks for it after a minute (before 4.0), and busy machines take longer.
_AGREE_S = 150.0
_SCHEMA_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Tls:
    """How a connection is encrypted; the server's certificate is always checked. Files are PEM."""

    ca: Path | None = None  # certificates that may have signed the server's; None for those the system trusts
    cert: Path | None = None  # the client's own certificate, where the server asks for one
    key: Path | None = None
    check_name: bool = True  # the certificate must name the address that is connected to
    old_ciphers: bool = False  # also offer AES-CBC with SHA-1, all that Cassandra before 4.0 speaks by default

    def context(self) -> ssl.SSLContext:
        """Read the files; an InputError names the option and the file that is missing or holds something else."""
        for option, path in (("--tls-ca", self.ca), ("--tls-cert", self.cert), ("--tls-key", self.key)):
            if path is not None and not path.is_file():
                raise InputError(f"{option}: there is no file {path}")
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except ssl.SSLError as error:
            raise InputError(f"--tls-ca: {self.ca} holds no certificate in PEM form ({error.reason})") from None
        context.check_hostname = self.check_name
        if self.old_ciphers:
            context.set_ciphers("DEFAULT")
        if self.cert:
            try:
                context.load_cert_chain(self.cert, self.key, password="")
            except ssl.SSLError as error:
                raise InputError(
                    f"--tls-cert, --tls-key: {self.cert} and {self.key or 'the same file'} are no certificate "
                    f"and its key in PEM form, unencrypted ({error.reason or 'the key has a passphrase'})"
                ) from None
        return context


@dataclass(frozen=True, slots=True)
class Access:
    """What opens a cluster's door. User name and password show in no repr, message or file.

    Can be pickled, for client processes that make connections of their own.
    """

    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    tls: Tls | None = None
    port: int = CQL_PORT

    @classmethod
    def from_environment(
        cls, tls: Tls | None = None, port: int = CQL_PORT, environment: Mapping[str, str] = os.environ
    ) -> Access:
        """Take user name and password from CASSBOOK_USERNAME and CASSBOOK_PASSWORD; neither means none is needed.

        One without the other is an InputError.
        """
        username, password = environment.get(USERNAME), environment.get(PASSWORD)
        if (username is None) != (password is None):
            there, lacking = (USERNAME, PASSWORD) if password is None else (PASSWORD, USERNAME)
            raise InputError(f"{there} is set and {lacking} is not; set both, or neither")
        return cls(username, password, tls, port)


def connect(
    addresses: Sequence[str],
    protocol: int,
    timeout_s: float = 20.0,
    access: Access | None = None,
    attempts: int = _ATTEMPTS,
    least: int | None = None,
) -> Session:
    """Connect to all `addresses` and wait for a pool to each, so that a statement can name its coordinator.

    Other nodes that the cluster may have are left alone. `timeout_s` holds for a connection and for a request, attempts
    are a second apart, and `least` nodes must answer (all by default). InputError for refused credentials or
    certificates, LaboratoryError with the driver's reasons if a node cannot be reached.
    """
    access = access or Access()
    failure: Exception | None = None
    for attempt in range(attempts):
        if attempt:
            time.sleep(1.0)
        cluster = driver_cluster(addresses, protocol, timeout_s, access)
        try:
            with quiet_driver():
                session = cluster.connect(wait_for_all_pools=True)
            up = {host.address for host in session.get_pool_state()} & set(addresses)
            if len(up) >= (len(addresses) if least is None else least):
                return session
            failure = LaboratoryError(
                f"could not connect to {', '.join(sorted(set(addresses) - up))}: only {sorted(up)} are up"
            )
        except NoHostAvailable as error:
            failure = explained(error, addresses, access)
        except BaseException:
            cluster.shutdown()
            raise
        cluster.shutdown()
    assert failure is not None  # noqa: S101 - there is at least one attempt
    raise failure


def define(session: Session, statement: str) -> None:
    """Change the schema, and wait until every node that the session is connected to has it as the others have.

    The driver waits ten seconds and goes on: what is sent next may reach a node that knows nothing of a table.
    LaboratoryError where nodes do not come to agree.
    """
    session.execute(statement, timeout=_SCHEMA_TIMEOUT_S)
    deadline = time.monotonic() + _AGREE_S
    while len(versions := {_schema_version(session, host) for host in session.get_pool_state()}) > 1:
        if time.monotonic() > deadline:
            what, asked = statement.partition("(")[0].strip(), sorted(host.address for host in session.get_pool_state())
            raise LaboratoryError(
                f"nodes have not agreed on the schema within {_AGREE_S:.0f} s of {what}: "
                f"{len(versions)} versions on {', '.join(asked)}"
            )
        time.sleep(0.25)


def _schema_version(session: Session, host: Host) -> object:
    """Return what a node says; of one that does not answer something that no other says."""
    try:
        return session.execute("SELECT schema_version FROM system.local", host=host).one().schema_version
    except (OperationTimedOut, NoHostAvailable):
        return host


def connect_with_own(addresses: Sequence[str], protocol: int, tls: Tls | None, port: int, attempts: int = 3) -> Session:
    """Connect with the user name and password of the environment that this runs in, and TLS files of its machine.

    This is what can be handed to another machine: no secret travels with it.
    """
    return connect(addresses, protocol, access=Access.from_environment(tls, port), attempts=attempts)


def driver_cluster(addresses: Sequence[str], protocol: int, timeout_s: float, access: Access) -> Cluster:
    """Return a driver cluster that knows how to connect, and only ever to `addresses`."""
    profile = ExecutionProfile(
        load_balancing_policy=WhiteListRoundRobinPolicy(list(addresses)), request_timeout=timeout_s
    )
    credentials = None
    if access.username is not None:
        credentials = PlainTextAuthProvider(access.username, access.password)
    return Cluster(
        list(addresses),
        port=access.port,
        protocol_version=protocol,
        auth_provider=credentials,
        ssl_context=access.tls.context() if access.tls else None,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        connect_timeout=timeout_s,
    )


@contextmanager
def quiet_driver() -> Iterator[None]:
    """Within the block the driver's own log is silent: it would print tracebacks, with the user's name in them."""
    log = logging.getLogger("cassandra")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


def explained(error: NoHostAvailable, addresses: Sequence[str], access: Access) -> Exception:
    """What the driver's reasons mean to the person who asked: an `InputError` where that person can mend it."""
    reasons = list(error.errors.values())
    texts = " ".join(str(reason) for reason in reasons)
    where = f"{', '.join(addresses)} (port {access.port})"
    if any(isinstance(reason, AuthenticationFailed) for reason in reasons):
        if access.username is None:
            return InputError(f"{where}: asks for a user name and a password; set {USERNAME} and {PASSWORD}")
        return InputError(f"{where}: does not take this user name and password; check {USERNAME} and {PASSWORD}")
    for sign, meaning in _TLS_SIGNS.items():
        if access.tls and sign in texts:
            return InputError(f"{where}: {meaning}")
    hint = "" if access.tls else "; if it expects TLS, add --tls"
    unsupported = [r for r in reasons if isinstance(r, DriverException) and "explicitly set client protocol" in str(r)]
    if unsupported:
        return UnsupportedProtocolError(f"{where}: does not speak the native protocol asked for")
    shown = "; ".join(f"{type(reason).__name__}: {reason}"[:200] for reason in reasons)
    return LaboratoryError(f"could not connect to {where}: {shown or error}{hint}")


class UnsupportedProtocolError(LaboratoryError):
    """The server speaks another version of the native protocol."""


_TLS_SIGNS = {
    "WRONG_VERSION_NUMBER": "does not speak TLS there; leave --tls out, or name the port that does (HOST:PORT)",
    "IP address mismatch": "its certificate does not name this address; --tls-skip-hostname checks only who signed it",
    "Hostname mismatch": "its certificate does not name this address; --tls-skip-hostname checks only who signed it",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not signed by anyone trusted; name the signer's with --tls-ca",
    "HANDSHAKE_FAILURE": (
        "no common cipher; Cassandra before 4.0 may need --tls-old-ciphers, and a server that asks for "
        "a client's certificate needs --tls-cert and --tls-key"
    ),
    "CERTIFICATE_REQUIRED": "asks for a client's certificate; give --tls-cert and --tls-key",
    "BAD_CERTIFICATE": "asks for a client's certificate it trusts; give --tls-cert and --tls-key",
}
