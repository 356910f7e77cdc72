"""Tables and the figure of the chapter on Table V: as printed, measured deviations, orders and choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from cassbook.book import needs, palette
from cassbook.book.figure_style import done, panels, setting_legend
from cassbook.book.gaps import of_each
from cassbook.book.paper_tables import estimated, setting_rankings
from cassbook.book.provenance import PUBLISHED, Source
from cassbook.core.errors import LackingError
from cassbook.core.proportion import share_text
from cassbook.latency import (
    ranking,
    validation,
)
from cassbook.latency.mixing import mix_label
from cassbook.shown.rankings import orders
from cassbook.shown.tables import Format, formatted, titled


def deviation_by_setting(deviations: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the mean deviation of the estimates by setting and source, and how many mixes were slower than
    estimated.

    Index setting; columns (source, mean_percent), (source, slower) and (source, mixes), the latter two counts.
    """
    parts = {}
    for label, df in deviations.items():
        groups = df.groupby("setting")["deviation_percent"]
        parts[label, "mean_percent"] = groups.mean()
        parts[label, "slower"] = groups.agg(lambda off: int((off > 0).sum()))
        parts[label, "mixes"] = groups.size()
    return pd.DataFrame(parts)


def deviation_by_setting_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `deviation_by_setting` in words."""
    parts = {}
    for label in dict.fromkeys(table.columns.get_level_values(0)):
        words = formatted(table[label], {"mean_percent": "+.1f", "slower": ".0f", "mixes": ".0f"})
        parts[label, "mean, %"] = words["mean_percent"]
        parts[label, "mix slower"] = (words["slower"] + " of " + words["mixes"]).where(words["mixes"] != "", "")
    return pd.DataFrame(parts)


def setting_orders_shown(source: Source) -> pd.DataFrame:
    """Return the order of the settings by measured latency in words, one row per thread count, one column per mix.

    Between neighbours stands '<' where they differ within blocks at 5 % (Holm), '~' where they may not.
    """
    needs.mixes(source)
    found = ranking.settings(source.mixed_stats, None if source.run is None else source.cell_stats)
    words = found.assign(mix=found["read_share"].map(mix_label), order=orders(found))
    return words.pivot_table("order", "threads", "mix", aggfunc="first")


def clear_winners(source: Source) -> pd.DataFrame:
    """Return the workloads of a run whose fastest setting is distinguishable from the next: columns read_share,
    threads.
    """
    needs.mixes(source)
    found = ranking.settings(source.mixed_stats, source.cell_stats)
    clear = found["differ"].map(lambda differ: bool(differ) and differ[0]).astype(bool)
    return found.loc[clear, ["read_share", "threads"]].reset_index(drop=True)


def choices(sources: Sequence[Source], order: int = 4) -> pd.DataFrame:
    """Return how often the estimated best setting is the one that measured best, and what the choice costs.

    The paper's own row compares the minima of its Table IV with the underlined cells of its Table V. The last column
    counts only workloads whose measured winner is distinguishable from the next setting (see `clear_winners`).

    Index source; columns right (`validation.Share`), mean_regret_percent, worst_regret_percent, clear (how many
    workloads have such a winner) and clear_right; NaN where nothing was measured.
    """
    return pd.DataFrame.from_dict(of_each(sources, lambda source: _choices(source, order)), orient="index")


def choices_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `choices` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "right": ("right", lambda share: f"{share.right} of {share.total}"),
        "share": ("share", lambda share: f"{share_text(share.interval, digits=0)} %"),
        "mean_regret_percent": ("mean regret, %", ".1f"), "worst_regret_percent": ("worst regret, %", ".1f"),
    }  # fmt: skip
    clear = formatted(table, {"clear_right": ".0f", "clear": " of {:.0f}".format})
    words = titled(table.assign(share=table["right"]), columns)
    return words.assign(**{"right where the winner is significant": clear["clear_right"] + clear["clear"]})


def _choices(source: Source, order: int) -> dict[str, object]:
    """Row of a source in `choices`."""
    if source.label == PUBLISHED:
        known = ("mean_regret_percent", "worst_regret_percent", "clear", "clear_right")
        return {"right": validation.published_share_of_right_choices()} | dict.fromkeys(known, np.nan)
    needs.mixes(source)
    shares = sorted(source.mixed_stats["read_share"].unique())
    regret = validation.regret(estimated(source, shares, order), source.mixed_stats)
    cost = regret["regret_percent"]
    certain = clear_winners(source)
    certain["read_share"] = certain["read_share"].round(6)  # as `validation.regret` has it
    clear = regret.merge(certain)["right"]
    return {
        "right": validation.Share.of(int(regret["right"].sum()), len(regret)),
        "mean_regret_percent": cost.mean(), "worst_regret_percent": cost.max(),
        "clear": len(clear), "clear_right": int(clear.sum()),
    }  # fmt: skip


def spread_values(source: Source) -> dict[str, float]:
    """Return what the prose quotes of the spread of a run's blocks."""
    return {"spread": validation.block_spread_percent(source.cell_stats)}


def deviation_values(table: pd.DataFrame) -> dict[str, float | int]:
    """Return what the prose quotes of `paper_tables.measured_deviations`."""
    off = table["deviation_percent"]
    size = off.abs()
    return {"dev_mean": off.mean(), "dev_abs": size.mean(), "dev_worst": size.max(), "dev_n": len(off)}


def bias_values(bias: pd.DataFrame, source: Source) -> dict[str, str]:
    """Return what the prose quotes of `deviation_by_setting`."""
    if (source.label, "mean_percent") not in bias:
        raise LackingError(f"{source.label} has no deviations")
    mean = bias[source.label, "mean_percent"].dropna()
    quoted = {"bias_2r2w": "2R-2W", "bias_3r1w": "3R-1W"}
    return {name: f"{mean[setting]:+.1f}" for name, setting in quoted.items() if setting in mean}


def order_values(source: Source) -> dict[str, int]:
    """Return in how many mixes of a run the fastest setting is distinguishable from the next, and of how many."""
    return {"clear": len(clear_winners(source)), "mixes": len(setting_rankings(source))}


def choice_values(right: pd.DataFrame, source: Source) -> dict[str, str]:
    """Return what the prose quotes of `choices`."""
    if source.label not in right.index:
        raise LackingError(f"{source.label} has no choices")
    row = choices_shown(right).loc[source.label]
    return {
        "right": str(row["right"]), "certain": str(row["right where the winner is significant"]),
        "regret_mean": str(row["mean regret, %"]), "regret_worst": str(row["worst regret, %"]),
    }  # fmt: skip


def deviation_dots(deviations: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw Table V as a picture: deviation of the measurement from the estimate, by share of reads and setting."""
    figure, axes = panels(1, len(deviations), sharey=True)
    shares = sorted({round(100 * share) for df in deviations.values() for share in df["read_share"]})
    for panel, (label, df) in zip(axes[0], deviations.items(), strict=True):
        table = df.assign(reads=(100 * df["read_share"]).round().astype(int))
        panel.axhline(0, color="grey", linewidth=0.8)
        sns.stripplot(
            table, x="reads", y="deviation_percent", hue="setting", dodge=True, order=shares, ax=panel,
            palette=palette.SETTINGS, size=4, legend=False,
        )  # fmt: skip
        panel.set(title=label, xlabel="reads, % of operations", ylabel="measurement above estimate, %")
    setting_legend(figure, "setting")
    return done(figure)
