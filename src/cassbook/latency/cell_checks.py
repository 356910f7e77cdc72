"""What each cell checks of itself as soon as it is over."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cassbook.core.schema import CLIENT_MARKS, WARM_UP, Mark

#: Little's law: throughput x mean latency should be the threads; more than this away is marked and shown.
LITTLE_TOLERANCE = 0.05
#: A client that takes more of the machine than this competes with what it measures.
CLIENT_SHARE = 1 / 3
#: An event loop that is late by more than this part of the mean latency is a part of what it measures.
LAG_SHARE = 0.05


#: Other processes, and other guests of the hypervisor, may take this part of the machine.
OTHERS_SHARE = 0.05
#: A paced cell in which fewer requests left than this part of its rate did not have that rate.
RATE_SHARE = 0.95
#: More than this part of what was due found no slot: the client held it back.
WAITED_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Due:
    """What became of the requests that were due in an open loop's steady window, but for the answered ones.

    When they were due is in seconds from the window's begin, which all processes of a load have in common.
    """

    n_due: int
    n_in_flight: int  # when the loop ended
    unsent_s: np.ndarray  # when those were due that were never sent
    waited_s: np.ndarray  # when those were due that found all slots taken
    left_s: np.ndarray  # when those were due that found a slot free
    late_s: np.ndarray  # by how much each of these left late, in seconds

    @property
    def n_unsent(self) -> int:
        """How many were never sent."""
        return len(self.unsent_s)

    @property
    def n_waited(self) -> int:
        """How many were due while all slots were taken."""
        return len(self.waited_s)

    @classmethod
    def sum(cls, parts: Sequence[Due]) -> Due | None:
        """Add up what several loops, or one in turn, had to send; None for none."""
        if not parts:
            return None
        return cls(
            sum(part.n_due for part in parts),
            sum(part.n_in_flight for part in parts),
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("unsent_s", "waited_s", "left_s", "late_s")
            ),
        )


def sent_per_s(samples: pa.Table, row: Mapping[str, Any]) -> float:
    """Return how many requests of a cell's own left a second in its steady window, in every phase they count to.

    Of one in turn with others: how many a second of those that were due in what counts left within 5 % of a segment.
    """
    started_s = samples["started_s"]
    if row.get("slices"):
        steady = _of_phases(samples, "steady")
        late_s = steady["started_s"].to_numpy() - steady["intended_s"].to_numpy()
        soon = (1 - RATE_SHARE) * row["measured_s"] / max(row["slices"], 1)
        return float(np.count_nonzero(late_s <= soon) / row["measured_s"]) if row["measured_s"] else 0.0
    within = pc.and_(pc.greater_equal(started_s, row["steady_from_s"]), pc.less(started_s, row["steady_to_s"]))
    return float((pc.sum(within).as_py() or 0) / (row["steady_to_s"] - row["steady_from_s"]))


def _due_per_s(row: Mapping[str, Any]) -> float:
    """Return how many requests a second were due: as many as arrived, which differs by chance, or else the rate."""
    n_due, measured_s = row.get("n_due", math.nan), row.get("measured_s", math.nan)
    return n_due / measured_s if n_due >= 0 and measured_s > 0 else row["rate_per_s"]


def disturbed(row: Mapping[str, Any]) -> bool:
    """Whether other processes and guests of the hypervisor took more than `OTHERS_SHARE` of the machine meanwhile."""
    return bool(row.get("other_cpu_share", 0.0) + row.get("steal_share", 0.0) > OTHERS_SHARE)


def errors_by_kind(samples: pa.Table) -> str:
    """Operations that were not ok, counted by kind over all phases, as 'read_timeout:3;unavailable:1'."""
    counts = pc.value_counts(samples["outcome"].cast(pa.string())).to_pylist()
    return ";".join(f"{c['values']}:{c['counts']}" for c in counts if c["values"] != "ok")


def check_cell(
    samples: pa.Table, row: dict[str, Any], marks: list[str], load: pa.Table | None = None, due: Due | None = None
) -> dict[str, Any]:
    """Little's law, the rate, the client's share and its lag over the steady window, and the marks they earn.

    `samples`: the cell's samples. `load`: those of all cells that it alternated with, its own among them: Little's law
    and the client's time are of the load that was never broken off. A rate is the cell's own; cells at fixed rates do
    not alternate. `row`: its row so far; `client_cpu_s` is turned into microseconds an operation. `marks`: marks it has
    already. `due`: what was due in an open loop.

    Keys: `little_ratio`, `client_cpu_us_per_op`, `marks` and the columns of what was due, to be merged into the row.
    """
    load = samples if load is None else load
    if disturbed(row):
        marks = [*marks, Mark.MACHINE]
    steady, unbroken = (_of_phases(samples, "steady"), _of_phases(load, "steady", "guard"))
    marks = [*marks, *([Mark.ERRORS] if row["errors"] else [])]
    paced = not math.isnan(row["rate_per_s"])
    columns = {} if due is None else _due_columns(due)
    if paced and sent_per_s(samples, row) < RATE_SHARE * _due_per_s(row | columns):
        marks.append(Mark.RATE)
    if due is not None and due.n_waited > WAITED_SHARE * due.n_due:
        marks.append(Mark.SLOTS)
    ratio = cpu_us = float("nan")
    if steady.num_rows:
        window_s = row["steady_to_s"] - row["steady_from_s"]
        # Sum of latencies begun in the window over threads x window: throughput x mean latency / threads.
        in_flight_us = pc.sum(unbroken["latency_us"]).as_py()
        # The client's time is that of what counts, where lead-ins are apart, and else of the whole unbroken load.
        cpu_us = row["client_cpu_s"] * 1e6 / (unbroken if due is None else steady).num_rows
        if not paced:  # a rate that is given ties nothing to the number of threads
            ratio = in_flight_us / 1e6 / (window_s * row["threads"])
        if abs(ratio - 1) > LITTLE_TOLERANCE:
            marks.append(Mark.LITTLE)
        if row["client_cpu_share"] > CLIENT_SHARE:
            marks.append(Mark.CLIENT)
        # Held against answers: a refusal comes at once, and none of it is in a latency.
        answered = steady.filter(pc.equal(steady["outcome"].cast(pa.string()), "ok"))["latency_us"]
        if len(answered) and row["loop_lag_us"] > LAG_SHARE * pc.mean(answered).as_py():
            marks.append(Mark.LAG)
        if len(answered) and columns.get("late_p50_us", 0.0) > LAG_SHARE * pc.quantile(answered)[0].as_py():
            marks.append(Mark.LATE)
    elif row["kind"] != WARM_UP:
        marks.append(Mark.EMPTY)
    del row["client_cpu_s"]
    return {
        "little_ratio": round(ratio, 4),
        "client_cpu_us_per_op": round(cpu_us, 2),
        "marks": ";".join(marks),
        **columns,
    }


def _due_columns(due: Due) -> dict[str, float]:
    late_us = np.quantile(due.late_s, [0.5, 0.99]) * 1e6 if len(due.late_s) else np.full(2, np.nan)
    return {
        "n_due": due.n_due, "n_in_flight": due.n_in_flight, "n_unsent": due.n_unsent, "n_waited": due.n_waited,
        "late_p50_us": round(float(late_us[0]), 1), "late_p99_us": round(float(late_us[1]), 1),
    }  # fmt: skip


def _of_phases(samples: pa.Table, *phases: str) -> pa.Table:
    return samples.filter(pc.is_in(samples["phase"].cast(pa.string()), pa.array(phases)))


@dataclass(frozen=True, slots=True)
class MissedRate:
    """How many requests a second left instead of those that were due, and whether the client is the limit."""

    sent_per_s: float
    rate_per_s: float
    of_client: bool  # else of the cluster, with as many in flight as the cell has threads


def missed_rate(samples: pa.Table, row: Mapping[str, Any]) -> MissedRate | None:
    """Return by how much a cell marked `rate` missed its rate; None for any other cell."""
    marks = set(row["marks"].split(";"))
    if Mark.RATE not in marks:
        return None
    return MissedRate(sent_per_s(samples, row), _due_per_s(row), bool(marks & CLIENT_MARKS))
