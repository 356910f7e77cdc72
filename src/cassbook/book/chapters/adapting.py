"""Tables of the chapter on adapting: switches and what they lost, rides, what adapting costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cassbook.advisor import payback
from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.payback import Phase
from cassbook.advisor.policy import SweepCost, Terms
from cassbook.advisor.regime import breaks
from cassbook.book.paper_tables import starred
from cassbook.core.consistency import setting
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import Proportion
from cassbook.latency import uncertainty
from cassbook.latency.mixing import mix_label
from cassbook.records.schedule_runs import LATE_CLIENT_S, LATE_S, ScheduleRuns, by_switch
from cassbook.shown.tables import formatted

Blocks = list[pd.DataFrame]

_REPLICAS = 3
_MS = 1000.0
NAIVE = "naive"
#: What the page calls those who set levels; a fixed setting has its name.
REGIMES = {payback.ADAPTIVE: "the adviser", NAIVE: "the paper's switching", payback.FREE: "a switch that costs nothing"}
STAYS = tuple(np.geomspace(1, 1000, 61))


def switch_table(switches: pd.DataFrame) -> pd.DataFrame:
    """Return every switch, the paper's beside the safe one.

    Parameters
    ----------
    found : DataFrame
        From `schedule_runs.recorded_switches`.

    Returns
    -------
    DataFrame
        Index (now, then); what can be missed (by the argument), by the paper's switch (reads that missed an
        acknowledged write, of all reads), at worst after, ms (how long that write had been acknowledged), by the safe
        one, it takes, s (with interval over repeats).
    """
    sums = by_switch(switches).sort_index()
    took = switches[switches["how"] == "safe"].groupby(["now", "then"])["switched_s"]
    rows = {}
    naive, safe_ones = sums.loc["naive"], sums.loc["safe"]
    for now, then in naive.index:
        plain, safe = naive.loc[now, then], safe_ones.loc[now, then]
        broken = breaks(setting(now).waits(_REPLICAS), setting(then).waits(_REPLICAS), _REPLICAS)
        rows[now, then] = {
            "what can be missed": ", ".join(broken) or "nothing",
            "by the paper's switch": missed(plain),
            "at worst after, ms": f"{plain['worst_ms']:.0f}" if plain["violations"] else "",
            "by the safe one": missed(safe),
            "it takes, s": format(Estimate.positive(took.get_group((now, then))), ".1f"),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["now", "then"])


def missed(sums: pd.Series) -> str:
    """Say how many of how many reads missed an acknowledged write; with a bound where none did."""
    return Proportion.independent(int(sums["violations"]), int(sums["reads"])).counts_bounded


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
    DataFrame of str
        Index regime, from fast to slow; mean, ms; times the adviser's (of the same start; starred where it differs at
        5 %); p99, ms; times the adviser's; watchers' reads that missed a write.
    """
    columns = {}
    order: list[str] = []
    for figure, title in (("mean_us", "mean, ms"), ("p99_us", "p99, ms")):
        figures = rides.figures(figure)
        order = order or list(figures["estimate"].map(lambda e: e.value).sort_values().index)
        columns[title] = figures["estimate"].map(_ms)
        columns[f"times the adviser's {title.partition(',')[0]}"] = _ratios(figures)
    watch = rides.watch.groupby("actor")[["violations", "reads"]].sum()
    columns["missed writes"] = watch.apply(missed, axis=1)
    return pd.DataFrame(columns).loc[order].rename(index=REGIMES).rename_axis("regime")


def verdict(rides: ScheduleRuns) -> dict[str, Any]:
    """Return what the chapter's prose says of the rides.

    Returns
    -------
    dict
        best_fixed: the fixed setting of least mean latency; best_ratio, naive_ratio, worst_ratio: its latency, that of
        the paper's switching and that of the slowest fixed setting by the adaptive one's, with intervals; worst_fixed;
        best_p: of the best fixed and the adaptive one being alike; naive_missed, naive_watched: reads of watchers under
        the paper's switching that missed a write, and all of them.
    """
    figures = rides.figures("mean_us")
    fixed = figures.drop([payback.ADAPTIVE, NAIVE])
    means = fixed["estimate"].map(lambda e: e.value)
    best, worst = str(means.idxmin()), str(means.idxmax())
    ratios = {"best": best, "naive": NAIVE, "worst": worst}
    watch = rides.watch[rides.watch["actor"] == NAIVE]
    return {
        "best_fixed": best,
        "worst_fixed": worst,
        "best_p": float(fixed["p"][best]),
        "naive_missed": int(watch["violations"].sum()),
        "naive_watched": f"{watch['reads'].sum():,}",
    } | {f"{name}_ratio": f"{figures['ratio'][actor]:.2f}" for name, actor in ratios.items()}


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


def _ms(value: Estimate) -> str:
    return f"{value.times(1 / _MS):.1f}"


def _ratios(figures: pd.DataFrame) -> pd.Series:
    clear = figures["p"] < 1 - uncertainty.LEVEL
    text = figures["ratio"].map("{:.2f}".format)
    return text.where(~clear, text + " *").where(figures.index != payback.ADAPTIVE, "")


def by_phase(rides: ScheduleRuns) -> pd.DataFrame:
    """Return the mean latency in ms, by phase and regime, means over cluster starts; the lowest of each phase
    starred.
    """
    phases = rides.phases[rides.phases["phase"] > 0]
    table = starred(phases.pivot_table("mean_us", "phase", "actor") / _MS, "{:.1f}")
    names = [f"{phase.threads} threads, {mix_label(phase.read_share)}" for phase in schedule_of(rides)]
    return table.set_axis(pd.Index(names, name="phase")).rename(columns=REGIMES).rename_axis(columns="regime")


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
    words.insert(2, "seconds, least to most", words.pop("min_s") + " to " + words.pop("max_s"))
    return words.rename(columns={"mean_s": "seconds, mean", "slower_percent": "others are slower by, %"})


def mean_sweep(rides: ScheduleRuns) -> SweepCost:
    """Return the mean of the sweeps under load."""
    sweeps = rides.sweeps[rides.sweeps["loaded"]]
    return SweepCost(float(sweeps["seconds"].mean()), float(sweeps["slowdown"].mean()))


def forecast_table(rides: ScheduleRuns, latency_map: LatencyMap) -> pd.DataFrame:
    """Return the mean latency that the map forecasts for each actor, beside the measured one.

    Returns
    -------
    DataFrame of str
        Index regime; 'forecast, ms', 'measured, ms', and both by the adviser's. A switch that costs nothing is
        measured as a ride put together from the fixed ones, of each phase that in the setting which the map holds to
        be the fastest.
    """
    schedule, terms = schedule_of(rides), terms_of(rides)
    forecasts = payback.forecast(latency_map, schedule, mean_sweep(rides), rides.manifest["start"], terms)
    forecasts[NAIVE] = forecasts[payback.FREE]
    free, measured = rides.stitched(payback.fastest(latency_map, schedule)), rides.figures("mean_us")
    adaptive = rides.phases[(rides.phases["phase"] == 0) & (rides.phases["actor"] == payback.ADAPTIVE)].set_index(
        "block"
    )
    stitched = {"estimate": Estimate.positive(free), "ratio": Estimate.ratio(free / adaptive["mean_us"])}
    measured = pd.concat([measured, pd.DataFrame([stitched], index=[payback.FREE])])
    ratio = forecasts / forecasts[payback.ADAPTIVE]
    table = pd.DataFrame(
        {
            "forecast, ms": (forecasts / _MS).map("{:.1f}".format),
            "measured, ms": measured["estimate"].map(_ms),
            "forecast, times the adviser's": ratio.map("{:.2f}".format),
            "measured, times the adviser's": measured["ratio"].map("{:.2f}".format),
        }
    )
    table.loc[payback.ADAPTIVE, "measured, times the adviser's"] = "1"
    return table.loc[list(forecasts.sort_values(kind="stable").index)].rename(index=REGIMES).rename_axis("regime")


def gain(rides: ScheduleRuns, latency_map: LatencyMap) -> dict[str, str]:
    """Return how much there was to be gained: the best fixed setting's latency by that of a free switch.

    Returns
    -------
    dict
        promised (by the map); there (in the measured rides, with interval); adaptive_free (the adaptive ride's latency
        by that of a free switch, with interval); agreed (in how many phases the map's fastest setting was it),
        of_phases; slower (latency of the best fixed setting, by its forecast).
    """
    schedule = schedule_of(rides)
    forecasts = payback.forecast(latency_map, schedule, mean_sweep(rides), rides.manifest["start"])
    fastest = payback.fastest(latency_map, schedule)
    free = rides.stitched(fastest)
    fixed = rides.phases[(rides.phases["phase"] > 0) & ~rides.phases["actor"].isin([payback.ADAPTIVE, NAIVE])]
    measured = fixed.pivot_table("mean_us", "phase", "actor").idxmin(axis=1)
    whole = rides.phases[rides.phases["phase"] == 0].pivot_table("mean_us", "block", "actor")
    best = verdict(rides)["best_fixed"]
    return {
        "promised": f"{forecasts.drop([payback.ADAPTIVE, payback.FREE]).min() / forecasts[payback.FREE]:.2f}",
        "there": format(Estimate.ratio(whole[best] / free), ".2f"),
        "adaptive_free": format(Estimate.ratio(whole[payback.ADAPTIVE] / free), ".2f"),
        "agreed": str(int((measured.to_numpy() == np.array(fastest)).sum())),
        "of_phases": str(len(fastest)),
        "client_slower": f"{whole[best].mean() / float(forecasts[best]):.1f}",
    }


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
    DataFrame of str
        Index source; 'pays from, sweeps' (see `payback.pays_from`; 'never' within those looked at), 'saves at most, %',
        'a free switch would save, %'; each with the least and the most by the map of one block.
    """
    figures = {
        "pays from, sweeps": (payback.pays_from, "{:.0f}"),
        "saves at most, %": (lambda table: (1 - table[payback.ADAPTIVE].min()) * 100, "{:.1f}"),
        "a free switch would save, %": (lambda table: (1 - table[payback.FREE].min()) * 100, "{:.1f}"),
    }
    rows = {
        label: {
            name: _with_blocks(figure(table), [figure(block) for block in by_block[label]], shown)
            for name, (figure, shown) in figures.items()
        }
        for label, table in by_map.items()
    }
    return pd.DataFrame(rows).T.rename_axis("source")


def _with_blocks(value: float, of_blocks: Sequence[float], shown: str) -> str:
    """Return a figure with its least and most of blocks; NaN, which is never, is more than all."""
    text = lambda x: shown.format(x) if np.isfinite(x) else "never"  # noqa: E731
    known = np.where(np.isnan(of_blocks), np.inf, of_blocks)
    return f"{text(value)} [{text(known.min())}, {text(known.max())}]"


def stay_table(sweep: SweepCost, swept_rows: int, gains: Sequence[float], rows: Sequence[int]) -> pd.DataFrame:
    """Return how long a load has to stay for one switch to save what its sweep costs, by gain and rows of the table.

    A sweep is taken to last as long a row as the one that was measured.

    Returns
    -------
    DataFrame of str
        Index rows; columns the gains in percent; minutes.
    """
    needed = payback.shortest_stay(gains, sweep.slowdown)
    minutes = {f"{n:,} rows": needed * sweep.seconds * n / swept_rows / 60 for n in rows}
    table = pd.DataFrame(minutes, index=[f"{gain:.0%} faster" for gain in gains]).T
    return table.map(lambda value: f"{value:.2g}" if value < 10 else f"{value:,.0f}").rename_axis("minutes")  # noqa: PLR2004
