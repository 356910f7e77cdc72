"""Segments in which settings take turns under open arrivals: each begins when all before it is answered.

Slices of one load that is never broken off would hand a setting's backlog to the next. Here every setting of a round
meets the same arrivals, alone: first a lead-in that does not count, then the counted part; arrivals go on until the
last request of that is answered, then nothing arrives until all are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cassbook.core.schema import PHASES, SAMPLES
from cassbook.lab.load.loop import Outcome
from cassbook.lab.load.recorder import Window
from cassbook.latency.cell_checks import Due


@dataclass(frozen=True, slots=True)
class Segments:
    """When each setting had its turn."""

    guard_s: float  # lead-in of each
    counted_s: float | tuple[float, ...]  # of each, or one by one
    order: tuple[int, ...]  # which cell of the group each is of
    #: When each began, on the clock of the process that measures.
    moments: tuple[float, ...]

    def measured_s(self, variant: int) -> float:
        """Seconds that count of a cell."""
        counted_s = np.broadcast_to(self.counted_s, len(self.order))
        return float(counted_s[np.array(self.order) == variant].sum())

    def begun_s(self, first_s: float) -> list[float]:
        """Return when each begins, if the first one does at a moment."""
        return [first_s + moment - self.moments[0] for moment in self.moments]


@dataclass(frozen=True, slots=True)
class Segment:
    """What one turn yields."""

    variant: int
    outcome: Outcome
    samples: pa.Table


def turns(segments: Sequence[Segment], lead_in_s: float, counted_s: float) -> Segments:
    """Return which cell had its turn when."""
    moments = [segment.outcome.window.steady_from - lead_in_s for segment in segments]
    return Segments(lead_in_s, counted_s, tuple(segment.variant for segment in segments), tuple(moments))


def outcome_of(segments: Sequence[Segment], variant: int, lead_in_s: float) -> Outcome:
    """Add up one cell's segments; the window is that of all, the event loop's lag the mean."""
    first, last = segments[0].outcome.window, segments[-1].outcome.window
    window = Window(first.steady_from - lead_in_s, last.steady_to)
    own = [segment.outcome for segment in segments if segment.variant == variant]
    return Outcome(
        window,
        sum(outcome.client_cpu_s for outcome in own),
        sum(outcome.operations for outcome in own),
        float(np.mean([outcome.loop_lag_us for outcome in own])) if own else float("nan"),
        Due.sum([outcome.due for outcome in own if outcome.due]),
    )


def windows_of(segments: Sequence[Segment], variant: int) -> list[tuple[float, float]]:
    """Return when what counts of one cell began and ended, segment by segment."""
    windows = [segment.outcome.window for segment in segments if segment.variant == variant]
    return [(window.steady_from, window.steady_to) for window in windows]


def one_table(segments: Sequence[Segment]) -> pa.Table:
    """Return the samples of all segments with the numbers of their segments; what a lead-in sends is the guard's."""
    parts = []
    for number, segment in enumerate(segments):
        phase = segment.samples["phase"].cast(pa.string())
        phase = pc.if_else(pc.equal(phase, "warmup"), "guard", phase)
        of_none = pc.equal(phase, "drain")
        numbers = pc.if_else(of_none, pa.scalar(None, pa.int16()), pa.scalar(number, pa.int16()))
        codes = pc.index_in(phase, pa.array(PHASES)).cast(pa.int8()).combine_chunks()
        labels = pa.DictionaryArray.from_arrays(codes, pa.array(PHASES))
        columns = {name: segment.samples[name] for name in segment.samples.column_names}
        parts.append(pa.table(columns | {"phase": labels, "slice": numbers}).cast(SAMPLES))
    return pa.concat_tables(parts).unify_dictionaries()
