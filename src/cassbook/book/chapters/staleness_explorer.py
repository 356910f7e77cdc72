"""The staleness curve with knobs, computed in the page by the trials of `cassbook.staleness.explorer`."""

from __future__ import annotations

from importlib import resources
from math import log10

from IPython.display import HTML
from jinja2 import Template

from cassbook.staleness.explorer import TRIALS, Knobs

_TEMPLATES = resources.files("cassbook.book.chapters").joinpath("templates")


def script() -> str:
    """Return the page's part of the computation: a function `neededMs(knobs, trials)`."""
    return _TEMPLATES.joinpath("staleness.js").read_text(encoding="utf-8")


def explorer(start: Knobs | None = None) -> HTML:
    """Draw P(consistent) over the time since a write was acknowledged, for any N, R, W and delays.

    Parameters
    ----------
    start : Knobs, optional
        Where the knobs stand at first.
    """
    begin = start or Knobs()
    knobs = [
        _knob("n", "N, replicas", 1, 5, begin.n),
        _knob("r", "R, read", 1, begin.n, begin.r),
        _knob("w", "W, written", 1, begin.n, begin.w),
        _knob("write_ms", "mean write delay, ms", -1, 2, log10(begin.write_ms), step=0.05, log=True),
        _knob("other_ms", "mean of other delays, ms", -1, 2, log10(begin.other_ms), step=0.05, log=True),
        _knob("far", "replicas far away", 0, begin.n, begin.far),
        _knob("far_ms", "their distance one way, ms", 0, 150, begin.far_ms),
    ]
    page = Template(_TEMPLATES.joinpath("staleness.html").read_text(encoding="utf-8"))
    return HTML(page.render(knobs=knobs, script=script(), trials=TRIALS))


def _knob(
    name: str, label: str, low: float, high: float, start: float, step: float = 1, log: bool = False
) -> dict[str, object]:
    return {"name": name, "label": label, "low": low, "high": high, "start": start, "step": step, "log": log}
