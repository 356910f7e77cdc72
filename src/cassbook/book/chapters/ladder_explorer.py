"""The ladder of settings for a reader's needs: those that do not meet them are struck out, with the reason."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pandas as pd
from IPython.display import HTML
from jinja2 import Template

from cassbook.book import palette
from cassbook.book.chapters import answers, price
from cassbook.book.setting_names import in_levels
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import share_text

SIDES = {"read": palette.OPERATIONS["READ"], "write": palette.OPERATIONS["WRITE"]}
_FIGURES = {"mean": "on average", "p99": "at the 99th percentile"}
_STRONG = {"yes": "sees every acknowledged write while all is well", "no": "may miss a write just acknowledged"}
_DEAD = {
    "neither": "neither reads nor writes may stop", "writes": "writes may stop", "reads": "reads may stop",
    "either": "either may stop",
}  # fmt: skip


def explorer(table: pd.DataFrame) -> HTML:
    """Show which settings do what a reader asks for, and what each costs.

    Parameters
    ----------
    table : DataFrame
        From `answers.ladder`.
    """
    steps = [_step(str(name), row) for name, row in zip(table.index, table.to_dict("records"), strict=True)]
    knobs = {
        "strong": ("A read", _STRONG),
        "dead": ("With one replica dead,", _DEAD),
        "figure": ("Costs in a busy closed loop", _FIGURES),
    }
    path = resources.files("cassbook.book.chapters").joinpath("templates", "ladder.html")
    data = json.dumps(steps).replace("</", "<\\/")
    return HTML(Template(path.read_text(encoding="utf-8")).render(steps=steps, knobs=knobs, sides=SIDES, data=data))


def _step(name: str, row: dict[Any, Any]) -> dict[str, Any]:
    strong = answers.strong(name)
    near, far = (f"{share_text(row[setup], digits=0)} %" for setup in ("near", "far"))
    says = f"a write just acknowledged is seen by {near} of reads side by side, by {far} in three regions"
    return {
        "name": in_levels(name), "strong": strong, "goes_on": {side: row[f"{side}s"] > 0 for side in SIDES},
        "says": "" if strong else says,
        "costs": {figure: {side: _cost(row[f"{side}_{figure}"]) for side in SIDES} for figure in _FIGURES},
    }  # fmt: skip


def _cost(cost: object) -> dict[str, Any]:
    if not isinstance(cost, Estimate):
        return {"times": None, "words": price.LACKING}
    return {"times": round(cost.value, 3), "words": "1" if cost.low == cost.high else f"{cost:.1f}"}
