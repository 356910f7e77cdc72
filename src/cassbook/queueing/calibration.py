"""Demands of a live cluster, from measured cells: what a request costs, how that falls under load, and how well it is
known.

All nodes and the client share one machine's processors, so that only sums can be seen: CPU time of the nodes together,
and of the client, for each answered request. What they are made of follows from how they change with the level, the
operation and the number of replicas. With k replicas asked, of which the coordinator is one with probability p, and w
answers waited for,

    nodes' CPU = coordinator + p local + (k - p) elsewhere + (w - p) waiting

where *coordinator* is to receive, parse and answer, *local* to look itself, *elsewhere* to ask another node, all that
that does, and to take its answer, and *waiting* what an answer costs more that a request waits for. What of it is
whose, and what comes before the fork, is shown by traces of requests that are alone. A write goes to all replicas at
every level, so that local and elsewhere always come together; there a coordinator's own look is taken to cost what
another node's does. A read asks as many as it waits for, so that elsewhere and waiting do; there waiting is taken to
cost what it does in a write.

CPU time is a request's time only where processors are what it waits for. With few jobs nodes burn time for which no
request waits (threads spin before they sleep), and requests wait for threads to wake. So the parts, and by how much all
is slower with few jobs, are those with which the model's response times are nearest to the measured ones over all
loads. CPU times with many jobs are where that search begins, and what it is held against. On a machine that more
nodes share the same work takes longer; by how much is seen from a cluster of another number of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares, nnls

from cassbook.core.consistency import replicas_waited_for
from cassbook.core.errors import InputError
from cassbook.core.types import Floats
from cassbook.core.units import US_PER_MS
from cassbook.queueing.mva import analyse
from cassbook.queueing.network import Demands, Network, Operation, Readings

#: Parts of the nodes' cost, in the order of the equation, and those of each operation that can be distinguished.
PARTS = ("coordinator", "local", "elsewhere", "waiting")
_FREE = {"READ": ("coordinator", "local", "elsewhere"), "UPDATE": ("coordinator", "elsewhere", "waiting")}
#: Requests at the processors at which the slowdown is free but for one, where it is 1; beyond the last it stays.
KNOTS = (1, 4, 16, 64, 128)
_ONE_AT = 64
_LEAST_MS, _MOST_MS = 1e-3, 100.0
_LEAST_SLOWDOWN, _MOST_CROWDING = 0.2, 3.0
_ENOUGH = 1e-8
#: Beyond such an error, as a part, a cell pulls less: a machine is disturbed now and then.
_USUAL_OFF = 0.1
#: Those of the levels that a network of one data centre knows.
_LEVELS = ("ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_ONE", "LOCAL_QUORUM")
#: What makes a cell of one kind, whatever its load.
KIND = ("level", "nodes", "replication", "ask_all")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a cluster.

    Attributes
    ----------
    operation : str
        READ or UPDATE.
    level : str
    nodes, replication : int
    ask_all : bool
        Reads with speculative retry ALWAYS: one more is asked than the level needs.

    Raises
    ------
    InputError
        For a level that is unknown, or waits for more replicas than there are, and for writes with `ask_all`.
    """

    operation: str
    level: str
    nodes: int
    replication: int
    ask_all: bool = False

    def __post_init__(self) -> None:
        if self.level not in _LEVELS:
            raise InputError(f"level: {self.level!r}; use one of {', '.join(_LEVELS)}")
        if self.waits > self.replication:
            there = f"there {'is' if self.replication == 1 else 'are'} {self.replication}"
            raise InputError(f"level: {self.level} waits for {self.waits} replicas, and {there}")
        if self.ask_all and self.operation == "UPDATE":
            raise InputError("ask_all: is for reads; a write is sent to all replicas at every level")

    @property
    def waits(self) -> int:
        """Answers that the level waits for."""
        return replicas_waited_for(self.level, self.replication)

    @property
    def asked(self) -> int:
        """Replicas that are asked; a write goes to all."""
        if self.operation == "UPDATE":
            return self.replication
        return min(self.replication, self.waits + self.ask_all)

    @property
    def design(self) -> list[float]:
        """Coefficients of `PARTS`."""
        local = self.replication / self.nodes
        return [1.0, local, self.asked - local, self.waits - local]

    @classmethod
    def of(cls, row: Mapping[Hashable, Any]) -> Question:
        """Return the question that a measured cell answers."""
        return cls(
            str(row["operation"]), str(row["level"]), int(row["nodes"]), int(row["replication"]), bool(row["ask_all"])
        )


@dataclass(frozen=True, slots=True)
class Costs:
    """What one operation costs with many jobs, CPU ms.

    Attributes
    ----------
    coordinator, local, elsewhere, waiting, client : float
    replica_part : float
        Of `elsewhere` that is the other node's; the rest is the coordinator's.
    parse_part : float
        Of what a coordinator does that comes before the fork.
    """

    coordinator: float
    local: float
    elsewhere: float
    waiting: float
    client: float
    replica_part: float
    parse_part: float

    def times(self, factor: float) -> Costs:
        """Return all costs times a factor."""
        return replace(
            self, coordinator=factor * self.coordinator, local=factor * self.local, elsewhere=factor * self.elsewhere,
            waiting=factor * self.waiting, client=factor * self.client,
        )  # fmt: skip

    def demands(self, asked: int, waits: int) -> Demands:
        """Convert to the paper's Table 1, for requests that ask so many replicas and wait for so many answers."""

        def coordinates(messages: int) -> float:
            return self.coordinator + messages * self.elsewhere * (1 - self.replica_part)

        before = self.parse_part
        return Demands(
            {
                "read-local": before * coordinates(asked - 1) + self.local,
                "read-remote": before * coordinates(asked),
                "read-remote-ID": self.elsewhere * self.replica_part,
                "read-local-end": (1 - before) * coordinates(asked - 1) + (waits - 1) * self.waiting,
                "read-remote-end": (1 - before) * coordinates(asked) + waits * self.waiting,
            },
            client_ms=self.client,
        )  # fmt: skip


@dataclass(frozen=True)
class Calibrated:
    """A live cluster's demands, from one cluster start and for rows of one size.

    Attributes
    ----------
    costs : mapping of str to Costs
        By operation, READ and UPDATE, with the most jobs measured.
    slowdown : tuple of float
        What work costs with 1, 2, 3, ... at the processors, as a multiple of that.
    crowding : mapping of str to float
        By operation, how its work grows with the number of nodes that share the machine: the exponent of a power.
    nodes, cores : int
        Of the cluster that it was measured on, and of its machine.
    """

    costs: Mapping[str, Costs]
    slowdown: tuple[float, ...]
    crowding: Mapping[str, float]
    nodes: int
    cores: int

    def network(self, question: Question, cores: int = 0, disk_ms: float = 0.0) -> Network:
        """Network of such a cluster, on this machine or one of other cores, or with disks that take time.

        Raises
        ------
        InputError
            For an operation that was not calibrated, or numbers that do not fit.
        """
        return self.mixed({question: 1.0}, cores, disk_ms)

    def mixed(self, shares: Mapping[Question, float], cores: int = 0, disk_ms: float = 0.0) -> Network:
        """Network for requests of several kinds on one cluster, by their shares, each above 0."""
        cluster = next(iter(shares))
        return Network(
            tuple(self._operation(question, share, disk_ms) for question, share in shares.items()),
            cluster.nodes, cluster.replication,
            Readings(region="none", client_network="delay", node_network="delay"),
            shared_cores=cores or self.cores, slowdown=self.slowdown,
        )  # fmt: skip

    def _operation(self, question: Question, share: float, disk_ms: float) -> Operation:
        name = question.operation
        if name not in self.costs:
            raise InputError(f"operation: {name!r} was not calibrated; there are {', '.join(self.costs)}")
        crowd = (question.nodes / self.nodes) ** self.crowding[name]
        demands = replace(self.costs[name].times(crowd).demands(question.asked, question.waits), disk_ms=disk_ms)
        return Operation(demands, question.asked, question.waits, share, name.lower())


def calibrate(
    cells: pd.DataFrame, phases: pd.DataFrame, nodes: int, cores: int, usual: Calibrated | None = None,
    waiting: bool = True,
) -> Calibrated:  # fmt: skip
    """Estimate from cells of one cluster start and one size of rows, none of them held out.

    Parameters
    ----------
    cells : DataFrame
        Rows of a record of `cassbook experiment calibration`.
    phases : DataFrame
        Its traced requests.
    nodes : int
        Of the clusters from which costs and slowdown are estimated; from others, how the number of nodes matters.
    cores : int
        Of the machine that it was measured on.
    usual : Calibrated, optional
        Of the usual rows, whose slowdown and crowding are taken for these, measured with fewer numbers of jobs.
    waiting : bool
        False for a model in which an answer costs the same whether a request waits for it or not.

    Raises
    ------
    InputError
        If the cells do not tell the parts apart, or how they change with the load.
    """
    near, others = cells[cells["nodes"] == nodes], cells[cells["nodes"] != nodes]
    if usual is None and (near.empty or near["jobs"].min() > 1):
        raise InputError("calibrate: no cell has one job only; what a request costs that is alone cannot be seen")
    begun = {str(name): by_cpu(group, phases[phases["operation"] == name]) for name, group in near.groupby("operation")}
    costs, slower = by_response(near, begun, cores, usual.slowdown if usual else None, waiting)
    fit = Calibrated(costs, slower, dict(usual.crowding) if usual else dict.fromkeys(costs, 0.0), nodes, cores)
    if usual is None and len(others):
        fit = replace(fit, crowding={name: crowding(fit, others, name) for name in costs})
    return fit


def by_cpu(cells: pd.DataFrame, traced: pd.DataFrame) -> Costs:
    """Costs of one operation by CPU time for each request, with the most jobs that all kinds of cell have.

    Parameters
    ----------
    cells : DataFrame
        Of one operation.
    traced : DataFrame
        Its traced requests.

    Raises
    ------
    InputError
        If the cells do not tell the parts apart.
    """
    many = cells[cells["jobs"] == cells.groupby(list(KIND))["jobs"].max().min()]
    whose = split(traced)
    write = bool((cells["operation"] == "UPDATE").all())
    costs = parts(many.assign(node_ms=many["node_cpu_us"] / US_PER_MS), whose["replica_part"] if write else None)
    return Costs(**costs, client=float(many["client_cpu_us"].median()) / US_PER_MS, **whose)


def by_response(
    cells: pd.DataFrame, begun: Mapping[str, Costs], cores: int, slower: tuple[float, ...] | None = None,
    waiting: bool = True,
) -> tuple[dict[str, Costs], tuple[float, ...]]:  # fmt: skip
    """Costs of each operation, and how much slower all is with few jobs, by response times over all loads.

    Least squares of the logarithm of predicted over measured mean response times. Free are the parts of the nodes'
    costs, and the slowdown at `KNOTS`; between them it is interpolated on logarithmic scales.

    Parameters
    ----------
    cells : DataFrame
        Of one number of nodes.
    begun : mapping of str to Costs
        Where the search begins; what is the client's and how costs are split is kept.
    cores : int
    slower : tuple of float, optional
        A slowdown that is known.
    waiting : bool
        As of `calibrate`.
    """
    kinds, nodes = _kinds(cells), int(cells["nodes"].iloc[0])
    free = [(name, part) for name in begun for part in _FREE[name] if waiting or part != "waiting"]

    def calibrated(x: Floats) -> Calibrated:
        costs = {name: replace(cost, waiting=0.0) for name, cost in begun.items()}
        for (name, part), ms in zip(free, np.exp(x), strict=False):
            costs[name] = replace(costs[name], **{part: float(ms)})
        if write := costs.get("UPDATE"):
            costs["UPDATE"] = replace(write, local=write.replica_part * write.elsewhere)
            if "READ" in costs:
                costs["READ"] = replace(costs["READ"], waiting=write.waiting)
        return Calibrated(costs, slower or slowdown(np.exp(x[len(free) :])), dict.fromkeys(costs, 0.0), nodes, cores)

    knots = 0 if slower else len(KNOTS) - 1
    start = [np.log(max(_LEAST_MS, getattr(begun[name], part))) for name, part in free] + [0.1] * knots
    low = np.log([_LEAST_MS / 10] * len(free) + [_LEAST_SLOWDOWN] * knots)
    high = np.full(len(start), np.log(_MOST_MS))
    if knots:  # more at the processors make work no slower
        start[-1], high[-1] = -0.1, 0.0
    fit = calibrated(_fit(lambda x: _off(calibrated(x), kinds), start, low, high))
    return dict(fit.costs), fit.slowdown


def crowding(calibrated: Calibrated, cells: pd.DataFrame, operation: str) -> float:
    """Exponent at which work grows with the number of nodes, from response times of clusters of another number."""
    kinds = _kinds(cells[cells["operation"] == operation])

    def off(x: Floats) -> Floats:
        return _off(replace(calibrated, crowding={**calibrated.crowding, operation: float(x[0])}), kinds)

    most = np.array([_MOST_CROWDING])
    return float(_fit(off, [0.0], -most, most)[0])


def _kinds(cells: pd.DataFrame) -> list[tuple[Question, NDArray[np.int64], Floats]]:
    """Question of each kind of cell, its numbers of jobs, and logarithms of the response times."""
    return [
        (Question.of(kind.iloc[0].to_dict()), kind["jobs"].to_numpy(int), np.log(kind["latency_ms"].to_numpy(float)))
        for _, kind in cells.groupby(["operation", *KIND])
    ]


def _off(fit: Calibrated, kinds: list[tuple[Question, NDArray[np.int64], Floats]]) -> Floats:
    """Logarithms of predicted over measured response times."""
    return np.concatenate([
        np.log(analyse(fit.network(question), int(jobs.max())).response_ms[jobs - 1]) - log_ms
        for question, jobs, log_ms in kinds
    ])  # fmt: skip


def _fit(off: Callable[[Floats], Floats], start: list[float], low: Floats, high: Floats) -> Floats:
    solution = least_squares(
        off, start, bounds=(low, high), ftol=_ENOUGH, xtol=_ENOUGH, loss="soft_l1", f_scale=_USUAL_OFF
    )
    return np.asarray(solution.x)


def slowdown(at_knots: Floats) -> tuple[float, ...]:
    """Stretch of work with 1, 2, 3, ... at the processors, from what it is at `KNOTS` but for `_ONE_AT`."""
    values = np.insert(np.log(at_knots), KNOTS.index(_ONE_AT), 0.0)
    return tuple(map(float, np.exp(np.interp(np.log(np.arange(1, KNOTS[-1] + 1)), np.log(KNOTS), values))))


def parts(cells: pd.DataFrame, replica_part: float | None = None) -> dict[str, float]:
    """Non-negative least squares of `PARTS` over cells of one operation, each weighed by what it is.

    Cells have what `Question.of` needs, and node_ms. `replica_part` is the part of elsewhere that a local look costs,
    where cells cannot tell: of writes. Without it they are reads, of which nothing is taken to be waiting. An
    InputError says that the cells do not distinguish the parts.
    """
    rows = np.array([Question.of(row).design for row in cells.to_dict("records")])
    coordinator, local, elsewhere, waiting = rows.T
    free = {"coordinator": coordinator, "local": local, "elsewhere": elsewhere}
    if replica_part is not None:
        free = {"coordinator": coordinator, "elsewhere": local * replica_part + elsewhere, "waiting": waiting}
    design = np.column_stack(list(free.values()))
    if np.linalg.matrix_rank(design) < len(free):
        raise InputError(
            "calibrate: these cells cannot tell what a coordinator costs from what a local look does; measure other "
            "numbers of replicas or nodes too"
        )
    weights, _ = nnls(design / cells["node_ms"].to_numpy(float)[:, None], np.ones(len(rows)))
    costs = dict.fromkeys(PARTS, 0.0) | dict(zip(free, map(float, weights), strict=True))
    return costs if replica_part is None else costs | {"local": replica_part * costs["elsewhere"]}


def split(traced: pd.DataFrame) -> dict[str, float]:
    """Which part of a request elsewhere is the other node's, and which of a coordinator's work comes before the fork.

    Half of each where nothing was traced; else from requests that are alone: the time that other nodes take compared
    with what one more of them adds to the coordinator's, and the time until the last message has left compared with
    that after the first answer has come.
    """
    if traced.empty:
        return {"replica_part": 0.5, "parse_part": 0.5}
    asking = traced.dropna(subset="serve_us")
    serve_us, parse_us, end_us = (float(asking[name].median()) for name in ("serve_us", "parse_us", "end_us"))
    return {
        "replica_part": serve_us / (serve_us + (parse_us + end_us) / 2), "parse_part": parse_us / (parse_us + end_us)
    }  # fmt: skip
