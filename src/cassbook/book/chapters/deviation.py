"""Tables and the figure of the chapter on Table V: as printed, measured deviations, orders and choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from cassbook import published
from cassbook.book import needs, palette
from cassbook.book.figure_style import done, panels, setting_legend
from cassbook.book.gaps import of_each
from cassbook.book.paper_tables import by_workload, estimated, setting_rankings
from cassbook.book.provenance import PUBLISHED, Source
from cassbook.core.errors import LackingError
from cassbook.core.proportion import share_text
from cassbook.latency import (
    ranking,
    validation,
)
from cassbook.latency.mixing import mix_label


def table5_printed() -> pd.DataFrame:
    """Return Table V as printed, the underlined cells (least measured delay) marked by an asterisk."""
    table = published.table("g20_table5")
    text = table["deviation_percent"].map("{:+.1f}".format)
    marked = text.where(~table["underlined"], text + " *")
    return by_workload(table.assign(deviation=marked), "deviation", "{}", least=False)


def deviation_by_setting(deviations: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the mean deviation of the estimates by setting and source, and how many mixes were slower than
    estimated.
    """
    parts = {}
    for label, df in deviations.items():
        groups = df.groupby("setting")["deviation_percent"]
        slower = groups.agg(lambda d: f"{int((d > 0).sum())} of {len(d)}")
        parts[label, "mean, %"] = groups.mean().map("{:+.1f}".format)
        parts[label, "mix slower"] = slower
    return pd.DataFrame(parts)


def setting_orders(source: Source) -> pd.DataFrame:
    """Return the order of the settings by measured latency, one row per thread count, one column per mix.

    Between neighbours stands '<' where they differ within blocks at 5 % (Holm), '~' where they may not.
    """
    needs.mixes(source)
    orders = ranking.settings(source.mixed_stats, None if source.run is None else source.cell_stats)
    return orders.assign(mix=orders["read_share"].map(mix_label)).pivot_table(
        "order", "threads", "mix", aggfunc="first"
    )


def clear_winners(source: Source) -> pd.DataFrame:
    """Return the workloads of a run whose fastest setting is distinguishable from the next: columns read_share,
    threads.
    """
    needs.mixes(source)
    orders = ranking.settings(source.mixed_stats, source.cell_stats)
    signs = orders["order"].str.extract(r"^\S+( \S )", expand=False)
    return orders.loc[signs == ranking.APART, ["read_share", "threads"]].reset_index(drop=True)


def choices(sources: Sequence[Source], order: int = 4) -> pd.DataFrame:
    """Return how often the estimated best setting is the one that measured best, and what the choice costs.

    The paper's own row compares the minima of its Table IV with the underlined cells of its Table V. The last column
    counts only workloads whose measured winner is distinguishable from the next setting (see `clear_winners`).
    """
    return pd.DataFrame(dict(of_each(sources, lambda source: _choices(source, order)))).T


def _choices(source: Source, order: int) -> dict[str, str]:
    """Row of a source in `choices`."""
    if source.label == PUBLISHED:
        share, cost, clear = validation.published_share_of_right_choices(), None, None
    else:
        needs.mixes(source)
        shares = sorted(source.mixed_stats["read_share"].unique())
        regret = validation.regret(estimated(source, shares, order), source.mixed_stats)
        share = validation.Share.of(int(regret["right"].sum()), len(regret))
        cost = regret["regret_percent"]
        certain = clear_winners(source)
        certain["read_share"] = certain["read_share"].round(6)  # as `validation.regret` has it
        clear = regret.merge(certain)["right"]
    return {
        "right": f"{share.right} of {share.total}",
        "share": f"{share_text(share.interval, digits=0)} %",
        "mean regret, %": "" if cost is None else f"{cost.mean():.1f}",
        "worst regret, %": "" if cost is None else f"{cost.max():.1f}",
        "right where the winner is significant": "" if clear is None else f"{int(clear.sum())} of {len(clear)}",
    }


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
    if (source.label, "mean, %") not in bias:
        raise LackingError(f"{source.label} has no deviations")
    mean = bias[source.label, "mean, %"].dropna()
    return {f"bias_{setting}".replace("-", "").lower(): text for setting, text in mean.items()}


def order_values(source: Source) -> dict[str, int]:
    """Return in how many mixes of a run the fastest setting is distinguishable from the next, and of how many."""
    return {"clear": len(clear_winners(source)), "mixes": len(setting_rankings(source))}


def choice_values(right: pd.DataFrame, source: Source) -> dict[str, str]:
    """Return what the prose quotes of `choices`."""
    if source.label not in right.index:
        raise LackingError(f"{source.label} has no choices")
    row = right.loc[source.label]
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
