"""Figure of the chapter on predicted staleness: P(consistent) over t of the production fits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.staleness import pbs

_POINTS = 200


def production(predictions: Mapping[str, Mapping[str, pbs.Prediction]], least_ms: float = 0.1) -> Figure:
    """Draw P(consistent) over t of named models; solid where a read asks all and takes the first, dashed where it
    asks R.
    """
    figure, axes = panels(1, 1, width=7.0, height=3.6)
    panel = axes[0, 0]
    for colour, (name, modes) in zip(palette.SERIES, predictions.items(), strict=False):
        for style, prediction in zip(("-", "--"), modes.values(), strict=True):
            t_ms = np.geomspace(least_ms, prediction.t_visibility(0.9999) + 1, _POINTS)
            label = name if style == "-" else None
            panel.plot(t_ms, pbs.p_consistent_over(prediction, t_ms), style, color=colour, label=label)
    panel.set(xscale="log", xlabel="t after the commit, ms", ylabel="P(consistent)", ylim=(0, 1.02))
    panel.legend(loc="lower right")
    return done(figure)
