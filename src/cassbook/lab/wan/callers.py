"""Who is calling: which host a connection to the relay comes from.

Nodes before 4.0 bind what they call from to the address they listen on, so the peer's address identifies them.
Later ones do not: on one machine all of them call from 127.0.0.1, and only the owner of the calling socket identifies
them.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping

import psutil


class Callers:
    """Tells hosts apart.

    Parameters
    ----------
    hosts : mapping of str to str
        Address that a host listens on, to its name.
    by_owner : bool
        Look for the process that owns the socket (some 8 ms), not at the address alone.
    at : collection of (address, port)
        Where hosts listen for each other; a node also listens for its manager, wherever that is.
    """

    def __init__(self, hosts: Mapping[str, str], by_owner: bool, at: Collection[tuple[str, int]] = ()) -> None:
        self._hosts, self._by_owner, self._at = dict(hosts), by_owner, frozenset(at)
        self._of_process: dict[int, frozenset[str]] = {}

    def of(self, accepted: socket.socket) -> str:
        """Name of the host at the other end of an accepted connection; '' for a stranger.

        A process that listens for several hosts is taken for the one whose address it calls from.

        Raises
        ------
        OSError
            If the connection is gone.
        """
        peer, here = accepted.getpeername(), accepted.getsockname()
        by_address = self._hosts.get(peer[0], "")
        if not self._by_owner:
            return by_address
        names = self._owner(peer, here)
        return by_address if len(names) > 1 else "".join(names)

    def _owner(self, peer: tuple[str, int], here: tuple[str, int]) -> frozenset[str]:
        """Hosts that the calling process listens for."""
        sockets = psutil.net_connections("tcp4")
        pid = next((s.pid for s in sockets if s.laddr == peer and s.raddr == here), None)
        if pid is None:
            return frozenset()
        if not self._of_process.get(pid):
            listening = {tuple(s.laddr) for s in sockets if s.pid == pid and s.status == psutil.CONN_LISTEN}
            self._of_process[pid] = frozenset(self._hosts[at[0]] for at in listening & self._at if at[0] in self._hosts)
        return self._of_process[pid]
