"""Figure of the chapter on Table V: deviations by mix and setting."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels, setting_legend


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
