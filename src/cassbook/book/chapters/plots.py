"""The papers' figures, from any source; each function draws one question."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import seaborn as sns
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from cassbook.book.chapter import Source
from cassbook.book.chapters.cold_start import CONDITIONS, cold_cells, series_of
from cassbook.book.chapters.tables import LEVELS, nearest_threads
from cassbook.latency import changepoint, cold_start, mixing, regression, summaries

#: Colours that the colour-blind can tell apart (Okabe and Ito), the same in every figure.
LEVEL_COLOURS = {"ONE": "#0072B2", "QUORUM": "#E69F00", "ALL": "#D55E00"}
SETTING_COLOURS = {"1R-3W": "#0072B2", "2R-2W": "#E69F00", "3R-1W": "#009E73"}
_MS = 1000.0
_OPERATIONS = {"READ": "reads", "WRITE": "writes"}
#: Path of plotly.js from a page of the book; a notebook opened by hand carries it inline.
PLOTLY_VARIABLE = "CASSBOOK_PLOTLY_JS"


def style() -> None:
    """Set the look of all figures: white grid, small type, no frame."""
    sns.set_theme(style="whitegrid", context="notebook", rc={"axes.spines.top": False, "axes.spines.right": False})
    plt.rcParams |= {
        "figure.dpi": 100,
        "savefig.dpi": 100,
        "figure.constrained_layout.use": True,
        "font.size": 10,
    }


def panels(
    rows: int, columns: int, width: float = 4.2, height: float = 3.2, **shared: object
) -> tuple[Figure, np.ndarray]:
    """Grid of panels in the book's style; `shared` goes to `plt.subplots`."""
    style()
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False, **shared)
    return figure, axes


def done(figure: Figure) -> Figure:
    """Take a figure from pyplot's hands, so that a notebook shows it once."""
    plt.close(figure)
    return figure


def sentence(text: str) -> Figure:
    """A plain sentence in a figure's place, where the data do not hold what it draws."""
    style()
    figure = plt.figure(figsize=(7.5, 0.8))
    figure.text(0.01, 0.5, text, va="center")
    return done(figure)


def _error_bars(axes: Axes, group: pd.DataFrame, x: str, level: str) -> None:
    y = group["latency_us"] / _MS
    below, above = y - group["latency_low_us"] / _MS, group["latency_high_us"] / _MS - y
    bars = None if group["latency_low_us"].isna().all() else np.vstack([below.clip(upper=y), above])
    axes.errorbar(
        group[x], y, yerr=bars, color=LEVEL_COLOURS[level], marker="o", markersize=4, linewidth=1.3,
        elinewidth=0.7, capsize=2, label=level,
    )  # fmt: skip
    marked = summaries.client_marked(group)
    axes.plot(group[x][marked], y[marked], "o", color="white", markersize=2.5, zorder=3)


def latency_by_threads(sources: Sequence[Source]) -> Figure:
    """Fig. 4: mean latency over threads, reads above writes, one column a source; bars are 95 % over blocks.

    Open circles are points that the client is a part of (see `schema.CLIENT_MARKS`).
    """
    figure, axes = panels(2, len(sources), sharex=True, sharey="col")
    for column, source in enumerate(sources):
        for row, (operation, word) in enumerate(_OPERATIONS.items()):
            panel = axes[row, column]
            stats = source.level_stats[source.level_stats["operation"] == operation]
            for level in LEVELS:
                _error_bars(panel, stats[stats["level"] == level].sort_values("threads"), "threads", level)
            panel.set_title(f"{source.label}: {word}")
            panel.set_ylim(0, 1.15 * source.level_stats["latency_us"].max() / _MS)  # wide intervals are cut off
            panel.set_ylabel("mean latency, ms" if column == 0 else "")
            panel.set_xlabel("threads" if row == 1 else "")
    axes[0, 0].legend(title="level")
    return done(figure)


def latency_by_throughput(sources: Sequence[Source]) -> Figure:
    """Fig. 5: mean latency over throughput; the curve turns upwards where more threads bring no more work."""
    figure, axes = panels(2, len(sources), sharey="col")
    for column, source in enumerate(sources):
        for row, (operation, word) in enumerate(_OPERATIONS.items()):
            panel = axes[row, column]
            stats = source.level_stats[source.level_stats["operation"] == operation]
            for level in LEVELS:
                group = stats[stats["level"] == level].sort_values("threads")
                panel.plot(
                    group["throughput_per_s"], group["latency_us"] / _MS, "o-", markersize=4, linewidth=1.3,
                    color=LEVEL_COLOURS[level], label=level,
                )  # fmt: skip
                own = group[summaries.client_marked(group)]
                panel.plot(
                    own["throughput_per_s"], own["latency_us"] / _MS, "o", color="white", markersize=2.5, zorder=3
                )
            panel.set_title(f"{source.label}: {word}")
            panel.set_ylim(bottom=0)
            panel.xaxis.set_major_locator(MaxNLocator(5))
            panel.set_ylabel("mean latency, ms" if column == 0 else "")
            panel.set_xlabel("operations per second" if row == 1 else "")
    axes[0, 0].legend(title="level")
    return done(figure)


def ratios(table: pd.DataFrame, of: str) -> Figure:
    """Ratios with their 95 % intervals by threads, on a log scale; one panel an operation.

    Parameters
    ----------
    table : DataFrame
        Columns operation, level, threads, ratio, low, high; bounds may be NaN.
    of : str
        What over what.
    """
    figure, axes = panels(1, table["operation"].nunique(), width=4.8, sharey=True)
    for panel, (operation, group) in zip(axes[0], table.groupby("operation"), strict=True):
        places = {threads: place for place, threads in enumerate(sorted(group["threads"].unique()))}
        for shift, level in zip((-0.2, 0, 0.2), LEVELS, strict=True):
            own = group[group["level"] == level]
            bars = np.vstack([own["ratio"] - own["low"], own["high"] - own["ratio"]])
            x = own["threads"].map(places) + shift
            panel.errorbar(
                x, own["ratio"], yerr=bars, fmt="o", markersize=4, color=LEVEL_COLOURS[level], capsize=2,
                elinewidth=1, label=level,
            )  # fmt: skip
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set_xticks(list(places.values()), [str(threads) for threads in places], rotation=45)
        panel.set(title=f"{str(operation).lower()}s", xlabel="threads", yscale="log")
        panel.yaxis.set_major_locator(FixedLocator([0.1, 0.25, 0.5, 1, 2, 4, 10]))
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel(of)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, title="level")
    return done(figure)


def raw_delays(sources: Sequence[Source], near: int) -> Figure:
    """Figs. 2 and 3: every operation's delay over the time since its cell began; reads left, writes right.

    One row a run, of the first block's pure cells at the thread count next to `near`.
    """
    shown = []
    for source in sources:
        cells = _first_block(source, near)
        samples = source.run.samples(["cell_id", "started_s", "latency_us"], cells["cell_id"].tolist())
        if len(samples):
            shown.append((source.label, cells, samples))
    if not shown:
        return sentence("No single requests can be drawn: of these cells there are only sums or histograms.")
    figure, axes = panels(len(shown), 2, width=4.5, sharey="row")
    for row, (label, cells, samples) in zip(axes, shown, strict=True):
        for panel, (share, word) in zip(row, ((1.0, "reads"), (0.0, "writes")), strict=True):
            for cell in cells[cells["read_share"] == share].sort_values("read_cl", key=_by_level).itertuples():
                own = samples[samples["cell_id"] == cell.cell_id]
                began_s = own["started_s"].min()
                panel.plot(
                    (own["started_s"] - began_s) * _MS, own["latency_us"] / _MS, ".", markersize=1,
                    color=LEVEL_COLOURS[cell.read_cl], label=cell.read_cl,
                )  # fmt: skip
                panel.axvline((cell.steady_from_s - began_s) * _MS, color="grey", linewidth=0.5)
            panel.set_title(f"{label}: {word}, {cells['threads'].iloc[0]} threads")
        row[0].set_ylabel("delay, ms")
    for panel in axes[-1]:
        panel.set_xlabel("time since the cell began, ms")
    axes[0, 0].legend(title="level", markerscale=8)
    return done(figure)


def _first_block(source: Source, near: int) -> pd.DataFrame:
    """Pure cells of a run's first block at the thread count next to `near`."""
    cells = source.run.cells
    of_block = (cells["kind"] == "pure") & (cells["block"] == 1)
    return cells[of_block & (cells["threads"] == nearest_threads(source, near))]


def _by_level(levels: pd.Series) -> pd.Series:
    return levels.map({level: place for place, level in enumerate(LEVELS)})


def settling(series: Mapping[str, pd.DataFrame]) -> Figure:
    """Mean latency since a fresh cluster got its first requests, on a log scale; one line a block.

    Parameters
    ----------
    series : mapping of str to DataFrame
        By name of the block: columns since_start_ms, mean_us (see `cold_start.series`). May be empty: logs of other
        tools have no warm-up of their own.
    """
    if not series:
        return sentence("No warm-up was recorded: logs of other tools begin when the measurement does.")
    figure, axes = panels(1, 1, width=7.5)
    for name, table in series.items():
        axes[0, 0].plot(table["since_start_ms"] / 1000, table["mean_us"] / _MS, linewidth=1.2, label=name)
    axes[0, 0].set(yscale="log", xlabel="time since the first request, s", ylabel="mean latency, ms")
    figure.legend(loc="outside lower center", ncols=2)
    return done(figure)


def cold_conditions(sources: Sequence[Source], bin_ms: float = 50) -> Figure:
    """Latency since a cell began, one row a run, one panel a condition; a dashed line where a cold start ends.

    Solid lines are reads, dotted ones writes; one line a cell.
    """
    cells_of = {source.label: cold_cells(source.run) for source in sources if source.run}
    found = [name for name in CONDITIONS if any((cells["condition"] == name).any() for cells in cells_of.values())]
    shown = [source for source in sources if len(cells_of.get(source.label, ()))]
    if not shown:
        return sentence("No cell that begins cold was recorded.")
    figure, axes = panels(len(shown), len(found), width=3.0, sharey="row")
    for row, source in zip(axes, shown, strict=True):
        cells = cells_of[source.label]
        series = series_of(source.run, cells, bin_ms)
        for panel, condition in zip(row, found, strict=True):
            for cell in cells[cells["condition"] == condition].itertuples():
                if cell.cell_id in series:
                    _cold_line(panel, cell, series[cell.cell_id])
            panel.set(yscale="log", title=condition.replace("_", " "))
        row[0].set_ylabel(f"{source.label}\nmean latency, ms")
    for panel in axes[-1]:
        panel.set_xlabel("time since the cell began, s")
    levels = [level for level in LEVELS if any((cells["level"] == level).any() for cells in cells_of.values())]
    figure.legend(
        handles=[Patch(color=LEVEL_COLOURS[level], label=level) for level in levels],
        loc="outside lower center", ncols=3, title="level; writes are dotted",
    )  # fmt: skip
    return done(figure)


def _cold_line(panel: Axes, cell: Any, bins: pd.DataFrame) -> None:
    colour = LEVEL_COLOURS.get(cell.level, "grey")
    line = "-" if cell.operation == "READ" else ":"
    panel.plot(bins["since_start_ms"] / _MS, bins["mean_us"] / _MS, line, color=colour, linewidth=1)
    _mark_end(panel, bins, colour)


def _mark_end(panel: Axes, bins: pd.DataFrame, colour: str) -> None:
    ends_ms = cold_start.end(bins).ends_ms if len(bins) >= changepoint.FEWEST else None
    if ends_ms is not None:
        panel.axvline(ends_ms / _MS, color=colour, linestyle="--", linewidth=0.8)


def regression_curves(sources: Sequence[Source], order: int = 4) -> Figure:
    """Measured means and the polynomial through them, reads and writes, one column a source."""
    figure, axes = panels(2, len(sources), sharex=True, sharey="col")
    for column, source in enumerate(sources):
        fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
        for row, (operation, word) in enumerate(_OPERATIONS.items()):
            panel = axes[row, column]
            for level in LEVELS:
                stats = source.level_stats
                group = stats[(stats["operation"] == operation) & (stats["level"] == level)]
                grid = np.linspace(group["threads"].min(), group["threads"].max(), 200)
                colour = LEVEL_COLOURS[level]
                panel.plot(group["threads"], group["latency_us"] / _MS, "o", markersize=4, color=colour, label=level)
                panel.plot(grid, fits[operation, level].predict(grid) / _MS, "-", linewidth=1.2, color=colour)
            panel.set_title(f"{source.label}: {word}")
            panel.set_ylim(bottom=0)
            panel.set_ylabel("mean latency, ms" if column == 0 else "")
            panel.set_xlabel("threads" if row == 1 else "")
    axes[0, 0].legend(title="level")
    return done(figure)


def _domain(source: Source, threads: np.ndarray, shares: np.ndarray, order: int) -> mixing.DomainMap:
    fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
    return mixing.domain_map(fits, threads, shares)


def domain_maps(sources: Sequence[Source], order: int = 4) -> Figure:
    """Fig. 6 as a map: which strong setting is estimated fastest, by threads and share of reads."""
    figure, axes = panels(1, len(sources), sharey=True)
    shares = np.linspace(0, 1, 101)
    for panel, source in zip(axes[0], sources, strict=True):
        lowest, highest = source.level_stats["threads"].agg(["min", "max"])
        domain = _domain(source, np.linspace(lowest, highest, 199), shares, order)
        colours = ListedColormap([SETTING_COLOURS[name] for name in domain.settings])
        panel.pcolormesh(domain.threads, 100 * shares, domain.best, cmap=colours, vmin=-0.5, vmax=2.5, rasterized=True)
        panel.set_title(source.label)
        panel.set_xlabel("threads")
        panel.grid(visible=False)
    axes[0, 0].set_ylabel("reads, % of operations")
    _setting_legend(figure, "setting with the least estimated latency")
    return done(figure)


def surfaces(source: Source, order: int = 4) -> HTML:
    """Fig. 6 in 3-D: the three latency surfaces of one source; the lowest is the setting to choose."""
    lowest, highest = source.level_stats["threads"].agg(["min", "max"])
    shares = np.linspace(0, 1, 21)
    domain = _domain(source, np.linspace(lowest, highest, 34), shares, order)
    figure = go.Figure()
    for name, latency_us in zip(domain.settings, domain.latency_us, strict=True):
        colour = SETTING_COLOURS[name]
        scale = [[0, colour], [1, colour]]
        figure.add_surface(
            x=domain.threads, y=100 * shares, z=latency_us / _MS, colorscale=scale, showscale=False,
            name=name, showlegend=True, opacity=0.85,
        )  # fmt: skip
    figure.update_layout(
        scene={
            "xaxis_title": "threads", "yaxis_title": "reads, %", "zaxis_title": "latency, ms",
            "camera": {"eye": {"x": 1.7, "y": -1.5, "z": 0.7}, "center": {"x": 0, "y": 0, "z": -0.15}},
        },
        margin={"l": 0, "r": 0, "t": 0, "b": 0}, height=460, legend={"x": 0.02, "y": 0.98},
    )  # fmt: skip
    script = os.environ.get(PLOTLY_VARIABLE)
    return HTML(
        figure.to_html(
            full_html=False,
            include_plotlyjs=script or True,
            div_id=f"surfaces-{source.label.replace(' ', '-')}",
        )
    )


def speedup_boxes(estimates: Mapping[str, pd.DataFrame]) -> Figure:
    """Fig. 7: latency saved by the best setting against always 1R-3W, over the thread counts of each mix.

    Parameters
    ----------
    estimates : mapping of str to DataFrame
        By source: setting, read_share, threads, latency_us.
    """
    style()
    parts = [mixing.speedups(df).assign(source=label) for label, df in estimates.items()]
    table = pd.concat(parts)
    table["reads, % of operations"] = (100 * table["read_share"]).round().astype(int)
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    sns.boxplot(
        table, x="reads, % of operations", y="speedup_percent", hue="source", ax=axes, palette="colorblind",
        linewidth=0.8, fliersize=2,
    )  # fmt: skip
    axes.set_ylabel("latency saved, %")
    return done(figure)


def deviation_dots(deviations: Mapping[str, pd.DataFrame]) -> Figure:
    """Table V as a picture: deviation of the estimate from the measurement, by share of reads and setting."""
    figure, axes = panels(1, len(deviations), sharey=True)
    shares = sorted({round(100 * share) for df in deviations.values() for share in df["read_share"]})
    for panel, (label, df) in zip(axes[0], deviations.items(), strict=True):
        table = df.assign(reads=(100 * df["read_share"]).round().astype(int))
        panel.axhline(0, color="grey", linewidth=0.8)
        sns.stripplot(
            table, x="reads", y="deviation_percent", hue="setting", dodge=True, order=shares, ax=panel,
            palette=SETTING_COLOURS, size=4, legend=False,
        )  # fmt: skip
        panel.set(title=label, xlabel="reads, % of operations", ylabel="estimate above measurement, %")
    _setting_legend(figure, "setting")
    return done(figure)


def _setting_legend(figure: Figure, title: str) -> None:
    patches = [Patch(color=colour, label=name) for name, colour in SETTING_COLOURS.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=3, title=title)
