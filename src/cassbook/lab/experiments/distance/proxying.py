"""A middleware near the cluster: it does what a far client asks for in one call, row by row, and answers once.

One process, one thread a connection. A call is a line of JSON, {"keys": [...]}; so is the answer, {"rows": n}.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import socketserver
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from cassbook.core.errors import LaboratoryError
from cassbook.lab.experiments.distance.paging import Pager

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
    context = multiprocessing.get_context("spawn")  # a forked driver would share its sockets
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, pager), name="proxy", daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(_PATIENCE_S):
            raise LaboratoryError(f"the proxy has not started within {_PATIENCE_S:.0f} s")
        try:
            said = ours.recv()
        except EOFError:
            raise LaboratoryError("the proxy died without a word") from None
        if isinstance(said, Exception):
            raise LaboratoryError(f"the proxy cannot start: {said}") from said
        yield said
    finally:
        ours.close()
        process.join(_FAREWELL_S)
        if process.is_alive():
            process.kill()
            process.join()


def _serve(pipe: Connection, pager: Callable[[], Pager]) -> None:
    """Be the proxy until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is for the owner
    try:
        own = pager()
        server = _Server(("127.0.0.1", 0), own)
    except Exception as error:
        pipe.send(LaboratoryError(str(error) or repr(error)))
        return
    with own, server:
        pipe.send(server.server_address)
        server.serve_while(pipe)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, address: Address, pager: Pager) -> None:
        super().__init__(address, _Handler)
        self.pager = pager

    def serve_while(self, pipe: Connection) -> None:
        """Serve until the other end of a pipe is closed."""
        self.timeout = 0.2
        while not pipe.poll():
            self.handle_request()


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Server

    def handle(self) -> None:
        """Answer line after line."""
        for line in self.rfile:
            found = {"rows": self.server.pager.read(json.loads(line)["keys"])}
            self.wfile.write(json.dumps(found).encode() + b"\n")
