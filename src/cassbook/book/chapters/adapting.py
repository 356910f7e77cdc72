"""Tables of the chapter on adapting: switches and what they lost, rides, what adapting costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cassbook.advisor import payback
from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.payback import Phase
from cassbook.book.paper_tables import starred
from cassbook.core.consistency import setting
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import Proportion
from cassbook.core.units import PERCENT
from cassbook.latency import uncertainty
from cassbook.latency.mixing import mix_label
from cassbook.records.schedule_runs import LATE_CLIENT_S, LATE_S, ScheduleRuns, by_switch
from cassbook.shown.tables import Format, formatted, marked, text, titled
from cassbook_advisor.policy import SweepCost, Terms
from cassbook_advisor.regime import breaks

Blocks = list[pd.DataFrame]

_REPLICAS = 3
_MS = 1000.0
NAIVE = "naive"
#: What the page calls those who set levels; a fixed setting has its name.
REGIMES = {payback.ADAPTIVE: "the adviser", NAIVE: "the paper's switching", payback.FREE: "a switch that costs nothing"}
STAYS = tuple(np.geomspace(1, 1000, 61))


def switch_table(switches: pd.DataFrame) -> pd.DataFrame:
    """Return `switch_losses` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "missable": ("what can be missed", lambda what: ", ".join(what) or "nothing"),
        "naive": ("missed after the paper's", missed), "worst_ms": ("oldest missed write, ms", ".0f"),
        "safe": ("missed after the safe one", missed), "takes_s": ("safe one takes, s", ".1f"),
    }  # fmt: skip
    return titled(switch_losses(switches), columns)


def switch_losses(switches: pd.DataFrame) -> pd.DataFrame:
    """Return every switch, the paper's beside the safe one.

    Parameters
    ----------
    switches : DataFrame
        From `schedule_runs.recorded_switches`.

    Returns
    -------
    DataFrame
        Index (now, then); missable (what can be missed by the argument, of `regime.breaks`), naive and safe (Proportion
        of reads that missed an acknowledged write, by the paper's switch and by the safe one), worst_ms (how long the
        oldest write that the paper's missed had been acknowledged; NaN if none), takes_s (Estimate over repeats).
    """
    sums = by_switch(switches).sort_index()
    took = switches[switches["how"] == "safe"].groupby(["now", "then"])["switched_s"]
    rows = {}
    naive, safe_ones = sums.loc["naive"], sums.loc["safe"]
    for now, then in naive.index:
        plain, safe = naive.loc[now, then], safe_ones.loc[now, then]
        broken = breaks(setting(now).waits(_REPLICAS), setting(then).waits(_REPLICAS), _REPLICAS)
        rows[now, then] = {
            "missable": broken,
            "naive": _missed(plain),
            "worst_ms": plain["worst_ms"] if plain["violations"] else np.nan,
            "safe": _missed(safe),
            "takes_s": Estimate.positive(took.get_group((now, then))),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["now", "then"])


def _missed(sums: pd.Series) -> Proportion:
    return Proportion.independent(int(sums["violations"]), int(sums["reads"]))


def missed(share: Proportion) -> str:
    """Say how many of how many reads missed an acknowledged write; with a bound where none did."""
    return share.counts_bounded


def lost(switches: pd.DataFrame) -> dict[str, int]:
    """Return the reads that missed an acknowledged write, in all, and how many reads there were: naive and safe.

    Returns
    -------
    dict
        naive_lost, naive_reads, safe_lost, safe_reads; spared: naive switches (of pairs of settings) that lost nothing.
    """
    by_pair = by_switch(switches).sort_index()
    sums = by_pair.groupby("how")[["violations", "reads"]].sum()
    figures = {
        f"{how}_{name}": int(sums[column].loc[how])
        for how in ("naive", "safe")
        for name, column in (("lost", "violations"), ("reads", "reads"))
    }
    spared = by_pair.xs("naive")["violations"].eq(0)
    return figures | {"spared": int(spared.sum())}


def switch_values(switches: pd.DataFrame) -> dict[str, object]:
    """Return what the prose quotes of switches: `lost`, and how late the replica and the other client were, s."""
    counts = {name: f"{count:,}" for name, count in lost(switches).items()}
    return {"late": LATE_S, "late_client": LATE_CLIENT_S, **counts}


def comparison(rides: ScheduleRuns) -> pd.DataFrame:
    """Return the five regimes over the whole schedule, with 95 % intervals over cluster starts.

    Returns
    -------
    DataFrame
        Index regime, from fast to slow; mean_ms, p99_ms (Estimate), mean_ratio and p99_ratio (Estimate: times the
        adviser's of the same start, NaN for itself), mean_differs and p99_differs (bool: at 5 %), missed (Proportion of
        watchers' reads that missed a write).
    """
    columns: dict[str, pd.Series] = {}
    order: list[str] = []
    for name in ("mean", "p99"):
        figures = rides.figures(f"{name}_us")
        order = order or list(figures["estimate"].map(lambda e: e.value).sort_values().index)
        columns[f"{name}_ms"] = figures["estimate"].map(_ms)
        columns[f"{name}_ratio"] = figures["ratio"].where(figures.index != payback.ADAPTIVE)
        columns[f"{name}_differs"] = figures["p"] < 1 - uncertainty.LEVEL
    watch = rides.watch.groupby("actor")[["violations", "reads"]].sum()
    columns["missed"] = watch.apply(_missed, axis=1)
    return pd.DataFrame(columns).loc[order].rename(index=REGIMES).rename_axis("regime")


def comparison_shown(rides: ScheduleRuns) -> pd.DataFrame:
    """Return `comparison` in words; ratios that differ significantly are starred."""
    table = comparison(rides)
    columns: dict[str, tuple[str, Format]] = {}
    for name in ("mean", "p99"):
        columns |= {f"{name}_ms": (f"{name}, ms", ".1f"), f"{name}_ratio": (f"times the adviser's {name}", ".2f")}
    words = titled(table, {**columns, "missed": ("missed writes", missed)})
    for name in ("mean", "p99"):
        title = f"times the adviser's {name}"
        words[title] = marked(words[title], table[f"{name}_differs"] & table[f"{name}_ratio"].notna())
    return words


def verdict(rides: ScheduleRuns) -> dict[str, Any]:
    """Return what the chapter's prose says of the rides.

    Returns
    -------
    dict
        best_fixed: the fixed setting of least mean latency; best_ratio, worst_ratio (Estimate): its latency and that of
        the slowest fixed setting by the adaptive one's; worst_fixed; best_p: of the best fixed and the adaptive one
        being alike; naive_missed, naive_watched: reads of watchers under the paper's switching that missed a write, and
        all of them.
    """
    figures = rides.figures("mean_us")
    fixed = figures.drop([payback.ADAPTIVE, NAIVE])
    means = fixed["estimate"].map(lambda e: e.value)
    best, worst = str(means.idxmin()), str(means.idxmax())
    watch = rides.watch[rides.watch["actor"] == NAIVE]
    return {
        "best_fixed": best,
        "best_ratio": figures["ratio"][best],
        "worst_fixed": worst,
        "worst_ratio": figures["ratio"][worst],
        "best_p": float(fixed["p"][best]),
        "naive_missed": int(watch["violations"].sum()),
        "naive_watched": f"{watch['reads'].sum():,}",
    }


def verdict_values(rides: ScheduleRuns) -> dict[str, object]:
    """Return `verdict` as the prose quotes it: ratios in words."""
    return {name: text(value, ".2f") if name.endswith("_ratio") else value for name, value in verdict(rides).items()}


def conditions(rides: ScheduleRuns) -> dict[str, Any]:
    """Return how the rides were made: starts, rows, window_s, horizon_s, margin (percent), phase_s; and phase_sweeps,
    how many sweeps under load a phase lasts.
    """
    notes, terms = rides.manifest, terms_of(rides)
    phase_s = notes["schedule"][0]["seconds"]
    return {
        "schedule_starts": notes["blocks"], "rows": f"{notes['records']:,}", "window_s": notes["window_s"],
        "horizon_s": terms.horizon_s, "margin": terms.margin * 100, "phase_s": phase_s,
        "phase_sweeps": f"{phase_s / mean_sweep(rides).seconds:.1f}",
    }  # fmt: skip


def terms_of(rides: ScheduleRuns) -> Terms:
    """Return the adviser's terms; the first records know no `survive`, for speed alone decided then."""
    return Terms(**{"survive": 0} | rides.manifest["terms"])


def _ms(us: Estimate) -> Estimate:
    return us.times(1 / _MS)


def by_phase(rides: ScheduleRuns) -> pd.DataFrame:
    """Return the mean latency in ms, by phase and regime, geometric means over cluster starts."""
    names = [f"{phase.threads} threads, {mix_label(phase.read_share)}" for phase in schedule_of(rides)]
    table = _by_phase_us(rides) / _MS
    return table.set_axis(pd.Index(names, name="phase")).rename(columns=REGIMES).rename_axis(columns="regime")


def _by_phase_us(rides: ScheduleRuns) -> pd.DataFrame:
    """Return geometric means over cluster starts, by phase and actor."""
    phases = range(1, len(schedule_of(rides)) + 1)
    means = {phase: rides.figures("mean_us", phase)["estimate"] for phase in phases}
    return pd.DataFrame(means).T.map(lambda estimate: estimate.value)


def by_phase_shown(rides: ScheduleRuns) -> pd.DataFrame:
    """Return `by_phase` in words, the lowest of each phase starred."""
    return starred(by_phase(rides), ".1f")


def schedule_of(rides: ScheduleRuns) -> tuple[Phase, ...]:
    """Return the phases that were gone through."""
    return tuple(Phase(**phase) for phase in rides.manifest["schedule"])


def sweeps(rides: ScheduleRuns) -> pd.DataFrame:
    """Return what sweeps took: index 'at rest', 'under load'; columns sweeps (how many), mean_s, min_s, max_s, and
    slower_percent, by how much others are slower under load.
    """
    by_load = rides.sweeps.groupby("loaded")
    table = (
        by_load["seconds"].agg(["size", "mean", "min", "max"]).set_axis(["sweeps", "mean_s", "min_s", "max_s"], axis=1)
    )
    slower = (by_load["slowdown"].mean() - 1) * 100
    table["slower_percent"] = slower.where(slower.index == True)  # noqa: E712 - of loads, not of the index itself
    return table.rename(index={False: "at rest", True: "under load"}).rename_axis("sweep")


def sweep_table(rides: ScheduleRuns) -> pd.DataFrame:
    """Return `sweeps` in words."""
    formats = {"sweeps": "", "mean_s": ".0f", "min_s": ".0f", "max_s": ".0f", "slower_percent": ".0f"}
    words = formatted(sweeps(rides), formats)
    words.insert(2, "seconds, range", words.pop("min_s") + " to " + words.pop("max_s"))
    return words.rename(columns={"mean_s": "seconds, mean", "slower_percent": "others are slower by, %"})


def mean_sweep(rides: ScheduleRuns) -> SweepCost:
    """Return the mean of the sweeps under load."""
    sweeps = rides.sweeps[rides.sweeps["loaded"]]
    return SweepCost(float(sweeps["seconds"].mean()), float(sweeps["slowdown"].mean()))


def forecasts(rides: ScheduleRuns, latency_map: LatencyMap) -> pd.DataFrame:
    """Return the mean latency that the map forecasts for each actor, beside the measured one.

    Returns
    -------
    DataFrame
        Index regime; forecast_ms, measured_ms (Estimate), and both by the adviser's: forecast_ratio, measured_ratio
        (Estimate). A switch that costs nothing is measured as a ride put together from the fixed ones, of each phase
        that in the setting which the map holds to be the fastest.
    """
    schedule, terms = schedule_of(rides), terms_of(rides)
    forecast_us = payback.forecast(latency_map, schedule, mean_sweep(rides), rides.manifest["start"], terms)
    forecast_us[NAIVE] = forecast_us[payback.FREE]
    free, measured = rides.stitched(payback.fastest(latency_map, schedule)), rides.figures("mean_us")
    adaptive = rides.phases[(rides.phases["phase"] == 0) & (rides.phases["actor"] == payback.ADAPTIVE)].set_index(
        "block"
    )
    stitched = {"estimate": Estimate.positive(free), "ratio": Estimate.ratio(free / adaptive["mean_us"])}
    measured = pd.concat([measured, pd.DataFrame([stitched], index=[payback.FREE])])
    table = pd.DataFrame(
        {
            "forecast_ms": forecast_us / _MS, "measured_ms": measured["estimate"].map(_ms),
            "forecast_ratio": forecast_us / forecast_us[payback.ADAPTIVE], "measured_ratio": measured["ratio"],
        }
    )  # fmt: skip
    return table.loc[list(forecast_us.sort_values(kind="stable").index)].rename(index=REGIMES).rename_axis("regime")


def forecast_table(rides: ScheduleRuns, latency_map: LatencyMap) -> pd.DataFrame:
    """Return `forecasts` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "forecast_ms": ("forecast, ms", ".1f"), "measured_ms": ("measured, ms", ".1f"),
        "forecast_ratio": ("forecast, times the adviser's", ".2f"),
        "measured_ratio": ("measured, times the adviser's", ".2f"),
    }  # fmt: skip
    words = titled(forecasts(rides, latency_map), columns)
    words.loc[REGIMES[payback.ADAPTIVE], "measured, times the adviser's"] = "1"
    return words


def gain(rides: ScheduleRuns, latency_map: LatencyMap) -> dict[str, Any]:
    """Return how much there was to be gained: the best fixed setting's latency by that of a free switch.

    Returns
    -------
    dict
        promised (by the map); there (Estimate, in the measured rides); adaptive_free (Estimate: the adaptive ride's
        latency by that of a free switch); agreed (in how many phases the map's fastest setting was it), of_phases;
        client_slower (latency of the best fixed setting, by its forecast).
    """
    schedule = schedule_of(rides)
    forecast_us = payback.forecast(latency_map, schedule, mean_sweep(rides), rides.manifest["start"])
    fastest = payback.fastest(latency_map, schedule)
    free = rides.stitched(fastest)
    measured = _by_phase_us(rides).drop(columns=[payback.ADAPTIVE, NAIVE]).idxmin(axis=1)
    whole = rides.phases[rides.phases["phase"] == 0].pivot_table("mean_us", "block", "actor")
    best = verdict(rides)["best_fixed"]
    return {
        "promised": float(forecast_us.drop([payback.ADAPTIVE, payback.FREE]).min() / forecast_us[payback.FREE]),
        "there": Estimate.ratio(whole[best] / free),
        "adaptive_free": Estimate.ratio(whole[payback.ADAPTIVE] / free),
        "agreed": int((measured.to_numpy() == np.array(fastest)).sum()),
        "of_phases": len(fastest),
        "client_slower": rides.figures("mean_us")["estimate"][best].value / float(forecast_us[best]),
    }


def gain_values(rides: ScheduleRuns, latency_map: LatencyMap) -> dict[str, str]:
    """Return `gain` as the prose quotes it."""
    formats = {"promised": ".2f", "there": ".2f", "adaptive_free": ".2f", "client_slower": ".1f"}
    return {name: text(value, formats.get(name, "")) for name, value in gain(rides, latency_map).items()}


def stays(
    latency_maps: Mapping[str, LatencyMap], schedule: Sequence[Phase], slowdown: float
) -> dict[str, pd.DataFrame]:
    """Return adapting against the best fixed setting, over how long loads stay, for each map (`payback.over_stays`)."""
    return {
        label: payback.over_stays(latency_map, schedule, slowdown, STAYS) for label, latency_map in latency_maps.items()
    }


def stays_of_blocks(
    cell_stats: Mapping[str, pd.DataFrame], schedule: Sequence[Phase], slowdown: float
) -> dict[str, Blocks]:
    """Return `stays` by the map of each block alone, from the statistics of runs' cells."""
    return {
        label: [
            payback.over_stays(LatencyMap(block, label), schedule, slowdown, STAYS)
            for _, block in cells.groupby("block")
        ]
        for label, cells in cell_stats.items()
    }


def break_even(by_map: Mapping[str, pd.DataFrame], by_block: Mapping[str, Blocks]) -> pd.DataFrame:
    """Return from what stay on adapting pays, and what it saves at most.

    Parameters
    ----------
    by_map : mapping of str to DataFrame
        From `stays`.
    by_block : mapping of str to list of DataFrame
        From `stays_of_blocks`.

    Returns
    -------
    DataFrame
        Index source; columns (pays_from_sweeps, saves_percent or free_percent, and value, least or most): from how many
        sweeps on adapting pays (see `payback.pays_from`; infinite where never within those looked at), what it saves at
        most, and what a free switch would save; the least and the most are by the map of one block.
    """
    figures: dict[str, Callable[[pd.DataFrame], float]] = {
        "pays_from_sweeps": payback.pays_from,
        "saves_percent": lambda table: (1 - table[payback.ADAPTIVE].min()) * PERCENT,
        "free_percent": lambda table: (1 - table[payback.FREE].min()) * PERCENT,
    }
    rows: dict[str, dict[tuple[str, str], float]] = {}
    for label, table in by_map.items():
        row = rows[label] = {}
        for name, figure in figures.items():
            of_blocks = [_or_never(figure(block)) for block in by_block[label]]
            parts = {"value": _or_never(figure(table)), "least": min(of_blocks), "most": max(of_blocks)}
            row |= {(name, part): value for part, value in parts.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("source")


def _or_never(sweeps: float) -> float:
    """NaN, which is never, is more than all."""
    return float("inf") if np.isnan(sweeps) else float(sweeps)


def break_even_shown(by_map: Mapping[str, pd.DataFrame], by_block: Mapping[str, Blocks]) -> pd.DataFrame:
    """Return `break_even` in words."""
    table = break_even(by_map, by_block)
    columns = {
        "pays_from_sweeps": ("pays from, sweeps", ".0f"), "saves_percent": ("saves at most, %", ".1f"),
        "free_percent": ("a free switch would save, %", ".1f"),
    }  # fmt: skip
    shown = {}
    for name, (title, spec) in columns.items():
        words = formatted(
            pd.DataFrame(table[name]), lambda x, spec=spec: format(x, spec) if np.isfinite(x) else "never"
        )
        shown[title] = words["value"] + " [" + words["least"] + ", " + words["most"] + "]"
    return pd.DataFrame(shown)


def stay_table(sweep: SweepCost, swept_rows: int, gains: Sequence[float], rows: Sequence[int]) -> pd.DataFrame:
    """Return `shortest_stays` in words."""
    table = shortest_stays(sweep, swept_rows, gains, rows)
    words = formatted(table, lambda minutes: f"{minutes:.2g}" if minutes < 10 else f"{minutes:,.0f}")  # noqa: PLR2004
    words.index = pd.Index([f"{n:,} rows" for n in table.index], name="minutes")
    return words.set_axis([f"{gain:.0%} faster" for gain in table.columns], axis=1)


def shortest_stays(sweep: SweepCost, swept_rows: int, gains: Sequence[float], rows: Sequence[int]) -> pd.DataFrame:
    """Return how long a load has to stay for one switch to save what its sweep costs, by gain and rows of the table.

    A sweep is taken to last as long a row as the one that was measured.

    Returns
    -------
    DataFrame
        Index rows; columns the gains as shares; minutes.
    """
    needed = payback.shortest_stay(gains, sweep.slowdown)
    minutes = {n: needed * sweep.seconds * n / swept_rows / 60 for n in rows}
    return pd.DataFrame.from_dict(minutes, orient="index", columns=list(gains))
