"""A middleware near the cluster: it does what a far client asks for in one call, row by row, and answers once.

One process, one thread a connection. A call is a line of JSON, {"keys": [...]}; so is the answer, {"rows": n}.
"""

from __future__ import annotations

import json
import socketserver
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cassbook.lab.experiments.distance.paging import Pager
from cassbook.lab.wan.child import Child, Owner

Address = tuple[str, int]
_FAREWELL_S = 5.0
_PATIENCE_S = 60.0


@contextmanager
def proxy(pager: Callable[[], Pager]) -> Iterator[Address]:
    """Run a proxy while the block runs.

    Parameters
    ----------
    pager : callable
        Opens, within the proxy's process, what reads rows; can be pickled.

    Returns
    -------
    iterator of tuple of str and int
        Address and port that it listens on.

    Raises
    ------
    LaboratoryError
        If it cannot start, with its reason.
    """
    with Child("the proxy", _serve, pager, patience_s=_FAREWELL_S) as child:
        yield child.start(_PATIENCE_S)


def _serve(owner: Owner, pager: Callable[[], Pager]) -> None:
    """Be the proxy until the owner is gone."""
    with pager() as readers, _Server(("127.0.0.1", 0), readers) as server:
        owner.tell(server.server_address)
        server.serve_while(owner)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, address: Address, pager: Pager) -> None:
        super().__init__(address, _Handler)
        self.pager = pager

    def serve_while(self, owner: Owner) -> None:
        """Serve until the owner is gone."""
        self.timeout = 0.2
        while not owner.waits():
            self.handle_request()


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Server

    def handle(self) -> None:
        """Answer line after line."""
        for line in self.rfile:
            answer = {"rows": self.server.pager.read(json.loads(line)["keys"])}
            self.wfile.write(json.dumps(answer).encode() + b"\n")
