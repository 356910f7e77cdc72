"""What a person says of an existing cluster: where some of its nodes are, and how to be let in."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass, field

from cassbook.core.errors import InputError
from cassbook.lab.engine.connect import Access
from cassbook.lab.engine.preflight import CQL_PORT


def contact_points(text: str) -> tuple[tuple[str, ...], int]:
    """Read `HOST,HOST` or `HOST:PORT,...` (an IPv6 address with a port in brackets) into hosts and their port.

    Raises
    ------
    InputError
        For an empty name, a port that is none, or ports that differ.
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
    """What a person says of an existing cluster.

    Attributes
    ----------
    contact_points : tuple of str
        Names or addresses of some of its nodes.
    data_centre : str, optional
        Whose nodes coordinate and hold the replicas; may be left out where there is only one.
    access : Access
    keyspace : str
        The one to make, measure in, and drop.
    keep_keyspace : bool
        Do not drop it at the end.
    """

    contact_points: tuple[str, ...]
    data_centre: str | None = None
    access: Access = field(default_factory=Access)
    keyspace: str = "cassbook"
    keep_keyspace: bool = False

    def resolved(self) -> list[str]:
        """Addresses of the contact points.

        Raises
        ------
        InputError
            For a name that has none.
        """
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
