"""The parts of a profile that change something: what a cell finds cold, and a node that hangs under it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cassbook.core.consistency import READ_LEVELS, WRITE_LEVELS
from cassbook.profile.fields import Distinct, Levels, Positive, PositiveSeconds, Rates, Section, Share, Threads

ColdCondition = Literal["warm", "restarted_client", "cold_pages", "restarted_server"]
#: In the order in which a block makes them: each leaves the cluster further from warm.
COLD_CONDITIONS: tuple[ColdCondition, ...] = ("warm", "restarted_client", "cold_pages", "restarted_server")
Operation = Literal["READ", "UPDATE"]
_READS: tuple[Operation, ...] = ("READ",)
#: Far below the 8 s and more after which the other nodes take a silent one for dead.
_LONGEST_PAUSE_S = 5.0


def _check_levels(levels: list[str], reads: bool, writes: bool) -> None:
    for level in levels:
        if (reads and level not in READ_LEVELS) or (writes and level not in WRITE_LEVELS):
            operations = " and ".join(word for word, checked in (("reads", reads), ("writes", writes)) if checked)
            raise ValueError(f"{level!r} is no consistency level for {operations}; use one such as ONE, QUORUM or ALL")


class ColdSection(Section):
    """Cells from their very first operation on, each after its condition has been made (see `run.conditions`)."""

    threads: Threads
    levels: Levels
    operations: Annotated[list[Operation], Field(min_length=1), Distinct] = Field(default_factory=lambda: list(_READS))
    conditions: Annotated[list[ColdCondition], Field(min_length=1), Distinct] = Field(
        default_factory=lambda: list(COLD_CONDITIONS)
    )
    steady_s: PositiveSeconds

    @model_validator(mode="after")
    def _known_levels(self) -> Self:
        _check_levels(self.levels, "READ" in self.operations, "UPDATE" in self.operations)
        return self


class PauseSection(Section):
    """One node hangs, from `after_s` into the steady window on, for `for_s`."""

    node: Positive = 2
    after_s: PositiveSeconds = 1.0
    for_s: Annotated[float, Field(gt=0, le=_LONGEST_PAUSE_S)] = 0.8


class PacedSection(Section):
    """Cells at fixed rates and one in a closed loop, on a healthy cluster and on one with a node that pauses.

    `threads` is how many requests may be in flight, at a fixed rate as in the closed loop. Without `pause` the
    cluster stays healthy.
    """

    rates_per_s: Rates
    threads: Threads
    read_share: Share = 1.0
    levels: Levels
    steady_s: PositiveSeconds
    pause: PauseSection | None = PauseSection()

    @model_validator(mode="after")
    def _known_levels(self) -> Self:
        _check_levels(self.levels, self.read_share > 0, self.read_share < 1)
        return self

    @model_validator(mode="after")
    def _pause_within(self) -> Self:
        if self.pause and self.pause.after_s + self.pause.for_s >= self.steady_s:
            ends_s = self.pause.after_s + self.pause.for_s
            raise ValueError(
                f"the pause ends {ends_s:g} s into a steady window of {self.steady_s:g} s; "
                "make steady_s longer than after_s and for_s together"
            )
        return self
