"""The part of a profile with open arrivals: settings in turn, at shares of what is carried or at given rates.

It is one section or a list of them; those of one mix are one ladder, whose rates come from the same search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from cassbook.core.consistency import STRONG_SETTINGS, WRITE_LEVELS, Setting, refuses_reads, replicas_waited_for
from cassbook.profile.fields import Distinct, Positive, PositiveSeconds, Rates, Section, Settings, Share, Threads

Arrivals = Literal["poisson", "even"]
#: Where shares of capacity are measured and nothing is said: what settings that carry more are measured at alone.
OWN_SHARES = (0.5, 0.8)
#: What a cell under open arrivals meets: nothing, a node that is dead and known to be, one that is killed or hangs, or
#: one that a person stops when asked to, on a cluster that is not ours.
Trouble = Literal["", "dead_node", "kill", "pause", "stop"]
BY_HAND: Literal["stop"] = "stop"
#: What processors nodes have.
Processors = Literal["shared", "own", "quota"]
#: What cells have in their column `condition` beside which staleness is probed.
PROBED = "probed"
#: Between a traced read's answer and the next write of its row.
TRACED_PAUSE_MS = 250.0
#: What a response time is judged by.
Figure = Literal["mean", "p50", "p95", "p99", "p99.9"]
#: In the place of a figure: nothing is judged, but a setting that breaks down is left out.
BROKEN: Literal["broken"] = "broken"
#: What of a section holds for a whole ladder: sections of one mix have it in common.
OF_LADDER = ("arrivals", "lead_in_s", "capacity_threads", "bound_ms", "rising", "find_capacity")
#: In shorter segments the lead-in takes most of the time, and a backlog does not show.
LEAST_SEGMENT_S = 5.0
_LIGHTWEIGHT = frozenset({"SERIAL", "LOCAL_SERIAL"})


def _of_capacity(value: float) -> float:
    if not 0 < value <= 1:
        raise ValueError("is no share of what a setting carries; give more than 0 and at most 1")
    return value


def _long_enough(value: float) -> float:
    if value < LEAST_SEGMENT_S:
        raise ValueError(f"is too short for a segment; give {LEAST_SEGMENT_S:g} s or more")
    return value


def _some(values: list[float]) -> list[float]:
    if not values:
        raise ValueError("has no share; give one or more, such as [0.2, 0.4, 0.6, 0.8]")
    return values


CapacityShare = Annotated[float, AfterValidator(_of_capacity)]


def mix_name(read_share: float) -> str:
    """Name the mix of YCSB's reads and updates, as cells and messages do.

    >>> mix_name(0.5), mix_name(1.0), mix_name(0.0)
    ('mix50', 'mix100', 'mix00')
    """
    return f"mix{100 * read_share:02g}"


class OpenSection(Section):
    """Cells under arrivals that do not wait for answers, at rates that all settings of a mix have in common.

    Rates are `load_shares` of what the weakest setting of the mix carries in that block, or `rates_per_s`. A mix is
    YCSB's table at one of `read_shares`, or one of the profile's `workloads`, by name.
    """

    arrivals: Arrivals = "poisson"
    load_shares: Annotated[list[CapacityShare], Distinct, AfterValidator(_some)] | None = None
    rates_per_s: Rates | None = None
    #: Of what each setting itself carries, alone; by default `OWN_SHARES` next to `load_shares`, none with rates.
    own_shares: Annotated[list[CapacityShare], Distinct] = Field(default_factory=list)
    settings: Settings = Field(default=[s.name for s in STRONG_SETTINGS])
    read_shares: Annotated[list[Share], Distinct] = Field(default_factory=list)
    workloads: Annotated[list[str], Distinct] = Field(default_factory=list)
    repeats: Positive = 5  # in a profile also by engine: {2.1.20: 5, 5.0.9: 7}; of others it is left out
    measured_s: PositiveSeconds = 60.0  # that count of each setting at each rate, in segments
    segment_s: Annotated[PositiveSeconds, AfterValidator(_long_enough)] = LEAST_SEGMENT_S  # that count of a segment
    lead_in_s: PositiveSeconds = 2.0  # before them, not counted
    capacity_threads: Threads = 64  # of the closed loop whose throughput is the first guess at what is carried
    most_in_flight: Threads = 4096  # slots of the open loop
    bound_ms: Annotated[float, Field(gt=0)] | None = None  # in rising order, p99 over ten times this ends a ladder
    rising: bool = False  # rates in rising order, and what ends a ladder; drawn at random otherwise
    #: A setting takes no more turns at a rate once this figure is known to be above or below `bound_ms`, or once it
    #: breaks down; with `broken` only then.
    until_known: Figure | Literal["broken"] | None = None
    #: With `until_known`: pairs of levels among the settings that are out whatever they show, and take few turns.
    briefly: Annotated[list[str], Distinct] = Field(default_factory=list)
    find_capacity: bool = True  # what each setting carries is looked for before a ladder and after it
    #: Rates are those that the same mix had without it: `dead_node` is measured in turn, behind all other ladders of
    #: the block; `kill`, `pause` and `stop` strike while a setting is measured alone.
    trouble: Trouble = ""
    #: What each node may use: all processors, one of its own, or the time of `quota_cores`; set when code is compiled.
    processors: Processors = "shared"
    quota_cores: Annotated[float, Field(gt=0, le=64)] = 0.5
    #: Beside the load staleness is probed: rows of no other client, in the workload's own tables, are written and read
    #: so many ms after the acknowledgement, so many times a second. The rates are those of the load without it.
    probe_after_ms: Annotated[float, Field(ge=0)] | None = None
    probes_per_s: Annotated[float, Field(gt=0, le=1000)] = 50.0
    #: Of so many rows more the cluster traces the requests: what a prediction from message delays rests on. They are
    #: written at ALL, four times a second at most, and what they see is not counted.
    probe_traces: Annotated[int, Field(ge=0, le=10)] = 0

    @property
    def mixes(self) -> list[str]:
        """Names of its mixes."""
        return [*map(mix_name, self.read_shares), *self.workloads]

    @property
    def condition(self) -> str:
        """What its cells have in their column `condition`, but for the parts of a strike."""
        if self.probe_after_ms is not None:
            return PROBED
        return self.trouble or ("" if self.processors == "shared" else f"{self.processors}_processor")

    @property
    def traced_per_s(self) -> float:
        """Traced requests a second of the probe, about: each is a write or a read."""
        return 2e3 * self.probe_traces / (TRACED_PAUSE_MS + (self.probe_after_ms or 0.0))

    @property
    def probing_per_s(self) -> float:
        """Requests a second of the probe beside its load, those that are traced among them."""
        return 0.0 if self.probe_after_ms is None else 2 * self.probes_per_s + self.traced_per_s

    @property
    def rates_bound(self) -> bool:
        """Whether its rates bound all that is asked for, as on a cluster that people depend on."""
        return self.rising and not self.find_capacity

    @model_validator(mode="before")
    @classmethod
    def _own_shares_by_default(cls, content: Any) -> Any:
        if not isinstance(content, dict) or content.get("own_shares") is not None:
            return content
        alone = content.get("load_shares") is not None and not content.get("trouble")
        return content | {"own_shares": list(OWN_SHARES) if alone else []}

    @model_validator(mode="after")
    def _one_kind_of_rate(self) -> Self:
        if self.load_shares is None and self.rates_per_s is None:
            raise ValueError("has no rates; give load_shares (of what the weakest setting carries) or rates_per_s")
        if self.load_shares is not None and self.rates_per_s is not None:
            raise ValueError("has both load_shares and rates_per_s; give one, the other in a second profile")
        if self.rates_per_s is not None and self.own_shares:
            shares = ", ".join(f"{share:g}" for share in self.own_shares)
            raise ValueError(f"own_shares ({shares}) go with load_shares; leave them out with rates_per_s")
        if self.load_shares is not None and not self.find_capacity:
            raise ValueError("load_shares need what is carried; leave find_capacity: false out, or give rates_per_s")
        return self

    @model_validator(mode="after")
    def _something_to_measure(self) -> Self:
        if not self.read_shares and not self.workloads:
            raise ValueError("nothing to measure; give read_shares, such as [1.0, 0.5], or names under workloads")
        return self

    @model_validator(mode="after")
    def _trouble_has_rates(self) -> Self:
        if self.trouble and self.own_shares:
            raise ValueError(f"own_shares: not with trouble: {self.trouble}, whose rates all settings have in common")
        if self.trouble and self.processors != "shared":
            raise ValueError(f"trouble: {self.trouble}: not with processors: {self.processors}; give one")
        if (self.trouble not in {"", BY_HAND} or self.processors != "shared") and self.rising:
            raise ValueError(f"{self.condition}: not with rising, which is for a cluster that people depend on")
        return self

    @model_validator(mode="after")
    def _probed_alone(self) -> Self:
        if self.probe_after_ms is None:
            if self.probe_traces:
                raise ValueError("probe_traces: are of a probe; give probe_after_ms too")
            return self
        if self.trouble or self.processors != "shared":
            other = f"trouble: {self.trouble}" if self.trouble else f"processors: {self.processors}"
            raise ValueError(f"probe_after_ms: not with {other}; give one")
        if self.rates_per_s is None or self.find_capacity:
            raise ValueError("probe_after_ms: needs rates_per_s and find_capacity: false, the load that it is beside")
        if self.read_shares:
            raise ValueError("probe_after_ms: is for workloads of one's own; leave read_shares out")
        if self.probe_after_ms >= 1e3 * self.segment_s:
            raise ValueError(
                f"probe_after_ms: {self.probe_after_ms:g}: a row is read in the segment in which it was written, under "
                f"its load; give less than the {1e3 * self.segment_s:g} ms of segment_s, or a longer segment_s"
            )
        return self

    @model_validator(mode="after")
    def _known_against_what(self) -> Self:
        if self.until_known is not None and self.bound_ms is None:
            raise ValueError(f"until_known: {self.until_known}: is held against bound_ms; give that too")
        if self.briefly and self.until_known is None:
            raise ValueError("briefly: goes with until_known, by which turns may end; give that too")
        if other := [name for name in self.briefly if name not in self.settings]:
            raise ValueError(f"briefly: {', '.join(other)}: none of settings; take it out")
        return self

    @model_validator(mode="after")
    def _measured_in_segments(self) -> Self:
        if self.measured_s < self.segment_s:
            raise ValueError(
                f"measured_s {self.measured_s:g} is less than a segment of segment_s {self.segment_s:g}; "
                f"give measured_s: {self.segment_s:g} or more"
            )
        return self

    def check(
        self, pairs: Mapping[str, Setting], replicas: int, engine: str, workloads: Sequence[str], key: str
    ) -> None:
        """Raise ValueError for settings that cannot be served or are the same, and for workloads that do not exist.

        `pairs`: the levels of each of its settings, by name. `replicas`: the replication factor. `workloads`: names of
        the profile's. `key`: how messages call it.
        """
        for name, pair in pairs.items():
            for level, what in ((pair.read_cl, "reads"), (pair.write_cl, "writes")):
                if why := _refused(level, what, replicas, engine):
                    raise ValueError(f"{key}.settings: {name}: no {what} at {level}: {why}; take it out")
        for (one, pair), (other, of_other) in combinations(pairs.items(), 2):
            if (pair.read_cl, pair.write_cl) == (of_other.read_cl, of_other.write_cl):
                raise ValueError(f"{key}.settings: {one} and {other} are the same pair of levels; keep one of them")
        there = f"there are {', '.join(workloads)}" if workloads else "there are none"
        mixes = {mix_name(share) for share in self.read_shares}
        for name in self.workloads:
            if name not in workloads:
                raise ValueError(f"{key}.workloads: no workload {name!r} under workloads.presets or .own; {there}")
            if name in mixes:
                raise ValueError(f"{key}.workloads: {name!r} is what cells of read_shares are called; rename it")


def of_place(sections: Sequence[OpenSection], mix: str, condition: str, at: float, alone: bool) -> OpenSection:
    """Return the section that a place of a ladder is of: a mix at a share or rate, or `alone` at a share of its own."""
    return next(section for section in sections if (mix, condition, at, alone) in _places(section))


def _places(section: OpenSection) -> Iterator[tuple[str, str, float, bool]]:
    for mix in section.mixes:
        for at in section.load_shares or section.rates_per_s or []:
            yield mix, section.condition, at, False
        for at in section.own_shares:
            yield mix, section.condition, at, True


def check_together(sections: Sequence[OpenSection]) -> None:
    """Raise ValueError for sections with a place in common, unlike ladders of one mix, or trouble that has no rates."""
    of_place: dict[tuple[str, str, float, bool], int] = {}
    for number, section in enumerate(sections, 1):
        for place in _places(section):
            if place in of_place:
                mix, _, at, _ = place
                raise ValueError(f"open: {mix} at {at:g} is in sections {of_place[place]} and {number}; name it in one")
            of_place[place] = number
    for one, other in combinations(sections, 2):
        both = sorted(set(one.mixes) & set(other.mixes))
        unlike = [key for key in OF_LADDER if getattr(one, key) != getattr(other, key)]
        if both and unlike:
            raise ValueError(f"open: {', '.join(both)} is in two sections of different {', '.join(unlike)}; give one")
        if both and (one.load_shares is None) != (other.load_shares is None):
            raise ValueError(f"open: {', '.join(both)} has load_shares and rates_per_s; give one")
    for section in sections:
        if section.trouble:
            _check_rates(section, [other for other in sections if not other.condition])


def _check_rates(section: OpenSection, whole: Sequence[OpenSection]) -> None:
    """Refuse trouble at a place, or in a block, where the mix is not measured without it: its rate comes from there."""
    for mix, _, at, _ in _places(section):
        blocks = [other.repeats for other in whole if (mix, "", at, False) in _places(other)]
        if not blocks or section.repeats > max(blocks):
            where = f"{mix} at {at:g}"
            until = f" (repeats: {blocks[0]})" if blocks else ""
            raise ValueError(
                f"open: trouble: {section.trouble} has the rate that {where} has without it in that block; give a "
                f"section with {where}{until or ''}, or take it out"
            )


def _refused(level: str, what: str, replicas: int, engine: str) -> str:
    """Say why requests at a level cannot be served; empty if they can."""
    if replicas_waited_for(level, replicas) > replicas:
        return f"it waits for more replicas than replication_factor {replicas} gives"
    if level in _LIGHTWEIGHT:
        return "it is for lightweight transactions"
    if what == "reads" and refuses_reads(level, engine):
        return "it is for writes"
    return "" if what == "reads" or level in WRITE_LEVELS else "it is for reads"
