"""Client processes on the workers of a Dask cluster: their clocks are measured, and what they wrote is fetched."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.schema import Mark
from cassbook.lab.engine.connect import Access, Tls, connect_with_own
from cassbook.lab.load.loop import Outcome
from cassbook.lab.load.recorder import Window
from cassbook.lab.run import on_worker
from cassbook.lab.run.client import Place
from cassbook.lab.run.processes import ClientProcesses, LostClientError, Member
from cassbook.profile.profile import Profile

if TYPE_CHECKING:
    from cassbook.lab.run.workers import Worker, Workers

#: How long a worker waits for a message before it says that there is none; the owner looks after it oftener.
_POLL_S = 5.0
_PIECE_BYTES = 8 << 20
_TOUCH_S = 10.0
#: How far ahead a steady window is announced at least; a message's way through the scheduler adds to it.
_LEAD_S, _LEAD_ROUND_TRIPS = 0.2, 6
_MARGIN_S = 0.005
MOST_PROCESSES = 64
#: A cell whose clocks are known no better than this part of its steady window is marked `clock`.
WINDOW_SHARE = 0.01
_ROUND_TRIPS = 40


@dataclass(frozen=True, slots=True)
class Offset:
    """What another clock shows more than ours."""

    offset_s: float = 0.0
    #: The true offset is within `offset_s` +- `bound_s`, however long either way of a round trip took.
    bound_s: float = 0.0

    def until(self, later: Offset) -> Offset:
        """Return the same offset with a bound that also holds what was measured later: clocks drift."""
        drift_s = abs(later.offset_s - self.offset_s)
        return Offset(self.offset_s, max(self.bound_s, drift_s + later.bound_s))


def measure_offset(
    read: Callable[[], float], rounds: int = _ROUND_TRIPS, clock: Callable[[], float] = time.perf_counter
) -> Offset:
    """Read another clock several times, and judge it by the quickest round trip: the bound is half of it.

    `read` reads the other clock at some moment between its call and its return; `clock` is ours.
    """
    best = Offset(0.0, float("inf"))
    for _ in range(rounds):
        asked = clock()
        there = read()
        answered = clock()
        bound_s = (answered - asked) / 2
        if bound_s < best.bound_s:
            best = Offset(there - (asked + answered) / 2, bound_s)
    return best


def too_wide(bound_s: float, window_s: float) -> bool:
    """Return whether clocks are known too badly for a steady window of that length."""
    return not bound_s <= WINDOW_SHARE * window_s


class RemoteMember(Member):
    """A client process on a worker; `arguments` are those of `processes.serve`, except the owner."""

    def __init__(self, workers: Workers, worker: Worker, number: int, arguments: tuple[Any, ...]) -> None:
        self._workers, self.worker, self.number, self._arguments = workers, worker, number, arguments
        self.key = uuid.uuid4().hex
        self._what = f"client process {number} ({worker.name})"
        self._folder: Path | None = None
        self.clock = Offset()

    @property
    @override
    def offset_s(self) -> float:
        return self.clock.offset_s

    def measure_clock(self) -> Offset:
        """Measure what its clock shows more than ours."""
        try:
            return measure_offset(lambda: self._workers.read_clock(self.worker))
        except (OSError, KeyError):
            self.worker.lost = True
            raise LostClientError(f"{self.worker.name} is lost") from None

    @override
    def launch(self) -> None:
        self._folder = Path(self._call(on_worker.launch, self.number, self._arguments))

    @override
    def hear(self, timeout_s: float | None = None, failing: str = "") -> Any:
        """Wait for its next message.

        LostClientError if it or its worker died; otherwise its own reason, or a LaboratoryError if it sends nothing in
        time.
        """
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        while True:
            answer = self._checked(self._call(on_worker.hear, _POLL_S), failing)
            if answer.said:
                return answer.message
            if time.monotonic() > deadline:
                raise LaboratoryError(f"{self._what} has not answered for {timeout_s:g} s")

    @override
    def tell(self, message: Any) -> None:
        self.deliver(message)

    def deliver(self, message: Any) -> float:
        """Send it something; return when it was handed over, by its clock."""
        answer, moment = self._call(on_worker.tell, message)
        self._checked(answer)
        return float(moment)

    def _checked(self, answer: on_worker.Answer, failing: str = "") -> on_worker.Answer:
        if answer.died:
            raise LostClientError(f"{self._what} is lost: {answer.problem}")
        if answer.problem:
            kind = InputError if answer.wrong_input else LaboratoryError
            raise kind(f"{self._what}{' ' + failing if failing else ''}: {answer.problem}")
        return answer

    def _call(self, function: Any, *arguments: Any) -> Any:
        return self._workers.call(self.worker, function, self.key, *arguments)

    @override
    def hang_up(self) -> None:
        self._if_there(on_worker.hang_up)

    @override
    def stop(self) -> None:
        """End it; harmless to repeat, and where its worker is lost."""
        self._if_there(on_worker.stop)

    def _if_there(self, function: Any) -> None:
        if self._folder is None or self.worker.lost:
            return
        with suppress(LostClientError):  # it ended with its worker
            self._call(function)

    @override
    def writes_at(self, part: Path) -> Path:
        """Where it writes what is to be `part` here: in its own folder there."""
        assert self._folder is not None  # noqa: S101 - it was launched
        return self._folder / part.name

    @override
    def collect(self, part: Path) -> None:
        """Fetch what it wrote, piece by piece, and remove it there."""
        there = str(self.writes_at(part))
        with part.open("wb") as stream:
            while piece := self._call(on_worker.read, there, stream.tell(), _PIECE_BYTES):
                stream.write(piece)
        self._workers.call(self.worker, on_worker.remove, there)


class RemoteProcesses(ClientProcesses):
    """Client processes on workers, spread over them in turn; as `ClientProcesses`, with clocks of their own.

    The place brings no credentials. After a cell, `columns` are what its row says in addition, `marks` what its clocks
    earned it, and `offsets` the clock of each process.
    """

    def __init__(self, workers: Workers, *as_local: Any) -> None:
        self._workers = workers
        self.columns: dict[str, Any] = {}
        self.marks: list[str] = []
        self.offsets: list[dict[str, Any]] = []
        self._over = threading.Event()
        super().__init__(*as_local)
        threading.Thread(target=self._keep, name="keeper of client processes", daemon=True).start()

    def _member(self, number: int, arguments: tuple[Any, ...]) -> RemoteMember:
        workers = self._workers.all
        return RemoteMember(self._workers, workers[(number - 1) % len(workers)], number, arguments)

    @override
    def close(self) -> None:
        self._over.set()
        super().close()

    def _keep(self) -> None:
        """Let each worker know now and then that the owner is there."""
        while not self._over.wait(_TOUCH_S):
            for worker in {child.worker.address: child.worker for child in self.children}.values():
                keys = [child.key for child in self.children if child.worker is worker]
                try:
                    self._workers.call(worker, on_worker.touch, keys)
                except LostClientError:
                    continue  # its next call raises this

    def _begin(self, children: Sequence[Member]) -> None:
        """Measure the clocks; announce the window so early that the slowest news is in time."""
        slowest = 0.0
        for child in self._of(children):
            child.clock = child.measure_clock()
            slowest = max(slowest, 2 * child.clock.bound_s)
        self.lead_s = _LEAD_S + _LEAD_ROUND_TRIPS * len(children) * slowest

    def _announce(self, child: Member, moment: float, ahead: bool) -> None:
        """Send a member the moment, and check that one still to come was known before it came."""
        assert isinstance(child, RemoteMember)  # noqa: S101 - made by `_member`
        came = child.deliver(moment + child.offset_s)
        if ahead and came + _MARGIN_S > moment + child.offset_s:
            raise LostClientError(f"client process {child.number} heard too late of the steady window")

    def _end(self, children: Sequence[Member], outcomes: Sequence[Outcome], window: Window) -> None:
        """Measure the clocks once more, and note how well they were known and what each host gave."""
        length_s = window.steady_to - window.steady_from
        busy: dict[int, float] = {}
        cores: dict[int, int] = {}
        self.offsets = []
        for child, outcome in zip(self._of(children), outcomes, strict=True):
            clock = child.clock.until(child.measure_clock())
            host = child.worker.host
            busy[host], cores[host] = busy.get(host, 0.0) + outcome.client_cpu_s, child.worker.cores
            self.offsets.append(
                {"process": child.number, "worker": child.worker.number, "host": host,
                 "offset_s": round(clock.offset_s, 6), "bound_us": round(clock.bound_s * 1e6, 1)}
            )  # fmt: skip
        worst_us = max(note["bound_us"] for note in self.offsets)
        share = max(busy[host] / length_s / cores[host] for host in busy)
        self.columns = {
            "client_hosts": len(busy), "clock_bound_us": worst_us, "client_cpu_share": round(share, 4),
        }  # fmt: skip
        self.marks = [Mark.CLOCK] if too_wide(worst_us / 1e6, length_s) else []

    @staticmethod
    def _of(children: Sequence[Member]) -> list[RemoteMember]:
        return [child for child in children if isinstance(child, RemoteMember)]


class Clients:
    """Where the client processes of a run go: workers, which find TLS files by the same paths."""

    def __init__(self, workers: Workers, access: Access, protocol: int) -> None:
        self._workers, self._protocol = workers, protocol
        self._port, self._tls = access.port, _absolute(access.tls)

    def check(self, addresses: Sequence[str]) -> None:
        """Connect to the cluster from each worker once, before anything is written; an InputError names one that
        cannot.
        """
        self._workers.check_door(addresses, self._protocol, self._tls, self._port)

    def place(self, count: int, profile: Profile, place: Place, seed: list[int], epoch: float) -> RemoteProcesses:
        """Start client processes on the workers, each with the credentials of its own environment."""
        reach = partial(connect_with_own, place.addresses, self._protocol, self._tls, self._port)
        return RemoteProcesses(self._workers, count, profile, replace(place, connect=reach), seed, epoch)

    def look_again(self) -> None:
        """See which workers there are after one was lost."""
        self._workers.again()

    def notes(self) -> dict[str, Any]:
        """Return what the manifest records of the workers; no address."""
        return {
            "encrypted": self._workers.asked.encrypted,
            "workers": [{"worker": w.number, "host": w.host, "cores": w.cores} for w in self._workers.all],
        }

    def processes_for(self, profile: Profile, begun_with: int | None = None) -> int:
        """Return how many client processes a profile has on these workers: one each, or more if it asks for more.

        A run that is resumed keeps those it was `begun_with`, spread over the workers there are now. InputError if the
        profile has no window in seconds for them to share, or there are too many workers.
        """
        if profile.load.steady_s is None:
            raise InputError("--clients: several client processes share one steady window: give load.steady_s")
        count = begun_with or max(profile.load.client_processes, len(self._workers.all))
        if count > MOST_PROCESSES:
            raise InputError(f"--clients: {count} workers; at most {MOST_PROCESSES} client processes make one load")
        return count


def _absolute(tls: Tls | None) -> Tls | None:
    """Return the same files by paths that mean the same in any folder."""
    if tls is None:
        return None
    return replace(tls, **{name: path.absolute() for name in ("ca", "cert", "key") if (path := getattr(tls, name))})
