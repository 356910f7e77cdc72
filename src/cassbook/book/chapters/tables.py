"""The papers' tables, in the papers' shape, from any source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cassbook.book.chapter import PUBLISHED, Source
from cassbook.book.chapters.cold_start import (
    CONDITIONS,
    cold_cells,
    cold_conditions,
    cold_in_words,
    end_in_words,
    series_of,
    warm_up_factors,
    warm_ups,
)
from cassbook.core.consistency import LEVELS
from cassbook.core.estimate import Estimate
from cassbook.latency import mixing, ranking, regression, saturation, summaries, validation
from cassbook.latency.cell_checks import LITTLE_TOLERANCE
from cassbook.records.run import RecordedRun

# Tables of beginnings are asked for here, like all others.
__all__ = [
    "CONDITIONS",
    "cold_cells",
    "cold_conditions",
    "cold_in_words",
    "end_in_words",
    "series_of",
    "warm_up_factors",
    "warm_ups",
]

#: Behind a figure that the client is a part of: it took a third of the machine, or lagged (see `schema.CLIENT_MARKS`).
CLIENT_SIGN = " †"
_MODELS = {"linear": "linear", "order2": "order 2", "order3": "order 3", "order4": "order 4"}


def mix(read_share: float) -> str:
    """Name a mix as the papers do: reads/writes in percent."""
    return f"{100 * read_share:.0f}/{100 - 100 * read_share:.0f}"


def performance(stats: pd.DataFrame, operation: str) -> pd.DataFrame:
    """Tables I and II: latency, variation and throughput by threads, slowdowns in percent of ONE behind.

    Parameters
    ----------
    stats : DataFrame
        Columns `schema.LEVEL_STATS`.
    operation : str
        READ or WRITE.

    Returns
    -------
    DataFrame of str
        Index threads; columns (quantity, level). Latencies carry the half-width of their 95 % interval where
        there are blocks to compute it from; `CLIENT_SIGN` stands behind one that the client is a part of.
    """
    rows = summaries.slowdowns(stats[stats["operation"] == operation])
    table = {}
    for level in LEVELS:
        group = rows[rows["level"] == level].set_index("threads")
        behind = level != "ONE"
        bounds = zip(group["latency_us"], group["latency_low_us"], group["latency_high_us"], strict=True)
        latency = pd.Series([f"{Estimate(*b, 0):±.0f}" for b in bounds], group.index)
        throughput = group["throughput_per_s"].map("{:.0f}".format)
        latency += np.where(summaries.client_marked(group), CLIENT_SIGN, "")
        if behind:
            latency += group["latency_slowdown_percent"].map(" ({:+.0f} %)".format)
            throughput += group["throughput_slowdown_percent"].map(" ({:+.0f} %)".format)
        table["latency, us", level] = latency
        table["variation, %", level] = group["cv_percent"].map("{:.0f}".format)
        table["throughput, 1/s", level] = throughput
    quantities = ("latency, us", "variation, %", "throughput, 1/s")
    return pd.DataFrame(table)[[(q, level) for q in quantities for level in LEVELS]]


def average_slowdowns(sources: Sequence[Source]) -> pd.DataFrame:
    """Bottom rows of Tables I and II: mean slowdown over all thread counts, in percent of ONE."""
    parts = {}
    for source in sources:
        stats = summaries.slowdowns(source.level_stats)
        means = stats[stats["level"] != "ONE"].groupby(["operation", "level"], sort=False)
        parts[source.label, "latency"] = means["latency_slowdown_percent"].mean()
        parts[source.label, "throughput"] = means["throughput_slowdown_percent"].mean()
    return pd.DataFrame(parts).round(1)


def saturation_points(sources: Sequence[Source]) -> pd.DataFrame:
    """Threads from which more of them bring under 5 % more throughput, and the maximum, by source."""
    parts = {}
    for source in sources:
        table = saturation.saturation_table(source.level_stats).set_index(["operation", "level"])
        shown = table["saturated_from_threads"].map("{:.0f}".format)
        parts[source.label, "saturated from"] = shown.where(table["reached"], "not reached")
        parts[source.label, "most, 1/s"] = table["max_throughput_per_s"].map("{:.0f}".format)
    return pd.DataFrame(parts)


def growth(sources: Sequence[Source], beyond_saturation: bool) -> pd.DataFrame:
    """Verdict on 'exponential' against linear growth of latency, with the AICc difference, by source."""
    parts = {}
    for source in sources:
        table = saturation.growth_table(source.level_stats, beyond_saturation=beyond_saturation)
        table = table.set_index(["operation", "level"])
        difference = table["exponential_aicc"] - table["linear_aicc"]
        parts[source.label, "verdict"] = table["verdict"]
        parts[source.label, "AICc exp. - lin."] = difference.map("{:+.1f}".format).replace("+nan", "")
    return pd.DataFrame(parts)


def goodness_of_fit(sources: Sequence[Source]) -> pd.DataFrame:
    """Table III for every source: R² of each model, four decimals as printed."""
    parts = {}
    for source in sources:
        fits = regression.fit_all(source.level_stats)
        for model, group in fits.groupby("model", sort=False):
            parts[source.label, _MODELS[str(model)]] = group.set_index(["operation", "level"])["r_squared"]
    return pd.DataFrame(parts).round(4)


def coefficients(sources: Sequence[Source], order: int = 4) -> pd.DataFrame:
    """Coefficients of equations (2) to (7) as each source's own measurements give them, four digits.

    The paper's measurements have two rows: the coefficients as it prints them, and those of the unrounded fit.
    """
    rows: dict[tuple[str, str, str], pd.Series] = {}
    for source in sources:
        ways = {source.label: regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)}
        if source.label == PUBLISHED:
            ways = {"printed": regression.printed_fits(), "fitted to Tables I, II": ways[source.label]}
        for way, fits in ways.items():
            for (operation, level), fitted in fits.items():
                texts = [f"{c:.4g}" for c in fitted.coefficients[::-1]]
                rows[operation, level, way] = pd.Series(texts, [f"x^{power}" for power in range(order, -1, -1)])
    table = pd.DataFrame(rows).T.rename_axis(["operation", "level", "coefficients"])
    order_of = {level: place for place, level in enumerate(LEVELS)}
    return table.sort_index(
        level=["operation", "level"], key=lambda k: k.map(lambda v: order_of.get(v, v)), sort_remaining=False
    )


def estimated(source: Source, read_shares: Sequence[float], order: int = 4) -> pd.DataFrame:
    """Latencies that equations (8) to (10) estimate from a source's regressions, at its own thread counts."""
    fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
    return mixing.estimates(fits, sorted(source.level_stats["threads"].unique()), read_shares)


def starred(values: pd.DataFrame, spec: str = "{:.0f}") -> pd.DataFrame:
    """Values as text, an asterisk behind the least of each row."""
    text = values.map(spec.format)
    return text.where(~values.eq(values.min(axis=1), axis=0), text + " *")


def by_workload(df: pd.DataFrame, value: str = "latency_us", spec: str = "{:.0f}", least: bool = True) -> pd.DataFrame:
    """Tables IV and V: one row a thread count, one column a (read share, setting).

    Parameters
    ----------
    df : DataFrame
        Columns setting, read_share, threads and `value`.
    value : str
    spec : str
        Format of a value.
    least : bool
        Whether to mark the least of each workload with an asterisk (the paper underlines it).
    """
    shares = df["read_share"].map(mix)
    text = df[value].map(spec.format)
    if least:
        best = df.groupby(["read_share", "threads"])[value].transform("min") == df[value]
        text = text.where(~best, text + " *")
    wide = df.assign(mix=shares, text=text)
    table = wide.set_index(["threads", "mix", "setting"])["text"].unstack(["mix", "setting"])  # noqa: PD010
    return table.sort_index(axis=1, level="mix", sort_remaining=True)


def choices(sources: Sequence[Source], order: int = 4) -> pd.DataFrame:
    """How often the estimated best setting is the one that measured best, and what the choice costs.

    The paper's own row compares the minima of its Table IV with the underlined cells of its Table V. The last column
    counts only workloads whose measured winner can be told from the next setting (see `winners_told`).
    """
    rows = {}
    for source in sources:
        if source.label == PUBLISHED:
            share, cost, told = validation.published_share_of_right_choices(), None, None
        else:
            shares = sorted(source.mixed_stats["read_share"].unique())
            regret = validation.regret(estimated(source, shares, order), source.mixed_stats)
            share = validation.Share.of(int(regret["right"].sum()), len(regret))
            cost = regret["regret_percent"]
            certain = winners_told(source)
            certain["read_share"] = certain["read_share"].round(6)  # as `validation.regret` has it
            told = regret.merge(certain)["right"]
        rows[source.label] = {
            "right": f"{share.right} of {share.total}",
            "share": f"{share.interval:.0%}",
            "mean regret, %": "" if cost is None else f"{cost.mean():.1f}",
            "worst regret, %": "" if cost is None else f"{cost.max():.1f}",
            "right where the winner can be told": "" if told is None else f"{int(told.sum())} of {len(told)}",
        }
    return pd.DataFrame(rows).T


def nearest_threads(source: Source, wanted: int) -> int:
    """Thread count of a run's pure cells that is nearest to the one wanted."""
    counts = source.level_stats["threads"].unique()
    return int(counts[np.abs(counts - wanted).argmin()])


def cold_starts(source: Source, near: int, bin_ms: float = 50) -> pd.DataFrame:
    """Cold start of each pure cell at the thread count next to `near` (section III.B): its end, how much slower it was.

    Returns
    -------
    DataFrame
        Index block, operation, level; columns 'ends, ms' ('none' is an answer) and 'times slower'.
    """
    run = source.run
    assert run is not None  # noqa: S101 - only runs have samples
    cells = run.cells[(run.cells["kind"] == "pure") & (run.cells["threads"] == nearest_threads(source, near))]
    series = series_of(run, cells, bin_ms)
    rows = []
    places = cells["read_cl"].map(LEVELS.index)
    ordered = cells.assign(place=places).sort_values(["block", "read_share", "place"], ascending=[True, False, True])
    for cell in ordered.itertuples():
        end = end_in_words(series.get(str(cell.cell_id)))
        rows.append((cell.block, "READ" if cell.read_share else "WRITE", cell.read_cl, *end))
    columns = ["block", "operation", "level", "ends, ms", "times slower"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:3])


def winning_ranges(source: Source, read_shares: Sequence[float], order: int = 4) -> pd.DataFrame:
    """Thread ranges in which each setting is estimated fastest, share by share (what Fig. 6 shows as areas)."""
    lowest, highest = source.level_stats["threads"].agg(["min", "max"])
    fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
    ranges = mixing.domain_map(fits, np.arange(lowest, highest + 1), read_shares).ranges()
    spans = ranges["threads_from"].map("{:.0f}".format) + "-" + ranges["threads_to"].map("{:.0f}".format)
    text = (ranges["setting"] + ": " + spans).groupby(ranges["read_share"]).agg(", ".join)
    text.index = pd.Index([f"{100 * share:.0f} %" for share in text.index], name="reads")
    return text.to_frame("fastest, by threads")


def speedup_summary(estimates: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Latency the best setting saves against always 1R-3W, in percent: mean over thread counts, by mix and source."""
    columns = {}
    for label, df in estimates.items():
        means = mixing.speedups(df).groupby("read_share")["speedup_percent"].mean()
        columns[label] = means.set_axis([f"{100 * share:.0f} %" for share in means.index])
    return pd.DataFrame(columns).rename_axis("reads").map("{:.1f}".format)


def measured_deviations(source: Source, order: int = 4) -> pd.DataFrame:
    """Table V from a run: estimates from its pure cells against its mixed cells (see `validation.deviations`)."""
    shares = sorted(source.mixed_stats["read_share"].unique())
    return validation.deviations(estimated(source, shares, order), source.mixed_stats)


def self_checks(run: RecordedRun) -> pd.DataFrame:
    """What the cells of a run say of themselves: Little's law, the client's share, errors and marks, by kind."""
    cells = run.cells[run.cells["kind"] != "warmup"]
    groups = cells.groupby("kind")
    return pd.DataFrame(
        {
            "cells": groups.size(),
            "operations": groups["operations"].sum(),
            "Little, least": groups["little_ratio"].min(),
            "Little, most": groups["little_ratio"].max(),
            "client CPU, us/op": groups["client_cpu_us_per_op"].median().round(1),
            "client, share of machine": groups["client_cpu_share"].max(),
            "with errors": groups["errors"].agg(lambda e: int((e != "").sum())),
            "marked": groups["marks"].agg(lambda m: int((m != "").sum())),
        }
    )


def little(run: RecordedRun) -> pd.DataFrame:
    """Little's law, checked cell by cell over the steady window: throughput x mean latency by threads, by kind of cell.

    Cells of a fixed rate are left out: there the threads do not set how many requests are in flight.
    """
    cells = _closed_loop(run)
    groups = cells.groupby("kind")
    return pd.DataFrame(
        {
            "cells": groups["little_ratio"].count(),
            "least": groups["little_ratio"].min(),
            "median": groups["little_ratio"].median(),
            "most": groups["little_ratio"].max(),
            f"over {100 * LITTLE_TOLERANCE:.0f} % off": groups["marks"].agg(lambda m: int(m.map(_marked_little).sum())),
        }
    ).round(3)


def little_marked(run: RecordedRun) -> pd.DataFrame:
    """Cells that Little's law marks, each with its ratio; may have no row."""
    cells = _closed_loop(run)
    marked = cells[cells["marks"].map(_marked_little).astype(bool)]
    columns = ["kind", "threads", "read_cl", "write_cl", "read_share", "block", "little_ratio", "marks"]
    return marked.set_index("cell_id")[columns].sort_values("little_ratio")


def _closed_loop(run: RecordedRun) -> pd.DataFrame:
    return run.cells[(run.cells["kind"] != "warmup") & run.cells["rate_per_s"].isna()]


def _marked_little(marks: str) -> bool:
    return "little" in marks.split(";")


def _told(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Write a ranking for readers: index `keys`; ranking, distinguishable in words, p."""
    words = {True: "yes", False: "no", None: "unknown"}
    told = [words[value] for value in table["distinguishable"]]
    p = table["p_value"].map("{:.3f}".format).replace("nan", "")
    return table.assign(distinguishable=told, p=p).drop(columns=["p_value", "order"]).set_index(keys)


def rankings(source: Source) -> pd.DataFrame:
    """Order of the levels by mean latency, and whether it can be told from noise (see `ranking.levels`).

    Returns
    -------
    DataFrame
        Index operation, threads; columns ranking, distinguishable ('yes', 'no', 'unknown') and p, the largest
        adjusted p-value of two neighbours.
    """
    cells = None if source.run is None else source.cell_stats
    return _told(ranking.levels(source.level_stats, cells), ["operation", "threads"])


def setting_rankings(source: Source) -> pd.DataFrame:
    """Order of the settings of mixed workloads by measured mean latency; index read_share, threads; as `rankings`."""
    cells = None if source.run is None else source.cell_stats
    return _told(ranking.settings(source.mixed_stats, cells), ["read_share", "threads"])


def setting_orders(source: Source) -> pd.DataFrame:
    """Order of the settings by measured latency, one row a thread count, one column a mix.

    Between neighbours stands '<' where they differ within blocks at 5 % (Holm), '~' where they may not.
    """
    found = ranking.settings(source.mixed_stats, None if source.run is None else source.cell_stats)
    return found.assign(mix=found["read_share"].map(mix)).pivot_table("order", "threads", "mix", aggfunc="first")


def overall_orders(sources: Sequence[Source], of: str) -> pd.DataFrame:
    """Order of levels or settings over all thread counts together, by run (see `ranking.overall`).

    Parameters
    ----------
    sources : sequence of Source
        Runs.
    of : str
        'level' or 'setting'.

    Returns
    -------
    DataFrame
        Index operation, or mix; columns (source, order) with the signs of `setting_orders`, and (source, p).
    """
    parts = {}
    for source in sources:
        found = ranking.overall(source.cell_stats, of)
        if of == "setting":
            found["read_share"] = found["read_share"].map(mix)
        found = found.set_index(found.columns[0])
        parts[source.label, "order"] = found["order"]
        parts[source.label, "p"] = found["p_value"].map("{:.3f}".format).replace("nan", "")
    return pd.DataFrame(parts).rename_axis("operation" if of == "level" else "mix")


def winners_told(source: Source) -> pd.DataFrame:
    """Workloads of a run whose fastest setting can be told from the next: columns read_share, threads."""
    found = ranking.settings(source.mixed_stats, source.cell_stats)
    signs = found["order"].str.extract(r"^\S+( \S )", expand=False)
    return found.loc[signs == ranking.APART, ["read_share", "threads"]].reset_index(drop=True)


def block_spread_percent(source: Source) -> float:
    """Typical spread of a cell from block to block: median standard deviation in percent of the mean, all cells."""
    stats = source.cell_stats.assign(point=source.cell_stats["cell_id"].str.partition("-")[2])
    groups = stats.groupby("point")["latency_us"]
    return float((groups.std(ddof=1) / groups.mean()).median() * 100)


def deviation_by_setting(deviations: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Mean deviation of the estimates by setting and source, and how many mixes were slower than estimated."""
    parts = {}
    for label, df in deviations.items():
        groups = df.groupby("setting")["deviation_percent"]
        slower = groups.agg(lambda d: f"{int((d < 0).sum())} of {len(d)}")
        parts[label, "mean, %"] = groups.mean().map("{:+.1f}".format)
        parts[label, "mix slower"] = slower
    return pd.DataFrame(parts)


def worst_fit(source: Source, order: int = 4) -> tuple[float, int]:
    """Largest miss of a source's own regressions at its own points: percent of the measured mean, and the threads."""
    fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
    stats = source.level_stats
    keys = zip(stats["operation"], stats["level"], stats["threads"], strict=True)
    fitted = np.array([fits[operation, level].predict(float(threads)) for operation, level, threads in keys])
    off_percent = np.abs(fitted / stats["latency_us"].to_numpy() - 1) * 100
    return float(off_percent.max()), int(stats["threads"].iloc[int(off_percent.argmax())])


def cpu_budget(source: Source) -> pd.DataFrame:
    """Processor time of an operation at saturation: of the whole machine, of the client, and the rest, of the nodes.

    Cores divided by throughput, at the thread count with the most of it; pure cells, means over blocks.

    Returns
    -------
    DataFrame
        Index (operation, level); columns threads, 'throughput, 1/s', 'machine, us/op', 'client, us/op',
        'nodes, us/op' and 'times ONE' (the nodes' share against ONE).
    """
    run = source.run
    assert run is not None  # noqa: S101 - only runs have cells
    stats = source.level_stats
    stats = stats.loc[stats.groupby(["operation", "level"], sort=False)["throughput_per_s"].idxmax()]
    table = stats.set_index(["operation", "level"])[["threads", "throughput_per_s"]]
    cells = run.cells[run.cells["kind"] == "pure"]
    operation = np.where(cells["read_share"] == 1.0, "READ", "WRITE")
    keys = [operation, cells["read_cl"].rename("level"), cells["threads"]]
    of_client = cells.groupby(keys)["client_cpu_us_per_op"].mean()
    at = table.set_index("threads", append=True).index
    client_us = pd.Series(of_client.reindex(at).to_numpy(), table.index)
    cores = run.manifest.get("machine", {}).get("cores", np.nan)  # logs do not tell
    machine_us = cores * 1e6 / table["throughput_per_s"]
    nodes_us = machine_us - client_us
    one_us = nodes_us.xs("ONE", level="level").reindex(table.index.get_level_values("operation")).to_numpy()
    table = table.rename(columns={"throughput_per_s": "throughput, 1/s"}).round()
    columns = {"machine, us/op": machine_us, "client, us/op": machine_us - nodes_us, "nodes, us/op": nodes_us}
    return table.assign(
        **{name: value.round() for name, value in columns.items()}, **{"times ONE": nodes_us / one_us}
    ).round(2)
