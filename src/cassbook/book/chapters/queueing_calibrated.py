"""Tables of the chapters on calibration and what-if, from recorded calibrations by version."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from cassbook.core.consistency import LEVELS
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import Proportion
from cassbook.core.units import PERCENT, US_PER_MS
from cassbook.queueing.calibration import KNOTS, PARTS, Question
from cassbook.queueing.loads import Loads
from cassbook.queueing.paper import FIELD_LENGTH
from cassbook.records.calibration import CROWDING, FITTED_NODES, WAITING, CalibrationRun, by_level, repeatability
from cassbook.shown.tables import formatted, titled

#: What the paper reaches.
_AIM_PERCENT = 10.0
#: What most cells were asked of, and of them the question that the chapters dwell on.
_CLUSTER = FITTED_NODES, 3
QUORUM_READ = Question("READ", "QUORUM", *_CLUSTER)
_USUAL = f"nodes == {_CLUSTER[0]} and replication == {_CLUSTER[1]} and field_length == {FIELD_LENGTH}"
#: What a cell was kept from the estimate for, and the rule that finds it.
HELD_OUT = {
    "QUORUM": f"level == 'QUORUM' and not ask_all and {_USUAL}",
    "QUORUM, longer rows": f"level == 'QUORUM' and field_length != {FIELD_LENGTH}",
    "QUORUM, six nodes": "level == 'QUORUM' and nodes == 6",
    "two replicas": "replication == 2",
    "all asked at QUORUM": "ask_all",
}

#: What other numbers of nodes are off where nothing of them is in the estimate.
SIX_WHOLE = "six nodes, never seen"

Runs = Mapping[str, CalibrationRun]


def by_version(*records: CalibrationRun) -> dict[str, CalibrationRun]:
    """Return calibrations by the version that they are of."""
    return {str(run.results.manifest["engine"]): run for run in records}


def protocol(runs: Runs) -> dict[str, object]:
    """Return how it was measured, and how well that is known.

    Returns
    -------
    dict
        version, later (the first and the last); calibration_starts, repetitions, seconds, cores; and, of
        `repeatability`, cell_noise, floor.
    """
    first, repeated = next(iter(runs.values())).results.manifest, repeatability(runs.values())
    versions = list(runs)
    return {
        "version": versions[0], "later": versions[-1], "calibration_starts": first["starts"],
        "repetitions": first["numbers"]["repetitions"],
        "seconds": first["numbers"]["steady_s"], "cores": first["machine"]["cores"],
        "cell_noise": repeated["noise"], "floor": repeated["floor"],
    }  # fmt: skip


def cells(runs: Runs) -> pd.DataFrame:
    """Return the kinds of cell: what was asked, of how many at a time, and what for.

    Returns
    -------
    DataFrame
        Index (nodes, replication, row, asked); columns jobs, estimate and held_out (levels), each a tuple.
    """
    first = next(iter(runs.values()))
    rows = {}
    for key, group in first.cells.assign(held_out=first.held_out).groupby(
        ["nodes", "replication", "field_length", "ask_all"]
    ):
        nodes, replication, length, ask_all = key
        levels = {level: bool(part["held_out"].all()) for level, part in group.groupby("level")}
        shown = [level for level in LEVELS if level in levels]
        rows[nodes, replication, f"10 x {length} bytes", "all" if ask_all else "as many as needed"] = {
            "jobs": tuple(sorted(group["jobs"].unique())),
            "estimate": tuple(level for level in shown if not levels[level]),
            "held_out": tuple(level for level in shown if levels[level]),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["nodes", "replicas", "row", "asked"])


def cells_shown(runs: Runs) -> pd.DataFrame:
    """Return `cells` in words."""
    listed = lambda values: ", ".join(map(str, values))  # noqa: E731
    titles = {"jobs": "jobs", "estimate": "estimate", "held_out": "held out"}
    return titled(cells(runs), {name: (title, listed) for name, title in titles.items()})


def costs(runs: Runs) -> pd.DataFrame:
    """Return what each part of an operation costs with many jobs, us, by version, operation and size of the rows;
    over starts.

    Returns
    -------
    DataFrame of Estimate
        Index (version, operation, row); columns `PARTS`, client, alone (how many times as slow), crowding (the exponent
        by which work grows with the number of nodes).
    """
    rows = {}
    for version, run in runs.items():
        for length in sorted(run.cells["field_length"].unique()):
            fits = run.calibrated(int(length))
            for operation in fits[0].costs:
                parts = {
                    name: Estimate.positive([US_PER_MS * getattr(fit.costs[operation], name) for fit in fits])
                    for name in (*PARTS, "client")
                }
                alone = Estimate.positive([fit.slowdown[0] for fit in fits])
                crowding = _crowding(run, operation, int(length))
                rows[version, operation, f"10 x {length} bytes"] = parts | {"alone": alone, "crowding": crowding}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["version", "operation", "row"])


def costs_shown(runs: Runs) -> pd.DataFrame:
    """Return `costs` in words."""
    formats = {**dict.fromkeys((*PARTS, "client"), "±%.0f"), "alone": "±%.1f", "crowding": "±%.2f"}
    return formatted(costs(runs), formats)


def estimators(runs: Runs) -> pd.DataFrame:
    """Return the work for one request at the usual rows, us, as each way to demands has it, and its response time
    alone.

    Returns
    -------
    DataFrame of Estimate
        Index (version, operation, level); columns (requests that are alone: response, traced, CPU, fitted) and (the
        most jobs: CPU, fitted); means over cluster starts.
    """
    rows = {}
    for version, run in runs.items():
        usual = run.cells.query(f"{_USUAL} and not ask_all")
        phases = run.results.table("phases").groupby(["operation", "level", "start"]).mean(numeric_only=True)
        means = usual.groupby(["operation", "level", "jobs", "start"]).mean(numeric_only=True)
        cpu_us = means["node_cpu_us"] + means["client_cpu_us"]
        for operation, level in itertools.product(sorted(usual["operation"].unique()), LEVELS):
            question = Question(operation, level, *_CLUSTER)
            fitted = [US_PER_MS * Loads(fit.network(question)).ms["CPU"] for fit in run.calibrated()]
            alone = [us * fit.slowdown[0] for us, fit in zip(fitted, run.calibrated(), strict=True)]
            traced = _traced_us(question, phases.loc[operation, level])
            at = {jobs: (operation, level, jobs) for jobs in (1, int(usual["jobs"].max()))}
            many = f"{max(at)} jobs"
            rows[version, operation, level] = {
                ("alone", "response"): Estimate.positive(US_PER_MS * means["latency_ms"].loc[at[1]]),
                ("alone", "traced"): Estimate.positive(traced), ("alone", "CPU"): Estimate.positive(cpu_us.loc[at[1]]),
                ("alone", "fitted"): Estimate.positive(alone),
                (many, "CPU"): Estimate.positive(cpu_us.loc[at[max(at)]]), (many, "fitted"): Estimate.positive(fitted),
            }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["version", "operation", "level"])


def estimators_shown(runs: Runs) -> pd.DataFrame:
    """Return `estimators` in words."""
    return formatted(estimators(runs), "±%.0f")


def estimators_values(runs: Runs) -> dict[str, object]:
    """Return how, in the first record, CPU time and traces of requests that are alone differ from what they take.

    Returns
    -------
    dict
        burnt: CPU over response time of a read at ONE, alone; many: its CPU alone over that with the most jobs; traced:
        phases of a write at ALL over its response time; alone, beyond: slowdown, and percent less; six_update: what a
        write costs on six nodes over four; later_write_all_cpu (of the last record): CPU of a write at ALL over that at
        ONE with the most jobs.
    """
    run = next(iter(runs.values()))
    means = run.cells.query(f"{_USUAL} and not ask_all").groupby(["operation", "level", "jobs"]).mean(numeric_only=True)
    cpu_us, ms = (means["node_cpu_us"] + means["client_cpu_us"]).to_dict(), means["latency_ms"].to_dict()
    most = int(run.cells["jobs"].max())
    phases = run.results.table("phases").query("operation == 'UPDATE' and level == 'ALL'")
    traced_us = _traced_us(Question("UPDATE", "ALL", *_CLUSTER), phases.mean(numeric_only=True).to_frame().T).item()
    fits = run.calibrated()
    return {
        "burnt": cpu_us["READ", "ONE", 1] / US_PER_MS / ms["READ", "ONE", 1],
        "many": cpu_us["READ", "ONE", 1] / cpu_us["READ", "ONE", most],
        "traced": traced_us / US_PER_MS / ms["UPDATE", "ALL", 1],
        "alone": float(np.mean([fit.slowdown[0] for fit in fits])),
        "beyond": PERCENT * (1 - float(np.mean([fit.slowdown[-1] for fit in fits]))),
        "beyond_at": KNOTS[-1],
        "later_write_all_cpu": _write_all_cpu(list(runs.values())[-1]),
        "six_update": (6 / FITTED_NODES) ** _crowding(run, "UPDATE").value,
    }


def _write_all_cpu(run: CalibrationRun) -> float:
    """CPU time of a write at ALL over that of one at ONE with the most jobs."""
    cells = run.cells.query(f"{_USUAL} and not ask_all and operation == 'UPDATE' and jobs == {run.cells['jobs'].max()}")
    cpu_us = (cells["node_cpu_us"] + cells["client_cpu_us"]).groupby(cells["level"]).mean()
    return float(cpu_us["ALL"] / cpu_us["ONE"])


def _traced_us(question: Question, phases: pd.DataFrame) -> pd.Series:
    """Work for a request by its traced phases: the coordinator's, and that of every other node that is asked."""
    _, _, elsewhere, _ = question.design
    return phases["parse_us"] + phases["end_us"] + elsewhere * phases["serve_us"].fillna(0.0)


def _crowding(run: CalibrationRun, operation: str, field_length: int = FIELD_LENGTH) -> Estimate:
    """The exponent by which work grows with the number of nodes on the machine, over cluster starts."""
    return Estimate.positive([fit.crowding[operation] for fit in run.calibrated(field_length)])


def slowdowns(runs: Runs) -> pd.DataFrame:
    """Return how much slower work is with few at the processors than with many: series, jobs, factor (`Estimate`)."""
    return pd.DataFrame([
        {"series": version, "jobs": knot,
         "factor": Estimate.positive([fit.slowdown[knot - 1] for fit in run.calibrated()])}
        for version, run in runs.items() for knot in KNOTS
    ])  # fmt: skip


def errors(runs: Runs) -> pd.DataFrame:
    """Return the mean absolute error over numbers of jobs, in percent of the measured: the paper's Tables 4 and 5.

    Returns
    -------
    DataFrame
        Index (version, operation); columns (throughput or response, ONE fitted, ALL fitted, `HELD_OUT`, `SIX_WHOLE`).
    """
    rows = {}
    for version, run in runs.items():
        table, without = by_level(run), by_level(run, without=CROWDING)
        for operation, group in table.groupby("operation"):
            usual = group[~group["held_out"]].query(_USUAL)
            parts = {f"{level}, fitted": usual[usual["level"] == level] for level in ("ONE", "ALL")}
            parts |= _held_out(group)
            parts[SIX_WHOLE] = without[(without["operation"] == operation) & (without["nodes"] != FITTED_NODES)]
            rows[version, operation] = {
                (what, name): _off(cells, what)
                for what in ("throughput", "response")
                for name, cells in parts.items()
                if len(cells)
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["version", "operation"])


def mechanisms(runs: Runs) -> pd.DataFrame:
    """Return what the model is worth as it is, and with no cost of waiting, on what was held out.

    Returns
    -------
    DataFrame
        Index (version, model); columns ('throughput, %' or 'response, %', and mean, worst, or within 10) of the
        averages of `errors` that were held out, the last as `Proportion`; (cells, in the interval), the Proportion of
        the cells held out whose measured 95 % interval of throughput holds the prediction.
    """
    rows = {}
    for version, run in runs.items():
        for without in ("", WAITING):
            rows[version, f"without {without}" if without else "as it is"] = _worth(run, without)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["version", "model"])


def mechanisms_shown(runs: Runs) -> pd.DataFrame:
    """Return `mechanisms` in words."""
    return formatted(mechanisms(runs), _rounded)


def _rounded(value: float | Proportion) -> str:
    return value.counts if isinstance(value, Proportion) else f"{value:.1f}"


def _worth(run: CalibrationRun, without: str = "") -> dict[tuple[str, str], object]:
    """A row of `mechanisms`."""
    table = by_level(run, without=without)
    worth: dict[tuple[str, str], object] = {}
    for what in ("throughput", "response"):
        off = pd.Series(
            [_off(kind, what) for _, cells in table.groupby("operation") for kind in _held_out(cells).values()]
        )
        worth |= {
            (f"{what}, %", "mean"): off.mean(), (f"{what}, %", "worst"): off.max(),
            (f"{what}, %", "within 10"): Proportion.independent(int((off <= _AIM_PERCENT).sum()), len(off)),
        }  # fmt: skip
    held = table.loc[table["held_out"], "within"]
    return worth | {("cells", "in the interval"): Proportion.independent(int(held.sum()), len(held))}


def _held_out(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Cells of each kind that was held out."""
    return {name: kind for name, rule in HELD_OUT.items() if len(kind := cells.query(rule))}


def _off(cells: pd.DataFrame, what: str) -> float:
    return PERCENT * float(cells[f"off_{what}"].abs().mean())


def values(run: CalibrationRun, prefix: str = "", without: str = "") -> dict[str, object]:
    """Return a row of `mechanisms` under the names of the prose."""
    worth = {
        name: value.counts if isinstance(value, Proportion) else value for name, value in _worth(run, without).items()
    }
    return {
        f"{prefix}{what}_{name.replace(' ', '_')}": worth[f"{what}, %", name]
        for what in ("throughput", "response")
        for name in ("mean", "worst", "within 10")
    } | {f"{prefix}cells": worth["cells", "in the interval"]}


def throughput_six(run: CalibrationRun) -> float:
    """Return the mean error of throughput, percent, on six nodes where nothing of them is in the estimate."""
    return float(errors({"": run})["throughput"][SIX_WHOLE].mean())
