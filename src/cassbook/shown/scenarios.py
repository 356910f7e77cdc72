"""The 2021 paper's Tables 2 to 4 and its sentences, printed and measured side by side."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.deployment import scenarios
from cassbook.deployment.inferred_regions import LEVELS, SCENARIOS
from cassbook.shown.tables import formatted, intervals

_OPERATIONS = ("READ", "WRITE")
#: Milliseconds from which no decimal is shown: as many digits as the interval is worth.
_WHOLE_MS = 100


def latency_table(operation: str, sources: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return Tables 3 and 4: mean latency in ms, each source's column next to the others.

    Parameters
    ----------
    operation : str
        READ or WRITE.
    sources : mapping of str to DataFrame
        Points (see `deployment.scenarios`), by what the column is to be called.

    Returns
    -------
    DataFrame of str
        Index (level, threads); columns (scenario, source). Behind ±, how far the 95 % interval over blocks reaches.
    """
    columns = {}
    for label, points in sources.items():
        means = scenarios.over_blocks(points[points["operation"] == operation]).set_index(["level", "threads"])
        for name, group in means.groupby("scenario"):
            columns[str(name), label] = intervals(group, _ms, "latency_ms", "latency_ms_low", "latency_ms_high")
    table = pd.DataFrame(columns).fillna("")
    rows = [(level, n) for level in LEVELS for n in sorted({n for of_level, n in table.index if of_level == level})]
    return table.loc[rows, [(name, label) for name in SCENARIOS for label in sources if (name, label) in columns]]


def _ms(latency: Estimate) -> str:
    return f"{latency:±%.{1 if latency.value < _WHOLE_MS else 0}f}"


def throughput_table(sources: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return Table 2 as printed next to the highest throughputs of each source, in requests per second.

    Returns
    -------
    DataFrame of str
        Index (scenario, operation); columns (level, 'Table 2' or source). An asterisk as in the paper: the highest came
        with the most threads, so that more of them may have brought more.
    """
    highest = {"Table 2": scenarios.printed_throughput()}
    highest |= {label: scenarios.highest_throughput(points) for label, points in sources.items()}
    columns = {
        (level, label): _per_s(found.loc[(slice(None), slice(None), level), :].droplevel("level"))
        for level in LEVELS for label, found in highest.items()
    }  # fmt: skip
    table = pd.DataFrame(columns).fillna("")
    rows = [(name, operation) for name in SCENARIOS for operation in _OPERATIONS if (name, operation) in table.index]
    return table.loc[rows]


def _per_s(table: pd.DataFrame) -> pd.Series:
    return intervals(table, "±%,.0f", "per_s") + table["saturated"].map({True: "", False: " *"})


def sentences(points: pd.DataFrame) -> pd.DataFrame:
    """Return `scenarios.sentences` in words."""
    return formatted(scenarios.sentences(points), {"the text": "", "its tables": ".3g", "here": ""})
