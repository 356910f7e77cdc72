"""Tables of the chapters on staleness, and what their prose quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cassbook.deployment import CLIENT
from cassbook.estimate import Estimate
from cassbook.staleness import compare, measured, pbs
from cassbook.staleness.recorded import StalenessRun
from cassbook.staleness.trials import BINS, SUBDIVISIONS
from cassbook.staleness.wars import PRODUCTION

#: What the 2020 paper (section V) and the thesis (section 4.3.2) say that these settings "provide" and "guarantee".
CONFIDENCE: Mapping[str, float] = {"1R-1W": 1 / 3, "1R-2W": 2 / 3, "2R-1W": 2 / 3}
_SETUPS = {"near": "side by side", "far": "far apart"}
_SHARES = (0.99, 0.999)


def setting_name(r: int, w: int) -> str:
    """As the papers name a setting."""
    return f"{r}R-{w}W"


def setup_name(setup: str) -> str:
    """As the prose names a setup."""
    return _SETUPS.get(setup, setup)


def load_name(threads: int) -> str:
    """As the prose names a load."""
    return f"{threads} threads beside" if threads else "the probe alone"


def production(
    trials: int = 1_000_000, n: int = 3, settings: Sequence[tuple[int, int]] = ((1, 1), (1, 2), (2, 1))
) -> pd.DataFrame:
    """The production fits: P(consistent) at once, t-visibility and 99.9 % latencies, asking all and asking R.

    Returns
    -------
    DataFrame
        Index (model, setting); columns (asks, figure), in ms but for P(0).
    """
    rows = {}
    for name in PRODUCTION:
        for r, w in settings:
            row: dict[tuple[str, str], float] = {}
            for label, own in modes(name, n, r, w, trials).items():
                row[label, "P(0)"] = own.p_consistent(0.0)
                for p in _SHARES:
                    row[label, f"t {100 * p:g} %"] = own.t_visibility(p)
                row[label, "read 99.9 %"] = own.read_latency(0.999)
            row["both", "write 99.9 %"] = own.write_latency(0.999)
            rows[name, setting_name(r, w)] = row
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["model", "setting"])
    table.columns = pd.MultiIndex.from_tuples([tuple(name) for name in table.columns])
    return table


def modes(name: str, n: int, r: int, w: int, trials: int = 1_000_000) -> dict[str, pbs.Prediction]:
    """A model with reads that ask all and take the first R answers, and with reads that ask R."""
    return {"asks all": pbs.predict(name, n, r, w, trials), "asks R": pbs.predict(name, n, r, w, trials, ask="r")}


def production_told(table: pd.DataFrame) -> dict[str, float]:
    """What the prose says of `production`, and of the histogram behind it."""

    def cell(model: str, asks: str, figure: str) -> float:
        return float(table[asks, figure].to_dict()[model, "1R-1W"])

    def percent(model: str, asks: str) -> float:
        return 100 * cell(model, asks, "P(0)")

    return {
        "disk_p0": percent("LNKD-DISK", "asks all"), "disk_t": cell("LNKD-DISK", "asks all", "t 99.9 %"),
        "ssd_all": percent("LNKD-SSD", "asks all"), "ssd_r": percent("LNKD-SSD", "asks R"),
        "wan_all": percent("WAN", "asks all"), "wan_r": percent("WAN", "asks R"),
        "bins": float(BINS), "resolution": 100 / SUBDIVISIONS,
    }  # fmt: skip


def versions_told(table: pd.DataFrame) -> dict[str, float]:
    """What the prose says of `versions_by_formula`, with the same by simulation."""
    return {
        "one": 100 * float(table["1R-1W"].iloc[0]), "two": 100 * float(table["1R-2W"].iloc[0]),
        "formula": 100 * float(table["1R-1W"].iloc[2]),
        "simulated": 100 * pbs.k_staleness_simulated(3, 1, 1, 3).value,
        "monotonic": 100 * pbs.monotonic_reads(3, 1, 1, 1.0),
    }  # fmt: skip


def versions_by_formula(n: int = 3, most: int = 10) -> pd.DataFrame:
    """P(one of the last k versions) without spreading: index k, columns settings that need not meet."""
    weak = [(r, w) for r in range(1, n + 1) for w in range(1, n + 1) if r + w <= n]
    return pd.DataFrame(
        {setting_name(r, w): [pbs.k_staleness(n, r, w, k) for k in range(1, most + 1)] for r, w in weak},
        index=pd.RangeIndex(1, most + 1, name="k"),
    )


def conditions_told(run: StalenessRun) -> dict[str, object]:
    """Under which conditions a record was made, and what its probe gets wrong where nothing can be stale."""
    notes, own = run.results.manifest, run.panels
    reads, stale = strong_checked(run)
    return {
        "engine": notes["engine"], "starts": notes["starts"], "cycles": notes["numbers"]["cycles_per_s"],
        "threads": max(notes["numbers"]["threads"]), "regions": ", ".join(notes["setups"]["far"]["regions"][1:]),
        "hints": int(own["hints"].sum()), "lost": int(own["lost"].sum()), "unknown": int(own["unknown"].sum()),
        "strong_reads": float(reads), "strong_stale": stale,
    }  # fmt: skip


def strong_checked(run: StalenessRun) -> tuple[int, int]:
    """Reads of settings whose quorums meet, and how many were not consistent: what the probe gets wrong."""
    own = run.panels[run.panels["r"] + run.panels["w"] > run.panels["n"]]
    reads = run.reads.merge(own[["start", "setup", "panel"]], on=["start", "setup", "panel"])
    return int(reads["reads"].sum()), int(reads.loc[reads["versions_behind"] > 0, "reads"].sum())


def summary(run: StalenessRun) -> pd.DataFrame:
    """Weak panels: measured P(0) with its interval, times to 99 and 99.9 %, how far behind stale reads were, and
    latencies.

    Returns
    -------
    DataFrame of str
        Index (setup, load, setting).
    """
    rows = {}
    for setup, threads, r, w in compare.weak_panels(run):
        seen = measured.over_t(run.counted(setup, threads, r, w))
        own = _panels(run, setup, threads, r, w)
        first = seen.iloc[0]
        rows[setup_name(setup), load_name(threads), setting_name(r, w)] = {
            "reads": f"{own['reads'].sum():,}",
            "P(0)": f"{first['p']:.3f} ± {(first['high'] - first['low']) / 2:.3f}",
            **{f"t {100 * p:g} %, ms": _ms(measured.reached_ms(seen, p)) for p in _SHARES},
            "behind, ms": _ms(float(own["behind_ms"].mean())),
            "read, ms": _text(Estimate.mean(own["read_ms"])),
            "write, ms": _text(Estimate.mean(own["write_ms"])),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["setup", "load", "setting"])


def _panels(run: StalenessRun, setup: str, threads: int, r: int, w: int) -> pd.DataFrame:
    own = run.panels
    return own[
        (own["setup"] == setup) & (own["threads"] == threads) & (own["r"] == r) & (own["w"] == w)
        & (own["versions"] == 1)
    ]  # fmt: skip


def _ms(value: float) -> str:
    return "never" if np.isnan(value) else f"{value:.1f}"


def _text(value: Estimate) -> str:
    return f"{value.value:.1f}" + ("" if np.isnan(value.low) else f" ± {(value.high - value.low) / 2:.1f}")


def errors(run: StalenessRun) -> pd.DataFrame:
    """`compare.by_panel` in words, in per cent: index (setup, load, setting)."""
    table = compare.by_panel(run)
    shown = pd.DataFrame({
        "P(0), %": 100 * table["p0"], "reads are worth, %": 100 * table["noise"],
        **{f"{name}, %": 100 * table[name] for name in (compare.WHOLE, compare.ASKED, compare.FIRST)},
    })  # fmt: skip
    names = [(setup_name(s), load_name(t), setting_name(r, w)) for s, t, r, w in table.index]
    shown.index = pd.MultiIndex.from_tuples(names, names=["setup", "load", "setting"])
    return shown.round(1)


def errors_told(runs: Mapping[str, StalenessRun]) -> dict[str, object]:
    """What the prose says of the errors: panels that are stale often, and mean RMSE in them by each way (per cent)."""
    tables = {version: compare.by_panel(run) for version, run in runs.items()}
    stale = pd.concat([own[own["p0"] < compare.STALE_BELOW] for own in tables.values()])
    beyond = np.sqrt(np.maximum(stale[compare.WHOLE] ** 2 - stale["noise"] ** 2, 0.0))
    return {
        "panels": sum(map(len, tables.values())), "stale_panels": len(stale),
        "rmse": 100 * stale[compare.WHOLE].mean(), "rmse_worst": 100 * stale[compare.WHOLE].max(),
        "noise": 100 * stale["noise"].mean(), "beyond_noise": 100 * float(beyond.mean()),
        "within_one": int((stale[compare.WHOLE] <= 0.01).sum()), "beyond_within_one": int((beyond <= 0.01).sum()),  # noqa: PLR2004
        "rmse_asked": 100 * stale[compare.ASKED].mean(), "rmse_first": 100 * stale[compare.FIRST].mean(),
    }  # fmt: skip


def sums(run: StalenessRun, setup: str) -> pd.DataFrame:
    """What traces make of a write's way to a replica and back, against the round trips that echoes took on the same
    relay.

    Returns
    -------
    DataFrame
        Index (from, to) by node; asked_ms, echo_ms (median, mean over cluster starts), least_ms, median_ms (W + A of
        writes that were traced beside the least load), inside_ms (median less echo: what both nodes themselves took).
    """
    starts = [own["distances"] for own in run.results.manifest["cluster_starts"] if own["setup"] == setup]
    echoes = pd.DataFrame([row for start in starts for row in start])
    nodes = sorted({name for name in [*echoes["from"], *echoes["to"]] if name != CLIENT})
    echoes = echoes.groupby(["from", "to"])[["asked_ms", "median_ms"]].mean()
    own = run.panels[run.panels["setup"] == setup]
    idle = own.loc[own["threads"] == own["threads"].min(), ["start", "setup", "panel"]]
    legs = run.legs[run.legs["kind"] == "UPDATE"].merge(idle, on=["start", "setup", "panel"])
    rows = {}
    for (a, b), ms in legs[legs["coordinator"] != legs["replica"]].groupby(["coordinator", "replica"])["back_ms"]:
        names = (nodes[int(str(a))], nodes[int(str(b))])
        asked_ms, echo_ms = echoes.loc[names if names in echoes.index else names[::-1]]
        rows[names] = (asked_ms, echo_ms, ms.min(), ms.median(), ms.median() - echo_ms)
    columns = ["asked_ms", "echo_ms", "least_ms", "median_ms", "inside_ms"]
    index = pd.MultiIndex.from_tuples(list(rows), names=["from", "to"])
    return pd.DataFrame(list(rows.values()), index, columns)


def sums_told(run: StalenessRun, table: pd.DataFrame) -> dict[str, float]:
    """What the prose says of `sums`, of what a trace leaves open, and of what tracing costs (times as long a read)."""
    cost = tracing_cost(run)
    return {
        "least_over": float((table["least_ms"] - table["echo_ms"]).min()), "inside": float(table["inside_ms"].median()),
        "uncertain": float(run.legs.loc[run.legs["kind"] == "UPDATE", "uncertain_ms"].median()),
        "tracing_idle": cost[0].value, "tracing_loaded": cost[max(cost)].value,
    }  # fmt: skip


def tracing_cost(run: StalenessRun) -> dict[int, Estimate]:
    """How many times as long a traced read of one replica takes, over cluster starts, by threads beside the probe."""
    own = run.panels[run.panels["traced_read_ms"].notna() & (run.panels["r"] == 1)]
    logs = own.assign(log=np.log(own["traced_read_ms"] / own["read_ms"])).groupby(["threads", "start"])["log"].mean()
    return {int(str(threads)): Estimate.ratio(np.exp(group)) for threads, group in logs.groupby(level=0)}


def versions(run: StalenessRun, setup: str, most: int = 10) -> pd.DataFrame:
    """P(one of the last k versions) at once, 1R-1W, where versions are written one after the other.

    Returns
    -------
    DataFrame
        threads, k, those of `measured.over_t`, predicted (from the panel's traces: the k-th last version had so many
        more writes' time to arrive, and replicas take versions in order) and formula (quorums that do not expand).
    """
    own = run.panels[(run.panels["setup"] == setup) & (run.panels["versions"] > 1)]
    parts = []
    for threads in sorted(set(own["threads"])):
        mine = own[own["threads"] == threads]
        written = int(mine["versions"].iloc[0])
        seen = measured.over_k(run.counted(setup, threads, 1, 1, written), 0.0, min(most, written))
        traced, between_ms = run.traced(setup, threads, 1, 1), float(mine["write_ms"].mean())
        n = int(mine["n"].iloc[0])
        predicted = [traced.p_consistent((k - 1) * between_ms) for k in seen["k"]]
        formula = [pbs.k_staleness(n, 1, 1, int(k)) for k in seen["k"]]
        parts.append(seen.assign(threads=threads, predicted=predicted, formula=formula))
    return pd.concat(parts, ignore_index=True)


def versions_after(run: StalenessRun, asked_t_ms: float) -> dict[str, float]:
    """Per cent of reads that had the last version so long after ten in a row, with the probe alone, by setup."""
    own = run.panels[run.panels["versions"] > 1]
    written = int(own["versions"].iloc[0])
    return {
        str(setup): 100 * float(measured.over_k(run.counted(str(setup), 0, 1, 1, written), asked_t_ms, 1)["p"].iloc[0])
        for setup in own["setup"].unique()
    }


def frontier(run: StalenessRun) -> pd.DataFrame:
    """Every setting: what it costs, and how soon reads are consistent.

    Returns
    -------
    DataFrame
        setup, threads, setting, r, w, read_ms, write_ms, latency_ms (half reads, half writes), p0, t_999_ms (0 where
        quorums meet; NaN where it was not reached within the waits).
    """
    own = run.panels[run.panels["versions"] == 1]
    keys = ["setup", "threads", "r", "w"]
    means = own.groupby(keys)[["read_ms", "write_ms"]].mean().reset_index()
    rows = []
    for row in means.to_dict("records"):
        setup, threads, r, w = str(row["setup"]), int(row["threads"]), int(row["r"]), int(row["w"])
        seen = measured.over_t(run.counted(setup, threads, r, w))
        meet = r + w > int(own["n"].max())
        rows.append({
            **row, "setting": setting_name(r, w), "latency_ms": (row["read_ms"] + row["write_ms"]) / 2,
            "p0": float(seen["p"].iloc[0]), "t_999_ms": 0.0 if meet else measured.reached_ms(seen),
        })  # fmt: skip
    return pd.DataFrame(rows)


def undominated(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of `frontier` that no other of the same setup and load beats in both latency and freshness."""
    kept = []
    for _, own in table.groupby(["setup", "threads"], sort=False):
        fresh = own["t_999_ms"].fillna(np.inf).to_numpy()
        latency = own["latency_ms"].to_numpy()
        for place in range(len(own)):
            better = (latency <= latency[place]) & (fresh <= fresh[place])
            strictly = better & ((latency < latency[place]) | (fresh < fresh[place]))
            if not strictly.any():
                kept.append(own.iloc[[place]])
    return pd.concat(kept, ignore_index=True)


def confidence(run: StalenessRun) -> pd.DataFrame:
    """P(consistent) over t of the settings of `CONFIDENCE`: `measured.over_t`, setup, threads, setting, claimed."""
    parts = []
    for setup, threads, r, w in compare.weak_panels(run):
        name = setting_name(r, w)
        if name in CONFIDENCE:
            seen = measured.over_t(run.counted(setup, threads, r, w))
            parts.append(seen.assign(setup=setup, threads=threads, setting=name, claimed=CONFIDENCE[name]))
    return pd.concat(parts, ignore_index=True)


def confidence_held(table: pd.DataFrame) -> pd.DataFrame:
    """When the claimed numbers hold: waits whose interval has the number inside.

    Returns
    -------
    DataFrame
        Index (setup, load, setting); claimed %, at once %, after the longest wait %, true at t (ms).
    """
    rows = {}
    for (setup, threads, name), own in table.groupby(["setup", "threads", "setting"], sort=False):
        inside = own[(own["low"] <= own["claimed"]) & (own["claimed"] <= own["high"])]
        true_ms = ", ".join(f"{t:.0f}" for t in inside["t_ms"])
        rows[setup_name(str(setup)), load_name(int(str(threads))), str(name)] = {
            "claimed, %": f"{100 * own['claimed'].iloc[0]:.1f}", "at once, %": f"{100 * own['p'].iloc[0]:.1f}",
            "in the end, %": f"{100 * own['p'].iloc[-1]:.1f}", "true at t, ms": true_ms or "never",
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["setup", "load", "setting"])


def confidence_told(table: pd.DataFrame) -> dict[str, int]:
    """In how many of all cases the claimed number is within the interval of a read that is sent at once."""
    first = table[table["asked_t_ms"] == 0]
    return {"cases": len(first), "cases_at_once": int(first["claimed"].between(first["low"], first["high"]).sum())}


def frontier_shown(table: pd.DataFrame) -> pd.DataFrame:
    """`frontier` in words: index (setup, load, setting); a star where no other setting beats it in both."""
    kept = set(undominated(table)[["setup", "threads", "setting"]].itertuples(index=False, name=None))
    rows = {}
    for own in table.to_dict("records"):
        setup, threads, name = str(own["setup"]), int(own["threads"]), str(own["setting"])
        fresh = "at once" if own["t_999_ms"] == 0 else _ms(own["t_999_ms"])
        rows[setup_name(setup), load_name(threads), name] = {
            "read, ms": f"{own['read_ms']:.1f}", "write, ms": f"{own['write_ms']:.1f}",
            "half and half, ms": f"{own['latency_ms']:.1f}", "P(0)": f"{own['p0']:.3f}",
            "99.9 % fresh after, ms": fresh,
            "unbeaten": "*" * ((setup, threads, name) in kept),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["setup", "load", "setting"])


def frontier_told(table: pd.DataFrame) -> dict[str, object]:
    """What the prose says of the frontier: far apart, with the probe alone."""
    own = table[(table["setup"] == "far") & (table["threads"] == 0)].set_index("setting")
    strong = own[own["t_999_ms"] == 0].sort_values("latency_ms")
    return {
        "all": len(table), "kept": len(undominated(table)), "weakest_ms": own.loc["1R-1W", "latency_ms"],
        "weakest_t": own.loc["1R-1W", "t_999_ms"], "strong_setting": strong.index[0],
        "strong_ms": strong["latency_ms"].iloc[0],
    }  # fmt: skip
