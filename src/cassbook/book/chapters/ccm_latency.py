"""The ccm study's Figure 1, drawn, and its four ratios, next to ours."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from cassbook import published
from cassbook.book import palette
from cassbook.book.figure_style import (
    done,
    panels,
)
from cassbook.core.consistency import setting_waiting_for
from cassbook.core.estimate import Estimate
from cassbook.records.experiment import Results
from cassbook.shown.tables import formatted
from cassbook.staleness.ccm_study import SETTINGS, settings_of

#: Who measured, by the beginning of a column's name.
TOOLS = {"stress": "cassandra-stress", "ours": "our generator"}
OPERATIONS = {"write": "writes", "read": "reads"}
SETUPS = {"none": "no distance", "1-ms": "1 ms between all nodes", "regions": "two nodes in each of four regions"}


def latencies(results: Results, tool: str) -> pd.DataFrame:
    """Return the mean latency over cluster starts: index (setup, operation), columns settings, values `Estimate`."""
    parts = {}
    for operation in OPERATIONS:
        means = results.mean(f"{tool}_{operation}_ms", ["setup", "r", "w"])
        for setup in results.manifest["setups"]:
            parts[setup, operation] = {setting_waiting_for(r, w): means[setup, r, w] for r, w in SETTINGS}
    return pd.DataFrame.from_dict(parts, orient="index").rename_axis(["setup", "operation"])


def ratios(results: Results, figure: str = "mean") -> pd.DataFrame:
    """Return the study's four ratios, printed and over cluster starts.

    Parameters
    ----------
    results : Results
    figure : str
        'mean', which is printed, or 'p50' or 'p95'.

    Returns
    -------
    DataFrame
        Index (operation, worse, than); printed for means, and a column of Estimates for each (setup, tool).
    """
    rows = {}
    column = "ms" if figure == "mean" else f"{figure}_ms"
    for row in published.table("pbs_ratios").to_dict("records"):
        operation = str(row["operation"]).lower()
        over, under = (settings_of(str(row[name])) for name in ("worse", "than"))
        found: dict[tuple[str, str], float | Estimate] = {}
        if figure == "mean":
            found["the study", "printed"] = float(row["ratio"])
        for setup, title in SETUPS.items():
            for tool, name in TOOLS.items():
                conditions = over | {"setup": setup}, under | {"setup": setup}
                found[title, name] = results.ratio(f"{tool}_{operation}_{column}", *conditions)
        rows[OPERATIONS[operation], str(row["worse"]), str(row["than"])] = found
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["operation", "worse", "than"])
    table.columns = pd.MultiIndex.from_tuples([tuple(name) for name in table.columns])
    return table


def ratios_shown(results: Results, figure: str = "mean") -> pd.DataFrame:
    """Return `ratios` in words."""
    return formatted(
        ratios(results, figure), lambda ratio: f"{ratio:.2f}" if isinstance(ratio, Estimate) else f"{ratio:g}"
    )


def values(results: Results) -> dict[str, object]:
    """Return what the prose quotes of a record: its conditions; of how many intervals those hold the printed ratio,
    for each
    operation; and cassandra-stress's own for the first ratio of writes and of reads (write_SETUP, read_SETUP).
    """
    printed = published.table("pbs_ratios").to_dict("records")
    inside, quoted = dict.fromkeys(OPERATIONS, 0), dict[str, float]()
    for row in printed:
        operation = str(row["operation"]).lower()
        over, under = (settings_of(str(row[name])) for name in ("worse", "than"))
        for setup in SETUPS:
            for tool in TOOLS:
                ratio = results.ratio(f"{tool}_{operation}_ms", over | {"setup": setup}, under | {"setup": setup})
                inside[operation] += ratio.low <= float(row["ratio"]) <= ratio.high
                if tool == "stress":
                    quoted.setdefault(f"{operation}_{setup.replace('-', '_')}", ratio.value)
    notes = results.manifest
    cluster = notes["setups"]["none"]
    return quoted | {f"{operation}s_inside": count for operation, count in inside.items()} | {
        "engine": notes["engine"], "starts": notes["starts"], "threads": notes["numbers"]["threads"],
        "operations": notes["numbers"]["operations"], "nodes": cluster["nodes"],
        "without": cluster["nodes"] - cluster["replication"],
        "each": len(printed) * len(SETUPS) * len(TOOLS) // len(OPERATIONS),
    }  # fmt: skip


def study(results: Results) -> Figure:
    """Draw the mean latency in each setting with intervals over cluster starts: one row per tool, one panel per
    setup.
    """
    figure, axes = panels(len(TOOLS), len(SETUPS), width=3.6, height=2.8, sharey="col")
    for row, (tool, name) in zip(axes, TOOLS.items(), strict=True):
        table = latencies(results, tool)
        for panel, (setup, title) in zip(row, SETUPS.items(), strict=True):
            for offset, operation in ((-0.2, "read"), (0.2, "write")):
                estimates: list[Any] = list(table.loc[[(setup, operation)]].to_numpy()[0])
                places = [place + offset for place in range(len(estimates))]
                values = [estimate.value for estimate in estimates]
                below = [max(0.0, e.value - max(0.0, e.low)) for e in estimates]
                above = [e.high - e.value for e in estimates]
                label = OPERATIONS[operation]
                panel.bar(places, values, 0.38, color=palette.OPERATIONS[operation.upper()], label=label,
                          yerr=[below, above], capsize=2)  # fmt: skip
            panel.set_xticks(range(len(SETTINGS)), [setting_waiting_for(r, w) for r, w in SETTINGS], rotation=45)
            panel.set(title=f"{title}\n{name}", ylim=(0, None))
        row[0].set_ylabel("mean latency, ms")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return done(figure)
