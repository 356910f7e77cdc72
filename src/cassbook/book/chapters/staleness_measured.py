"""Tables of the chapter on measured staleness, and the values that its prose quotes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from cassbook.core.consistency import setting_waiting_for
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import Proportion, share_text
from cassbook.core.units import PERCENT
from cassbook.records import prediction_errors, staleness_results
from cassbook.records.staleness import StalenessRun
from cassbook.shown.tables import Format, estimates, formatted, titled
from cassbook.staleness import curves

#: What the 2020 paper (section V) and the thesis (section 4.3.2) say that these settings "provide" and "guarantee".
CONFIDENCE: Mapping[str, float] = {"1R-1W": 1 / 3, "1R-2W": 2 / 3, "2R-1W": 2 / 3}
_SETUPS = {"near": "side by side", "far": "far apart"}
_SHARES = (0.99, 0.999)


def setup_name(setup: str) -> str:
    """Return the name that the prose has for a setup."""
    return _SETUPS.get(setup, setup)


def load_name(threads: int) -> str:
    """Return the name that the prose has for a load."""
    return f"{threads} threads of load" if threads else "the probe alone"


def conditions(runs: Mapping[str, StalenessRun]) -> pd.DataFrame:
    """Return the conditions under which records were made, and what their probe gets wrong where nothing can be stale.

    Returns
    -------
    DataFrame
        Index Cassandra's version; replicas, starts, weak_reads, strong (Proportion of strong reads that were stale),
        writes_unknown, reads_lost, hints.
    """
    rows = {}
    for version, run in runs.items():
        panels = run.panels
        reads, stale = staleness_results.strong_checked(run)
        rows[version] = {
            "replicas": panels["n"].max(), "starts": run.results.manifest["starts"],
            "weak_reads": panels.loc[~_meet(panels), "reads"].sum(), "strong": Proportion.independent(stale, reads),
            "writes_unknown": panels["unknown"].sum(), "reads_lost": panels["lost"].sum(),
            "hints": panels["hints"].sum(),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("Cassandra")


def conditions_shown(runs: Mapping[str, StalenessRun]) -> pd.DataFrame:
    """Return `conditions` in words."""
    table = conditions(runs)
    columns: dict[str, tuple[str, Format]] = {
        "replicas": ("replicas", ""), "starts": ("cluster starts", ""), "weak_reads": ("weak reads", ","),
        "strong_reads": ("strong reads", ","),
        "strong": ("of these stale", lambda stale: f"{stale.yes} (at most {stale.high:.2%})"),
        "writes_unknown": ("writes unknown", ""), "reads_lost": ("reads lost", ""), "hints": ("hints", ""),
    }  # fmt: skip
    return titled(table.assign(strong_reads=table["strong"].map(lambda stale: stale.of)), columns)


def conditions_values(runs: Mapping[str, StalenessRun]) -> dict[str, object]:
    """Return what the prose quotes of `conditions`."""
    notes = [run.results.manifest for run in runs.values()]
    numbers, far = notes[0]["numbers"], notes[0]["setups"]["far"]
    checked = np.sum([staleness_results.strong_checked(run) for run in runs.values()], axis=0)
    return {
        "cycles": numbers["cycles_per_s"], "load_threads": max(numbers["threads"]),
        "regions": ", ".join(far["regions"][1:]), "strong_reads": float(checked[0]), "strong_stale": int(checked[1]),
        "strong_most": most_stale(checked[1], checked[0]),
    }  # fmt: skip


def most_stale(stale: int, reads: int) -> float:
    """Return the upper 95 % bound of the share of stale reads, percent."""
    return PERCENT * float(Estimate.share(stale, reads).high)


def _meet(panels: pd.DataFrame) -> pd.Series:
    return panels["r"] + panels["w"] > panels["n"]


def summary(run: StalenessRun) -> pd.DataFrame:
    """Return weak panels: measured P(0) with its interval, times to 99 and 99.9 % (NaN for never), how far behind stale
    reads were, and latencies; index (setup, load, setting).
    """
    rows = {}
    for setup, threads, r, w in prediction_errors.weak_panels(run):
        seen = curves.over_t(run.counted(setup, threads, r, w))
        panel = run.rows(setup, threads, r, w)
        first = seen.iloc[0]
        rows[setup_name(setup), load_name(threads), setting_waiting_for(r, w)] = {
            "reads": panel["reads"].sum(), "P(0)": Estimate(first["p"], first["low"], first["high"]),
            **{f"t {100 * p:g} %, ms": curves.reached_ms(seen, p) for p in _SHARES},
            "behind, ms": float(panel["behind_ms"].mean()),
            **{f"{kind}, ms": Estimate.positive(panel[f"{kind}_ms"]) for kind in ("read", "write")},
            **{f"p99 of a {kind}, ms": Estimate.positive(panel[f"{kind}_p99_ms"]).value for kind in ("read", "write")},
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["setup", "load", "setting"])


def summary_shown(run: StalenessRun) -> pd.DataFrame:
    """Return `summary` in words."""
    table = summary(run)
    formats: dict[str, Format] = {
        **dict.fromkeys(table.columns, ".1f"), **dict.fromkeys(("read, ms", "write, ms"), "±%.1f"),
        "reads": ",", "P(0)": lambda share: share_text(share, 1, 3),
    }  # fmt: skip
    words = formatted(table, formats, missing="never")
    p99_ms = [words.pop(f"p99 of a {kind}, ms") for kind in ("read", "write")]
    return words.assign(**{"p99 of each, ms": p99_ms[0] + " and " + p99_ms[1]})


def _first_share(seen: pd.DataFrame) -> str:
    """Say the first point of a curve (see `curves.over_t`) in percent with its bounds."""
    first = seen.iloc[0]
    return share_text(Estimate(first["p"], first["low"], first["high"]))


def stale_values(run: StalenessRun) -> dict[str, object]:
    """Return what the prose quotes of `summary`: percent consistent at once in five panels, with 95 % bounds, how many
    reads after writes of two replicas were stale, and the longest waits, ms.
    """
    panels = {
        "near_idle": ("near", False, 1, 1), "near_loaded": ("near", True, 1, 1), "far_idle": ("far", False, 1, 1),
        "far_two": ("far", False, 2, 1), "far_written": ("far", False, 1, 2),
    }  # fmt: skip
    loads = sorted(set(run.panels["threads"]))
    quoted: dict[str, object] = {}
    for name, (setup, loaded, r, w) in panels.items():
        counted = run.counted(setup, int(loads[-1] if loaded else loads[0]), r, w)
        quoted[name] = _first_share(curves.over_t(counted))
        if name == "far_written":
            first = counted[counted["asked_t_ms"] == counted["asked_t_ms"].min()]
            stale = first.loc[first["versions_behind"] > 0, "reads"].sum()
            quoted[f"{name}_counts"] = f"{stale:,} of {first['reads'].sum():,}"
    for setup in _SETUPS:
        quoted[f"longest_{setup}"] = float(run.results.manifest["numbers"]["t_ms"][setup][-1])
    return quoted


def errors(run: StalenessRun) -> pd.DataFrame:
    """Return `prediction_errors.by_panel` in words, in per cent: index (setup, load, setting)."""
    table = prediction_errors.by_panel(run)
    shown = pd.DataFrame({
        "P(0), %": 100 * table["p0"], "sampling error, %": 100 * table["noise"],
        **{
            f"{name}, %": 100 * table[name]
            for name in (prediction_errors.WHOLE, prediction_errors.ASKED, prediction_errors.FIRST)
        },
    })  # fmt: skip
    names = [(setup_name(s), load_name(t), setting_waiting_for(r, w)) for s, t, r, w in table.index]
    shown.index = pd.MultiIndex.from_tuples(names, names=["setup", "load", "setting"])
    return shown.round(1)


def errors_values(runs: Mapping[str, StalenessRun]) -> dict[str, object]:
    """Return what the prose quotes of the errors in panels that are stale often, per cent: of whole requests by version
    (`rmse_0`, `rmse_1`, ...) and at worst, by chance alone, and of four distributions; how many panels are within 1 %.
    """
    tables = [prediction_errors.by_panel(run) for run in runs.values()]
    weak = [table[table["p0"] < prediction_errors.STALE_BELOW] for table in tables]
    stale = pd.concat(weak)
    quoted: dict[str, object] = {
        f"rmse_{place}": 100 * each[prediction_errors.WHOLE].mean() for place, each in enumerate(weak)
    }
    return quoted | {
        "panels": sum(map(len, tables)), "stale_panels": len(stale),
        "rmse_worst": 100 * stale[prediction_errors.WHOLE].max(),
        "noise": 100 * stale["noise"].mean(), "within_one": int((stale[prediction_errors.WHOLE] <= 0.01).sum()),  # noqa: PLR2004
        "rmse_asked": 100 * stale[prediction_errors.ASKED].mean(),
        "rmse_first": 100 * stale[prediction_errors.FIRST].mean(),
    }  # fmt: skip


def tracing_parts(runs: Mapping[str, StalenessRun]) -> pd.DataFrame:
    """Return the mean RMSE in the panels that are stale often, %, by version and by the part of tracing's cost taken
    off.
    """
    rows = {version: {f"{part:g}": 100 * rmse for part, rmse in prediction_errors.by_part(run).items()}
            for version, run in runs.items()}  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("Cassandra").round(1)
    return table.rename_axis("share of tracing's cost subtracted", axis="columns")


def ways_values(run: StalenessRun, table: pd.DataFrame) -> dict[str, float]:
    """Return what the prose quotes of `staleness_results.ways`, of what a trace leaves open, and of what tracing costs
    (times as long a read).
    """
    cost = staleness_results.tracing_cost(run)
    return {
        "least_over": float((table["least_ms"] - table["echo_ms"]).min()), "inside": float(table["inside_ms"].median()),
        "uncertain": float(run.legs.loc[run.legs["kind"] == "UPDATE", "uncertain_ms"].median()),
        "tracing_idle": cost[0].value, "tracing_loaded": cost[max(cost)].value,
    }  # fmt: skip


def written_values(run: StalenessRun, asked_t_ms: float) -> dict[str, object]:
    """Return what the prose quotes of versions: how many are written in a row, how long after (ms), and per cent
    of reads
    then that had the last one, with the probe alone.
    """
    panels = run.panels[run.panels["versions"] > 1]
    written = int(panels["versions"].iloc[0])
    quoted: dict[str, object] = {"written": written, "after": asked_t_ms}
    for setup in _SETUPS:
        seen = curves.over_k(run.counted(setup, 0, 1, 1, written), asked_t_ms, 1)
        quoted[f"after_{setup}"] = _first_share(seen)
    return quoted


def confidence(run: StalenessRun) -> pd.DataFrame:
    """Return P(consistent) over t of the settings of `CONFIDENCE`: `curves.over_t`, setup, threads, setting,
    claimed.
    """
    parts = []
    for setup, threads, r, w in prediction_errors.weak_panels(run):
        name = setting_waiting_for(r, w)
        if name in CONFIDENCE:
            seen = curves.over_t(run.counted(setup, threads, r, w))
            parts.append(seen.assign(setup=setup, threads=threads, setting=name, claimed=CONFIDENCE[name]))
    return pd.concat(parts, ignore_index=True)


def confidence_held(table: pd.DataFrame) -> pd.DataFrame:
    """Return the waits at which the claimed numbers are not excluded: waits whose interval has the number inside.

    Returns
    -------
    DataFrame
        Index (setup, load, setting); claimed_percent, at_once_percent, end_percent (after the longest wait), inside_ms
        (tuple of waits).
    """
    rows = {}
    for (setup, threads, name), group in table.groupby(["setup", "threads", "setting"], sort=False):
        inside = group[(group["low"] <= group["claimed"]) & (group["claimed"] <= group["high"])]
        rows[setup_name(str(setup)), load_name(int(str(threads))), str(name)] = {
            "claimed_percent": PERCENT * group["claimed"].iloc[0], "at_once_percent": PERCENT * group["p"].iloc[0],
            "end_percent": PERCENT * group["p"].iloc[-1], "inside_ms": tuple(inside["t_ms"]),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["setup", "load", "setting"])


def confidence_held_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `confidence_held` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "claimed_percent": ("claimed, %", ".1f"), "at_once_percent": ("at once, %", ".1f"),
        "end_percent": ("in the end, %", ".1f"),
        "inside_ms": ("within the interval at t, ms", lambda waits: ", ".join(f"{t:.0f}" for t in waits) or "never"),
    }  # fmt: skip
    return titled(confidence_held(table), columns)


def confidence_values(table: pd.DataFrame) -> dict[str, int]:
    """Return in how many of all cases a read that is sent at once is less consistent than claimed (its whole interval
    lies below), more, or so consistent within its interval.
    """
    first = table[table["asked_t_ms"] == 0]
    below, above = first["high"] < first["claimed"], first["low"] > first["claimed"]
    return {"cases": len(first), "cases_below": int(below.sum()), "cases_above": int(above.sum()),
            "cases_at_once": int((~below & ~above).sum())}  # fmt: skip


def frontier_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the settings of `staleness_results.frontier` that no other beats in both, in words: index (replicas,
    setup, load, setting).
    """
    best = table[curves.unbeaten(table)]
    titles = {
        "read_ms": "read, ms", "read_p99_ms": "a read's p99", "write_ms": "write, ms", "write_p99_ms": "a write's p99",
        "latency_ms": "half and half, ms", "p0": "P(0)", "t_999_ms": "99.9 % fresh after, ms",
    }  # fmt: skip
    formats: dict[str, Format] = {**dict.fromkeys(titles, ".1f"), "p0": ".3f", "t_999_ms": _after}
    words = formatted(best.assign(p0=estimates(best, "p0")), formats, missing="never").rename(columns=titles)
    return words.set_index([
        best["n"].astype(str).rename("replicas"), best["setup"].map(setup_name),
        best["threads"].map(load_name).rename("load"), best["setting"].astype(str),
    ])  # fmt: skip


def _after(ms: float) -> str:
    return "at once" if ms == 0 else f"{ms:.1f}"


def frontier_values(table: pd.DataFrame) -> dict[str, object]:
    """Return what the prose quotes of the frontier: the two counts of all, the rest of replicas far apart, with the
    probe alone.

    repaired_ms and unrepaired_ms are reads of two replicas after writes of one, and of two: those find replicas that
    differ, and repair them before they answer.
    """
    alone = table[(table["setup"] == "far") & (table["threads"] == 0)]
    quoted: dict[str, object] = {"all": len(table), "kept": int(curves.unbeaten(table).sum())}
    for n, name in ((3, ""), (5, "five_")):
        of_n = alone[alone["n"] == n].set_index("setting")
        if of_n.empty:
            continue
        strong = of_n[of_n["t_999_ms"] == 0].sort_values("latency_ms")
        quoted |= {
            f"{name}least_reads": int(of_n["least_reads"].min()),
            f"{name}weakest_ms": of_n.loc["1R-1W", "latency_ms"], f"{name}weakest_t": of_n.loc["1R-1W", "t_999_ms"],
            f"{name}strong_setting": strong.index[0], f"{name}strong_ms": strong["latency_ms"].iloc[0],
        }  # fmt: skip
    reads_ms = alone[alone["n"] == 3].set_index("setting")["read_ms"]  # noqa: PLR2004
    return quoted | {"repaired_ms": reads_ms["2R-1W"], "unrepaired_ms": reads_ms["2R-2W"]}
