"""Response time over the share of capacity in use, as one picture that a reader sets."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import HTML
from jinja2 import Template

from cassbook.advisor.freshness import Known
from cassbook.book import palette
from cassbook.book.chapters.given_load import mix_name, setting_name
from cassbook.book.figure_style import done, panels
from cassbook.core.consistency import levels
from cassbook.core.errors import InputError, LackingError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import OPEN
from cassbook.core.words import counted
from cassbook.latency import capacity
from cassbook.latency.open_choices import Mix, OpenChoice
from cassbook.latency.open_loads import OpenLoads
from cassbook.latency.open_results import strength
from cassbook.records.results import replicas, replication
from cassbook.records.run import RecordedRun

FIGURES = {"p50": "median", "mean": "mean", "p99": "99th percentile"}
#: What may be wrong, by what the cells' column `condition` holds.
TROUBLES = {
    "": "all well", "kill_unnoticed": "a node dead, unnoticed", "dead_node": "a node dead, noticed",
    "pause_unnoticed": "a node hangs",
}  # fmt: skip
BOUNDS_MS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200)
_STARTS = {"figure": "p99", "trouble": "", "bound": 20, "share": 0.4, "survive": 0, "stale": "any"}
#: What a reader may ask of a setting: how many dead replicas reads and writes survive, and how many reads may be stale.
SURVIVE = {0: "none", 1: "one", 2: "two"}
STALE = {
    "any": "may be stale", "0.1": "10 % may be stale", "0.01": "1 % may be stale", "0.001": "0.1 % may be stale",
    "none": "see every acknowledged write",
}  # fmt: skip
#: Ages of a write at which staleness is known, ms.
AGES_MS = (0, 10, 25, 50, 100, 250)
_START_MIX = 0.5
#: Colour of what is drawn black on white, and white in the dark.
_TEXT = "currentColor"


def explorer(
    run: RecordedRun, fresh: Known | None = None, elsewhere: Mapping[str, tuple[RecordedRun, str]] | None = None
) -> HTML:
    """Show the picture of a run's open cells at shares of capacity, with a sentence on what the reader set.

    Without JavaScript it is a still picture.

    Parameters
    ----------
    run : RecordedRun
        With open cells at shares of what the weakest setting carries.
    fresh : Known, optional
        How stale reads are there; then a reader may ask for it.
    elsewhere : mapping of str to (RecordedRun, str), optional
        Further runs of that kind and their deployments, by what readers call the place.

    Raises
    ------
    LackingError
        If a run has no such cells.
    """
    places = [_place(_at_home(run), run, "", fresh)]
    places += [_place(name, other, deployment) for name, (other, deployment) in (elsewhere or {}).items()]
    path = resources.files("cassbook.book.chapters").joinpath("templates", "load.html")
    troubles = {name: TROUBLES[name] for name in dict.fromkeys(name for place in places for name in place["troubles"])}
    knobs: dict[str, Mapping[Any, str]] = {"figure": FIGURES, "trouble": troubles, "survive": SURVIVE}
    if fresh is not None:
        knobs["stale"] = STALE
    shown = {"places": places, "bounds": list(BOUNDS_MS), "figures": FIGURES, "ages": list(AGES_MS)}
    packed = json.dumps(shown, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    return HTML(Template(path.read_text(encoding="utf-8")).render(
        knobs=knobs, data=packed, starts=_STARTS | {"mix": _start_mix(places[0])}, places=places, bounds=BOUNDS_MS,
        ages=AGES_MS, image=_still(places[0]),
    ))  # fmt: skip


def _place(name: str, run: RecordedRun, deployment: str, fresh: Known | None = None) -> dict[str, Any]:
    """Return what is known of one place."""
    found = data(run, deployment)
    if not found["mixes"]:
        raise LackingError(f"{run.name} has no open arrivals at shares of what the weakest setting carries")
    return {"name": name, "mixes": found["mixes"], "troubles": found["troubles"], "fresh": staleness(fresh)}


def _at_home(run: RecordedRun) -> str:
    return f"one data centre, {counted(replication(run) or 0, 'replica')}"


def staleness(known: Known | None) -> dict[str, list[list[float]]]:
    """Return the share of stale reads at each of `AGES_MS`, with its bounds, by levels; nothing without a record."""
    if known is None:
        return {}
    named = levels(known.n)
    pairs = sorted((r, w) for r, w in known.settings if r + w <= known.n and r in named and w in named)
    shares = {f"{named[r]}/{named[w]}": [known.at(r, w, age_ms).stale for age_ms in AGES_MS] for r, w in pairs}
    return {
        name: [[float(f"{part:.5g}") for part in (one.value, one.low, one.high)] for one in of_ages]
        for name, of_ages in shares.items()
    }


def _still(found: dict[str, Any]) -> str:
    """Draw what the picture shows at first, all well, as an image with its numbers in words."""
    mix = found["mixes"][_start_mix(found)]
    of = mix["troubles"][""]
    known = {name for one in of["settings"].values() for name in one["points"]}
    name = next(name for name in (str(_STARTS["figure"]), *FIGURES) if name in known)
    figure, ((panel,),) = panels(1, 1, width=7.0, height=3.8)
    said = []
    for setting, one in of["settings"].items():
        points = [(at, point) for at, point in zip(of["shares"], one["points"].get(name, ()), strict=False)
                  if isinstance(point, list)]  # fmt: skip
        if not points:
            continue
        colour, line = _drawn(one["colour"]), [(at, point[0]) for at, point in points]
        panel.plot(*zip(*line, strict=True), "o-", color=colour, label=setting)
        banded = [(at, *point[1:]) for at, point in points if None not in point]
        if banded:
            panel.fill_between(*zip(*banded, strict=True), color=colour, alpha=0.18, linewidth=0)
        said.append(f"{setting} " + ", ".join(f"{point[0]:.3g} at {at:g}" for at, point in points))
    panel.set(yscale="log", xlabel="share of what the weakest setting carries", ylabel=f"{FIGURES[name]} response, ms")
    panel.legend()
    drawn = io.BytesIO()
    done(figure).savefig(drawn, format="png", metadata={"Software": None})
    alt = f"{FIGURES[name]} response in ms with {mix['name']}, by share of capacity: {'; '.join(said)}."
    return f'<img alt="{escape(alt)}" src="data:image/png;base64,{base64.b64encode(drawn.getvalue()).decode()}">'


def _drawn(colour: str) -> str:
    return palette.BLACK if colour == _TEXT else colour


def _start_mix(found: dict[str, Any]) -> int:
    reads = [mix["reads"] for mix in found["mixes"]]
    return int(np.argmin(np.abs(np.array(reads) - _START_MIX)))


def data(run: RecordedRun, deployment: str = "") -> dict[str, Any]:
    """Return what the picture draws, by mix, trouble and setting; numbers are those of `OpenLoads.advise`.

    `deployment`: as cells have it; of a run with one it may be left out.
    """
    opened = run.statistics[run.statistics["kind"] == OPEN]
    opened = opened[opened["deployment"] == deployment] if deployment else opened
    if replication(run) is None:
        raise LackingError(f"{run.name}: does not say how many replicas a row has; only runs of a profile do")
    troubles = [name for name in TROUBLES if (opened["condition"] == name).any()]
    by_mix: dict[Mix, dict[str, Any]] = {}
    for trouble in troubles:
        cells = opened[opened["condition"] == trouble].assign(condition="")
        for mix, settings in _settings(cells, run):
            name = mix.name if mix.workload else mix_name(mix.read_share)
            one = by_mix.setdefault(mix, {"reads": mix.read_share, "name": name, "troubles": {}})
            one["troubles"][trouble] = settings
    healthy = [mix for mix, one in by_mix.items() if "" in one["troubles"]]
    return {
        "mixes": [by_mix[mix] for mix in sorted(healthy, key=lambda mix: (mix.workload, mix.read_share))],
        "troubles": troubles, "bounds": list(BOUNDS_MS), "figures": FIGURES, "replicas": replication(run),
    }  # fmt: skip


def _settings(cells: pd.DataFrame, run: RecordedRun) -> Iterator[tuple[Mix, dict[str, Any]]]:
    """Yield each mix with its shares, their rates and its settings."""
    by_figure: dict[str, OpenLoads] = {}
    for name in FIGURES:
        try:
            by_figure[name] = OpenLoads(cells, run.name, replicas(run), name)
        except InputError:  # too few operations for that percentile
            continue
    if not by_figure:
        return
    first = next(iter(by_figure.values()))
    for mix in first.mixes:
        if not (shares := first.shares(mix)):
            continue
        places = {name: [loads.advise(mix, of_capacity=share) for share in shares] for name, loads in by_figure.items()}
        rates = [Estimate.positive(advice.rates_per_s) for advice in places[next(iter(places))]]
        own = cells[(cells["read_share"] == mix.read_share) & (cells["workload"] == mix.workload)]
        settings: dict[str, dict[str, Any]] = {}
        for name, of_shares in places.items():
            caps = {bound: _capacities(own, bound, name, run.name) for bound in BOUNDS_MS}
            for place, advice in enumerate(of_shares):
                for choice in (*advice.choices, *advice.weak):
                    called = setting_name(choice.setting.levels, mix.read_share)
                    one = settings.setdefault(called, _described(choice, len(shares), len(settings)))
                    one["points"].setdefault(name, [None] * len(shares))[place] = _point(choice)
                    one["keeps"].setdefault(name, {}).setdefault(place, _verdicts(choice, caps))
        ordered = dict(sorted(settings.items(), key=lambda item: strength(item[0])))
        yield mix, {"shares": list(shares), "rates": [_numbers(rate) for rate in rates], "settings": ordered}


def _described(choice: OpenChoice, shares: int, before: int) -> dict[str, Any]:
    colour = palette.setting(choice.setting.levels, before)
    return {
        "colour": _TEXT if colour == palette.BLACK else colour, "strong": choice.strong,
        "survives": list(choice.survives), "points": {}, "keeps": {},
    }  # fmt: skip


def _numbers(estimate: Estimate, scale: float = 1.0) -> list[float | None]:
    """Return value, low and high, of five digits; None for what is not known."""
    numbers = (estimate.value, estimate.low, estimate.high)
    return [float(f"{scale * x:.5g}") if np.isfinite(x) else None for x in numbers]


def _point(choice: OpenChoice) -> list[float | None] | str:
    """Return the figure in ms with its bounds; where some block lacks it, why."""
    return _numbers(choice.response_us, 1e-3) if choice.known else (choice.lacking or ("not measured",))[0]


def _capacities(cells: pd.DataFrame, bound_ms: float, by: str, name: str) -> dict[tuple[str, str], capacity.Capacity]:
    try:
        found = capacity.capacities(cells, bound_ms, by, name)
    except InputError:  # of this mix alone there are too few operations
        return {}
    return {(one.read_cl, one.write_cl): one for one in found}


def _verdicts(choice: OpenChoice, caps: Mapping[int, dict[tuple[str, str], capacity.Capacity]]) -> list[list[Any]]:
    """Return, by bound, what the setting does at the load, and how many times the load it goes on to."""
    levels = choice.setting.read_cl, choice.setting.write_cl
    found = []
    for bound_ms, of_bound in caps.items():
        carried = of_bound.get(levels)
        ended_by = choice.ended_by if carried is None else carried.ended_by
        one = replace(choice, bound_ms=float(bound_ms), capacity=carried, ended_by=ended_by)
        at_least = one.capacity is not None and one.capacity.verdict == "at least"
        headroom = one.headroom.value
        found.append([one.verdict, round(headroom, 2) if np.isfinite(headroom) else None, int(at_least)])
    return found
