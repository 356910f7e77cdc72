"""Figure of the chapter on regressions: measured means and the polynomials through them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.chapters.regressions import curves
from cassbook.book.figure_style import OPERATIONS, done, panels
from cassbook.book.gaps import of_each
from cassbook.book.provenance import Source
from cassbook.core.consistency import LEVELS
from cassbook.core.units import US_PER_MS


def regression_curves(sources: Sequence[Source], order: int = 4) -> Figure:
    """Draw measured means and the polynomial through them, reads and writes, one column per source."""
    fitted = of_each(sources, lambda source: curves(source, order))
    shown = [source for source in sources if source.label in fitted]
    figure, axes = panels(2, len(shown), sharex=True, sharey="col")
    for column, source in enumerate(shown):
        fits = fitted[source.label]
        for row, (operation, word) in enumerate(OPERATIONS.items()):
            panel = axes[row, column]
            for level in (level for level in LEVELS if (operation, level) in fits):
                stats = source.level_stats
                group = stats[(stats["operation"] == operation) & (stats["level"] == level)]
                grid = np.linspace(group["threads"].min(), group["threads"].max(), 200)
                colour = palette.LEVELS[level]
                means_ms = group["latency_us"] / US_PER_MS
                panel.plot(group["threads"], means_ms, "o", markersize=4, color=colour, label=level)
                panel.plot(grid, fits[operation, level].predict(grid) / US_PER_MS, "-", linewidth=1.2, color=colour)
            panel.set_title(f"{source.label}: {word}")
            panel.set_ylim(bottom=0)
            panel.set_ylabel("mean latency, ms" if column == 0 else "")
            panel.set_xlabel("threads" if row == 1 else "")
    axes[0, 0].legend(title="level")
    return done(figure)
