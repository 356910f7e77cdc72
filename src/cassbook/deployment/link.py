"""One direction between two hosts: when bytes that set out now arrive."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cassbook.core.errors import InputError

#: Half-way round the earth in glass takes 0.1 s, by a satellite high up 0.3 s; nobody means more than this.
MOST_DELAY_MS = 5_000.0
#: What the relay that emulates links was measured to carry with round trips still as asked, on two cores that an echo
#: also uses: `make bench` measures it again (`bench.relay.ceiling`), `data/bench/relay-ceiling.csv` is the record.
CEILING_CHUNKS_PER_S = 8_000
CEILING_BYTES_PER_S = 130e6


@dataclass(frozen=True, slots=True)
class Link:
    """What lies between a sender and a receiver.

    Raises InputError for a negative or absurd value.
    """

    delay_ms: float = 0.0  # one way
    #: A chunk takes up to so much more or less, evenly spread; it cannot be more than the delay. Order is kept, so that
    #: one late chunk holds up those behind it, as in TCP.
    jitter_ms: float = 0.0
    mbit_per_s: float = math.inf  # bandwidth, of each connection for itself; infinite if there is no bound
    #: Nothing arrives until the link is whole again; then all of it does, as TCP sends again what was not received.
    cut: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.delay_ms <= MOST_DELAY_MS:
            raise InputError(f"delay: {self.delay_ms:g} ms one way is not between 0 and {MOST_DELAY_MS:g}")
        if not 0 <= self.jitter_ms <= self.delay_ms:
            raise InputError(f"jitter: {self.jitter_ms:g} ms is not between 0 and the delay, {self.delay_ms:g} ms")
        if not self.mbit_per_s > 0:
            raise InputError(f"bandwidth: {self.mbit_per_s:g} Mbit/s is not positive")

    @property
    def seconds_per_byte(self) -> float:
        """Time that a byte takes to leave."""
        return 8e-6 / self.mbit_per_s


#: Hosts side by side.
NONE = Link()
