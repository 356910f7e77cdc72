"""Nodes of a local cluster one by one: ended, paused, started again, replaced; what a cluster inherits."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from cassbook.core.children import described
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.lab.engine import breaking, preflight
from cassbook.lab.engine.spec import Spec

_END_TIMEOUT_S, _POLL_S = 60.0, 0.02
#: Folders of a node beside its data that are gone with its disks.
_LOST = ("commitlogs", "saved_caches", "hints")


class Controlled:
    """What can be done to one node, by its number from 1, of a cluster that is up.

    Attributes
    ----------
    folder : Path
        Of the cluster.
    spec : Spec
    """

    folder: Path
    spec: Spec
    _ccm: Any

    @property
    def broadcast_addresses(self) -> list[str]:
        """Address that the other nodes know each node by."""
        raise NotImplementedError

    @property
    def _listening(self) -> list[str]:
        raise NotImplementedError

    @contextmanager
    def paused(self, node: int) -> Iterator[None]:
        """Pause node `node` (from 1) for the length of the block: SIGSTOP, and SIGCONT however the block ends."""
        process = self.node_process(node)
        try:
            process.suspend()
            yield
        finally:
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def end_node(self, node: int, kill: bool = True) -> None:
        """End the process of node `node` (from 1), and wait until it is gone.

        Parameters
        ----------
        node : int
        kill : bool
            SIGKILL, or SIGTERM, upon which it takes its leave. Either leaves the pages that it has written to the
            kernel, which writes them out: it is no power cut.

        Raises
        ------
        LaboratoryError
            If it does not run, or has not ended after a minute.
        """
        process = self.node_process(node)
        process.kill() if kill else process.terminate()
        deadline = time.monotonic() + _END_TIMEOUT_S
        while _runs(process) or preflight.held(self._address(node)):
            if time.monotonic() > deadline:
                wrong = f"node{node} has not ended after {_END_TIMEOUT_S:.0f} s"
                raise LaboratoryError(f"{wrong}\n{self._log_end(node)}")
            time.sleep(_POLL_S)

    def launch_node(self, node: int, replace: bool = False) -> None:
        """Start node `node` (from 1), which does not run; returns before it answers.

        A spare node joins: it fetches what is to be its own from the others.

        Parameters
        ----------
        node : int
        replace : bool
            With empty disks: all that it had is gone, and what its ranges hold is streamed from the other replicas.
        """
        folder = self._folder(node)
        (folder / "cassandra.pid").unlink(missing_ok=True)
        ccm_node = self._ccm.nodelist()[node - 1]
        ccm_node.pid = None  # of a process that has ended, which ccm takes to run until its parent has noticed
        options: dict[str, Any] = {}
        if replace:
            for lost in (*folder.glob("data*"), *(folder / name for name in _LOST)):
                shutil.rmtree(lost, ignore_errors=True)
                lost.mkdir()
            options["replace_address"] = self.broadcast_addresses[node - 1]
        if replace or node > self.spec.nodes:
            self._let_join(node)
        ccm_node.start(no_wait=True, wait_other_notice=False, **options)

    def set_clock(self, node: int, by_ms: float) -> None:
        """Set the clock of node `node`, one of `Spec.breakable.clocks`, ahead; it heeds that within a second."""
        breaking.set_clock(self._folder(node), by_ms)

    def fill_disk(self, node: int) -> None:
        """Fill the disk of node `node`, one of `Spec.breakable.disks`."""
        breaking.fill(self._folder(node))

    def free_disk(self, node: int) -> None:
        """Free the disk of node `node` again; it has what it had."""
        breaking.free(self._folder(node))

    def _let_join(self, node: int) -> None:
        """Have a node fetch its rows from the others, which no node does that is a seed of its own."""
        ccm_node, seeds = self._ccm.nodelist()[node - 1], self._ccm.seeds
        self._ccm.seeds = [address for other, address in enumerate(self.broadcast_addresses, 1) if other != node]
        ccm_node.auto_bootstrap = True
        ccm_node.set_configuration_options({})  # writes its configuration anew
        self._ccm.seeds = seeds

    def _folder(self, node: int) -> Path:
        return self.folder / "ccm" / f"node{node}"

    def node_answers(self, node: int) -> bool:
        """Whether node `node` (from 1) accepts connections of clients."""
        return answers(self._address(node))

    def _address(self, node: int) -> str:
        return [*self._listening, *self._spare_addresses][node - 1]

    @property
    def _spare_addresses(self) -> list[str]:
        return [f"127.0.0.{self.spec.nodes + place}" for place in range(1, self.spec.spare + 1)]

    def node_process(self, node: int) -> psutil.Process:
        """Return the process of node `node`, from 1.

        Raises
        ------
        InputError
            If there is no such node.
        LaboratoryError
            If its process is gone.
        """
        if not 1 <= node <= self.spec.nodes + self.spec.spare:
            raise InputError(f"node: there are nodes 1 to {self.spec.nodes + self.spec.spare}, got {node}")
        pidfile = self._folder(node) / "cassandra.pid"
        try:
            return psutil.Process(int(pidfile.read_text()))
        except (OSError, ValueError, psutil.NoSuchProcess):
            raise LaboratoryError(f"node{node} does not run\n{self._log_end(node)}") from None

    def _log_end(self, number: int) -> str:
        """Why a node failed by its logs, what it said itself and then its JVM; they are kept when its folder goes."""
        folder = self._folder(number) / "logs"
        paths = [folder / name for name in ("system.log", "stdout.log")]
        logs = "\n".join(path.read_text(errors="replace") for path in paths if path.is_file())
        return described(logs, f"{self.folder.name}-node{number}") if logs.strip() else f"node{number} wrote no log"


def _runs(process: psutil.Process) -> bool:
    """Whether a process has not ended, or only its parent has yet to notice."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def answers(address: str) -> bool:
    """Return whether something accepts connections on a node's CQL port."""
    try:
        with socket.create_connection((address, preflight.CQL_PORT), timeout=1):
            return True
    except OSError:
        return False
