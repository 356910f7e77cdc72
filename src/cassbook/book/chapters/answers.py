"""What stands first: what each setting of three replicas costs, how fresh its reads are, and what it survives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import HTML

from cassbook.book.chapters import price
from cassbook.book.chapters import strong as strong_reads
from cassbook.book.chapters.failures import counted
from cassbook.book.provenance import Source
from cassbook.core.consistency import STRONG_SETTINGS, level_waiting_for, setting, setting_waiting_for
from cassbook.core.errors import InputError, LackingError
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import Proportion, share_text
from cassbook.records import staleness_results
from cassbook.records.fault_costs import KILL, by_level
from cassbook.records.faults import FaultRun
from cassbook.records.staleness import StalenessRun
from cassbook.shown import outages
from cassbook.shown.dead_replicas import stops
from cassbook.shown.tables import spread
from cassbook.staleness import curves

REPLICAS = 3
#: Replicas that reads and writes wait for, the weakest first; those behind the third always meet.
PAIRS = ((1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1))
#: What survives as much as it can and is strong; the others are compared with it.
SAFE = "2R-2W"
_AS = f"at {price.BUSY_THREADS} threads and more; name one like standard-5.0.9"
_SIDES = {"READ": "read", "WRITE": "write"}
#: What is written of a setting whose quorums meet; the text around the table says when it does not hold.
ALWAYS = "always*"
#: What the probe's reads and writes between regions are called: it reads each version that it wrote.
_FAR = {"read": "a read after its write", "write": "a write"}
#: What the front page says, of `values`.
_HEADLINE = ("safe_read_mean", "safe_write_mean", "rate_per_s", "rate_today_p50")
#: What ONE costs, in multiples of what ONE costs.
_BASE = Estimate(1.0, 1.0, 1.0)


def ladder(source: Source, probed: StalenessRun, failing: FaultRun) -> pd.DataFrame:
    """Return the settings of three replicas, the weakest first.

    Parameters
    ----------
    source : Source
        A run whose levels alternated.
    probed : StalenessRun
        A record with three replicas.
    failing : FaultRun
        With the schedule `faults-kill`.

    Returns
    -------
    DataFrame
        Index setting; read_mean, read_p99, write_mean, write_p99 (Estimate, as multiples of the same at ONE, from
        `price.table`); near, far (Estimate: share of reads that see a write acknowledged as they are sent, the probe
        alone), near_ms, far_ms (from when on 99.9 % do; NaN where that was not reached), far_read_ms, far_write_ms (by
        cluster start: arrays of the mean latency of reads, each of which follows its write, and of writes); reads,
        writes (how many dead replicas each survives); and of `failing` read_dead, write_dead (Proportion that is not
        answered while one of three nodes is dead) and dead_on (its version of Cassandra).

    Raises
    ------
    InputError
        For a record with another number of replicas, or a run that lacks a level.
    """
    if (replicas := sorted({int(n) for n in probed.panels["n"]})) != [REPLICAS]:
        number = ", ".join(map(str, replicas))
        raise InputError(f"probed: a record with {number} replicas; name one with {REPLICAS}, as stale-three-5.0.9")
    prices = _priced(source, "pure")
    fresh = staleness_results.frontier([probed])
    threads = int(fresh["threads"].min())
    alone = fresh[fresh["threads"] == threads].set_index(["setup", "setting"])
    dead = by_level(failing)
    rows = {}
    for r, w in PAIRS:
        name = setting_waiting_for(r, w)
        row: dict[str, object] = {}
        for operation, waits in (("READ", r), ("WRITE", w)):
            for figure in ("mean", "p99"):
                row[f"{_SIDES[operation]}_{figure}"] = _times_one(prices, operation, waits, figure)
            row[f"{_SIDES[operation]}_dead"] = dead[f"{_SIDES[operation]}s", waits]
        for setup in ("near", "far"):
            seen: Any = alone.loc[(setup, name)]
            row[setup] = Estimate(seen["p0"], seen["low"], seen["high"], int(seen["least_reads"]))
            row[f"{setup}_ms"] = float(seen["t_999_ms"])
        row |= {f"far_{side}_ms": probed.latencies_ms("far", threads, r, w, side) for side in _SIDES.values()}
        rows[name] = row | {"reads": REPLICAS - r, "writes": REPLICAS - w, "dead_on": failing.engine}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("setting")


def _times_one(prices: pd.DataFrame, operation: str, waits: int, figure: str) -> Any:
    level = level_waiting_for(waits, REPLICAS)
    if level == "ONE":
        return _BASE
    known = prices[figure].to_dict()
    if (operation, f"{level}/ONE") not in known:
        raise LackingError(f"today: the run does not compare {operation} at {level} with ONE {_AS}")
    return known[operation, f"{level}/ONE"]


def _priced(source: Source, kind: str) -> pd.DataFrame:
    return price.table([source], kind=kind).droplevel("run")


def strong(name: str) -> bool:
    """Whether the quorums of one of `PAIRS` meet."""
    return any(name == pair.name for pair in STRONG_SETTINGS)


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return `ladder` as the page shows it: a column per setting."""
    columns = {row["setting"]: _facts(row) for row in _rows(table)}
    return pd.DataFrame(columns).rename_axis(columns="setting")


def _facts(row: dict[str, Any]) -> dict[str, str]:
    met = strong(row["setting"])
    facts = {}
    for side in _SIDES.values():
        for figure in ("mean", "p99"):
            cost = row[f"{side}_{figure}"]
            facts[f"{side}s, {figure}"] = "1" if cost == _BASE else _known(cost, 1)
    for setup, where in (("near", "side by side"), ("far", "three regions")):
        facts[f"{where}: fresh at once, %"] = ALWAYS if met else share_text(row[setup], digits=0)
        facts[f"{where}: 99.9 % after, ms"] = "" if met else _after(row[f"{setup}_ms"])
    facts |= {f"three regions: {what}, ms": f"{np.median(row[f'far_{side}_ms']):.0f}" for side, what in _FAR.items()}
    facts |= {f"dead replicas, {side}s": str(row[f"{side}s"]) for side in _SIDES.values()}
    return facts | {f"dead node: {side}s unanswered, %": _dead(row[f"{side}_dead"]) for side in _SIDES.values()}


def _dead(share: Proportion) -> str:
    return share.text(digits=0)


def _unanswered(row: Mapping[Any, Any]) -> str:
    """Say what a setting of `ladder` leaves unanswered while a node is dead; if it fails, the failing sides alone."""
    shares = {f"{side}s": row[f"{side}_dead"] for side in _SIDES.values()}
    return outages.shares({sides: share for sides, share in shares.items() if share.yes} or shares)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.reset_index().to_dict("records")]


def _after(ms: float) -> str:
    return "beyond the waits" if np.isnan(ms) else f"{ms:.0f}"


def _known(figure: object, digits: int = 2) -> str:
    return f"{figure:.{digits}f}" if isinstance(figure, Estimate) else price.LACKING


def choices(source: Source) -> pd.DataFrame:
    """Return the fastest strong setting of three by mean latency for each mix, against 2R-2W.

    Returns
    -------
    DataFrame
        Index mix ('reads 90 %'), most reads first; setting (2R-2W where no other's interval lies below 1), mean and
        p99 (Estimate or None: multiples of 2R-2W's), reads and writes (how many dead replicas each survives), tail (the
        fastest by p99; 2R-2W where no other's interval lies below 1).

    Raises
    ------
    InputError
        For a run without mixes.
    """
    table = _priced(source, "mixed")
    rows = {}
    for mix, ratios in table.groupby(level="operation"):
        of_mix = ratios.droplevel("operation")
        name, ratio = _fastest(of_mix["mean"])
        figures = {f: of_mix.loc[ratio, f] if ratio else None for f in ("mean", "p99")}
        reads, writes = setting(name).survives(REPLICAS)
        tail = _fastest(of_mix["p99"])[0]
        rows[str(mix)] = {"setting": name, **figures, "reads": reads, "writes": writes, "tail": tail}
    found = pd.DataFrame.from_dict(rows, orient="index").rename_axis("mix")
    return found.sort_index(key=lambda mixes: mixes.str.extract(r"(\d+)", expand=False).astype(int), ascending=False)


def _fastest(ratios: pd.Series) -> tuple[str, str | None]:
    """Return the setting of the least ratio to `SAFE`, and the ratio's name; `SAFE` and None if none is below 1."""
    known = {str(name): ratio for name, ratio in ratios.items() if isinstance(ratio, Estimate)}
    best = min(known, key=lambda name: known[name].value, default=None)
    if best is None or not known[best].high < 1:
        return SAFE, None
    return best.split("/", maxsplit=1)[0], best


def _stops(row: Mapping[Any, Any]) -> str:
    """Say what a setting of `choices` stops doing with one replica dead; '' if nothing."""
    return stops(int(row["reads"]), int(row["writes"]), 1)


def choices_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return `choices` as the page shows it."""
    rows = [
        {
            "fastest strong setting": row["setting"], "mean, times 2R-2W's": _known(row["mean"]),
            "p99, times 2R-2W's": _known(row["p99"]), "a dead replica": _stops(row).partition(" with ")[0],
        }
        if row["setting"] != SAFE
        else {"fastest strong setting": f"none differs significantly from {SAFE}", "a dead replica": "stops nothing"}
        for row in _rows(table)
    ]  # fmt: skip
    return pd.DataFrame(rows, table.index).fillna("").assign(**{"fastest by p99": table["tail"]})


def evidence(source: Source, probed: StalenessRun, failing: FaultRun) -> dict[str, str]:
    """Return which records stand behind the page, with their days: costs_from, fresh_from, fails_from."""
    assert source.run is not None  # noqa: S101 - only runs have levels that alternate
    behind = {
        "costs_from": (source.run.name, source.run.manifest),
        "fresh_from": (probed.name, probed.results.manifest),
        "fails_from": (failing.results.name, failing.results.manifest),
    }
    return {
        key: f"{name}, {notes['begun'][:10]}" if "begun" in notes else name for key, (name, notes) in behind.items()
    }


def headline(quoted: Mapping[str, str]) -> HTML:
    """Return the front page's sentences, from `values` of the same run: what QUORUM costs in capacity and in waiting.

    Points alone; the page of answers has them with their intervals.
    """
    point = {name: quoted[name].partition(" [")[0] for name in _HEADLINE}
    return HTML(
        "<p><b>QUORUM costs a cluster far more capacity than it costs requests time.</b> Kept busy, three nodes "
        "complete {safe_read_mean} times as many reads at ONE as at QUORUM, and {safe_write_mean} times as many "
        "writes. At {rate_per_s} requests per second the median response at QUORUM takes {rate_today_p50} times as "
        "long as at ONE.</p>".format(**point)
    )


def values(
    steps: pd.DataFrame, chosen: pd.DataFrame, source: Source, probed: StalenessRun, failing: FaultRun
) -> dict[str, Any]:
    """Return what the prose quotes of `ladder`, `choices` and the records behind them, with intervals or ranges."""
    safe, weak = (dict(steps.loc[name]) for name in (SAFE, "1R-1W"))
    half_ms = (steps["far_read_ms"] + steps["far_write_ms"]).map(lambda ms: float(np.median(ms / 2)))
    strong_ms = half_ms[[strong(str(name)) for name in steps.index]]
    gains, most = chosen[chosen["setting"] != SAFE], chosen.iloc[0]
    tails = chosen["tail"].value_counts()
    reads, stale = staleness_results.strong_checked(probed)
    most_stale = Estimate.share(stale, reads).high
    return {
        **{f"safe_{f}": _known(safe[f], 1) for f in ("read_mean", "read_p99", "write_mean", "write_p99")},
        "most_mix": f"{str(chosen.index[0]).removeprefix('reads ').removesuffix(' %')} %",
        "most_setting": most["setting"], "most_mean": _known(most["mean"]), "most_p99": _known(most["p99"]),
        "safe_dead": _unanswered(safe), "dead_version": safe["dead_on"],
        "most_dead": _unanswered(dict(steps.loc[most["setting"]])),
        "most_stops": _stops(most.to_dict()) or "goes on with a dead replica",
        "gains": f"{len(gains)} of {len(chosen)}", "stopped": int((gains[["reads", "writes"]].min(axis=1) < 1).sum()),
        "tail_setting": str(tails.index[0]), "tail_mixes": f"{tails.iloc[0]} of {len(chosen)}",
        "tails": sum(isinstance(p99, Estimate) and p99.high < 1 for p99 in gains["p99"]),
        **{f"{setup}_fresh": share_text(weak[setup]) for setup in ("near", "far")},
        **{f"{setup}_after": weak[f"{setup}_ms"] for setup in ("near", "far")},
        "far_setting": str(strong_ms.idxmin()), "far_half_ms": float(strong_ms.min()),
        "safe_half_ms": float(strong_ms[SAFE]), "overlapping_reads": f"{reads:,}", "overlapping_stale": stale,
        "overlapping_most": f"{100 * most_stale:.2f}",
        **_far_values(steps, probed), **_failing_values(failing), **_loaded_values(probed),
        **price.rate_values({"today": source}),
        "writes_all_p99": price.between(source, "WRITE", "ALL", "QUORUM", "p99"),
    }  # fmt: skip


def _far_values(steps: pd.DataFrame, probed: StalenessRun) -> dict[str, object]:
    """What the prose quotes of three regions: medians over cluster starts, each with its range."""
    found: dict[str, object] = {
        f"far_{name}_{side}": spread(np.asarray(steps.loc[of, f"far_{side}_ms"], float), digits.format)
        for name, of, digits in (("weak", "1R-1W", "{:.1f}"), ("safe", SAFE, "{:.0f}"))
        for side in _SIDES.values()
    }
    return found | {
        "far_starts": probed.panels["start"].nunique(),
        "far_nearest_ms": staleness_results.nearest_round_trip_ms(probed, "far"),
    }


def _failing_values(failing: FaultRun) -> dict[str, object]:
    """How often reads missed a write among failing nodes: of strong settings, and of the weakest by a driver's way."""
    weakest = counted({"one": failing}, {"same_replica": (KILL, "ONE/ONE", "stale")})
    return {**strong_reads.values(failing), "same_replica": weakest["same_replica_one"]}


def _loaded_values(probed: StalenessRun) -> dict[str, object]:
    """How fresh the weakest setting's reads are side by side, beside the most threads of another load."""
    threads = int(probed.panels["threads"].max())
    seen = curves.over_t(probed.counted("near", threads, 1, 1))
    at_once = seen.iloc[0]
    share = Estimate(float(at_once["p"]), float(at_once["low"]), float(at_once["high"]), int(at_once["reads"]))
    return {
        "loaded_threads": threads, "loaded_fresh": f"{share.times(100):.1f}",
        "loaded_after": curves.reached_ms(seen),
    }  # fmt: skip
