"""Results under open arrivals in words: a table by mix, and what each setting carried before and after."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.core.schema import OPEN
from cassbook.core.words import counted
from cassbook.latency import percentiles, summaries
from cassbook.latency.open_results import ALONE, MIX, SHARE
from cassbook.shown.tables import Format, estimates, formatted, three_digits

_MS = 1e-3
#: Figures of the response time that a table has room for; JSON and CSV have all.
_FIGURES = ("p50", "p99")
_RATIOS = ("p50", "p99")


def sections(table: pd.DataFrame, carried: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield titles and tables in words, one per mix; then what settings carried.

    `table`: from `open_results.open_results`. `carried`: from `open_results.carried`. Either may be empty.
    """
    if table.empty:
        return
    for _, rows in table.groupby(MIX, sort=False):
        yield f"Open arrivals, {mix_of(rows, table)}", _words(rows)
    if len(carried):
        yield "Carried without a growing backlog, requests a second", _carried(carried)


def mix_of(rows: pd.DataFrame, among: pd.DataFrame) -> str:
    """Name a mix, its arrivals, and of engine and deployment what differs `among` all rows."""
    first = rows.iloc[0]
    names = {"READ": "reads", "WRITE": "updates"}
    said = [names.get(str(first["operation"]), str(first["operation"])), str(first["arrivals"])]
    said += [f"Cassandra {first['engine']}"] if len(among["engine"].unique()) > 1 else []
    said += [str(first["deployment"])] if len(among["deployment"].unique()) > 1 and first["deployment"] else []
    return ", ".join(said)


def load_of(row: pd.Series) -> str:
    """Name a place on the ladder: a share, 'own' and a share, or nothing for a rate, which has a column already."""
    if row["measured"] == ALONE:
        return f"own {row['at']:g}"
    return f"{row['at']:g}" if row["measured"] == SHARE else ""


def rates_of(row: pd.Series) -> str:
    """Rate, or its range over blocks, in whole requests a second."""
    if np.isnan(row["rate_per_s"]):
        return "-"
    least, most = f"{row['rate_least_per_s']:.0f}", f"{row['rate_most_per_s']:.0f}"
    return least if least == most else f"{least} to {most}"


def _words(rows: pd.DataFrame) -> pd.DataFrame:
    base = str(rows["base"].iloc[0])
    words = pd.DataFrame({"load": rows.apply(load_of, axis=1), "setting": rows["setting"]})
    words["rate/s"] = rows.apply(rates_of, axis=1)
    figures = pd.DataFrame({"own share": rows["own_share"]}, index=rows.index)
    formats: dict[str, Format] = {"own share": ".2f", "ops/s": ".0f"}
    figures["ops/s"] = rows["throughput_per_s"]
    for name in _FIGURES:
        column = percentiles.COLUMNS[name]
        bounds = (summaries.bound(column, side) for side in ("low", "high"))
        figures[name] = estimates(rows, column, *bounds).map(lambda estimate: estimate.times(_MS))
        formats[name] = _reaching
    for name in _RATIOS if base else ():
        column = f"ratio_{name}"
        figures[f"{name}/{base}"] = estimates(rows, column, f"{column}_low", f"{column}_high")
        formats[f"{name}/{base}"] = ".2f"
    figures["late p99"], formats["late p99"] = rows["late_p99_us"] * _MS, three_digits
    shown = pd.concat([words, formatted(figures, formats, missing="-")], axis=1)
    if rows["failed"].any():
        shown["failed"] = rows["failed"].astype(str)
    if (rows["marks"] != "").any():
        shown["marks"] = rows["marks"].str.replace(";", ",")
    return shown.loc[:, [name for name in shown if name != "load" or (shown[name] != "").any()]]


def _reaching(estimate: Estimate) -> str:
    return f"{three_digits(estimate.value)} {estimate.reach}".rstrip()


def _carried(carried: pd.DataFrame) -> pd.DataFrame:
    names = {"READ": "reads", "WRITE": "updates"}
    words = pd.DataFrame({"mix": carried["operation"].replace(names), "setting": carried["setting"]})
    figures = pd.DataFrame({
        "before": estimates(carried, "carried_per_s", "carried_low_per_s", "carried_high_per_s"),
        "after": estimates(carried, "carried_after_per_s", "carried_after_low_per_s", "carried_after_high_per_s"),
        "after/before": estimates(carried, "change", "change_low", "change_high"),
    })  # fmt: skip
    formats = {"before": ".0f", "after": ".0f", "after/before": ".2f"}
    return pd.concat([words, formatted(figures, formats, missing="-")], axis=1)


def explained(table: pd.DataFrame) -> list[str]:
    """Say how to read the tables of `sections`."""
    measured = set(table["measured"])
    said = [
        "Under open arrivals latencies are response times in ms, from when a request was due to its answer; late p99 "
        "is how late the client sent, in ms, where a slot was free. The mean and p99.9: --format json."
    ]
    if SHARE in measured:
        said.append(
            "A load is the rate as a share of what the weakest setting of the mix carried in that block, so that rates "
            "differ by block; own share is of what the setting itself carries."
        )
    if base := [name for name in table["base"].unique() if name]:
        said.append(
            f"Ratios to {' and '.join(base)} are taken within blocks at the same arrivals; their intervals are "
            "Student's t on logarithms over blocks."
        )
    if ALONE in measured:
        said.append(
            "Load own: a setting alone, at a share of what it carries itself; no ratio, for no other got that rate."
        )
    lost = int(table["not_carried"].sum())
    if lost:
        said.append(
            f"Not carried: {counted(lost, 'cell')} (kind {OPEN}) in which a trial showed a growing backlog. "
            "Figures of such a rate are of the blocks that carried it, the faster ones."
        )
    if beyond := int(table["beyond_client"].sum()):
        said.append(f"The client could not send the rate of {counted(beyond, 'cell')}: their curve ends there.")
    if few := [name for name in ("p50", "p95", "p99") if _lacks(table, name)]:
        needs = ", ".join(f"{name} {percentiles.needed(name):,}" for name in few)
        said.append(f"Not shown of open cells with too few answers: {needs} are needed.")
    return said


def _lacks(table: pd.DataFrame, name: str) -> bool:
    return bool(table.loc[table["blocks"] > 0, percentiles.COLUMNS[name]].isna().any())
