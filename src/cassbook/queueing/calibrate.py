"""Demands of a live cluster, from measured cells: what a request costs, how that falls under load, and how well it is
known.

All nodes and the client share one machine's processors, so that only sums can be seen: CPU seconds of the nodes
together, and of the client, for each answered request. What they are made of follows from how they change with the
level, the operation and the number of nodes. With k replicas asked of which the coordinator is one with probability p,

    nodes' CPU = coordinator + p local + (k - p) (message + replica)

where *coordinator* is to receive, parse and answer, *local* to look itself, *message* to ask another node and take its
answer, and *replica* all that the other does. Message and replica are always together; request traces part them. Hops
between processes take time that no processor spends; they are found from requests that are alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares, nnls

from cassbook.consistency import replicas_waited_for
from cassbook.errors import InputError
from cassbook.queueing.mva import analyse
from cassbook.queueing.network import Demands, Network, Operation, Readings

Floats = NDArray[np.float64]

_US = 1000.0
#: Parts of the nodes' cost, in the order of the equation.
PARTS = ("coordinator", "local", "elsewhere")


@dataclass(frozen=True, slots=True)
class Costs:
    """What one operation costs with many jobs, CPU ms.

    Attributes
    ----------
    coordinator, local, message, replica : float
        Of the nodes.
    client : float
    """

    coordinator: float
    local: float
    message: float
    replica: float
    client: float

    def demands(self, asked: int, hop_ms: float) -> Demands:
        """As classes of the paper's Table 1, of requests that ask so many replicas.

        Half of what a coordinator does, and half of each message's cost, comes before the fork.
        """

        def coordinator(messages: int) -> float:
            return self.coordinator / 2 + messages * self.message / 2

        return Demands(
            {
                "read-local": coordinator(asked - 1) + self.local, "read-remote": coordinator(asked),
                "read-remote-ID": self.replica,
                "read-local-end": coordinator(asked - 1), "read-remote-end": coordinator(asked),
            },
            request_ms=hop_ms, data_ms=hop_ms, client_ms=self.client,
        )  # fmt: skip


@dataclass(frozen=True)
class Calibrated:
    """A live cluster's demands.

    Attributes
    ----------
    costs : mapping of str to Costs
        By operation, READ and UPDATE, with many jobs.
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

    def network(
        self, operation: str, level: str | int, nodes: int, replication: int, ask_all: bool = False,
        cores: int | None = None,
    ) -> Network:  # fmt: skip
        """The network of such a cluster on such a machine.

        Raises
        ------
        InputError
            For an operation that was not calibrated, or numbers that do not fit.
        """
        if operation not in self.costs:
            raise InputError(f"operation: {operation!r} was not calibrated; there are {', '.join(self.costs)}")
        waits = level if isinstance(level, int) else replicas_waited_for(level, replication)
        asked = replication if operation == "UPDATE" or ask_all else waits
        demands = self.costs[operation].demands(asked, self.hop_ms)
        return Network(
            (Operation(demands, asked, waits, name=operation.lower()),), nodes, replication,
            Readings(region="none", client_network="delay", node_network="delay", receiver=False),
            shared_cores=cores or self.cores, client_threads=1, slowdown=self.slowdown,
        )  # fmt: skip


def design(operation: str, level: str, nodes: int, replication: int, ask_all: bool = False) -> list[float]:
    """Coefficients of the nodes' cost of a request: of coordinator, local, and of each replica elsewhere."""
    waits = replicas_waited_for(level, replication)
    asked = replication if operation == "UPDATE" else min(replication, waits + ask_all)
    local = replication / nodes
    return [1.0, local, asked - local]


def parts(cells: pd.DataFrame) -> dict[str, float]:
    """Non-negative least squares of `PARTS` over cells of one operation, each weighed by what it is.

    Parameters
    ----------
    cells : DataFrame
        Columns operation, level, nodes, replication, ask_all, node_cpu_us.

    Raises
    ------
    InputError
        If the cells do not tell the parts apart.
    """
    rows = np.array([
        design(row["operation"], row["level"], int(row["nodes"]), int(row["replication"]), bool(row["ask_all"]))
        for row in cells.to_dict("records")
    ])  # fmt: skip
    if np.linalg.matrix_rank(rows) < len(PARTS):
        raise InputError(
            "calibrate: these cells cannot tell what a coordinator costs from what a local look does; measure clusters "
            "with other numbers of nodes or replicas too"
        )
    ms = cells["node_cpu_us"].to_numpy(float) / _US
    found, _ = nnls(rows / ms[:, None], np.ones(len(ms)))
    return dict(zip(PARTS, map(float, found), strict=True))


def slowdown(cells: pd.DataFrame, most: int = 256) -> tuple[float, ...]:
    """What an operation costs by jobs in flight, as a multiple of its cost with the most jobs measured.

    Between the numbers of jobs measured on a logarithmic scale, the geometric mean over levels and operations.
    """
    keys = ["operation", "level", "nodes", "replication"]
    cost = cells.assign(ms=(cells["node_cpu_us"] + cells["client_cpu_us"] + cells["other_cpu_us"]) / _US)
    many = cost[cost["jobs"] == cost["jobs"].max()].groupby(keys)["ms"].mean()
    joined = cost.join(many.rename("many"), on=keys)
    by_jobs = np.exp(np.log(joined["ms"] / joined["many"]).groupby(joined["jobs"]).mean())
    jobs = np.arange(1, most + 1)
    return tuple(
        float(own) for own in np.interp(np.log(jobs), np.log(by_jobs.index.to_numpy(float)), by_jobs.to_numpy(float))
    )


def hop_ms(calibrated: Calibrated, cells: pd.DataFrame) -> float:
    """Time of a hop with which requests that are alone take as long as they did (least squares, relative)."""
    alone = cells[cells["jobs"] == 1]
    if alone.empty:
        raise InputError("calibrate: no cell has one job only; what hops take cannot be seen")

    def off(ms: Sequence[float]) -> Floats:
        own = replace(calibrated, hop_ms=float(ms[0]))
        return np.array([
            predicted_ms(own, row["operation"], row["level"], int(row["nodes"]), int(row["replication"]), 1)
            / row["latency_ms"] - 1
            for row in alone.to_dict("records")
        ])  # fmt: skip

    return float(least_squares(off, [0.05], bounds=(0.0, 10.0)).x[0])


def predicted_ms(
    calibrated: Calibrated, operation: str, level: str, nodes: int, replication: int, jobs: int
) -> float:  # fmt: skip
    """Response time by analysis, ms."""
    return float(analyse(calibrated.network(operation, level, nodes, replication), jobs).response_ms[-1])
