"""Figures of the chapter on the thesis."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.core.units import US_PER_MS
from cassbook.latency.mixing import mix_label
from cassbook.thesis import formulas

_TITLES = {"2": "(2) write consistency", "3": "(3) read latency", "4": "(4) write latency"}


def residuals(records: pd.DataFrame, scale: str = "0 to 1") -> Figure:
    """Draw residuals over fitted values of the three formulas, coloured by setting."""
    figure, axes = panels(1, 3, width=4.0, height=3.2)
    for panel, (equation, title) in zip(axes[0], _TITLES.items(), strict=True):
        fit = formulas.formula(records, equation, scale)
        for name, colour in palette.SETTINGS.items():
            at_setting = (records["setting"] == name).to_numpy()
            panel.plot(
                fit.fitted[at_setting],
                fit.residuals[at_setting],
                "o",
                markersize=3,
                color=colour,
                label=name,
                alpha=0.8,
            )
        panel.axhline(0, color="grey", linewidth=0.8)
        panel.set(title=title, xlabel="fitted", ylabel="residual" if equation == "2" else "")
    axes[0, 0].legend(fontsize=8)
    return done(figure)


def by_mix(records: Mapping[str, pd.DataFrame]) -> Figure:
    """Read and write latency over threads, one row per mix, reads left and writes right; one line per setting and
    source.
    """
    shares = sorted({share for table in records.values() for share in table["read_share"]})
    figure, axes = panels(len(shares), 2, width=4.4, height=1.9, sharex=True, sharey="col")
    for row, share in enumerate(shares):
        for column, (name, word) in enumerate((("read_us", "reads"), ("write_us", "writes"))):
            panel = axes[row, column]
            for line, (label, table) in zip(("-", "--", ":"), records.items(), strict=False):
                mix = table[table["read_share"] == share]
                for setting, group in mix.groupby("setting"):
                    panel.plot(
                        group["threads"], group[name] / US_PER_MS, line, color=palette.SETTINGS[str(setting)],
                        linewidth=1.2,
                        label=f"{setting}, {label}" if len(records) > 1 else str(setting),
                    )  # fmt: skip
            if row == 0:
                panel.set_title(word)
        axes[row, 0].set_ylabel(f"{mix_label(share)},\nms", fontsize=9)
    for panel in axes[-1]:
        panel.set_xlabel("threads")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    return done(figure)
