"""Labels that stand for the same level (an A/A test): how often do intervals and tests say that they differ?

Whatever differs between such labels is the method's doing. Of many comparisons 95 % intervals should cover a ratio of 1
in 95 of 100, and tests reject in 5; all goes through `prices`, as ratios of levels do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import linalg, optimize, signal

from cassbook.core.estimate import Estimate, binomial_bounds
from cassbook.latency import prices, uncertainty

#: The labels of a comparison.
LABELS = ("a", "b")
FIGURE = "latency_us"


@dataclass(frozen=True, slots=True)
class Noise:
    """How the latency of one level varies from slice to slice under one load."""

    correlation: float  # of the logarithms of neighbouring slices: an autoregressive process of order 1
    sd: float  # standard deviation of the logarithm within a group


def by_round(rows: pd.DataFrame, slices: pd.DataFrame, blocks: int) -> pd.DataFrame:
    """Latencies of labels in pairs, as `prices.ratios_of_rounds` takes them.

    `rows`: one per group: start, panel, operation, threads, level (that all labels stand for). `slices`: start, panel,
    level (the label: '0', '1', ...), round, latency_ms. Labels 0 and 1 are compared, 2 and 3, ... `blocks`: cluster
    starts of a comparison; a record of more makes several sets of them.

    Columns: `prices.KEYS` (condition tells level, labels and starts), block, level ('a' or 'b'), round, latency_us,
    cluster (which set of starts).
    """
    groups = rows[["start", "panel", "operation", "threads", "level"]].rename(columns={"level": "of"})
    table = slices.merge(groups, on=["start", "panel"])
    label, cluster = table["level"].astype(int), (table["start"] - 1) // blocks
    pair = label // 2
    return pd.DataFrame(
        {
            "engine": "", "deployment": "", "kind": "same", "workload": "",
            "condition": table["of"] + ", pair " + pair.astype(str) + ", set " + cluster.astype(str),
            "operation": table["operation"], "threads": table["threads"], "rate_per_s": 0.0, "block": table["start"],
            "level": np.where(label % 2 == 0, *LABELS), "round": table["round"], FIGURE: table["latency_ms"] * 1000,
            "cluster": cluster,
        }
    )  # fmt: skip


def compared(values: pd.DataFrame) -> pd.DataFrame:
    """Return one row per comparison: `prices.prices`, covers (whether the interval holds 1), p (of the paired test)."""
    ratios = prices.ratios_of_rounds(values, FIGURE, LABELS)
    table = prices.prices(ratios)
    wide = ratios.pivot_table(index=prices.KEYS, columns="block", values="log_ratio", sort=False)
    p = pd.Series(uncertainty.paired_p_values(wide.to_numpy().T), index=wide.index, name="p").reset_index()
    table = table.merge(p, on=prices.KEYS)
    return table.assign(covers=(table["low"] <= 1) & (table["high"] >= 1))


def share(yes: pd.Series, cluster: pd.Series | None = None) -> Estimate:
    """Return a share with its 95 % binomial bounds (Clopper and Pearson), widened where comparisons come in clusters.

    `cluster`: which cluster each belongs to; the number of comparisons is divided by the design effect (Kish 1965).
    """
    n, value = len(yes), float(yes.mean())
    effect = 1.0
    if cluster is not None and 0 < value < 1:
        by = yes.groupby(cluster).agg(["sum", "size"])
        between = ((by["sum"] - value * by["size"]) ** 2).sum() * len(by) / (len(by) - 1)
        effect = max(1.0, float(between) / (n * value * (1 - value)))
    low, high = binomial_bounds(value, n / effect)
    return Estimate(value, float(low), float(high), n)


def noise(slices: pd.DataFrame) -> Noise:
    """Return how latency varies from slice to slice where all labels of a group stand for the same level.

    `slices`: start, panel, latency_ms, in the order of time within a group.

    Both are pooled over groups. Taking their own mean off short series hides a part of both figures; given are those
    of which so much would be seen.
    """
    logs = np.log(slices["latency_ms"])
    groups = [slices["start"], slices["panel"]]
    within = logs - logs.groupby(groups).transform("mean")
    before = within.groupby(groups).shift(1)
    length = round(float(logs.groupby(groups).size().mean()))
    seen = float((within * before).sum() / (within[before.notna()] ** 2).sum())
    correlation = float(optimize.brentq(lambda rho: _seen(rho, length)[0] - seen, -0.99, 0.999))
    return Noise(correlation, float(np.sqrt((within**2).mean() / _seen(correlation, length)[1])))


def _seen(correlation: float, length: int) -> tuple[float, float]:
    """Correlation of neighbours, and variance, that are left of a series of variance 1 without its own mean."""
    own = linalg.toeplitz(correlation ** np.arange(length))
    without = np.eye(length) - 1 / length
    left = without @ own @ without
    return float(np.diag(left, 1).sum() / np.diag(left)[1:].sum()), float(np.diag(left).mean())


def simulated(of: Noise, orders: NDArray[np.int64], seed: int) -> pd.DataFrame:
    """Latencies of labels that differ by nothing but noise, as `by_round` gives them.

    `orders`: shape (comparisons, blocks, slices); which of the two labels each slice has; each round of two slices has
    both.
    """
    rng = np.random.default_rng(seed)
    steps = rng.normal(0, of.sd, orders.shape)
    steps[..., 1:] *= np.sqrt(1 - of.correlation**2)
    logs = signal.lfilter([1.0], [1.0, -of.correlation], steps, axis=-1)
    place = np.indices(orders.shape)
    return pd.DataFrame(
        {
            "engine": "", "deployment": "", "kind": "same", "workload": "", "operation": "READ", "threads": 1,
            "condition": np.char.mod("%d", place[0].ravel()), "rate_per_s": 0.0, "block": place[1].ravel() + 1,
            "level": np.array(LABELS)[orders.ravel()], "round": place[2].ravel() // 2, FIGURE: np.exp(logs.ravel()),
        }
    )  # fmt: skip
