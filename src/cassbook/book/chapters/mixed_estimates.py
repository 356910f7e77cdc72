"""The chapter on mixed workloads: where each setting is estimated fastest, and what the best one saves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import seaborn as sns
from IPython.display import HTML
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from cassbook.book import needs, palette
from cassbook.book.figure_style import Drawing, done, panels, setting_legend, style
from cassbook.book.gaps import served
from cassbook.book.kernel_environment import PLOTLY_VARIABLE
from cassbook.book.provenance import Source
from cassbook.book.setting_names import in_levels
from cassbook.core.errors import LackingError
from cassbook.core.units import US_PER_MS
from cassbook.latency import mixing, regression
from cassbook.shown.tables import formatted


def winning_ranges(source: Source, read_shares: Sequence[float], order: int = 4) -> pd.DataFrame:
    """Return the thread ranges in which each setting is estimated fastest, share by share (what Fig. 6 shows as
    areas): columns as of `mixing.DomainMap.ranges`.
    """
    needs.estimates(source, order)
    lowest, highest = source.level_stats["threads"].agg(["min", "max"])
    fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
    return mixing.domain_map(fits, np.arange(lowest, highest + 1), read_shares).ranges()


def winning_ranges_shown(ranges: pd.DataFrame) -> pd.DataFrame:
    """Return `winning_ranges` in words: one row per share of reads."""
    spans = ranges["threads_from"].map("{:.0f}".format) + "-" + ranges["threads_to"].map("{:.0f}".format)
    words = (ranges["setting"] + ": " + spans).groupby(ranges["read_share"]).agg(", ".join)
    return words.rename(_percent).rename_axis("reads").to_frame("fastest, by threads")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def saved_values(saved: pd.DataFrame, source: Source) -> dict[str, str]:
    """Return what the prose quotes of `speedup_summary`: at 10 % reads."""
    if source.label not in saved:
        raise LackingError(f"{source.label} has no estimates")
    return {"saved": f"{saved.loc[0.1, source.label]:.1f}"}


def speedup_summary(estimates: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the latency the best setting saves against always 1R-3W, in percent: mean over thread counts, by mix
    (index read_share) and source; workloads with an estimate below zero are left out.
    """
    columns = {}
    for label, df in estimates.items():
        columns[label] = mixing.speedups(mixing.possible(df)).groupby("read_share")["speedup_percent"].mean()
    return pd.DataFrame(columns)


def speedup_summary_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `speedup_summary` in words."""
    return formatted(table, ".1f").rename(_percent).rename_axis("reads")


def _domain(source: Source, threads: np.ndarray, shares: np.ndarray, order: int) -> mixing.DomainMap:
    fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
    return mixing.domain_map(fits, threads, shares)


def domain_maps(sources: Sequence[Source], order: int = 4) -> Figure:
    """Draw Fig. 6 as a map: which strong setting is estimated fastest, by threads and share of reads."""
    shown = served(sources, lambda source: needs.estimates(source, order))
    figure, axes = panels(1, len(shown), sharey=True)
    shares = np.linspace(0, 1, 101)
    for panel, source in zip(axes[0], shown, strict=True):
        lowest, highest = source.level_stats["threads"].agg(["min", "max"])
        domain = _domain(source, np.linspace(lowest, highest, 199), shares, order)
        colours = ListedColormap([palette.SETTINGS[name] for name in domain.settings])
        colours.set_under("white")  # where an estimate is not positive
        panel.pcolormesh(domain.threads, 100 * shares, domain.best, cmap=colours, vmin=-0.5, vmax=2.5, rasterized=True)
        panel.set_title(source.label)
        panel.set_xlabel("threads")
        panel.grid(visible=False)
    axes[0, 0].set_ylabel("reads, % of operations")
    setting_legend(figure, "setting with the lowest estimated latency")
    return done(figure)


def surfaces(source: Source, order: int = 4) -> HTML:
    """Draw Fig. 6 in 3-D: the three latency surfaces of one source; the lowest is the setting to choose."""
    lowest, highest = source.level_stats["threads"].agg(["min", "max"])
    shares = np.linspace(0, 1, 21)
    domain = _domain(source, np.linspace(lowest, highest, 34), shares, order)
    figure = go.Figure()
    for name, latency_us in zip(domain.settings, domain.latency_us, strict=True):
        colour = palette.SETTINGS[name]
        scale = [[0, colour], [1, colour]]
        figure.add_surface(
            x=domain.threads, y=100 * shares, z=latency_us / US_PER_MS, colorscale=scale, showscale=False,
            name=in_levels(name), showlegend=True, opacity=0.85,
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
    """Draw Fig. 7: latency saved by the best setting against always 1R-3W, over the thread counts of each mix.

    Parameters
    ----------
    estimates : mapping of str to DataFrame
        By source: setting, read_share, threads, latency_us.
    """
    style()
    parts = [mixing.speedups(mixing.possible(df)).assign(source=label) for label, df in estimates.items()]
    table = pd.concat(parts)
    table["reads, % of operations"] = (100 * table["read_share"]).round().astype(int)
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained", FigureClass=Drawing)
    sns.boxplot(
        table, x="reads, % of operations", y="speedup_percent", hue="source", ax=axes, palette="colorblind",
        linewidth=0.8, fliersize=2,
    )  # fmt: skip
    axes.set_ylabel("latency saved, %")
    return done(figure)
