"""The part of a profile that breaks things: which faults strike when, under a load of which settings."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cassbook.profile.fault_schedule import (
    KINDS,
    MOST_MS,
    Fault,
    Order,
    Schedule,
    at_random,
    check_drawn,
    repeated,
    sequence,
    together,
)
from cassbook.profile.fields import Distinct, Positive, PositiveSeconds, Section, Settings, Share

#: Ways in which the driver handles a request that goes wrong: see `experiments.faults.drivers`.
Driver = Literal["default", "round_robin", "no_retry", "next_host", "speculative"]
Client = Literal["client"]
#: The driver and the nodes carry more; the client of the faults' load does not.
_MOST_PER_S = 3000.0
_MOST_THREADS = 100
_GROUPS = ("sequence", "together", "random")


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"use one of {', '.join(KINDS)}")
    return kind


def _drawn(kinds: list[str]) -> list[str]:
    check_drawn(kinds)
    return kinds


class FaultEvent(Section):
    """A fault, or the same one several times (a node that flaps): see `Fault`.

    `restart` takes several nodes in turn; `replace` kills a node and gives it empty disks, at once or, with `for_s`,
    after it has been away for so long; `add` has nodes join, numbered behind those of the cluster, and `decommission`
    has such a node leave in order; `repair` has a node compare its rows with those of the other replicas. `clock` sets
    a node's clock ahead by `by_ms`, or back if that is negative; `fill` fills its disk.
    """

    at_s: Annotated[float, Field(ge=0)]
    do: Annotated[str, AfterValidator(_known)]
    nodes: Annotated[list[Positive], Field(min_length=1), Distinct]
    for_s: PositiveSeconds | None = None
    times: Positive = 1
    every_s: PositiveSeconds | None = None
    to: Annotated[list[Positive | Client], Field(min_length=1), Distinct] | None = None
    way: Literal["both", "in", "out"] = "both"
    delay_ms: Annotated[float, Field(gt=0, le=MOST_MS)] | None = None
    by_ms: Annotated[float, Field(ge=-MOST_MS, le=MOST_MS)] | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        _check_repeats(self.times, self.every_s)
        self.schedule()
        return self

    def schedule(self, rng: np.random.Generator | None = None) -> Schedule:
        """Return it as a value; nothing is drawn."""
        fault = Fault(
            self.do, tuple(self.nodes), self.at_s, self.for_s, tuple(self.to or ()), self.way, self.delay_ms or 0.0,
            self.by_ms or 0.0,
        )  # fmt: skip
        return repeated(fault, self.times, self.every_s or 0.0)

    @property
    def of_links(self) -> bool:
        """Whether it strikes links."""
        return KINDS[self.do].links


class RandomFaults(Section):
    """Faults drawn at random: see `at_random`.

    The seed is the cluster start's, so that the same start of the same profile breaks in the same way.
    """

    do: Annotated[list[str], Field(min_length=1), Distinct, AfterValidator(_drawn)]
    nodes: Annotated[list[Positive], Field(min_length=1), Distinct]
    up_s: PositiveSeconds
    down_s: PositiveSeconds
    at_once: Positive = 1

    def schedule(self, for_s: float, rng: np.random.Generator | None) -> Schedule:
        """Draw what strikes within so many seconds; without `rng` each node is struck all the time, as for checks."""
        if rng is not None:
            return at_random(rng, self.do, self.nodes, self.up_s, self.down_s, for_s, self.at_once)
        kind = min(self.do, key=lambda name: KINDS[name].links)  # what holds a node rather than its links
        all_of_it_s = math.nextafter(for_s, 0.0)  # what is drawn ends before the time does
        return Schedule(tuple(Fault(kind, (node,), 0.0, all_of_it_s, drawn=True) for node in self.nodes))

    @property
    def of_links(self) -> bool:
        """Whether one of them may strike links."""
        return any(KINDS[kind].links for kind in self.do)


class FaultGroup(Section):
    """Faults that belong together: one after the other, side by side, or drawn at random.

    Times within count from when the group begins; in a sequence from when the one before is over. They are 0 if left
    out. Faults are drawn for `for_s`; a group that comes again is the same each time.
    """

    at_s: Annotated[float, Field(ge=0)] = 0.0
    sequence: Annotated[list[Step], Field(min_length=1)] | None = None
    together: Annotated[list[Step], Field(min_length=1)] | None = None
    random: RandomFaults | None = None
    for_s: PositiveSeconds | None = None
    times: Positive = 1
    every_s: PositiveSeconds | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        given = [name for name in _GROUPS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of {', '.join(_GROUPS)}, not {' and '.join(given) or 'none'}")
        if (self.random is None) != (self.for_s is None):
            raise ValueError("for_s goes with random: for so long faults are drawn")
        _check_repeats(self.times, self.every_s)
        self.schedule(None)
        return self

    def schedule(self, rng: np.random.Generator | None) -> Schedule:
        """Return it as a value, with what is drawn; without `rng` as `RandomFaults.schedule` has it."""
        if self.random is not None:
            whole = self.random.schedule(self.for_s or 0.0, rng)
        else:
            combine = sequence if self.sequence is not None else together
            whole = combine(*(step.schedule(rng) for step in self.sequence or self.together or ()))
        return repeated(whole, self.times, self.every_s or 0.0).later(self.at_s)

    @property
    def of_links(self) -> bool:
        """Whether one of them may strike links."""
        parts = (self.random, *(self.sequence or ()), *(self.together or ()))
        return any(part.of_links for part in parts if part)


def _check_repeats(times: int, every_s: float | None) -> None:
    if (times > 1) != (every_s is not None):
        raise ValueError("times and every_s go together")


def _event(value: Any) -> Any:
    """Read a group by one of its keys, anything else as a fault; errors then name keys of that one alone."""
    if isinstance(value, FaultEvent | FaultGroup):
        return value
    if not isinstance(value, dict):
        raise ValueError("a fault is a mapping of keys, such as {at_s: 10, do: kill, nodes: [2], for_s: 15}")
    return (FaultGroup if any(name in value for name in _GROUPS) else FaultEvent).model_validate(value)


def _step(value: Any) -> Any:
    return _event({"at_s": 0.0} | value if isinstance(value, dict) else value)


def _written(value: Any) -> Any:
    """Turn a schedule that Python made into what YAML would say."""
    if not isinstance(value, Schedule):
        return value
    return [as_written(fault) for fault in value.numbered().values()]


def as_written(fault: Fault) -> dict[str, Any]:
    """Return a fault as YAML says it."""
    said = {
        "at_s": fault.at_s, "do": fault.kind, "nodes": list(fault.nodes), "for_s": fault.for_s,
        "to": list(fault.to) or None, "way": fault.way, "delay_ms": fault.delay_ms or None,
        "by_ms": fault.by_ms or None,
    }  # fmt: skip
    return {key: value for key, value in said.items() if value is not None}


Event = Annotated[FaultEvent | FaultGroup, BeforeValidator(_event)]
#: An event within a group.
Step = Annotated[FaultEvent | FaultGroup, BeforeValidator(_step)]


class FaultsSection(Section):
    """A schedule of faults, and the load under which they strike.

    Requests of all settings, drivers and tables take turns, each at its share of `rate_per_s`, so that all meet the
    same faults. Or each of them has `threads` of its own, which send a request when the one before has been answered or
    given up: that shows what such clients get done, and not how long they would have waited. `steady_s` of the
    load is the length of the schedule, its `request_timeout_s` the driver's time-out. `tables` are the options of
    tables, by a name; each has rows of its own. Writes bear the client's time, as the driver's default is, or with
    `timestamps: server` that of the node which coordinates them. `events` may also be a `Schedule`.
    """

    settings: Settings
    rate_per_s: Annotated[float, Field(gt=0, le=_MOST_PER_S)] | None = None
    threads: Annotated[int, Field(ge=1, le=_MOST_THREADS, strict=True)] | None = None
    read_share: Annotated[Share, Field(gt=0, lt=1)] = 0.5
    drivers: Annotated[list[Driver], Field(min_length=1), Distinct] = Field(default=["default"])
    tables: dict[str, dict[str, str | float]] = Field(default={"plain": {}})
    keys: Annotated[int, Field(ge=10, le=100_000, strict=True)] = 1000
    timestamps: Literal["client", "server"] = "client"
    before_s: PositiveSeconds = 5.0
    events: Annotated[list[Event], Field(min_length=1), BeforeValidator(_written)] | None = None
    random: RandomFaults | None = None

    @model_validator(mode="after")
    def _one_schedule_and_load(self) -> Self:
        if (self.events is None) == (self.random is None):
            raise ValueError("give either events or random")
        if not self.tables:
            raise ValueError("tables: name one at least, such as plain: {}")
        if (self.rate_per_s is None) == (self.threads is None):
            raise ValueError("give either rate_per_s or threads")
        if self.threads and self.threads > self.keys:
            raise ValueError(
                f"threads: {self.threads} would write {self.keys} rows (keys), each of one writer at a time"
            )
        return self

    def schedule(self, seconds: float, rng: np.random.Generator | None = None) -> Schedule:
        """Return the schedule of a load of so many seconds.

        What is drawn at random is drawn from `rng`; without it each of its nodes is struck all the time.
        """
        if self.random is not None:
            return self.random.schedule(seconds, rng)
        return together(*(event.schedule(rng) for event in self.events or ()))

    @property
    def of_links(self) -> bool:
        """Whether one of the faults may strike links, which takes a relay between the nodes."""
        return any(part.of_links for part in (self.random, *(self.events or ())) if part)

    def orders(self, seconds: float, nodes: int, rng: np.random.Generator) -> list[Order]:
        """Return what is to be done in a load of so many seconds on so many nodes, in order of time."""
        return self.schedule(seconds, rng).orders(nodes)

    def struck(self, kind: str) -> tuple[int, ...]:
        """Nodes that a kind of fault may strike in the course of the schedule."""
        return self.schedule(math.inf).struck(kind)

    def check(self, seconds: float, nodes: int) -> None:
        """Check the schedule against the length of the load and the number of nodes: see `Schedule.check`."""
        self.schedule(seconds).check(seconds, nodes)
