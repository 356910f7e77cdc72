"""Tables of the chapters on calibration and what-if, from recorded calibrations by version."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from cassbook.estimate import Estimate
from cassbook.queueing.calibrate import PARTS, Question
from cassbook.queueing.measuring import FIELD_LENGTH
from cassbook.queueing.recorded import CalibrationRun, by_level

_PERCENT, _US = 100.0, 1000.0
_SHOWN_JOBS = (1, 8, 64)
#: What a cell was kept from the estimate for, and how it is told from the others.
HELD_OUT = {
    "QUORUM": "level == 'QUORUM' and not ask_all and replication == 3 and nodes == 4",
    "six nodes": "nodes == 6",
    "two replicas": "replication == 2",
    "all asked at QUORUM": "ask_all",
}

Runs = Mapping[str, CalibrationRun]


def costs(runs: Runs) -> pd.DataFrame:
    """CPU us of each part of an operation with many jobs, by version, operation and size of the rows; over starts.

    Returns
    -------
    DataFrame of str
        Index (version, operation, field length); columns `PARTS`, client, hop (us of one way).
    """
    rows = {}
    for version, run in runs.items():
        for length in sorted(run.cells["field_length"].unique()):
            fits = run.calibrated(int(length))
            for operation in fits[0].costs:
                own = {
                    name: _told([_US * getattr(fit.costs[operation], name) for fit in fits])
                    for name in (*PARTS, "client")
                }
                hop = _told([_US * fit.hop_ms for fit in fits])
                rows[version, operation, f"10 x {length} bytes"] = own | {"hop": hop}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["version", "operation", "row"])


def _told(values: list[float]) -> str:
    own = Estimate.mean(values)
    return f"{own.value:.0f} ± {(own.high - own.low) / 2:.0f}"


def slowdowns(runs: Runs) -> pd.DataFrame:
    """What an operation costs by jobs, as a multiple of its cost with the most: version, jobs, factor (`Estimate`)."""
    rows = []
    for version, run in runs.items():
        fits = run.calibrated()
        for jobs in sorted(run.cells.loc[run.cells["field_length"] == FIELD_LENGTH, "jobs"].unique()):
            factor = Estimate.mean([fit.slowdown[int(jobs) - 1] for fit in fits])
            rows.append({"version": version, "jobs": int(jobs), "factor": factor})
    return pd.DataFrame(rows)


def errors(runs: Runs) -> pd.DataFrame:
    """Mean over numbers of jobs of |predicted - measured| / measured, percent: the paper's Tables 4 and 5.

    Returns
    -------
    DataFrame
        Index (version, operation); columns (throughput or response, ONE fitted, ALL fitted, and `HELD_OUT`).
    """
    rows = {}
    for version, run in runs.items():
        table = by_level(run)
        for operation, own in table.groupby("operation"):
            usual = own[~own["held_out"] & (own["replication"] == 3)]  # noqa: PLR2004 - the paper's
            parts = {f"{level}, fitted": usual[usual["level"] == level] for level in ("ONE", "ALL")}
            parts |= {name: own.query(rule) for name, rule in HELD_OUT.items()}
            rows[version, operation] = {
                (what, name): _PERCENT * cells[f"off_{what}"].abs().mean()
                for what in ("throughput", "response")
                for name, cells in parts.items()
                if len(cells)
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["version", "operation"])


def told(runs: Runs) -> dict[str, object]:
    """Means of the errors of what was held out, and the worst of its averages, over all versions and operations."""
    table = errors(runs)
    found: dict[str, object] = {}
    for what in ("throughput", "response"):
        own = table[what][list(HELD_OUT)]
        found |= {
            f"{what}_held_out": float(np.nanmean(own)), f"{what}_worst": float(np.nanmax(own)),
            f"{what}_within_ten": int((own <= 10).sum().sum()), f"{what}_averages": int(own.count().sum()),  # noqa: PLR2004 - the paper's
        }  # fmt: skip
    return found | {
        f"slow_{version.replace('.', '_')}": Estimate.mean([fit.slowdown[0] for fit in run.calibrated()]).value
        for version, run in runs.items()
    }


def replication_pays(run: CalibrationRun) -> pd.DataFrame:
    """Reads at QUORUM that ask all three replicas over those that ask two: measured, and by the model.

    Returns
    -------
    DataFrame
        Index jobs; columns throughput, response (`Estimate` over cluster starts of the ratio), throughput_model,
        response_model.
    """
    own = run.cells.query("operation == 'READ' and level == 'QUORUM' and nodes == 4 and replication == 3")
    own = own[own["field_length"] == FIELD_LENGTH]
    both = own.pivot_table(["throughput_per_s", "latency_ms"], ["jobs", "start"], "ask_all")
    jobs = sorted(own["jobs"].unique())
    two, three = (
        run.predict(Question("READ", "QUORUM", 4, 3, ask_all), [int(count) for count in jobs])
        for ask_all in (False, True)
    )
    rows = {}
    for place, count in enumerate(jobs):
        ratios = {
            name: Estimate.mean(both[column][True].loc[count] / both[column][False].loc[count])
            for name, column in (("throughput", "throughput_per_s"), ("response", "latency_ms"))
        }
        rows[int(count)] = ratios | {
            "throughput_model": three.throughput_per_s[place].value / two.throughput_per_s[place].value,
            "response_model": three.response_ms[place].value / two.response_ms[place].value,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("jobs")
