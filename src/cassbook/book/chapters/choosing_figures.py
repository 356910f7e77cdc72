"""Figures of the chapter on choosing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import seaborn as sns
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import StrMethodFormatter

from cassbook.advisor.latency_map import LatencyMap
from cassbook.book import palette
from cassbook.book.chapters import choosing
from cassbook.book.figure_style import done, panels
from cassbook.book.gaps import of_each
from cassbook.book.provenance import Source
from cassbook.core.consistency import STRONG_SETTINGS, WIDER_SETTINGS
from cassbook.core.errors import LackingError
from cassbook.latency import mix_excess

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
    tables = of_each(sources, choosing.savings)
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
        panel.set(title=label, xlabel="", ylabel="latency, times the same alone")
    return done(figure)
