"""Child processes: start one, ask it, receive its errors, and be sure that it ends.

The one way in which the laboratory runs something in a process of its own: the relay, the echo, the kernel's rules,
client processes, the proxy, a Java runtime. What is asked and answered are Python objects, over a socket that both ends
hold. The child ends when that is closed, so that it cannot outlive its owner; it has a session of its own, so
that a Ctrl-C in the terminal is for the owner; and an exception in it is raised here, where its answer is awaited.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NoReturn

from cassbook.core.errors import LaboratoryError
from cassbook.core.signals import noted

if TYPE_CHECKING:
    from cassbook.lab.wan.precise import Loop

_PATIENCE_S = 15.0
_HURRY_S = 0.5
#: How a worker of Dask has its malloc hand back memory; a child that allocates with every request would pay for it.
_NOT_INHERITED = "MALLOC_TRIM_THRESHOLD_"
_PROGRAM = "from cassbook.lab.wan.child import main; main()"


@dataclass(frozen=True, slots=True)
class _Failure:
    """An exception of the child, in a form that any process can unpickle."""

    kind: type[LaboratoryError]
    text: str


class DiedError(LaboratoryError):
    """A child has ended without having been asked to."""


class GoneError(Exception):
    """Nobody is at the other end: in the child, its owner has no more for it or has died."""


class Child:
    """The side that asks. As a context manager it is stopped with the block.

    `serve`, a function of a module by its own name there, is called in the child with the `Owner` and the arguments,
    which can be pickled, until it returns or the owner is gone. Messages call the child `what`; once stopped it has
    `patience_s` to end by itself. All methods that talk to it raise a LaboratoryError if it has died, is silent for too
    long or failed: then with its own reason.
    """

    def __init__(
        self, what: str, serve: Callable[..., None], *arguments: Any, patience_s: float = _PATIENCE_S
    ) -> None:  # fmt: skip
        self._what, self._arguments, self._patience_s = what, arguments, patience_s
        self._name = f"{serve.__module__}:{serve.__qualname__}"
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process ID; 0 before it is started."""
        return 0 if self._process is None else self._process.pid

    def launch(self) -> None:
        """Start it without waiting for its first answer."""
        ours, theirs = Pipe()
        inherited = {name: value for name, value in os.environ.items() if name != _NOT_INHERITED}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, self._name, str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                start_new_session=True, env=inherited,
            )  # fmt: skip
        self._connection = ours
        self.tell(self._arguments)

    def start(self, timeout_s: float | None = _PATIENCE_S) -> Any:
        """Start it, and return its first answer."""
        self.launch()
        try:
            return self.hear(timeout_s, "cannot start")
        except BaseException:
            self.stop()
            raise

    def ask(self, question: Any, timeout_s: float | None = _PATIENCE_S) -> Any:
        """Send a question and return the answer; many threads may."""
        with self._lock:
            self.tell(question)
            return self.hear(timeout_s)

    def tell(self, message: Any) -> None:
        """Send something that is not answered at once."""
        try:
            self._connected.send(message)
        except ConnectionError:
            self.hear(0.0)  # its reason, if it gave one
            self._raise_died()

    def says(self, within_s: float) -> bool:
        """Wait for its next message, or its end, for at most so long; return whether `hear` would return at once."""
        return self._connected.poll(within_s)

    def hear(self, timeout_s: float | None = None, failing: str = "") -> Any:
        """Wait for its next message."""
        try:
            if timeout_s is not None and not self._connected.poll(timeout_s):
                raise LaboratoryError(f"{self._what} (process {self.pid}) has not answered for {timeout_s:g} s")
            answer = self._connected.recv()
        except (EOFError, ConnectionError):
            self._raise_died()
        if isinstance(answer, _Failure):
            raise answer.kind(f"{self._what}{' ' + failing if failing else ''}: {answer.text}")
        return answer

    @property
    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            raise LaboratoryError(f"{self._what} is not running")
        return self._connection

    def _raise_died(self) -> NoReturn:
        pid = self.pid
        self.stop()
        status = None if self._process is None else self._process.returncode
        raise DiedError(f"{self._what} (process {pid}) has died, exit status {status}")

    def hang_up(self) -> None:
        """Let it end, without waiting for it."""
        if self._connection is not None:
            self._connection.close()

    def stop(self) -> None:
        """End it, gently and then not (soon, if a signal ends us); harmless to repeat."""
        self.hang_up()
        if self._process is None:
            return
        try:
            self._process.wait(min(self._patience_s, _HURRY_S) if noted() else self._patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Owner:
    """The side that answers, within the child; a GoneError is raised where nobody is at the other end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def fileno(self) -> int:
        """Return the file that is readable when a message waits."""
        return self._connection.fileno()

    def waits(self) -> bool:
        """Return whether the owner has sent something or is gone."""
        return self._connection.poll()

    def hear(self) -> Any:
        """Wait for the owner's next message."""
        try:
            return self._connection.recv()
        except (EOFError, ConnectionError):
            raise GoneError from None

    def tell(self, message: Any) -> None:
        """Send an answer."""
        try:
            self._connection.send(message)
        except ConnectionError:
            raise GoneError from None

    def fail(self, error: Exception) -> None:
        """Have an exception raised in the owner; errors of the laboratory keep their class."""
        kind = type(error) if isinstance(error, LaboratoryError) else LaboratoryError
        self.tell(_Failure(kind, str(error) or repr(error)))

    def answer(self, reply: Callable[[Any], Any]) -> None:
        """Answer each question with `reply`, whose LaboratoryErrors are answers too, until the owner is gone."""
        while True:
            question = self.hear()
            try:
                self.tell(reply(question))
            except LaboratoryError as error:
                self.fail(error)

    def serve(self, loop: Loop, reply: Callable[[Any], Any]) -> None:
        """Run a loop that answers each question with `reply`, until the owner is gone."""

        def readable(_: int) -> None:
            try:
                self.tell(reply(self.hear()))
            except GoneError:
                loop.stop()

        loop.watch(self.fileno(), readable)
        loop.run()


def main() -> None:
    """Be a child: call the function that the first argument names, with what the owner sends first."""
    name, fd = sys.argv[1:]
    module, _, function = name.partition(":")
    owner = Owner(Connection(int(fd)))
    try:
        try:
            arguments = owner.hear()
            getattr(importlib.import_module(module), function)(owner, *arguments)
        except GoneError:
            raise
        except Exception as error:
            owner.fail(error)
            sys.exit(1)
    except GoneError:
        return
