"""Who runs the cells of a block: a client here, client processes, or clients on other machines."""

from __future__ import annotations

from cassbook.core.schema import WARM_UP
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.client import Client, Place
from cassbook.lab.run.processes import ClientProcesses
from cassbook.lab.run.remote import Clients, RemoteProcesses
from cassbook.profile.profile import Profile


class Runners:
    """Who runs the cells of a block: a client in this process, or client processes here or, with `clients`, elsewhere.

    Client processes find the cluster at `place` and draw from `seed`; the `client` is closed with the runners.
    """

    def __init__(
        self, profile: Profile, client: Client, place: Place, seed: list[int], epoch: float,
        clients: Clients | None = None,
    ) -> None:  # fmt: skip
        self._profile, self.client, self._place, self._seed, self._epoch = profile, client, place, seed, epoch
        self._clients = clients
        self._processes: ClientProcesses | RemoteProcesses | None = None

    def of(self, cell: Cell, attempt: int) -> tuple[Client | ClientProcesses, int]:
        """Return who runs a cell, and how many processes that are.

        This process does, unless the profile asks for more than one, for a client that has just been started, or a
        person for clients on other machines. The warm-up, whose end it decides, is always its own.
        """
        count = self._profile.load.client_processes
        alone = count == 1 and self._clients is None and cell.condition != "restarted_client"
        if cell.kind == WARM_UP or alone:
            return self.client, 1
        if self._processes is None:
            seed = [*self._seed, cell.order, *([attempt] if attempt > 1 else [])]
            make = self._clients.place if self._clients else ClientProcesses
            self._processes = make(count, self._profile, self._place, seed, self._epoch)
        return self._processes, count

    def reconnect(self) -> None:
        """Have every client connect anew: restarted nodes know neither connections nor prepared statements."""
        self.client.reconnect()
        self.renew()

    def renew(self) -> None:
        """Have the next cell run by client processes that have just been started."""
        if self._processes:
            self._processes.close()
            self._processes = None

    def close(self) -> None:
        """End the processes and close the client's connections."""
        self.renew()
        self.client.close()
