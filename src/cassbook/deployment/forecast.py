"""What a deployment would cost: the model of distance, on the ground of a run in which nothing was far.

The run tells what a request takes by itself, and how many per second the cluster can do; each of its cluster
starts gives a forecast of its own, and so an interval. Another machine, or more nodes than the run had, behave
otherwise: take a run of yours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from cassbook.core.consistency import replicas_waited_for
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.words import counted
from cassbook.deployment.distances import Placement
from cassbook.deployment.model import Model
from cassbook.deployment.replication import Replication
from cassbook.latency.summaries import pure_cells

#: What the run measured, by how many replicas a level waits for.
_MEASURED = {1: "ONE", 2: "QUORUM", 3: "ALL"}


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast latency of one operation at one level.

    Attributes
    ----------
    operation : str
        READ or WRITE.
    model : Model
        Of the first cluster start.
    threads : float
    latency_ms, throughput_per_s : Estimate
    bound : str
        What latency cannot be below: 'distance', 'coordinator' or 'processors'.
    """

    operation: str
    model: Model
    threads: float
    latency_ms: Estimate
    throughput_per_s: Estimate
    bound: str


def near(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """What requests take where nothing is far.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment.

    Returns
    -------
    DataFrame
        Index (operation, level, block); service_ms (latency at the fewest threads), most_per_s (highest throughput).
    """
    cells = pure_cells(cell_stats)
    keys = ["operation", "level", "block"]
    few = cells.loc[cells.groupby(keys)["threads"].idxmin()].set_index(keys)["latency_us"] / 1000
    return pd.DataFrame({"service_ms": few, "most_per_s": cells.groupby(keys)["throughput_per_s"].max()})


def forecast(
    placement: Placement,
    level: str,
    threads: float,
    ground: pd.DataFrame,
    policy: str = "nearest_dc",
    replication: Replication | None = None,
    operations: Sequence[str] = ("READ", "WRITE"),
) -> list[Forecast]:
    """Reads and writes of a level in a deployment.

    Parameters
    ----------
    placement : Placement
    level : str
        One of `model.LEVELS`.
    threads : float
        Requests in flight.
    ground : DataFrame
        From `near`.
    policy : str
        Of choosing a coordinator, see `Model`.
    replication : int or mapping of str to int, optional
        Replicas of a row, or of a row in each data centre (see `Model`); by default every node holds it.
    operations : sequence of str
        READ, WRITE or both.

    Raises
    ------
    InputError
        As `Model`; also if the run measured no level that waits for as many replicas, or for no request in flight.
    """
    if not threads > 0:
        raise InputError(f"threads: {threads!r} must be positive")
    replicas = len(placement.deployment.replicas) if replication is None else replication
    waits = waited_for(placement, level, replicas, policy)
    forecasts = []
    for operation in operations:
        alone = ground.xs((operation, _measured(level, waits, ground)), level=("operation", "level"))
        models = [
            Model(placement, level, policy, replicas, float(row["service_ms"]), float(row["most_per_s"]))
            for _, row in alone.iterrows()
        ]
        bounds = models[0].bounds_ms(threads)
        forecasts.append(
            Forecast(
                operation, models[0], threads,
                Estimate.positive(model.latency_ms(threads) for model in models),
                Estimate.positive(model.throughput_per_s(threads) for model in models),
                max(bounds, key=bounds.__getitem__),
            )
        )  # fmt: skip
    return forecasts


def _measured(level: str, waits: int, ground: pd.DataFrame) -> str:
    """Level of the run that waits for as many replicas, or for the most that it has."""
    name = _MEASURED[min(waits, max(_MEASURED))]
    levels = sorted(set(ground.index.get_level_values("level")))
    if name not in levels:
        raise InputError(
            f"level: the run has {', '.join(levels)}, none that waits for {counted(waits, 'replica')} as {level} does"
        )
    return name


def waited_for(placement: Placement, level: str, replicas: Replication, policy: str = "nearest_dc") -> int:
    """How many replicas a level waits for in all.

    With a number of replicas that is below that of nodes, those of a data centre are taken to be its part of them. By
    data centre, and with coordinators in several, it is the most that one of them waits for.
    """
    plain = level.rpartition("_")[2]
    if isinstance(replicas, Mapping):
        used = {way.coordinator for way in Model(placement, level, policy, replicas).ways()}
        own = {placement.centre(host) for host in placement.deployment.replicas if host.name in used}
        part = {name: count for name, count in replicas.items() if count}
        local, total = max(part.get(name, 0) for name in own), sum(part.values())
    else:
        nodes = placement.deployment.replicas
        each = Counter(placement.centre(host) for host in nodes)
        part = {name: max(1, round(count * replicas / len(nodes))) for name, count in each.items()}
        local, total = max(part.values()), replicas
    if level.startswith("LOCAL_"):
        return replicas_waited_for(plain, local)
    if level == "EACH_QUORUM":
        return sum(replicas_waited_for(plain, count) for count in part.values())
    return replicas_waited_for(plain, total)
