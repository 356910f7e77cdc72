"""Three replicas that may be as far apart as their levels allow, clients with clocks of their own, and a sweep."""

from __future__ import annotations

from dataclasses import dataclass, field

from cassbook_advisor.member import Member, Writes
from cassbook_advisor.register import Epoch
from cassbook_advisor.window import Load

N = 3
KEYS = ("a", "b")
IDLE = Load(0.0, float("nan"), 0.0)


class Time:
    """The one true time, which nobody can read."""

    def __init__(self):
        self.s = 0.0

    def clock(self, rate):
        return lambda: self.s * rate


@dataclass
class Replicas:
    """What each replica holds of each key: the highest sequence number it has got."""

    held: list = field(default_factory=lambda: [dict.fromkeys(KEYS, 0) for _ in range(N)])
    acknowledged: dict = field(default_factory=lambda: dict.fromkeys(KEYS, 0))
    last: dict = field(default_factory=lambda: dict.fromkeys(KEYS, 0))

    def apply(self, key, sequence, replicas):
        for replica in replicas:
            self.held[replica][key] = max(self.held[replica][key], sequence)

    def read(self, key, replicas):
        return max(self.held[replica][key] for replica in replicas)


@dataclass
class Write:
    client: object
    key: str
    sequence: int
    ticket: object


@dataclass
class Read:
    key: str
    replicas_needed: int
    required: int


class Naive(Member):
    """The paper's step 6: whoever sees a new setting uses it, and waits for nobody."""

    def tick(self, load):
        view = super().tick(load)
        if view is not None:
            epoch = view.epoch
            self._held = type(self._held).make(float("inf"), *epoch.wanted, epoch.number, before=Writes())
        return view


class NaiveConductor:
    """Switches both levels at once, as soon as another setting is wanted."""

    def __init__(self, name, register, *_):
        self._register = register

    def step(self, view, decide):
        wanted = decide(view) or view.epoch.wanted
        if wanted == view.epoch.wanted:
            return None
        following = Epoch(view.epoch.number + 1, view.epoch.regime, wanted)
        return following if self._register.advance(following) else None


class SimulatedSweep:
    """Reads the keys one after the other at ALL, each when `go_on` is called."""

    def __init__(self, replicas):
        self._replicas = replicas
        self._left = None

    def begin(self):
        self._left = list(KEYS)

    def go_on(self):
        if self._left:
            key = self._left.pop()
            self._replicas.apply(key, self._replicas.read(key, range(N)), range(N))

    def ended(self):
        if self._left is None:
            return False
        return True if not self._left else None
