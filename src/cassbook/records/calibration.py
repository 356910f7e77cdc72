"""A recorded calibration: its cells, demands from each of its cluster starts, and predictions with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cassbook.core.compilation import need_numba
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.types import Floats
from cassbook.core.units import MS_PER_S
from cassbook.queueing.calibration import Calibrated, Question, calibrate
from cassbook.queueing.mva import analyse
from cassbook.queueing.open_load import capacity_per_s, check_rate, open_load
from cassbook.queueing.paper import FIELD_LENGTH
from cassbook.records.experiment import Results
from cassbook.records.kinds import CALIBRATION

#: What calibration sees; all else is held out: QUORUM, two replicas, a third replica asked. Of clusters of another
#: number of nodes it sees only by how much their work takes longer.
FITTED_LEVELS, FITTED_NODES, HELD_OUT_REPLICATION = ("ONE", "ALL"), 4, 2
#: What can be left out of the model, to see what it is worth.
CROWDING, WAITING = "crowding", "waiting"
#: A response that is shorter by less does not fall.
_ROUNDING = 1e-6
_CELL = ["operation", "level", "nodes", "replication", "field_length", "ask_all", "jobs"]


@dataclass(frozen=True, slots=True)
class Falls:
    """Where response falls as load grows: with `fewer` jobs and with `more`, and from how many jobs on it does not.

    `rises_from` is None if it falls up to the most jobs that were asked for.
    """

    fewer: int
    before_ms: float
    more: int
    after_ms: float
    rises_from: int | None


@dataclass(frozen=True, slots=True)
class Outside:
    """A quantity of a question that lies outside what was measured: from `least` to `most`."""

    name: str  # nodes, replication, jobs, cores or disk_ms
    asked: float
    least: float
    most: float


@dataclass(frozen=True)
class Predicted:
    """For each number of jobs, with 95 % intervals over cluster starts."""

    jobs: NDArray[np.int64]
    throughput_per_s: list[Estimate]
    response_ms: list[Estimate]
    busy: dict[str, Floats]  # shape (starts, jobs); by station, the busy part of its servers
    outside: list[Outside]
    cores: int  # of the one machine that all nodes and the client share
    #: Where some of `jobs` would be answered faster than fewer of them: there the calibration does not reach.
    falls: Falls | None = None

    def utilisation(self, place: int) -> dict[str, Estimate]:
        """Return the utilisation of each station with so many jobs, by place."""
        return {name: Estimate.positive(part[:, place]) for name, part in self.busy.items()}

    def bottleneck(self, place: int) -> str:
        """The busiest station with so many jobs, by place."""
        return max(self.busy, key=lambda name: float(self.busy[name][:, place].mean()))


@dataclass(frozen=True)
class PredictedOpen:
    """At a rate of Poisson arrivals, with 95 % intervals over cluster starts.

    Attributes
    ----------
    rate_per_s : float
    response_ms, p99_ms : Estimate
        From when the client sends a request until it has the answer.
    capacity_per_s : Estimate
        The rate from which the backlog grows without end.
    utilisation : dict of str to Estimate
        By station, the busy part of its servers.
    outside : list of Outside
        What of the question the record cannot support; of jobs, the mean number in flight.
    cores : int
        Of the one machine that all nodes and the client share.
    method : str
        How the mean was found: 'analytic' or 'simulated'; p99 is simulated always.
    """

    rate_per_s: float
    response_ms: Estimate
    p99_ms: Estimate
    capacity_per_s: Estimate
    utilisation: dict[str, Estimate]
    outside: list[Outside]
    cores: int
    method: str

    @property
    def bottleneck(self) -> str:
        """The busiest station."""
        return max(self.utilisation, key=lambda name: self.utilisation[name].value)


class CalibrationRun:
    """A record of `cassbook experiment calibration`.

    Raises InputError if there is none, or it is of another kind.
    """

    def __init__(self, name_or_path: str | Path) -> None:
        self.results = Results(name_or_path, CALIBRATION)
        self.name = self.results.name
        self.cells = self.results.rows
        self._fits: dict[tuple[int, str], list[Calibrated]] = {}

    @property
    def cores(self) -> int:
        """Processors of the machine that it was measured on."""
        return int(self.results.manifest["machine"]["cores"])

    @cached_property
    def held_out(self) -> pd.Series:
        """Whether a cell is kept from the estimate; bool."""
        cells = self.cells
        seen = cells["level"].isin(FITTED_LEVELS) & ~cells["ask_all"] & (cells["replication"] != HELD_OUT_REPLICATION)
        return ~seen

    def calibrated(self, field_length: int = FIELD_LENGTH, without: str = "") -> list[Calibrated]:
        """Demands from each cluster start, for rows of fields of such a length.

        `without`: `CROWDING` keeps clusters of another number of nodes from the estimate as a whole; `WAITING` has an
        answer cost the same whether a request waits for it or not.

        Raises InputError for a length that was not measured.
        """
        key = field_length, without
        if key not in self._fits:
            self._fits[key] = self._calibrate(field_length, without)
        return self._fits[key]

    def _calibrate(self, field_length: int, without: str) -> list[Calibrated]:
        need_numba()
        if without == CROWDING:
            fits = self.calibrated(field_length)
            return [replace(fit, crowding=dict.fromkeys(fit.crowding, 0.0)) for fit in fits]
        cells = self.cells[~self.held_out & (self.cells["field_length"] == field_length)]
        if cells.empty:
            known = ", ".join(str(length) for length in sorted(self.cells["field_length"].unique()))
            raise InputError(f"length: rows of fields of {field_length} bytes were not measured; there are {known}")
        phases = self.results.table("phases")
        starts = sorted(cells["start"].unique())
        usual = [None] * len(starts) if field_length == FIELD_LENGTH else self.calibrated(without=without)
        return [
            calibrate(
                cells[cells["start"] == start], phases[phases["start"] == start], FITTED_NODES, self.cores, fit,
                without != WAITING,
            )
            for start, fit in zip(starts, usual, strict=True)
        ]  # fmt: skip

    def predict(
        self, question: Question, jobs: Sequence[int], field_length: int = FIELD_LENGTH, cores: int = 0,
        disk_ms: float = 0.0,
    ) -> Predicted:  # fmt: skip
        """Answer a question for several numbers of jobs.

        Raises InputError for numbers that do not fit together.
        """
        if not jobs or min(jobs) < 1:
            raise InputError(f"jobs: {list(jobs)}; give 1 or more")
        fits = self.calibrated(field_length)
        analyses = [analyse(fit.network(question, cores, disk_ms), max(jobs)) for fit in fits]
        places = np.asarray(jobs) - 1

        def over(values: list[Floats]) -> list[Estimate]:
            return [Estimate.positive([curve[place] for curve in values]) for place in places]

        return Predicted(
            np.asarray(jobs),
            over([analysis.throughput_per_s for analysis in analyses]),
            over([analysis.response_ms for analysis in analyses]),
            {name: np.array([each.utilisation[name][places] for each in analyses]) for name in analyses[0].utilisation},
            self.outside(question, max(jobs), cores, disk_ms),
            cores or self.cores,
            _falling(np.exp(np.mean([np.log(each.response_ms) for each in analyses], axis=0)), self.cores, jobs),
        )

    def predict_open(
        self, question: Question, rate_per_s: float, field_length: int = FIELD_LENGTH, cores: int = 0,
        disk_ms: float = 0.0,
    ) -> PredictedOpen:  # fmt: skip
        """Answer a question for requests that arrive at a rate, whether others are answered or not.

        Raises InputError for a rate that by the demands of some cluster start is not carried, with that capacity, and
        for numbers that do not fit together.
        """
        networks = [fit.network(question, cores, disk_ms) for fit in self.calibrated(field_length)]
        carried = [capacity_per_s(network) for network in networks]
        check_rate(rate_per_s, min(carried))
        found = [open_load(network, rate_per_s) for network in networks]
        response_ms = Estimate.positive([each.response_ms for each in found])
        in_flight = max(1, round(rate_per_s * response_ms.value / MS_PER_S))
        return PredictedOpen(
            rate_per_s,
            response_ms,
            Estimate.positive([each.p99_ms for each in found]),
            Estimate.positive(carried),
            {name: _busy([each.utilisation[name] for each in found]) for name in found[0].utilisation},
            self.outside(question, in_flight, cores, disk_ms),
            cores or self.cores,
            found[0].method,
        )

    def outside(self, question: Question, jobs: int, cores: int = 0, disk_ms: float = 0.0) -> list[Outside]:
        """Return what of a question the record cannot support."""
        quantities = [
            *(
                Outside(name, asked, int(self.cells[name].min()), int(self.cells[name].max()))
                for name, asked in (("nodes", question.nodes), ("replication", question.replication), ("jobs", jobs))
            ),
            Outside("cores", cores or self.cores, self.cores, self.cores),
            Outside("disk_ms", disk_ms, 0.0, 0.0),
        ]
        return [each for each in quantities if not each.least <= each.asked <= each.most]


def _busy(by_start: Sequence[float]) -> Estimate:
    """Busy part of a station's servers over cluster starts; none is busier than always."""
    busy = Estimate.positive(by_start)
    return busy if np.isnan(busy.high) else replace(busy, high=min(1.0, busy.high))


def _falling(response_ms: Floats, cores: int, jobs: Sequence[int]) -> Falls | None:
    """Find numbers of jobs, of those that were asked, whose response is shorter than that of fewer jobs.

    With no more jobs than cores that may be, and was measured: work costs less once threads need not be woken. Beyond
    them jobs wait for processors. A curve that falls there takes the lower cost without the waiting in which alone it
    was measured.
    """
    numbers = np.arange(1, response_ms.size + 1)
    longest = np.maximum.accumulate(np.where(numbers >= cores, response_ms, -np.inf))
    falls = response_ms < longest * (1 - _ROUNDING)
    asked = [count for count in jobs if falls[count - 1]]
    if not asked:
        return None
    more = min(asked, key=lambda count: float(response_ms[count - 1] / longest[count - 1]))
    fewer = int(np.flatnonzero(response_ms[:more] == longest[more - 1])[0]) + 1
    last = int(np.flatnonzero(falls)[-1]) + 1
    return Falls(
        fewer, float(response_ms[fewer - 1]), more, float(response_ms[more - 1]),
        last + 1 if last < response_ms.size else None,
    )  # fmt: skip


def by_level(run: CalibrationRun, without: str = "") -> pd.DataFrame:
    """Predicted and measured of every cell, in the manner of the paper's Tables 4 and 5.

    `without`: as of `CalibrationRun.calibrated`.

    One row per cell: what `Question.of` needs, field_length, jobs, held_out, throughput_per_s, latency_ms
    (means over cluster starts), measured (throughput; `Estimate` over cluster starts), predicted_per_s, predicted_ms,
    off_throughput, off_response (predicted over measured, less one), within (whether that interval holds what is
    predicted).
    """
    keys = ["operation", "level", "nodes", "replication", "ask_all", "field_length"]
    measured = run.cells.assign(held_out=run.held_out)
    measured = measured.groupby([*keys, "held_out", "jobs", "start"])[["throughput_per_s", "latency_ms"]].mean()
    over = measured.groupby([*keys, "held_out", "jobs"])
    means = over.mean().assign(measured=over["throughput_per_s"].apply(Estimate.positive)).reset_index()
    parts = []
    for _, cells in means.groupby(keys):
        row = cells.iloc[0].to_dict()
        question, fits = Question.of(row), run.calibrated(int(row["field_length"]), without)
        analyses = [analyse(fit.network(question), int(cells["jobs"].max())) for fit in fits]
        places = cells["jobs"].to_numpy(int) - 1
        per_s, ms = (
            np.mean([getattr(each, name)[places] for each in analyses], axis=0)
            for name in ("throughput_per_s", "response_ms")
        )
        parts.append(cells.assign(
            predicted_per_s=per_s, predicted_ms=ms, off_throughput=per_s / cells["throughput_per_s"] - 1,
            off_response=ms / cells["latency_ms"] - 1,
            within=[seen.low <= x <= seen.high for seen, x in zip(cells["measured"], per_s, strict=True)],
        ))  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def repeatability(runs: Iterable[CalibrationRun]) -> dict[str, float]:
    """Return how well the throughput of a cell is known, over all cells of calibrations, in percent.

    Its keys: noise, by which repetitions of a cell differ (standard deviation within a start, median over cells);
    known: to which the mean of a cell is known (its standard error over starts, median); floor: by which a perfect
    prediction would seem off on average.
    """
    noise, known = [], []
    for run in runs:
        x = run.cells.groupby([*_CELL, "start"])["throughput_per_s"]
        noise.append(x.std() / x.mean())
        means = x.mean().groupby(_CELL)
        known.append(means.sem() / means.mean())
    sem = float(pd.concat(known).median())
    floor = sem * float(np.sqrt(2 / np.pi))
    return {"noise": 100.0 * float(pd.concat(noise).median()), "known": 100.0 * sem, "floor": 100.0 * floor}


def asking_all(run: CalibrationRun, question: Question) -> pd.DataFrame:
    """Compare requests that ask all replicas with those that ask as many as they need: measured, and by the model.

    `question`: whose cells were measured either way.

    Index jobs; columns throughput, response (`Estimate` over cluster starts of the ratio), throughput_model,
    response_model.
    """
    cells = _cells_of(run, question)
    means = cells.pivot_table(["throughput_per_s", "latency_ms"], ["jobs", "start"], "ask_all")
    jobs = sorted(int(count) for count in cells["jobs"].unique())
    needed, every = (run.predict(replace(question, ask_all=ask_all), jobs) for ask_all in (False, True))
    rows = {}
    for place, count in enumerate(jobs):
        ratios = {
            name: Estimate.ratio(means[column][True].loc[count] / means[column][False].loc[count])
            for name, column in (("throughput", "throughput_per_s"), ("response", "latency_ms"))
        }
        rows[count] = ratios | {
            "throughput_model": every.throughput_per_s[place].value / needed.throughput_per_s[place].value,
            "response_model": every.response_ms[place].value / needed.response_ms[place].value,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("jobs")


def gain_of_asking_all(run: CalibrationRun, question: Question) -> Estimate:
    """Return the measured ratio of throughputs of `asking_all` over all numbers of jobs together."""
    logs = _cells_of(run, question).groupby(["ask_all", "start", "jobs"])["throughput_per_s"].mean().map(np.log)
    rates = logs.groupby(level=[0, 1]).mean()
    return Estimate.ratio(np.exp(rates[True] - rates[False]))


def _cells_of(run: CalibrationRun, question: Question) -> pd.DataFrame:
    """Cells of a question with the usual rows, whether they ask all replicas or not."""
    names = ["operation", "level", "nodes", "replication"]
    asked = np.all([run.cells[name] == getattr(question, name) for name in names], axis=0)
    return run.cells[asked & (run.cells["field_length"] == FIELD_LENGTH)]
