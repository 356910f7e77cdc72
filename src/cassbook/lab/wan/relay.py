"""Distance on one machine: a TCP relay in a process of its own, which delays what it passes on.

A host that is to be far away broadcasts an address at which the relay listens, and itself listens on another.
Every ordered pair of hosts has a `Link`. Bytes stay whole and in order; what one side ends is ended for the other
after all that came before, and a reset is passed on at once. Module `relay_process` does the work.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from cassbook.deployment.link import CEILING_BYTES_PER_S, CEILING_CHUNKS_PER_S, Link
from cassbook.lab.wan import relay_process
from cassbook.lab.wan.child import Child

Address = tuple[str, int]
Links = Mapping[tuple[str, str], Link]


def free_address() -> Address:
    """An address of the loopback device that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        return str(host), int(port)


@dataclass(frozen=True, slots=True)
class Route:
    """Where the relay listens, and where that leads.

    Attributes
    ----------
    listen, to : tuple of str and int
        Address and port.
    host : str
        That it leads to.
    caller : str, optional
        Whose connections come in there; found out for each if it is not said.
    """

    listen: Address
    to: Address
    host: str
    caller: str | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """What a relay has passed on since it was last asked.

    Attributes
    ----------
    seconds : float
        Since then.
    chunks, bytes : mapping of (sender, receiver) to int
    late : tuple of int
        Chunks by the binary logarithm of how many microseconds after their time they left: entry k counts those less
        than 2^k us late.
    longest_turn_ms : float
        Longest time in which the relay looked at no socket.
    connections : int
        Ever made.
    """

    seconds: float
    chunks: Mapping[tuple[str, str], int]
    bytes: Mapping[tuple[str, str], int]
    late: tuple[int, ...]
    longest_turn_ms: float
    connections: int

    @property
    def chunks_per_s(self) -> float:
        """Chunks per second between all pairs together."""
        return sum(self.chunks.values()) / self.seconds

    @property
    def bytes_per_s(self) -> float:
        """Bytes per second between all pairs together."""
        return sum(self.bytes.values()) / self.seconds

    @property
    def beyond_ceiling(self) -> bool:
        """Whether more went through than the relay is stated to carry."""
        return self.chunks_per_s > CEILING_CHUNKS_PER_S or self.bytes_per_s > CEILING_BYTES_PER_S

    @property
    def strangers(self) -> int:
        """Chunks from or to callers that are no host, or taken for the one that they call."""
        return sum(count for (a, b), count in self.chunks.items() if not a or not b or a == b)


class Delayer:
    """What the relay and the kernel's rules have in common: links in force as long as a child process lives.

    In force between `start` and `stop`, or within a `with` block.

    Parameters
    ----------
    child : Child
    """

    def __init__(self, child: Child) -> None:
        self._child = child
        self._asked_at = 0.0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def alive(self) -> bool:
        """Whether the links are in force."""
        return self._child.alive

    def start(self) -> None:
        """Put the links into force."""
        self._child.start()
        self._asked_at = time.monotonic()

    def stop(self) -> None:
        """End that; what is still under way may be lost. Harmless to repeat."""
        self._child.stop()

    def _ask(self, question: Any) -> tuple[float, Any]:
        """Return seconds since the last time, and the child's answer."""
        answer, now = self._child.ask(question), time.monotonic()
        seconds, self._asked_at = now - self._asked_at, now
        return seconds, answer


class Relay(Delayer):
    """Relays between `start` and `stop`, or within a `with` block.

    Parameters
    ----------
    routes : sequence of Route
    links : mapping of (sender, receiver) to Link
        Other pairs are not delayed.
    hosts : mapping of str to str
        Address that a host listens on, to its name: how callers are identified.
    by_owner : bool
        See `Callers`.

    Raises
    ------
    LaboratoryError
        From `start`, naming an address that cannot be listened on.
    """

    def __init__(
        self, routes: Sequence[Route], links: Links, hosts: Mapping[str, str] | None = None, by_owner: bool = False
    ) -> None:
        arguments = [asdict(route) for route in routes], _flat(links), dict(hosts or {}), by_owner
        super().__init__(Child("the relay", relay_process.serve, *arguments))

    @property
    def pid(self) -> int:
        """Process ID of the relay."""
        return self._child.pid

    def set_links(self, links: Links) -> None:
        """Put other links into force, also on connections that are up, for what comes from now on.

        What a cut holds back is passed on when the link is whole again, but not what was left by a process that has
        ended meanwhile: its machine is taken to be gone. A reset is passed on at once all the same, and a
        connection that is opened over a cut link is accepted, but nobody answers on it.
        """
        self._child.ask(_flat(links))

    def report(self) -> Moved:
        """Return what has been passed on since the last report.

        Raises
        ------
        LaboratoryError
            If the relay has died.
        """
        seconds, moved = self._ask(None)
        chunks = {(sender, receiver): count for sender, receiver, count, _ in moved["pairs"]}
        sizes = {(sender, receiver): size for sender, receiver, _, size in moved["pairs"]}
        turn_ms = moved["longest_turn_s"] * 1000
        return Moved(seconds, chunks, sizes, tuple(moved["late"]), turn_ms, moved["connections"])


def _flat(links: Links) -> list[tuple[str, str, float, float, float]]:
    return [(*pair, _delay_s(link), link.jitter_ms / 1000, link.seconds_per_byte) for pair, link in links.items()]


def _delay_s(link: Link) -> float:
    return math.inf if link.cut else link.delay_ms / 1000
