"""The workers of a Dask cluster, as machines that client processes can be placed on."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from distributed import Client
from distributed.security import Security

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.words import counted
from cassbook.lab.run import on_worker
from cassbook.lab.run.processes import LostClientError

_CONNECT_S = 10
_WAIT_S = 30.0
_LOOK_S = 1.0
#: What must be the same everywhere, for what is sent is understood by the same code.
_SAME = ("cassbook", "distributed", "cassandra-driver", "pyarrow")


@dataclass(frozen=True, slots=True)
class Asked:
    """A scheduler as a person names it (`tcp://HOST:PORT` or `tls://HOST:PORT`), and the files that prove who we are to
    it.

    Files are PEM: all three for `tls://`, none for `tcp://`.
    """

    address: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme not in ("tcp", "tls") or not parts.hostname:
            raise InputError(
                f"--clients: {self.address!r} is no address of a Dask scheduler; give tcp://HOST:PORT or tls://..."
            )
        files = {"ca": self.ca, "cert": self.cert, "key": self.key}
        if parts.scheme == "tcp" and any(files.values()):
            given = next(name for name, path in files.items() if path)
            raise InputError(f"--clients-tls-{given}: is for tls://HOST:PORT, and --clients is {self.address}")
        for name, path in files.items():
            if parts.scheme == "tls" and path is None:
                raise InputError(f"--clients-tls-{name}: is missing; a scheduler at tls:// needs ca, cert and key")
            if path is not None and not path.is_file():
                raise InputError(f"--clients-tls-{name}: there is no file {path}")

    @property
    def encrypted(self) -> bool:
        """Whether what is sent is encrypted, and both sides are checked."""
        return self.address.startswith("tls:")

    def security(self) -> Security | None:
        """Return what `distributed` makes its connections with; None without TLS."""
        if not self.encrypted:
            return None
        return Security(
            tls_ca_file=str(self.ca), tls_client_cert=str(self.cert), tls_client_key=str(self.key),
            require_encryption=True,
        )  # fmt: skip


@dataclass(slots=True)
class Worker:
    """One worker of the Dask cluster."""

    number: int  # records call it by this: counted from 1 in order of address
    host: int  # likewise; workers of one host share it
    address: str  # for the person at the terminal, never for a file
    cores: int  # of its host
    lost: bool = field(default=False)  # it does not answer any more

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"worker {self.number}"


class Workers:
    """A connection to a scheduler; as a context manager it is closed with the block.

    InputError if a worker runs another version of Python, cassbook or what both need; LaboratoryError if no scheduler
    answers, or it has no workers.
    """

    def __init__(self, asked: Asked, log: Callable[[str], None] = print) -> None:
        self.asked, self._log = asked, log
        self._numbers: dict[str, int] = {}
        self._hosts: dict[str, int] = {}
        self._lost: set[str] = set()
        self._callers = ThreadPoolExecutor(thread_name_prefix="caller of workers")
        try:
            self._client = Client(asked.address, timeout=_CONNECT_S, set_as_default=False, security=asked.security())
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise LaboratoryError(f"--clients {asked.address}: no scheduler answers there ({error})") from None
        try:
            self.all = self.find()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; workers and scheduler stay."""
        self._callers.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def find(self, least: int = 1, within_s: float = 0.0) -> list[Worker]:
        """Find the workers, and wait a while for as many as are due; raises as the class does."""
        deadline = time.monotonic() + within_s
        while len(addresses := self._addresses()) < least and time.monotonic() < deadline:
            time.sleep(0.5)
        if not addresses:
            raise LaboratoryError(f"--clients {self.asked.address}: the scheduler has no workers; start some")
        new = [address for address in addresses if address not in self._numbers]
        self._check_versions(new)
        for address in new:
            self._numbers[address] = len(self._numbers) + 1
            self._hosts.setdefault(str(urlsplit(address).hostname), len(self._hosts) + 1)
        cores = self._client.run(on_worker.cores, workers=addresses)
        self.all = [
            Worker(self._numbers[a], self._hosts[str(urlsplit(a).hostname)], a, cores[a])
            for a in sorted(addresses, key=self._numbers.__getitem__)
        ]
        return self.all

    def again(self) -> list[Worker]:
        """Look again after a worker was lost: a nanny starts another in its place, under another address."""
        self._lost |= {worker.address for worker in self.all if worker.lost}
        return self.find(len(self.all), _WAIT_S)

    def _addresses(self) -> list[str]:
        return sorted(address for address in self._client.nthreads() if address not in self._lost)

    def _check_versions(self, addresses: Sequence[str]) -> None:
        """Ask with functions of the standard library alone: those of cassbook may be missing or others."""
        if not addresses:
            return
        asked: list[tuple[str, Callable[..., Any], tuple[str, ...]]] = [("Python", platform.python_version, ())]
        asked += [(name, version, (name,)) for name in _SAME]
        for name, function, arguments in [*asked, ("the source of cassbook", on_worker.fingerprint, ())]:
            ours = function(*arguments)
            answers = self._client.run(function, *arguments, workers=list(addresses), on_error="return")
            for address, theirs in answers.items():
                if isinstance(theirs, PackageNotFoundError):
                    raise InputError(f"--clients: worker {address} has no {name}; install the same as here, {ours}")
                if isinstance(theirs, Exception):
                    raise LaboratoryError(f"--clients: worker {address} could not be asked for {name} ({theirs})")
                if not _same(name, ours, theirs):
                    raise InputError(
                        f"--clients: worker {address} has {name} {theirs}, this machine {ours}; align them"
                    )

    def call(self, worker: Worker, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on a worker; LostClientError if it does not answer any more."""
        try:
            if worker.lost:
                raise OSError("gone")
            # The scheduler tries for half a minute to reach one that it does not know to be gone yet.
            called = self._callers.submit(self._client.run, function, *arguments, workers=[worker.address])
            while not wait([called], _LOOK_S).done:
                if worker.address not in self._client.nthreads():
                    raise OSError("gone")
            return called.result()[worker.address]
        except (OSError, TimeoutError, KeyError):
            worker.lost = True
            raise LostClientError(f"{worker.name} is lost") from None

    def read_clock(self, worker: Worker) -> float:
        """Read a worker's clock, by the shortest way."""
        return float(self._client.run(on_worker.clock, workers=[worker.address])[worker.address])

    def check_door(self, addresses: Sequence[str], protocol: int, tls: Any, port: int) -> None:
        """Connect to the cluster from every worker, each with its own credentials; an InputError names the worker that
        fails.
        """
        for worker in self.all:
            problem = self.call(worker, on_worker.try_door, list(addresses), protocol, tls, port)
            if problem:
                raise InputError(f"--clients: from {worker.name} ({worker.address}): {problem}")

    def described(self) -> list[str]:
        """Which workers there are, in lines for the person at the terminal."""
        lines = [f"{w.name}: {w.address}, host {w.host}, {counted(w.cores, 'core')}" for w in self.all]
        shared = len(self.all) - len({worker.host for worker in self.all})
        if shared:
            lines.append("several workers are on one host: they share its cores, and the record says so")
        if not self.asked.encrypted:
            lines.append("tcp:// is not encrypted: who reaches the scheduler can run anything on its workers")
        return lines


def _same(name: str, ours: str, theirs: str) -> bool:
    if name == "Python":  # patch releases understand one another
        return ours.split(".")[:2] == theirs.split(".")[:2]
    return ours == theirs
