"""The chapter on choosing: deviations with intervals, mixes against their parts, policies, wider settings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import StrMethodFormatter

from cassbook.advisor.latency_map import LatencyMap
from cassbook.book import needs, palette
from cassbook.book.figure_style import done, panels
from cassbook.book.gaps import of_each
from cassbook.book.paper_tables import estimated, signs
from cassbook.book.provenance import Source
from cassbook.core.consistency import STRONG_SETTINGS, WIDER_SETTINGS
from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.latency import mix_excess, model_selection, percentiles, policies, validation
from cassbook.latency.mixing import mix_label
from cassbook.shown.tables import Format, estimates, formatted, titled

_CELL = ("setting", "read_share", "threads")
#: Columns of each source in `mixes_and_parts`, with titles and formats.
_PARTS: dict[str, tuple[str, Format]] = {
    "excess_percent": ("mix above mean, %", "+.1f"),
    "read_ratio": ("reads, times alone", ".2f"),
    "write_ratio": ("writes, times alone", ".2f"),
}


def deviations(source: Source, order: int = 4) -> pd.DataFrame:
    """Return Table V with intervals: how far the run's own estimates are from what its blocks measured (see
    `validation.deviations_over_blocks`).
    """
    needs.mixes(source)
    shares = sorted(source.mixed_stats["read_share"].unique())
    return validation.deviations_over_blocks(estimated(source, shares, order), source.cell_stats)


def deviation_values(table: pd.DataFrame) -> dict[str, int]:
    """Return what the prose quotes of `deviations`: mixes that are significantly off, and how many there are."""
    return {"off_significantly": int(table["distinguishable"].eq(True).sum()), "cells": len(table)}


def deviations_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `deviations` in words: index threads, columns (mix, setting); value, half-width and signs of marks."""
    words = table["deviation"].map("{:±+.0f}".format) + signs(table["marks"])
    keyed = table.assign(mix=table["read_share"].map(mix_label), text=words)
    return keyed.pivot_table("text", "threads", ["mix", "setting"], aggfunc="first")


def mixes_and_parts(sources: Sequence[Source], by: list[str]) -> pd.DataFrame:
    """Return the excess of mixes over the weighted mean of their parts, and reads and writes in the mix against
    alone, by source.

    Returns
    -------
    DataFrame
        Index `by`; columns (source, excess_percent: `Estimate` over blocks), (source, read_ratio), (source,
        write_ratio).
    """
    columns: dict[tuple[str, str], pd.Series] = {}
    for label, parts in of_each(sources, lambda source: mix_excess.against_parts(source.cell_stats)).items():
        table = mix_excess.excess(parts, by)
        columns |= {(label, name): table[name] for name in _PARTS}
        columns[label, "excess_percent"] = estimates(table, "excess_percent")
    return pd.DataFrame(columns)


def mixes_and_parts_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `mixes_and_parts` in words, with 95 % intervals."""
    words = formatted(table, {column: _PARTS[column[1]][1] for column in table.columns})
    return words.rename(columns={name: title for name, (title, _) in _PARTS.items()}, level=1)


def hot_and_even(hot: Source, even: Source) -> pd.DataFrame:
    """Return the excess of mixes over their parts with hot rows and with requests spread evenly, at the cells that
    both measured.

    Returns
    -------
    DataFrame
        Index (setting, mix), each with 'all' last; columns the excess in percent (`Estimate` over blocks), 'hot rows'
        and 'even'.
    """
    tables = {"hot rows": mix_excess.against_parts(hot.cell_stats), "even": mix_excess.against_parts(even.cell_stats)}
    shared = set.intersection(*(set(zip(*(t[k] for k in _CELL), strict=True)) for t in tables.values()))
    if not shared:
        raise LackingError(f"{hot.label} and {even.label} have no mix with both its parts in common")
    columns = {}
    for title, table in tables.items():
        cells = table[[cell in shared for cell in zip(*(table[k] for k in _CELL), strict=True)]]
        cells = cells.assign(mix=cells["read_share"].map(mix_label))
        groups = [cells, cells.assign(mix="all"), cells.assign(setting="all", mix="all")]
        excess = pd.concat([mix_excess.excess(group, ["setting", "mix"]) for group in groups])
        columns[title] = estimates(excess, "excess_percent")
    table = pd.DataFrame(columns)
    settings = [*sorted(set(table.index.get_level_values("setting")) - {"all"}), "all"]
    return table.reindex(settings, level="setting")


def hot_and_even_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `hot_and_even` in words, with 95 % intervals."""
    return formatted(table, "+.1f")


def hot_and_even_words(table: pd.DataFrame) -> dict[str, str]:
    """Return what prose quotes of `hot_and_even`, of all mixes together."""
    quoted = {"hot_all": ("hot rows", "all"), "even_all": ("even", "all"), "even_1r_3w": ("even", "1R-3W")}
    return {
        name: f"{table[column][setting, 'all'].value:+.1f}"
        for name, (column, setting) in quoted.items()
        if (setting, "all") in table.index
    }


def regrets(source: Source) -> pd.DataFrame:
    """Return what each policy costs on the measured mixes of a run, from cheap to dear (see `policies.regrets`)."""
    needs.mixes(source)
    needs.estimates(source)
    measured = policies.by_block(source.cell_stats)
    workloads = policies.workloads_of(measured)
    return policies.regrets(measured, policies.all_choices(model_selection.points_of(source.cell_stats), workloads))


def regrets_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `policies.regrets` in words, from cheap to dear, with 95 % intervals over blocks."""
    table = table.loc[table["regret"].map(lambda regret: regret.value).sort_values(kind="stable").index]
    return titled(table, _REGRETS)


#: Policies that the chapter's prose quotes, and columns of `regrets_shown`.
_QUOTED = {
    "line_regret": ("estimate: linear", "mean regret, %"),
    "line_right": ("estimate: linear", "best chosen"),
    "four_regret": ("estimate: order 4", "mean regret, %"),
    "always_regret": ("always 1R-3W", "mean regret, %"),
    "quorum_regret": ("always 2R-2W", "mean regret, %"),
    "rule_regret": (policies.RULE, "mean regret, %"),
    "rule_right": (policies.RULE, "best chosen"),
    "rule_worst": (policies.RULE, "worst, %"),
    "others_right": (policies.OTHER_STARTS, "best chosen"),
}


def _gain(percent: Estimate) -> str:
    """Say a gain in percent; one that is zero in every block has no spread, and no interval."""
    return "+0.0" if percent.low == percent.high == 0 else f"{percent:+.1f}"


def _regret(percent: Estimate) -> str:
    """Say a regret in percent; one that is zero in every block has no spread, and no interval."""
    if percent.high == 0:
        return "0.0"
    return f"{percent:.1f}" if not percent.high < 0.05 else f"{percent:.2g}"  # noqa: PLR2004


#: Columns of `policies.regrets`, with titles and formats.
_REGRETS: dict[str, tuple[str, Format]] = {
    "right": ("best chosen", lambda share: f"{share.right} of {share.total}"),
    "regret": ("mean regret, %", _regret),
    "worst_percent": ("worst, %", ".0f"),
}


def regret_figures(source: Source) -> dict[str, str]:
    """Return what the prose quotes of `regrets_shown`, without intervals."""
    table = regrets_shown(regrets(source))
    return {
        name: str(table.loc[policy, column]).partition(" [")[0]
        for name, (policy, column) in _QUOTED.items()
        if policy in table.index  # of one cluster start some are not
    }


def wider(source: Source) -> pd.DataFrame:
    """Return `policies.against_contained` by mean and by p99: index (wider, instead of), columns (figure, its own)."""
    _check_wider(source)
    figures = ("mean", "p99")
    tables = [policies.against_contained(source.cell_stats, percentiles.COLUMNS[figure]) for figure in figures]
    return pd.concat(tables, axis=1, keys=figures)


def wider_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `wider` in words, with 95 % intervals over blocks."""
    columns: dict[tuple[str, str], pd.Series] = {}
    for figure in table.columns.unique(0):
        pairs = pd.DataFrame(table[figure])
        columns |= {
            (figure, "times as slow"): pairs["ratio"].map("{:.2f}".format),
            (figure, "faster in"): pairs["faster"].astype(str) + " of " + pairs["workloads"].astype(str),
            (figure, "significant"): pairs["distinguishably_faster"],
        }
    return pd.DataFrame(columns)


def wider_values(source: Source) -> dict[str, int | str]:
    """Return in how many workloads a wider setting is the fastest of all six, by mean and by p99, and of how many; and
    p99 of 3R-2W by that of 3R-1W.
    """
    _check_wider(source)
    best = {name: policies.times_best(source.cell_stats, percentiles.COLUMNS[name]) for name in ("mean", "p99")}
    tail = policies.against_contained(source.cell_stats, percentiles.COLUMNS["p99"])["ratio"]
    counts = {f"wider_best_{name}": count for name, (count, _) in best.items()} | {"wider_all": best["mean"][1]}
    return counts | {"wider_tail": f"{tail.get(('3R-2W', '3R-1W'), float('nan')):.2f}"}


def _check_wider(source: Source) -> None:
    if policies.against_contained(source.cell_stats, percentiles.COLUMNS["mean"]).empty:
        raise LackingError(f"{source.label} has no mixes at a setting that is wider than another of its own")


def mean_savings(sources: Sequence[Source]) -> pd.DataFrame:
    """Return the mean saving in percent by share of reads and source: `Estimate` over blocks of each block's mean over
    thread counts.
    """
    columns = {}
    for label, saved in of_each(sources, savings).items():
        groups = saved.groupby("read_share")
        columns[label] = {
            share: Estimate.mean(group.groupby("block")["speedup_percent"].mean()) for share, group in groups
        }
    return pd.DataFrame(columns).rename_axis("read_share")


def mean_savings_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `mean_savings` in words, with 95 % intervals."""
    return formatted(table, _gain).rename("{:.0%}".format).rename_axis("reads")


def savings(source: Source) -> pd.DataFrame:
    """Return `policies.savings` of a run."""
    needs.mixes(source)
    return policies.savings(source.cell_stats)


def map_values(source: Source) -> dict[str, str]:
    """Return what the prose quotes of `undecided`."""
    return {"undecided": "{} of {}".format(*undecided(source))}


def best_from(source: Source) -> dict[str, float]:
    """Return from which share of reads on, in percent, 1R-3W is the fastest."""
    needs.mixes(source)
    return {"from": 100 * policies.always_best_from(source.cell_stats)}


def domain(source: Source) -> pd.DataFrame:
    """Return the best setting at each measured workload, and whether it is distinguishable from the next (see
    `LatencyMap.domain`).
    """
    return LatencyMap(source.cell_stats, source.label).domain()


def undecided(source: Source) -> tuple[int, int]:
    """Return points of the map whose winner is not distinguishable from the runner-up, and all."""
    grid = domain(source)
    return int((grid["distinguishable"] != True).sum()), len(grid)  # noqa: E712 - None is not True either


_SETTINGS = (*STRONG_SETTINGS, *WIDER_SETTINGS)
_GRID = 60

#: Percentiles that the whiskers of boxes reach to.
_WHISKERS = (5, 95)


def domain_maps(sources: Sequence[Source]) -> Figure:
    """Draw Fig. 6 from measured mixes: fastest setting, hatched where it is not distinguishable from the next (5 %,
    paired).
    """
    return fastest(list(of_each(sources, _map).values()), "measured")


def _map(source: Source) -> LatencyMap:
    """Map of a run, which can be drawn over threads and shares of reads."""
    made = LatencyMap(source.cell_stats, source.label)
    for what, values in (("thread count", made.threads), ("share of reads", made.read_shares)):
        if len(values) == 1:
            raise LackingError(f"{source.label} has mixes of one {what}, {values[0]:g}; a map takes two")
    return made


def fastest(maps: Sequence[LatencyMap], known: str) -> Figure:
    """Draw the same of maps, for which it is `known` in some way (measured, predicted): one panel per map."""
    figure, axes = panels(1, len(maps), width=4.6, height=3.6, sharey=True)
    shown: set[str] = set()
    for panel, latency_map in zip(axes[0], maps, strict=True):
        threads = np.linspace(latency_map.threads[0], latency_map.threads[-1], _GRID)
        shares = np.linspace(latency_map.read_shares[0], latency_map.read_shares[-1], _GRID)
        grid = latency_map.domain(threads, shares)
        names = [setting.name for setting in _SETTINGS if setting.name in set(grid["best"])]
        shown |= set(names)
        place = grid["best"].map({name: k for k, name in enumerate(names)})
        best = grid.assign(place=place).pivot_table("place", "read_share", "threads")
        distinguishable = grid.assign(
            distinguishable=[float(value is True) for value in grid["distinguishable"]]
        ).pivot_table("distinguishable", "read_share", "threads")
        colours = ListedColormap([palette.ALL_SETTINGS[name] for name in names])
        panel.pcolormesh(
            best.columns,
            100 * best.index,
            best.to_numpy(),
            cmap=colours,
            vmin=-0.5,
            vmax=len(names) - 0.5,
            rasterized=True,
        )
        panel.contourf(
            distinguishable.columns,
            100 * distinguishable.index,
            distinguishable.to_numpy(),
            levels=[-0.5, 0.5],
            colors="none",
            hatches=["////"],
        )
        panel.set(title=latency_map.name, xlabel="threads")
        panel.grid(visible=False)
    axes[0, 0].set_ylabel("reads, % of operations")
    handles = [Patch(color=palette.ALL_SETTINGS[s.name], label=s.name) for s in _SETTINGS if s.name in shown]
    handles.append(Patch(facecolor="none", edgecolor="black", hatch="////", label="not distinguishable from the next"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), title=f"fastest setting, {known}")
    return done(figure)


def saved(sources: Sequence[Source]) -> Figure:
    """Draw Fig. 7 with all mixes, measured: latency saved against always 1R-3W by a choice made on other cluster
    starts; whiskers from the 5th to the 95th percentile.
    """
    tables = of_each(sources, savings)
    figure, axes = panels(1, len(tables), width=4.4, height=3.4, sharey=True)
    for panel, (label, table) in zip(axes[0], tables.items(), strict=True):
        table["reads, % of operations"] = (100 * table["read_share"]).round().astype(int)
        sns.boxplot(
            table,
            x="reads, % of operations",
            y="speedup_percent",
            ax=panel,
            color=palette.SKY,
            linewidth=0.8,
            whis=_WHISKERS,
            showfliers=False,
        )
        panel.axhline(0, color="grey", linewidth=0.8)
        panel.set(title=label, ylabel="latency saved, %")
    return done(figure)


def parts_of_mixes(sources: Sequence[Source]) -> Figure:
    """Draw reads and writes in a mix against the same alone, and the mix against the weighted mean; one box over
    the cells of each setting, whiskers from the 5th to the 95th percentile.
    """
    tables = of_each(sources, lambda source: mix_excess.against_parts(source.cell_stats))
    figure, axes = panels(1, len(tables), width=4.6, height=3.4, sharey=True)
    titles = {"read_ratio": "reads", "write_ratio": "writes", "mix": "the mix"}
    for place, (panel, (label, parts)) in enumerate(zip(axes[0], tables.items(), strict=True)):
        table = parts.assign(mix=parts["mix_us"] / parts["mean_us"])
        long = table.melt(["setting"], list(titles), "part", "ratio")
        long["part"] = long["part"].map(titles)
        sns.boxplot(
            long, x="part", y="ratio", hue="setting", palette=palette.ALL_SETTINGS, ax=panel, width=0.6, gap=0.15,
            whis=_WHISKERS, showfliers=False, linewidth=0.9, legend=place == 0,
        )  # fmt: skip
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set_yscale("log", base=2)
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.set(title=label, xlabel="", ylabel="latency / the same alone")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    axes[0, 0].get_legend().remove()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return done(figure)
