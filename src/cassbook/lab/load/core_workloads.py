"""YCSB's core workloads A to F: what they ask for, how often, and which rows."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from typing_extensions import override

from cassbook.lab.load import keys
from cassbook.lab.load.ycsb import INSERT, READ, RMW, SCAN, UPDATE, Locked, Request, Usertable

#: A new row may be asked for when its insert was sent so long ago. YCSB waits for the acknowledgement; its insert
#: will have had it by then, and if it failed YCSB asks for the row all the same.
SETTLED_AFTER_S = 0.5
_KINDS_RING = 1 << 16
_INSERTS_AHEAD = 1 << 14
_A_FEW_MORE = 512


class Workload(Protocol):
    """What the loop needs of a workload."""

    def prefixes(self, read_cl: str, write_cl: str) -> list[list[bytes]]:
        """First part of each statement's frame body at the given levels, by operation and statement."""

    def requests(self, operation: int) -> Iterator[Request]:
        """Endless requests of a kind; safe to share by threads."""

    def operations(self, rng: np.random.Generator) -> Iterator[int]:
        """Endless kinds of operation; safe to share by threads."""

    def queries(self) -> list[str]:
        """Text of every statement, to be prepared anew by a new session or for nodes that have forgotten them."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One of YCSB's core workloads, as its files workloada to workloadf (0.17) define them."""

    shares: Mapping[int, float]
    distribution: str

    @property
    def inserts(self) -> bool:
        """Whether it adds rows, and so needs a table of its own."""
        return INSERT in self.shares


PRESETS = {
    "A": Preset({READ: 0.5, UPDATE: 0.5}, "zipfian"),
    "B": Preset({READ: 0.95, UPDATE: 0.05}, "zipfian"),
    "C": Preset({READ: 1.0}, "zipfian"),
    "D": Preset({READ: 0.95, INSERT: 0.05}, "latest"),
    "E": Preset({SCAN: 0.95, INSERT: 0.05}, "zipfian"),
    "F": Preset({READ: 0.5, RMW: 0.5}, "zipfian"),
}


def read_share(shares: Mapping[int, float]) -> float:
    """Share of operations that read; a read-modify-write, which also writes, counts half.

    >>> [round(read_share(preset.shares), 2) for preset in PRESETS.values()]
    [0.5, 0.95, 1.0, 0.95, 0.95, 0.75]
    """
    return sum(share * {READ: 1.0, SCAN: 1.0, RMW: 0.5}.get(operation, 0.0) for operation, share in shares.items())


def kinds(shares: Mapping[int, float], rng: np.random.Generator) -> Iterator[int]:
    """Endless kinds of operation, each with the probability of its share; safe to share by threads."""
    if len(shares) == 1:
        return itertools.repeat(next(iter(shares)))
    weights = np.array(list(shares.values()))
    return itertools.cycle(rng.choice(list(shares), _KINDS_RING, p=weights / weights.sum()).tolist())


class Growth:
    """The rows that a workload adds to its table, and which of them may be requested.

    Each of several client processes adds rows of its own, and requests those and the loaded ones. The clock gives
    seconds.
    """

    def __init__(
        self, table: Usertable, process: int = 0, processes: int = 1, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._table, self._process, self._processes, self._clock = table, process, processes, clock
        self._loaded = table.rows
        self._sent: deque[float] = deque()  # when, of each insert that is not settled
        self._next = table.rows
        self._newest = table.rows - 1
        self._lock = threading.Lock()
        self._picks: list[list[int]] = []

    def prepare(self, ahead: int = _INSERTS_AHEAD) -> None:
        """Draw the keys and values of the next inserts, so that it need not be done while a cell runs."""
        missing = self._next + ahead - self._table.rows
        if missing > 0:
            first = self._table.rows - self._loaded
            numbers = self._loaded + self._process + self._processes * np.arange(first, first + missing)
            self._table.add_rows(numbers)
        self._picks = self._picks or self._table.picks(INSERT, _INSERTS_AHEAD)

    def insert(self) -> Request:
        """Insert the next row; its key is YCSB's for the next number."""
        with self._lock:
            if self._next == self._table.rows:
                self.prepare(_A_FEW_MORE)
            row = self._next
            self._next += 1
            self._sent.append(self._clock())
        return self._table.insert(row, self._picks[row % _INSERTS_AHEAD])

    def newest(self) -> int:
        """Newest row that may be requested."""
        if self._sent:
            with self._lock:
                before = self._clock() - SETTLED_AFTER_S
                while self._sent and self._sent[0] < before:
                    self._sent.popleft()
                self._newest = self._next - len(self._sent) - 1
        return self._newest

    def expect(self, count: int) -> int:
        """How many rows there may be after `count` more inserts."""
        return self._next + count


class YcsbWorkload(Workload):
    """The requests of a preset on a usertable, one of its own if the preset inserts.

    Lengths of scans are 'uniform' or 'zipfian'; for `process` and `processes` see `Growth`.
    """

    def __init__(
        self,
        preset: Preset,
        table: Usertable,
        rng: np.random.Generator,
        max_scan_length: int = 100,
        scan_length_distribution: str = "uniform",
        process: int = 0,
        processes: int = 1,
    ) -> None:
        self._preset, self._table, self._rng = preset, table, rng
        self._scan = scan_length_distribution, max_scan_length
        self.growth = Growth(table, process, processes)

    @override
    def prefixes(self, read_cl: str, write_cl: str) -> list[list[bytes]]:
        return self._table.prefixes(read_cl, write_cl)

    @override
    def queries(self) -> list[str]:
        return self._table.queries()

    @override
    def operations(self, rng: np.random.Generator) -> Iterator[int]:
        """Endless kinds of operation in the preset's shares; safe to share by threads."""
        return kinds(self._preset.shares, rng)

    @override
    def requests(self, operation: int) -> Iterator[Request]:
        """Endless requests of a kind; none of a kind that the preset does not have."""
        if operation not in self._preset.shares:
            return iter(())
        if operation == INSERT:
            self.growth.prepare()
            return iter(self.growth.insert, None)
        if operation == SCAN:
            lengths = keys.scan_lengths(*self._scan, self._table.ring_size, self._rng).tolist()
            return Locked(map(self._table.scan, self._rows(), itertools.cycle(lengths)))
        if self._preset.inserts:
            return Locked(map(self._table.read, self._rows()))
        return self._table.requests(operation, self._preset.distribution)

    def _rows(self) -> Iterator[int]:
        """Rows to request, endlessly, as the table grows."""
        size, growth = self._table.ring_size, self.growth
        if self._preset.distribution == "latest":
            for behind in itertools.cycle(keys.recency(growth.newest() + 1, size, self._rng).tolist()):
                yield growth.newest() - behind
        else:
            # As YCSB: popularity is spread over the rows there will be, and what is not there yet is drawn again.
            expected = round(2 * size * self._preset.shares.get(INSERT, 0.0))
            for row in itertools.cycle(
                keys.draw(self._preset.distribution, growth.expect(expected), size, self._rng).tolist()
            ):
                if row <= growth.newest():
                    yield row
