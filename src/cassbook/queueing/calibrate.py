"""Demands of a live cluster, from measured cells: what a request costs, how that falls under load, and how well it is
known.

All nodes and the client share one machine's processors, so that only sums can be seen: CPU time of the nodes together,
and of the client, for each answered request. What they are made of follows from how they change with the level, the
operation and the number of replicas. With k replicas asked, of which the coordinator is one with probability p,

    nodes' CPU = coordinator + p local + (k - p) elsewhere

where *coordinator* is to receive, parse and answer, *local* to look itself, and *elsewhere* to ask another node, all
that that does, and to take its answer. What of it is whose, and what comes before the fork, is told by traces of
requests that are alone. Hops between processes take time that no processor spends; that is what is left of the latency
of requests that are alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq, nnls

from cassbook.consistency import replicas_waited_for
from cassbook.errors import InputError
from cassbook.queueing.mva import analyse
from cassbook.queueing.network import Demands, Network, Operation, Readings

Floats = NDArray[np.float64]

_US = 1000.0
#: Parts of the nodes' cost, in the order of the equation.
PARTS = ("coordinator", "local", "elsewhere")
#: Longest hop that is believed, ms.
_LONGEST_HOP_MS = 20.0


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
    """

    operation: str
    level: str
    nodes: int
    replication: int
    ask_all: bool = False

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
        return [1.0, local, self.asked - local]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Question:
        """The question that a measured cell answers."""
        return cls(
            str(row["operation"]), str(row["level"]), int(row["nodes"]), int(row["replication"]), bool(row["ask_all"])
        )


@dataclass(frozen=True, slots=True)
class Costs:
    """What one operation costs with many jobs, CPU ms.

    Attributes
    ----------
    coordinator, local, elsewhere, client : float
    replica_part : float
        Of `elsewhere` that is the other node's; the rest is the coordinator's.
    parse_part : float
        Of what a coordinator does that comes before the fork.
    """

    coordinator: float
    local: float
    elsewhere: float
    client: float
    replica_part: float = 0.5
    parse_part: float = 0.5

    def demands(self, asked: int, hop_ms: float) -> Demands:
        """As classes of the paper's Table 1, of requests that ask so many replicas."""

        def coordinates(messages: int) -> float:
            return self.coordinator + messages * self.elsewhere * (1 - self.replica_part)

        before = self.parse_part
        return Demands(
            {
                "read-local": before * coordinates(asked - 1) + self.local,
                "read-remote": before * coordinates(asked),
                "read-remote-ID": self.elsewhere * self.replica_part,
                "read-local-end": (1 - before) * coordinates(asked - 1),
                "read-remote-end": (1 - before) * coordinates(asked),
            },
            request_ms=hop_ms, data_ms=hop_ms, client_ms=self.client,
        )  # fmt: skip


@dataclass(frozen=True)
class Calibrated:
    """A live cluster's demands, from one cluster start and for rows of one size.

    Attributes
    ----------
    costs : mapping of str to Costs
        By operation, READ and UPDATE, with the most jobs measured.
    slowdown : tuple of float
        What one costs with 1, 2, 3, ... jobs at the processors, as a multiple of that.
    hop_ms : float
        Time of one way between two processes beyond the processors' work.
    cores : int
        Of the machine.
    """

    costs: Mapping[str, Costs]
    slowdown: tuple[float, ...]
    hop_ms: float
    cores: int

    def network(self, question: Question, cores: int = 0, disk_ms: float = 0.0) -> Network:
        """The network of such a cluster, on this machine or one of other cores, or with disks that take time.

        Raises
        ------
        InputError
            For an operation that was not calibrated, or numbers that do not fit.
        """
        if question.operation not in self.costs:
            raise InputError(f"operation: {question.operation!r} was not calibrated; there are {', '.join(self.costs)}")
        demands = replace(self.costs[question.operation].demands(question.asked, self.hop_ms), disk_ms=disk_ms)
        operation = Operation(demands, question.asked, question.waits, name=question.operation.lower())
        return Network(
            (operation,), question.nodes, question.replication,
            Readings(region="none", client_network="delay", node_network="delay"),
            shared_cores=cores or self.cores, slowdown=self.slowdown,
        )  # fmt: skip


def calibrate(cells: pd.DataFrame, phases: pd.DataFrame, cores: int) -> Calibrated:
    """Estimate from cells of one cluster start and one size of rows, none of them held out.

    Parameters
    ----------
    cells : DataFrame
        Rows of a record of `cassbook calibrate`.
    phases : DataFrame
        Its traced requests.
    cores : int
        Of the machine that it was measured on.

    Raises
    ------
    InputError
        If the cells do not tell the parts apart.
    """
    factors = slowdown(cells)
    costs = {}
    for operation, own in cells.groupby("operation"):
        at_many = own.assign(node_ms=own["node_cpu_us"] / _US / _factor(factors, own["jobs"]))
        client_ms = float((own["client_cpu_us"] / _US / _factor(factors, own["jobs"])).median())
        traced = phases[phases["operation"] == operation]
        costs[str(operation)] = Costs(**parts(at_many), client=client_ms, **split(traced))
    found = Calibrated(costs, factors, 0.0, cores)
    return replace(found, hop_ms=hop_ms(found, cells))


def _factor(factors: tuple[float, ...], jobs: pd.Series) -> Floats:
    return np.asarray(factors)[jobs.to_numpy(int) - 1]


def parts(cells: pd.DataFrame) -> dict[str, float]:
    """Non-negative least squares of `PARTS` over cells of one operation, each weighed by what it is.

    Parameters
    ----------
    cells : DataFrame
        What `Question.of` needs, and node_ms.

    Raises
    ------
    InputError
        If the cells do not tell the parts apart.
    """
    rows = np.array([Question.of(row).design for row in cells.to_dict("records")])
    if np.linalg.matrix_rank(rows) < len(PARTS):
        raise InputError(
            "calibrate: these cells cannot tell what a coordinator costs from what a local look does; measure other "
            "numbers of replicas or nodes too"
        )
    found, _ = nnls(rows / cells["node_ms"].to_numpy(float)[:, None], np.ones(len(rows)))
    return dict(zip(PARTS, map(float, found), strict=True))


def split(traced: pd.DataFrame) -> dict[str, float]:
    """What of a request elsewhere is the other node's, and what of a coordinator's work comes before the fork.

    From requests that are alone: the time that other nodes take beside what one more of them adds to the coordinator's,
    and the time until the last message has left beside that after the first answer has come.
    """
    if traced.empty:
        return {}
    asking = traced.dropna(subset="serve_us")
    serve_us, parse_us, end_us = (float(asking[name].median()) for name in ("serve_us", "parse_us", "end_us"))
    return {
        "replica_part": serve_us / (serve_us + (parse_us + end_us) / 2), "parse_part": parse_us / (parse_us + end_us)
    }  # fmt: skip


def slowdown(cells: pd.DataFrame, most: int = 256) -> tuple[float, ...]:
    """What an operation costs by jobs in flight, as a multiple of its cost with the most jobs measured.

    Between the numbers of jobs measured on a logarithmic scale, the geometric mean over levels and operations.
    """
    keys = ["operation", "level", "nodes", "replication", "ask_all"]
    cost = cells.assign(ms=(cells["node_cpu_us"] + cells["client_cpu_us"]) / _US)
    many = cost[cost["jobs"] == cost["jobs"].max()].groupby(keys)["ms"].mean()
    joined = cost.join(many.rename("many"), on=keys).dropna(subset="many")
    by_jobs = np.exp(np.log(joined["ms"] / joined["many"]).groupby(joined["jobs"]).mean())
    jobs = np.arange(1, most + 1)
    factors = np.interp(np.log(jobs), np.log(by_jobs.index.to_numpy(float)), by_jobs.to_numpy(float))
    return tuple(map(float, factors))


def hop_ms(calibrated: Calibrated, cells: pd.DataFrame) -> float:
    """Time of a hop with which requests that are alone take as long as they did, in the geometric mean.

    Raises
    ------
    InputError
        If no cell has one job only.
    """
    alone = cells[cells["jobs"] == 1].to_dict("records")
    if not alone:
        raise InputError("calibrate: no cell has one job only; what hops take cannot be seen")

    def off(ms: float) -> float:
        own = replace(calibrated, hop_ms=ms)
        return float(np.mean([
            np.log(analyse(own.network(Question.of(row)), 1).response_ms[0] / row["latency_ms"]) for row in alone
        ]))  # fmt: skip

    least = 1e-6
    return least if off(least) >= 0 else float(brentq(off, least, _LONGEST_HOP_MS))
