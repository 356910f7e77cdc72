"""Prediction held against measurement: P(consistent) over t, panel by panel."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from cassbook.core.types import Floats
from cassbook.records.staleness import PART, StalenessRun
from cassbook.staleness import curves, pbs
from cassbook.staleness.curves import Predictor
from cassbook.staleness.from_traces import as_wars

#: Panels whose reads are stale often enough for a prediction to be worth something.
STALE_BELOW = 0.95
#: Ways to predict from the same traces.
WHOLE, ASKED, FIRST = "whole requests", "four distributions, R asked", "four distributions, first R of all"
_TRIALS = 400_000


def weak_panels(run: StalenessRun) -> list[tuple[str, int, int, int]]:
    """Return panels whose quorums need not meet, one version before each read: setup, threads, R, W."""
    panels = run.panels[run.panels["versions"] == 1]
    panels = panels[panels["r"] + panels["w"] <= panels["n"]]
    keys = panels[["setup", "threads", "r", "w"]].drop_duplicates().sort_values(["setup", "threads", "r", "w"])
    return list(keys.itertuples(index=False, name=None))


def predictors(run: StalenessRun, setup: str, threads: int, r: int, w: int) -> dict[str, Predictor]:
    """Return ways to predict a panel from its traces: `WHOLE` (`traced`), `ASKED` (Cassandra's way) and `FIRST`
    (WARS).
    """
    traced = run.traced(setup, threads, r, w)
    wars = as_wars(traced.writes, [traced.reads])
    ways_ms = float(np.mean(traced.writes.outside_ms) + np.mean(traced.reads.outside_ms)) / 2
    later_ms = ways_ms + traced.tracing_ms.value
    n = traced.writes.there_ms.shape[1]
    ways: dict[str, Predictor] = {WHOLE: traced.of_pair}
    for label, ask in ((ASKED, "r"), (FIRST, "all")):
        ways[label] = _of(pbs.predict(wars, n, r, w, _TRIALS, ask="r" if ask == "r" else "all"), later_ms)
    return ways


def _of(prediction: pbs.Prediction, later_ms: float) -> Predictor:
    """The same for every pair of coordinators; a read begins so much later than the client's t says."""

    def p_consistent(t_ms: Floats, writer: int, reader: int) -> Floats:
        return pbs.p_consistent_over(prediction, t_ms + later_ms)

    return p_consistent


@cache
def curve(run: StalenessRun, setup: str, threads: int, r: int, w: int) -> pd.DataFrame:
    """Return a panel over t: columns of `curves.over_t`, and a column for each way of predicting."""
    counted = run.counted(setup, threads, r, w)
    ways = predictors(run, setup, threads, r, w)
    tables = {name: curves.over_t(counted, predictor=predictor) for name, predictor in ways.items()}
    first = next(iter(tables.values())).drop(columns="predicted")
    return first.assign(**{name: table["predicted"] for name, table in tables.items()})


def by_part(run: StalenessRun) -> dict[float, float]:
    """Return the mean RMSE of whole requests in panels below `STALE_BELOW`, by the part of the cost of tracing taken
    off.
    """
    by_taken: dict[float, list[float]] = {0.0: [], PART: [], 1.0: []}
    for key in weak_panels(run):
        counted = run.counted(*key)
        if curves.over_t(counted)["p"].iloc[0] < STALE_BELOW:
            for part, errors in by_taken.items():
                predictor = run.traced(*key, part=part).of_pair
                errors.append(curves.rmse(curves.over_t(counted, predictor=predictor)))
    return {part: float(np.mean(errors)) for part, errors in by_taken.items()}


def by_panel(run: StalenessRun) -> pd.DataFrame:
    """Return how far each prediction is from what was measured.

    Index (setup, threads, r, w): measured P(0), low, high, t_999_ms (measured time to 99.9 %; NaN if not
    reached), noise (what the RMSE of a perfect prediction would be, by the number of reads), and the RMSE of each
    prediction.
    """
    rows = {}
    for key in weak_panels(run):
        seen = curve(run, *key)
        rows[key] = {
            "p0": seen["p"].iloc[0], "low": seen["low"].iloc[0], "high": seen["high"].iloc[0],
            "t_999_ms": curves.reached_ms(seen), "noise": curves.noise(seen),
            **{name: curves.rmse(seen.assign(predicted=seen[name])) for name in (WHOLE, ASKED, FIRST)},
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["setup", "threads", "r", "w"])
