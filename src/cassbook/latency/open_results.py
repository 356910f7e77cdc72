"""What a run measured under open arrivals: response times by mix, place on the ladder and setting, over its blocks.

In turn, the settings of a mix get the same arrivals, so that each row's ratio to the weakest setting is one of waiting
at the same rate, taken within a block. Rates are shares of what the weakest setting carries and differ by block; what
repeats is the share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.core.schema import CLIENT_MARKS, OPEN, TRIAL, Mark, marked, of_one_machine
from cassbook.latency import percentiles, summaries, uncertainty
from cassbook.latency.labels import labelled
from cassbook.latency.results import Replication, estimate_into, survived

#: What makes settings comparable: the mix, wherever it was measured.
MIX = ["engine", "deployment", "workload", "read_share", "arrivals"]
#: A place on the ladder: a share of what the weakest setting carries, a rate, or a share of what a setting carries that
#: was measured alone.
SHARE, RATE, ALONE = "share", "rate", "alone"
PLACE = ["measured", "at"]
#: Settings that others are compared with; where none was measured it is the fastest.
WEAKEST = ("ONE/ONE", "LOCAL_ONE/LOCAL_ONE")
#: Figures whose ratio is taken.
COMPARED = ("mean", "p50", "p99")
_SURVIVES = ("survives_reads", "survives_writes")
_NOTHING = Estimate(np.nan, np.nan, np.nan)
_COUNTS = {"due": "n_due", "failed": "n_errors", "in_flight": "n_in_flight", "unsent": "n_unsent", "waited": "n_waited"}


def open_cells(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the cells under open arrivals with setting ('ONE/ALL'), measured and at (see `PLACE`), and operation.

    Those in which a node is dead or was struck, or has other processors, are not among them: see `by_condition`.

    `statistics`: from `cells.cell_statistics`; those of earlier versions have none.
    """
    cells = statistics[(statistics["kind"] == OPEN) & (statistics["condition"] == "")]
    if cells.empty:
        nothing = pd.DataFrame(columns=[*MIX, "carried_per_s", "setting", "measured", "at", "operation"])
        return pd.concat([nothing, cells])[list(dict.fromkeys([*cells.columns, *nothing.columns]))]
    rates = cells["rate_per_s"]
    cells = labelled(cells, failed_too=True).assign(rate_per_s=rates)
    setting = cells["read_cl"].astype(str) + "/" + cells["write_cl"].astype(str)
    at_shares = cells["load_share"].notna().groupby([cells[name] for name in MIX]).transform("any")
    alone = at_shares & cells["load_share"].isna()
    measured = np.select([alone, at_shares], [ALONE, SHARE], default=RATE)
    at = np.select([alone, at_shares], [cells["own_share"], cells["load_share"]], default=cells["rate_per_s"])
    return cells.assign(setting=setting, measured=measured, at=np.round(at.astype(float), 6))


def open_results(statistics: pd.DataFrame, replicas: Replication = None) -> pd.DataFrame:
    """Results under open arrivals.

    Parameters
    ----------
    statistics : DataFrame
        From `cells.cell_statistics`; p99.9 with `percentiles.with_tails`.
    replicas : int or mapping of str to Replicas, optional
        Says what settings survive; None where it is unknown.

    Returns
    -------
    DataFrame
        One row per mix, place and setting: `MIX`, kind, operation, measured ('share', 'rate', or 'alone' for a setting
        that was measured by itself), at (that share or rate), setting (also as level), read_cl, write_cl,
        survives_reads, survives_writes; rate_per_s (geometric mean over blocks), rate_least_per_s and rate_most_per_s;
        own_share (of what the setting carries; geometric mean);
        blocks (in which it was measured), beyond_client (blocks in which the client could not send the rate),
        not_carried (blocks in which a trial showed that it does not carry the
        rate), interval, due, failed, in_flight, unsent, waited (sums); throughput_per_s and response times, latency_us
        (the mean), p50_us, p95_us, p99_us and p999_us, each with bounds; base, and of `COMPARED` the ratio to it at
        the same arrivals, taken within blocks (ratio_p99, ratio_p99_low, ratio_p99_high; NaN where it was measured
        alone); late_p50_us and late_p99_us (of the block with the largest), client (whether the client is a part of
        what some block shows), marks.
    """
    cells = open_cells(statistics)
    rows = []
    for mix, of_mix in cells.groupby(MIX, sort=False):
        base = base_of(of_mix)
        for place, group in of_mix.groupby([*PLACE, "setting"], sort=False):
            rows.append(dict(zip([*MIX, *PLACE, "setting"], (*mix, *place), strict=True)) | _row(group, base, replicas))
    table = pd.DataFrame(rows, columns=_columns()).astype(dict.fromkeys(_SURVIVES, "Int64"))
    order = pd.DataFrame({
        "place": table["measured"].map({SHARE: 0, RATE: 0, ALONE: 1}), "strength": table["setting"].map(strength),
    })  # fmt: skip
    keys = pd.concat([table[MIX].assign(read_share=-table["read_share"].astype(float)), order, table["at"]], axis=1)
    alone = keys["place"] == 1
    keys["first"], keys["then"] = keys["at"].mask(alone), keys["at"].where(alone)
    ordered = keys.sort_values([*MIX, "place", "first", "strength", "then"], kind="stable").index
    return _with_ratios(table, cells).loc[ordered].reset_index(drop=True)


def by_condition(statistics: pd.DataFrame, replicas: Replication = None) -> pd.DataFrame:
    """Results under open arrivals with trouble, or with other processors, condition by condition.

    Columns: condition (as cells have it: dead_node, kill_unnoticed, own_processor), then those of `open_results`.
    """
    changed = statistics[(statistics["kind"] == OPEN) & (statistics["condition"] != "")]
    parts = [
        open_results(cells.assign(condition=""), replicas).assign(condition=condition)
        for condition, cells in changed.groupby("condition", sort=False)
    ]
    if not parts:
        return pd.DataFrame(columns=["condition", *_columns()])
    table = pd.concat(parts, ignore_index=True)
    return table[["condition", *table.columns.drop("condition")]]


def capacity_ratios(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return what each setting costs in capacity: what the base carries over what it carries, within blocks.

    Columns: `MIX`, setting, base, blocks, ratio, low, high.
    """
    return _over_blocks(capacity_by_block(statistics), [*MIX, "setting"])


def capacity_by_block(statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios behind `capacity_ratios`. Columns: `MIX`, setting, base, block, ratio.

    Where the client was the limit, what a setting carries is not known, and a block has no ratio of it.
    """
    cells = open_cells(statistics)
    limited = marked(cells, Mark.CLIENT).groupby([cells[key] for key in (*MIX, "setting", "block")]).transform("any")
    carried_per_s = cells["carried_per_s"].where((cells["carried_per_s"] > 0) & ~limited)
    return _by_block(cells.assign(carried_per_s=carried_per_s), "carried_per_s", [], inverse=True)


def waiting_by_block(statistics: pd.DataFrame, figure: str = "p50") -> pd.DataFrame:
    """Return response times over those of the base at the same arrivals, block by block.

    `figure`: one of `percentiles.FIGURES`. Columns: `MIX`, measured, at, setting, base, block, ratio.
    """
    cells = open_cells(statistics)
    return _by_block(cells[cells["measured"] != ALONE], percentiles.response_column(figure), PLACE)


def _by_block(cells: pd.DataFrame, column: str, place: list[str], inverse: bool = False) -> pd.DataFrame:
    """Each setting's figure over the base's, or the `inverse`, in every block and at every place that has both."""
    parts = []
    for mix, of_mix in cells.groupby(MIX, sort=False):
        base = base_of(of_mix)
        wide = of_mix.pivot_table(column, [*place, "block"], "setting")
        if base not in wide:
            continue
        ratios = wide.rdiv(wide[base], axis=0) if inverse else wide.div(wide[base], axis=0)
        long = ratios.drop(columns=base).melt(ignore_index=False, value_name="ratio").dropna().reset_index()
        parts.append(long.join(pd.DataFrame([[*mix, base]], long.index, [*MIX, "base"])))
    columns = [*MIX, *place, "setting", "base", "block", "ratio"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _over_blocks(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Geometric means of ratios over blocks, with bounds, by what `keys` says; settings from weak to strong."""
    rows = []
    for key, group in table.groupby([*keys, "base"], sort=False):
        found = Estimate.ratio(group["ratio"])
        rows.append((*key, len(group), found.value, found.low, found.high))
    made = pd.DataFrame(rows, columns=[*keys, "base", "blocks", "ratio", "low", "high"])
    places = [key for key in keys if key != "setting"]
    ordered = made.assign(strength=made["setting"].map(strength)).groupby(places, sort=False, group_keys=False)
    order = [k for _, part in ordered for k in part.sort_values("strength", kind="stable").index]
    return made.loc[order].reset_index(drop=True)


def closed_by_block(cells: pd.DataFrame, slices: pd.DataFrame, condition: str = "") -> pd.DataFrame:
    """Return what closed loops next to a ladder got done: the base's throughput over each setting's, by block.

    `cells`: columns `schema.CELLS`. `slices`: from `slices.slice_statistics`; guards are not in them.

    Columns as of `capacity_by_block`.
    """
    loops = cells[(cells["kind"] == TRIAL) & (cells["arrivals"] == "") & (cells["condition"] == condition)]
    loops = loops[~marked(loops, Mark.CLIENT)]
    done = slices.groupby("cell_id")[["n_ok", "counted_s"]].sum()
    per_s = loops["cell_id"].map(done["n_ok"] / done["counted_s"]).astype(float)
    setting = loops["read_cl"].astype(str) + "/" + loops["write_cl"].astype(str)
    measured = loops.assign(setting=setting, measured=SHARE, at=np.nan, per_s=per_s, response_p50_us=1 / per_s)
    return _by_block(measured[per_s > 0], "per_s", [], inverse=True)


def changes(statistics: pd.DataFrame, cells: pd.DataFrame, slices: pd.DataFrame, condition: str) -> pd.DataFrame:
    """Return how a condition changes what settings cost: prices with it over those without, within blocks.

    `statistics`: from `cells.cell_statistics`. `cells`, `slices`: as in `closed_by_block`. `condition`: as cells have
    it, such as `own_processor`, with a search for what is carried of its own.

    Columns: `MIX`, price ('closed' and 'capacity', or a figure of `COMPARED` for waiting), at (NaN but for waiting),
    setting, base, blocks; without, with and change, each with bounds (without_low and so on). Of the blocks that have
    both; where none has, the prices are each side's own, and there is no change.
    """
    bounded = [f"{name}{side}" for name in ("without", "with", "change") for side in ("", "_low", "_high")]
    rows, keys = [], [*MIX, "at", "setting", "base"]
    columns = [*MIX, "price", "at", "setting", "base", "blocks", *bounded]
    arms = [statistics[statistics["condition"] == which].assign(condition="") for which in ("", condition)]
    if arms[1].empty:
        return pd.DataFrame(columns=columns)
    pairs = {
        "closed": [closed_by_block(cells, slices, which) for which in ("", condition)],
        "capacity": [capacity_by_block(arm) for arm in arms],
        **{figure: [waiting_by_block(arm, figure) for arm in arms] for figure in COMPARED},
    }
    for price, pair in pairs.items():
        without, with_it = (table if "at" in table else table.assign(at=np.nan) for table in pair)
        both = without.merge(with_it, "outer", on=[*keys, "block"], suffixes=("_without", "_with"))
        for key, of_key in both.groupby(keys, sort=False, dropna=False):
            paired = of_key.dropna(subset=["ratio_without", "ratio_with"])
            group = of_key if paired.empty else paired
            row = dict(zip(keys, key, strict=True)) | {"price": price, "blocks": len(paired)}
            ratios = {"without": group["ratio_without"], "with": group["ratio_with"]}
            for name, values in (ratios | {"change": ratios["with"] / ratios["without"]}).items():
                found = Estimate.ratio(values.dropna()) if values.notna().any() else _NOTHING
                row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
            rows.append(row)
    return pd.DataFrame(rows, columns=columns)


def strength(setting: str) -> str:
    """Sort key of a setting: from weak to strong, by its reads first."""
    order = {level: f"{place:02d}" for place, level in enumerate(summaries.LEVEL_ORDER)}
    return "/".join(order.get(level, "99" + level) for level in setting.split("/"))


def base_of(cells: pd.DataFrame) -> str:
    """Setting of one mix that others are compared with: the weakest that there may be, otherwise the fastest."""
    together = cells[cells["measured"] != ALONE]
    there = set(together["setting"])
    if known := [name for name in WEAKEST if name in there]:
        return known[0]
    logs = np.log(together["response_p50_us"].where(together["response_p50_us"] > 0))
    wide = together.assign(log=logs).pivot_table("log", ["block", "at"], "setting").dropna()
    return str(wide.mean().idxmin()) if len(wide) else ""


def _row(group: pd.DataFrame, base: str, n: Replication) -> dict[str, Any]:
    known, here = group[group["response_us"].notna()], of_one_machine(group)
    lost, limited = (marked(group, mark) for mark in (Mark.NOT_CARRIED, Mark.CLIENT))
    first = group.iloc[0]
    row: dict[str, Any] = {name: first[name] for name in ("kind", "operation", "read_cl", "write_cl")}
    row |= survived(first, n) | {
        "level": first["setting"], "rate_per_s": _geometric(here["rate_per_s"]),
        "rate_least_per_s": here["rate_per_s"].min(),
        "rate_most_per_s": here["rate_per_s"].max(), "own_share": _geometric(here["own_share"]),
        "blocks": known["block"].nunique(), "not_carried": int((lost & ~limited).sum()),
        "beyond_client": int((lost & limited).sum()),
        "base": base, "interval": uncertainty.NOTHING,
    }  # fmt: skip
    row |= {name: int(np.nansum(group[column].astype(float))) for name, column in _COUNTS.items()}
    row |= {name: group[name].max() for name in ("late_p50_us", "late_p99_us")}
    if len(known):
        _figures(row, known)
    client = bool(marked(known, *CLIENT_MARKS).any())
    return row | {"client": client, "marks": summaries.all_marks(group["marks"])}


def _figures(row: dict[str, Any], known: pd.DataFrame) -> None:
    estimate_into(row, known, "throughput_per_s", "throughput_per_s")
    for name in percentiles.FIGURES:
        if percentiles.supported(name, float(known["n_ok"].min())):
            estimate_into(row, known, percentiles.response_column(name), percentiles.COLUMNS[name])


def _geometric(values: pd.Series) -> float:
    known = values[values > 0]
    return float(np.exp(np.log(known).mean())) if len(known) else float("nan")


def _columns() -> list[str]:
    figures = ["throughput_per_s", *percentiles.COLUMNS.values()]
    bounded = [name for figure in figures for name in (figure, *(summaries.bound(figure, s) for s in ("low", "high")))]
    ratios = [f"ratio_{name}{side}" for name in COMPARED for side in ("", "_low", "_high")]
    rates = ["rate_per_s", "rate_least_per_s", "rate_most_per_s", "own_share"]
    before = ["kind", *MIX, "operation", *PLACE, "setting", "level", "read_cl", "write_cl", *_SURVIVES,
              *rates, "blocks", "not_carried", "beyond_client"]  # fmt: skip
    return [
        *before, "interval", *_COUNTS, *bounded, "base", *ratios, "late_p50_us", "late_p99_us", "client", "marks"
    ]  # fmt: skip


def _with_ratios(table: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Put in the ratios of settings to the base of their mix: at the same arrivals, block by block."""
    together, keys = cells[cells["measured"] != ALONE], [*MIX, *PLACE, "setting"]
    for name in COMPARED:
        found = _over_blocks(_by_block(together, percentiles.response_column(name), PLACE), keys)
        ratios = table[[*keys, "base"]].merge(found, "left", [*keys, "base"])[["ratio", "low", "high"]]
        columns, figure = [f"ratio_{name}{side}" for side in ("", "_low", "_high")], percentiles.COLUMNS[name]
        table[columns] = ratios.where(table[figure].notna()).to_numpy(float)
    return table


def carried(statistics: pd.DataFrame) -> pd.DataFrame:
    """What each setting carried before and after the ladder of a mix, over blocks.

    Columns: `MIX` but for arrivals, operation, setting, blocks; carried_per_s, carried_after_per_s and change (after
    divided by before, within blocks), each with bounds (carried_low_per_s, change_low and so on).
    """
    rows, keys = [], [*MIX[:-1], "operation", "setting"]
    cells = open_cells(statistics)
    for key, group in cells[cells["carried_per_s"] > 0].groupby(keys, sort=False):
        by_block = of_one_machine(group).groupby("block")[["carried_per_s", "carried_after_per_s"]].first()
        by_block["change"] = by_block["carried_after_per_s"] / by_block["carried_per_s"]
        row = dict(zip(keys, key, strict=True)) | {"blocks": len(by_block)}
        for name, bounds in _CARRIED.items():
            known = by_block[name][by_block[name] > 0]
            estimate = Estimate.ratio(known) if len(known) else _NOTHING
            row |= dict(zip((name, *bounds), (estimate.value, estimate.low, estimate.high), strict=True))
        rows.append(row)
    columns = [*keys, "blocks", *(column for name, bounds in _CARRIED.items() for column in (name, *bounds))]
    table = pd.DataFrame(rows, columns=columns)
    keyed = table.assign(strength=table["setting"].map(strength), share=-table["read_share"].astype(float))
    return table.loc[keyed.sort_values([*MIX[:3], "share", "strength"], kind="stable").index].reset_index(drop=True)


_CARRIED = {
    "carried_per_s": ("carried_low_per_s", "carried_high_per_s"),
    "carried_after_per_s": ("carried_after_low_per_s", "carried_after_high_per_s"),
    "change": ("change_low", "change_high"),
}
