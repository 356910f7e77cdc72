"""What a report begins with: the settings that `cassbook advise` recommends, and the rates of `cassbook capacity`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cassbook.advisor.advice import SURVIVE, Advice, Choice, alike, differ, times_as_slow
from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.map_cells import shares
from cassbook.advisor.open_advice import open_map
from cassbook.core.errors import InputError
from cassbook.core.schema import OPEN, without_open
from cassbook.core.words import counted
from cassbook.latency import open_choices
from cassbook.latency.capacity import AT_LEAST, NONE, SOME, Capacity, capacities
from cassbook.latency.open_choices import OpenAdvice, OpenChoice
from cassbook.shown.dead_replicas import dead_replicas, stops

#: Bounds of p99 for which a rate is given, ms.
BOUNDS_MS = (10.0, 50.0, 200.0)
_BY = "p99"
#: The figure by which settings are judged under open arrivals.
OPEN_BY = "p99"
#: Of threads and of shares of reads so many are shown.
_MOST = 3
_UNMIXED = (0.1, 0.5, 0.9)


@dataclass
class Answers:
    """Tables in words, and why one is not there."""

    #: Of loads under open arrivals; empty where there are none.
    open: pd.DataFrame = field(default_factory=pd.DataFrame)
    #: Empty where the run allows no answer.
    advice: pd.DataFrame = field(default_factory=pd.DataFrame)
    capacity: pd.DataFrame = field(default_factory=pd.DataFrame)
    lacking: list[str] = field(default_factory=list)  # why


def of_run(run: Any, replicas: int | None) -> Answers:
    """Ask a run for both answers.

    `replicas`: the replication factor, if it is known; nothing is recommended without.
    """
    found = Answers()
    opened = bool((run.statistics["kind"] == OPEN).any())
    try:
        if opened and replicas is not None:
            found.open = _open_advice(run, replicas)
    except InputError as error:
        found.lacking.append(f"cassbook advise --of-capacity: {error}")
    closed = not without_open(run.statistics).empty
    try:
        if replicas is None:
            raise InputError(f"{run.name}: the replication factor is not known")
        found.advice = pd.DataFrame(_advice(run, replicas))
    except InputError as error:
        if closed or not opened:
            found.lacking.append(f"cassbook advise: {error}")
    try:
        found.capacity = _capacity(run)
    except InputError as error:
        found.lacking.append(f"cassbook capacity: {error}")
    return found


def _open_advice(run: Any, replicas: int) -> pd.DataFrame:
    """One row per mix and load under open arrivals, as `cassbook advise --map` has them."""
    points = open_map(run, by=OPEN_BY, survive=SURVIVE, replicas=replicas)
    rows = pd.DataFrame([_open_row(advice) for advice in points])
    return rows if (rows["load share"] != "").any() else rows.drop(columns="load share")


def _open_row(advice: OpenAdvice) -> dict[str, str]:
    share = "" if advice.of_capacity is None else f"{advice.of_capacity:g}"
    row = {"mix": advice.mix.name, "load share": share, "requests a second": _range(advice.rates_per_s)}
    chosen, fastest = advice.recommended, advice.fastest
    if chosen is None:
        lost = any(choice.not_carried for choice in advice.surviving)
        why = "none that survives carries it in every cluster start" if lost else "not known"
        why = why if advice.surviving else f"none survives {dead_replicas(advice.survive)}"
        row |= {"recommended": why, f"{advice.by}, ms": ""}
    else:
        row |= {"recommended": chosen.setting.levels, f"{advice.by}, ms": f"{chosen.response_us.times(1e-3):.2f}"}
    return row | {"fastest": "" if fastest is None else _open_fastest(fastest, chosen, advice.survive)}


def _open_fastest(fastest: OpenChoice, chosen: OpenChoice | None, survive: int) -> str:
    """Say which strong setting is the fastest, by how much, and what it stops with one replica down."""
    stopping = stops(*fastest.survives, survive)
    if fastest is chosen:
        return "the same"
    if chosen is None:
        return f"{fastest.setting.levels}, but {stopping}" if stopping else fastest.setting.levels
    less = 100 * (1 - 1 / open_choices.times_as_slow(fastest, chosen).value)
    surely = {True: "", False: ", not significantly", None: ", in few cluster starts"}[
        differ(open_choices.alike(fastest, chosen))
    ]
    return f"{fastest.setting.levels}: {less:.0f} % less{surely}, but {stopping}"


def _range(rates: Sequence[float]) -> str:
    low, high = f"{min(rates):.0f}", f"{max(rates):.0f}"
    return low if low == high else f"{low} to {high}"


def _advice(run: Any, replicas: int) -> list[dict[str, str]]:
    """One row per load: of reads and updates at some threads and shares, of each workload at its own share."""
    cells, rows, wrong = run.statistics, [], []
    asked: list[tuple[str, ...]] = [()] if cells["kind"].isin(["pure", "mixed"]).any() else []
    for workload in [*asked, *((name,) for name in shares(cells))]:
        try:
            latency_map = LatencyMap(cells, run.name, replicas, workload)
        except InputError as error:
            wrong.append(error)
            continue
        own = latency_map.workload_share
        for threads in _some(latency_map.threads):
            for share in [own] if own is not None else _shares(latency_map):
                try:
                    advice = latency_map.advise(threads, share, SURVIVE)
                except InputError:  # not every share was measured at every number of threads
                    continue
                rows.append({"workload": ", ".join(workload)} | _row(advice))
    if not rows:
        raise wrong[0] if wrong else InputError(f"{run.name}: has no cells in a closed loop")
    return rows if any(row["workload"] for row in rows) else [_without(row, "workload") for row in rows]


def _without(row: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in row.items() if key != name}


def _shares(latency_map: LatencyMap) -> list[float]:
    measured = [float(share) for share in latency_map.read_shares if 0 < share < 1]
    return _some(measured) if measured else list(_UNMIXED)


def _some(values: Iterable[float]) -> list[float]:
    """The least, the middle and the greatest."""
    known = sorted(map(float, values))
    places = np.unique(np.linspace(0, len(known) - 1, _MOST).round().astype(int))
    return [known[place] for place in places]


def _row(advice: Advice) -> dict[str, str]:
    chosen, fastest = advice.recommended, advice.fastest
    row = {"threads": f"{advice.threads:g}", "reads": f"{advice.read_share:.0%}"}
    if chosen is None:
        none = f"none survives {dead_replicas(advice.survive)}; nearest is {advice.nearest.setting.levels}"
        return row | {"recommended": none, "mean, ms": "", "fastest": _fastest(fastest, None, advice.survive)}
    mean = f"{chosen.latency_us.times(1e-3):.2f}"
    other = None if fastest is chosen else chosen
    return row | {
        "recommended": chosen.setting.levels, "mean, ms": mean, "fastest": _fastest(fastest, other, advice.survive)
    }  # fmt: skip


def _fastest(fastest: Choice, chosen: Choice | None, survive: int) -> str:
    stopping = stops(*fastest.survives, survive)
    if chosen is None:
        return f"{fastest.setting.levels}, but {stopping}" if stopping else "the same"
    less = 100 * (1 - 1 / times_as_slow(fastest, chosen).value)
    surely = {True: "", False: ", not significantly", None: ", in one cluster start"}[differ(alike(fastest, chosen))]
    return f"{fastest.setting.levels}: {less:.0f} % less{surely}, but {stopping}"


def _capacity(run: Any) -> pd.DataFrame:
    """One row per setting, one column per bound."""
    rows: dict[str, dict[str, str]] = {}
    for bound_ms in BOUNDS_MS:
        for one in capacities(run.statistics, bound_ms, _BY, run.name, getattr(run, "slices", None)):
            rows.setdefault(_what(one), {})[f"{_BY} within {bound_ms:g} ms"] = _rate(one)
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis("requests a second at most").reset_index()


def _what(one: Capacity) -> str:
    what = f"workload {one.workload}" if one.workload else f"{one.read_share:.0%} reads"
    return f"{what}, {one.read_cl}/{one.write_cl}{', open' if one.kind == OPEN else ''}"


def _rate(one: Capacity) -> str:
    if one.verdict in (NONE, SOME):
        within = zip(one.by_block, one.top_by_block, strict=True)
        kept = [min(rate, top) for rate, top in within if not np.isnan(rate)]
        below = f"below {one.rates_per_s[0]:.4g}, if any"
        if not kept:
            return below
        starts = f"{len(kept)} of {counted(len(one.by_block), 'cluster start')}"
        return f"at least {min(kept):.0f} in {starts}, {below} in {len(one.by_block) - len(kept)}"
    if one.verdict == AT_LEAST:
        return f"at least {one.per_s.value:.0f}"
    return f"{one.per_s:.0f}"
