"""The chapter on the price at a given load: capacity and waiting, what limits, dead nodes, data centres, prediction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.book.provenance import Source
from cassbook.core import consistency
from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import OPEN, Mark, marked, of_one_machine
from cassbook.deployment.notation import labels
from cassbook.latency import lightest, load_limits
from cassbook.latency.open_results import (
    COMPARED,
    MIX,
    SHARE,
    by_condition,
    capacity_ratios,
    changes,
    open_cells,
    open_results,
    strength,
    waiting_by_block,
)
from cassbook.latency.under_trouble import times_all_well
from cassbook.records.calibration import CalibrationRun
from cassbook.records.fault_summary import PHASES, p99_by_phase
from cassbook.records.faults import FaultRun
from cassbook.records.network_load import NetworkLoad
from cassbook.records.results import replicas, replication
from cassbook.records.run import RecordedRun
from cassbook.shown.tables import Format, estimates, titled

#: Shares of capacity at which the plan compares settings (data/PLAN.md).
PRIMARY = (0.4, 0.6)
#: Half-widths of the 95 % intervals, in percent, that the plan aims at.
AIMS = {"p50": 5, "mean": 10, "p99": 30}
#: Parts of a strike and what else may be wrong, as columns of a table, in order.
_CONDITIONS = {
    "": "all well", "kill_unnoticed": "dead, unnoticed", "kill_asked": "asked of the dead node",
    "kill_noticed": "just noticed", "dead_node": "dead, noticed", "pause_unnoticed": "hangs, unnoticed",
    "pause_asked": "asked of the node that hangs",
}  # fmt: skip
#: A price that changes by less than this factor stays about the same (data/PLAN.md).
_ALIKE = 1.25
#: Shares of capacity at which it compares waiting with other processors.
_WITH_OTHER_PROCESSORS = (0.2, 0.8)
_HIGHER, _LOWER, _SAME, _NOT_KNOWN = "higher", "lower", "about the same", "not known"
_NOTHING = Estimate(np.nan, np.nan, np.nan)


def run_at_shares(source: Source) -> RecordedRun:
    """Return the run of a source.

    Raises LackingError if it has no cells under open arrivals at shares of capacity.
    """
    if source.run is None or not (source.run.cells["load_share"].notna() & (source.run.cells["kind"] == OPEN)).any():
        raise LackingError(f"{source.label} has no open arrivals at shares of what the weakest setting carries")
    return source.run


def mix_name(read_share: float) -> str:
    """Name a mix as people do.

    >>> [mix_name(share) for share in (1.0, 0.0, 0.9)]
    ['reads alone', 'updates alone', '90 % reads']
    """
    return {1.0: "reads alone", 0.0: "updates alone"}.get(read_share, f"{100 * read_share:.0f} % reads")


def setting_name(setting: str, read_share: float) -> str:
    """Name a setting by the levels that count in a mix.

    >>> setting_name("QUORUM/QUORUM", 1.0), setting_name("ONE/ALL", 0.5)
    ('QUORUM', 'ONE/ALL')
    """
    read, _, write = setting.partition("/")
    return {1.0: read, 0.0: write}.get(read_share, setting)


def _rows(table: pd.DataFrame, shares: Iterable[float]) -> pd.DataFrame:
    wanted = [round(share, 6) for share in shares]
    return table[(table["measured"] == SHARE) & table["at"].isin(wanted)]


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Index rows by mix, setting and share in words; the base of each mix is left out."""
    mixes = [mix_name(share) for share in table["read_share"].astype(float)]
    settings = list(map(setting_name, table["setting"], table["read_share"].astype(float)))
    keys = {"mix": mixes, "setting": settings} | ({"share": table["at"].to_numpy()} if "at" in table else {})
    return table.set_axis(pd.MultiIndex.from_arrays(list(keys.values()), names=list(keys)))


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by mix, reads alone first, then setting, from weak to strong, and share."""
    keys = table.assign(mix=-table["read_share"].astype(float), strength=table["setting"].map(strength))
    return table.loc[keys.sort_values(["mix", "strength", "at"], kind="stable").index]


def prices(source: Source, shares: Sequence[float] = PRIMARY) -> pd.DataFrame:
    """Return what stronger settings cost: in capacity, and in response time at the same arrivals.

    Index mix, setting, share (of what the weakest setting carries). Columns capacity (Estimate: what the weakest
    carries over what this one does), rate_per_s, own_share, p50, mean, p99 (Estimate: over the weakest setting's,
    within blocks), p50_ms, p99_ms (Estimate), blocks, not_carried, marks.

    Raises LackingError for a run without open arrivals at those shares.
    """
    run = run_at_shares(source)
    table = _rows(open_results(run.statistics, replicas(run)), shares)
    table = table[table["setting"] != table["base"]]
    if table.empty:
        listed = " and ".join(f"{share:g}" for share in shares)
        raise LackingError(f"{source.label} has no two settings at {listed} of what the weakest carries")
    carried = _of_capacity(run)
    keys = table[[*MIX, "setting"]].itertuples(index=False, name=None)
    found = pd.DataFrame({
        "capacity": [carried.get(key, _NOTHING) for key in keys],
        "rate_per_s": table["rate_per_s"].to_numpy(), "own_share": table["own_share"].to_numpy(),
        **{name: estimates(table, f"ratio_{name}", f"ratio_{name}_low", f"ratio_{name}_high").to_numpy()
           for name in COMPARED},
        **{f"{name}_ms": _ms(table, name) for name in ("p50", "p99")},
        **{name: table[name].to_numpy() for name in ("blocks", "not_carried", "marks")},
    }, _named(table).index)  # fmt: skip
    return found


def _of_capacity(run: RecordedRun) -> dict[tuple[object, ...], Estimate]:
    """Return what settings cost in capacity, by mix and setting."""
    carried = capacity_ratios(run.statistics)
    keys = carried[[*MIX, "setting"]].itertuples(index=False, name=None)
    return dict(zip(keys, estimates(carried, "ratio"), strict=True))


def _ms(table: pd.DataFrame, figure: str) -> list[Estimate]:
    """Return a figure of response times as Estimates in ms."""
    column = "latency" if figure == "mean" else figure
    found = estimates(table, f"{column}_us", f"{column}_low_us", f"{column}_high_us")
    return [estimate.times(1e-3) for estimate in found]


def prices_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `prices` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "capacity": ("capacity: times fewer requests", ".2f"), "p50": ("median, times", ".2f"),
        "mean": ("mean, times", ".2f"), "p99": ("p99, times", ".2f"), "p50_ms": ("median, ms", ".2f"),
        "p99_ms": ("p99, ms", ".1f"), "own_share": ("share of its own capacity", ".2f"),
        "blocks": ("cluster starts", ""), "marks": ("marks", ""),
    }  # fmt: skip
    return titled(table.assign(marks=table["marks"].str.replace(";", ", ")), columns, missing="not carried")


def steady(source: Source, figure: str = "p50", shares: Sequence[float] = PRIMARY) -> pd.DataFrame:
    """Return prices in waiting of all cells, and of those whose setting carried the same before and after them.

    `figure`: one of `COMPARED`. Index mix, setting, share; columns whole and steady (Estimate; `n` cluster starts).
    """
    statistics = run_at_shares(source).statistics
    found = {}
    for name, cells in (("whole", statistics), ("steady", statistics[~marked(statistics, Mark.DRIFT)])):
        ratios = _rows(waiting_by_block(cells, figure), shares).groupby([*MIX, "setting", "at"], sort=False)["ratio"]
        found[name] = {key: Estimate.ratio(own) for key, own in ratios}
    keys = _in_order(pd.MultiIndex.from_tuples(found["whole"], names=[*MIX, "setting", "at"]).to_frame(index=False))
    rows = list(keys.itertuples(index=False, name=None))
    table = pd.DataFrame({name: [of.get(row, _NOTHING) for row in rows] for name, of in found.items()})
    return table.set_index(_named(keys).index)


def steady_shown(table: pd.DataFrame, figure: str = "p50") -> pd.DataFrame:
    """Return `steady` in words; `figure` names what is compared."""
    words = titled(table, {
        "whole": (f"{figure}, times: all cells", ".2f"), "steady": ("without those that drifted", ".2f"),
    }, missing="all drifted")  # fmt: skip
    return words.assign(**{"cluster starts left": [one.n if one.value > 0 else 0 for one in table["steady"]]})


def reached(source: Source) -> pd.DataFrame:
    """Return how narrow the intervals of the plan's primary figures became, and what the aims would take.

    Index mix, setting, share. Of each figure the half-width of its ratio's 95 % interval in percent, p50_percent and so
    on, and p50_starts: cluster starts for the aim, by the spread between those that there are.
    """
    table = prices(source)
    found = pd.DataFrame(index=table.index)
    for name, aim in AIMS.items():
        percent = np.array([one.half_width_percent for one in table[name]])
        found[f"{name}_percent"] = percent
        # the width falls with the root of the starts, if Student's factor is left as it is
        logs = np.log1p(percent / 100) / np.log1p(aim / 100)
        found[f"{name}_starts"] = np.ceil(table["blocks"].to_numpy() * logs**2)
    return found


def reached_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `reached` in words."""
    columns: dict[str, tuple[str, Format]] = {}
    for name, aim in AIMS.items():
        columns[f"{name}_percent"] = (f"{name}, half-width, %", ".0f")
        columns[f"{name}_starts"] = (f"{name}, cluster starts for {aim} %", ",.0f")
    return titled(table, columns, missing="not known")


def price_curves(source: Source, figures: Sequence[str] = ("p50", "p99")) -> Figure:
    """Draw what each setting costs in response time over the share of capacity, mix by mix, with its interval."""
    run = run_at_shares(source)
    table = open_results(run.statistics, replicas(run))
    table = table[(table["measured"] == SHARE) & (table["setting"] != table["base"])]
    wide = table.groupby("read_share")["at"].nunique()
    mixes = sorted(wide.index[wide >= 3], reverse=True)  # noqa: PLR2004 - a curve
    if not mixes:
        raise LackingError(f"{source.label} has no mix at three shares of capacity")
    figure, axes = panels(len(figures), len(mixes), width=3.6, sharex=True, sharey="row")
    for row, name in zip(axes, figures, strict=True):
        for panel, mix in zip(row, mixes, strict=True):
            _curves(panel, table[table["read_share"] == mix], name)
            panel.set_title(mix_name(float(mix)))
            panel.axhline(1, color="grey", linewidth=0.8)
            panel.set_yscale("log")
        row[0].set_ylabel(f"{name} / that of the weakest setting")
    for panel in axes[-1]:
        panel.set_xlabel("share of what the weakest carries")
    for panel in axes[0]:
        panel.legend()
    return done(figure)


def _curves(panel: Any, table: pd.DataFrame, name: str) -> None:
    for setting, own in table.groupby("setting", sort=False):
        known = own[own[f"ratio_{name}"].notna()].sort_values("at")
        colour = palette.setting(str(setting))
        called = setting_name(str(setting), float(own["read_share"].iloc[0]))
        panel.plot(known["at"], known[f"ratio_{name}"], "o-", color=colour, markersize=4, label=called)
        panel.fill_between(
            known["at"], known[f"ratio_{name}_low"], known[f"ratio_{name}_high"], color=colour, alpha=0.18, linewidth=0
        )


def why(source: Source, calibration: CalibrationRun | None = None, jobs: int = 100) -> pd.DataFrame:
    """Return why settings differ: processor time of the nodes per request, capacity, and what the network says of both.

    `jobs`: requests in flight of the network's closed loop. Index mix, setting; columns node_us (Estimate), times
    (times the base's), capacity (times fewer requests carried), network_open and network_closed (times fewer
    by the calibrated network, by the station that is busy first and in a closed loop), all Estimates.

    Raises LackingError for a run that does not say what its nodes took.
    """
    run = run_at_shares(source)
    demands = load_limits.demands(run.statistics)
    carried = _of_capacity(run)
    network = None if calibration is None else _network(run, calibration)
    table, one = demands.reset_index(), Estimate(1.0, 1.0, 1.0)
    keys = table[[*MIX, "setting"]].itertuples(index=False, name=None)
    capacities = [
        one if setting == base else carried.get(key, _NOTHING)
        for key, setting, base in zip(keys, table["setting"], table["base"], strict=True)
    ]
    columns = {"capacity": pd.Series(capacities, table.index, dtype=object)}
    for name, closed in (("network_open", 0), ("network_closed", jobs)):
        priced = [
            _NOTHING if network is None else network.price(float(share), str(setting), str(base), closed)
            for share, setting, base in table[["read_share", "setting", "base"]].itertuples(index=False, name=None)
        ]
        columns[name] = pd.Series(priced, table.index, dtype=object)
    table = table.assign(**columns)
    return _named(table)[["node_us", "times", "capacity", "network_open", "network_closed"]]


def _network(run: RecordedRun, calibration: CalibrationRun) -> NetworkLoad:
    nodes = run.manifest["profile"]["cluster"]["nodes"]
    return NetworkLoad(calibration.calibrated(), nodes, replication(run) or nodes)


def why_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `why` in words."""
    return titled(table, {
        "node_us": ("nodes' processor time per request, us", ".0f"), "times": ("times the weakest's", ".2f"),
        "capacity": ("measured: times fewer requests carried", ".2f"),
        "network_open": ("network, open: times fewer", ".2f"),
        "network_closed": ("network, closed: times fewer", ".2f"),
    }, missing="")  # fmt: skip


def network_errors(source: Source, calibration: CalibrationRun) -> pd.DataFrame:
    """Hold the calibrated network's mean response against what was measured, at the same share of each capacity.

    Index mix, setting, share. Columns own_share (of what the setting carries; geometric mean over blocks), measured_ms
    (Estimate), network_ms, ratio (Estimate: network over measured, over blocks), blocks.

    Raises LackingError for a run without open arrivals at shares of capacity.
    """
    run = run_at_shares(source)
    network, cells = _network(run, calibration), of_one_machine(open_cells(run.statistics))
    cells = cells[(cells["measured"] == SHARE) & cells["response_us"].notna() & (cells["own_share"] > 0)]
    rows = []
    for key, own in cells.groupby(["read_share", "setting", "at"], sort=False):
        read_share, setting, at = map(str, key)
        share = Estimate.positive(own["own_share"].astype(float)).value
        network_ms = network.response_ms(setting, float(read_share), share)
        measured_ms = own["response_us"] / 1e3
        rows.append({
            "read_share": float(read_share), "setting": setting, "at": float(at), "own_share": share,
            "measured_ms": Estimate.positive(measured_ms), "network_ms": network_ms,
            "ratio": _ratio(network_ms / measured_ms), "blocks": len(own),
        })  # fmt: skip
    return _named(_in_order(pd.DataFrame(rows)))[["own_share", "measured_ms", "network_ms", "ratio", "blocks"]]


def network_curves(errors: pd.DataFrame) -> Figure:
    """Draw `network_errors`: the network's curve over the share of a setting's own capacity, and what was measured."""
    mixes = list(errors.index.unique("mix"))
    figure, axes = panels(1, len(mixes), width=3.6, sharex=True, sharey=True)
    for panel, mix in zip(axes[0], mixes, strict=True):
        for place, (setting, own) in enumerate(errors.loc[mix].groupby(level="setting", sort=False)):
            colour = palette.setting(str(setting), place)
            measured = list(own["measured_ms"])
            around = [[one.value - one.low for one in measured], [one.high - one.value for one in measured]]
            values = [one.value for one in measured]
            panel.errorbar(own["own_share"], values, around, fmt="o", markersize=4, color=colour, label=setting)
            panel.plot(own["own_share"], own["network_ms"], "--", color=colour)
        panel.set(title=mix, yscale="log", xlabel="share of the setting's own capacity")
        panel.legend()
    axes[0][0].set_ylabel("mean response, ms")
    return done(figure)


def network_off_shown(errors: pd.DataFrame) -> pd.DataFrame:
    """Return by how much the network is off, as a factor, by share of capacity and mix; `errors`: `network_errors`."""
    table = errors.reset_index().rename(columns={"share": "at", "mix": "method"})
    off = lightest.off(table.assign(ratio=[ratio.value for ratio in table["ratio"]])).unstack("method")  # noqa: PD010
    words = off.map(lambda factor: "" if np.isnan(factor) else f"{factor:.2f}")
    return words[list(errors.index.unique("mix"))].rename_axis(index="share of capacity", columns=None)


def taken(source: Source, share: float) -> pd.DataFrame:
    """Return what the load takes of the machine at a share of capacity.

    Index mix, setting; columns as of `load_limits.limits`: parts of all processors that the nodes, the client and all
    together take, part of the time that the busiest disk is busy, and MB a second through the loopback.
    """
    run = run_at_shares(source)
    table = load_limits.limits(run.statistics, int(run.manifest["machine"]["cores"])).reset_index()
    table = table[table["at"] == round(share, 6)]
    if table.empty:
        raise LackingError(f"{source.label} has no cells at {share:g} of what the weakest setting carries")
    return _named(table.drop(columns="at"))[["nodes", "client", "busy", "disk", "wire_mb_per_s"]]


def taken_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `taken` in words."""
    parts = table[["nodes", "client", "busy", "disk"]].map(lambda part: part.times(100))
    columns: dict[str, tuple[str, Format]] = {
        "nodes": ("nodes, % of the processors", ".0f"), "client": ("client, %", ".0f"), "busy": ("all, %", ".0f"),
        "disk": ("disk busy, % of the time", ".1f"), "wire_mb_per_s": ("loopback, MB/s", ".0f"),
    }  # fmt: skip
    return titled(parts.assign(wire_mb_per_s=table["wire_mb_per_s"]), columns, missing="not known")


def troubled(source: Source, figure: str = "p99") -> pd.DataFrame:
    """Return a figure of the response time while a node is dead or hangs, next to all well.

    `figure`: p50, mean, p95 or p99. Index mix, setting, share; columns as `_CONDITIONS` names them, Estimates in ms
    over blocks; one strike is one observation.

    Raises LackingError for a run without trouble.
    """
    run = run_at_shares(source)
    by = by_condition(run.statistics, replicas(run))
    by = by[by["condition"].isin(_CONDITIONS)]
    if by.empty:
        raise LackingError(f"{source.label} has no open arrivals with a node dead")
    whole = pd.concat([open_results(run.statistics, replicas(run)).assign(condition=""), by], ignore_index=True)
    whole = whole[whole["measured"] == SHARE]
    whole = whole.assign(figure=pd.Series(_ms(whole, figure), whole.index, dtype=object))
    wide = whole.set_index(["read_share", "setting", "at", "condition"])["figure"].unstack("condition")  # noqa: PD010
    struck = wide[[name for name in wide if name]].notna().any(axis=1)
    wide = wide.loc[struck, [name for name in _CONDITIONS if name in wide]].rename(columns=_CONDITIONS)
    order = {key: place for place, key in enumerate(whole.set_index(["read_share", "setting", "at"]).index.unique())}
    wide = wide.loc[sorted(wide.index, key=lambda key: order[key])]
    named = _named(wide.reset_index())[list(wide.columns)]
    return named.rename_axis(columns=None)


def troubled_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `troubled` in words."""
    return titled(table, {name: (f"{name}, ms", ".1f") for name in table.columns}, missing="")


def _ratio(ratios: pd.Series) -> Estimate:
    known = ratios.dropna()
    return Estimate.ratio(known) if len(known) else _NOTHING


def while_unnoticed(source: Source, faults: FaultRun, schedule: str = "faults-kill") -> pd.DataFrame:
    """Return p99 while a node's death is unnoticed, and then noticed, over p99 before it.

    In a record of faults requests of all settings go through the same coordinators; in the run of a source each setting
    was struck while it was the only load. Index load, setting; columns unnoticed and noticed (Estimates over kills,
    taken within a cluster start).

    Raises LackingError for a run without trouble.
    """
    run = run_at_shares(source)
    alone = times_all_well(run.statistics, 0.5)
    if not alone:
        raise LackingError(f"{source.label} has no open arrivals with a node dead")
    of_faults = p99_by_phase(faults, schedule)
    of_faults = of_faults[of_faults["fault"] == "kill"]
    rows: dict[tuple[str, str], dict[str, Estimate]] = {}
    for name, own in of_faults.groupby("setting", sort=False):
        by_start = own.groupby("start")[list(PHASES)].median()
        rows["all settings in one load", consistency.setting(str(name)).levels] = {
            phase: _ratio(by_start[phase] / by_start["before"]) for phase in ("unnoticed", "noticed")
        }
    rows |= {("this setting alone", levels): of for levels, of in alone.items()}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["load", "setting"])
    return table.reindex(columns=["unnoticed", "noticed"])


def while_unnoticed_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `while_unnoticed` in words."""
    return titled(table, {
        "unnoticed": ("until it is noticed: times p99 before", ".1f"), "noticed": ("then: times p99 before", ".1f"),
    }, missing="")  # fmt: skip


def other_processors(run: RecordedRun, condition: str) -> pd.DataFrame:
    """Return how prices change with a processor of one's own, or a quota, for each node.

    `condition`: as cells have it. Index mix, price, share (NaN but for waiting), setting; columns without, with and
    change (Estimates), blocks.

    Raises LackingError if the run has no such arm.
    """
    table = changes(run.statistics, run.cells, run.slices, condition)
    if table.empty:
        raise LackingError(f"{run.name} has no cells with {condition.replace('_', ' ')}")
    table["mix"] = [mix_name(float(share)) for share in table["read_share"]]
    table["setting"] = list(map(setting_name, table["setting"], table["read_share"].astype(float)))
    for name in ("without", "with", "change"):
        table[name] = estimates(table, name, f"{name}_low", f"{name}_high").to_numpy()
    kept = table.rename(columns={"at": "share"}).set_index(["mix", "price", "share", "setting"])
    return kept[["without", "with", "change", "blocks"]]


def verdict(change: Estimate) -> str:
    """Say whether a price changes, by the rule of the plan.

    >>> [verdict(Estimate(*values)) for values in ((2.0, 1.1, 3.0), (1.0, 0.9, 1.2), (1.0, 0.7, 1.2))]
    ['higher', 'about the same', 'not known']
    """
    if change.low > 1 or change.high < 1:
        return _HIGHER if change.low > 1 else _LOWER
    return _SAME if change.low >= 1 / _ALIKE and change.high <= _ALIKE else _NOT_KNOWN


def other_processors_quoted(table: pd.DataFrame, arm: str) -> dict[str, str]:
    """Return of how many of the plan's primary prices what is known, in capacity and in waiting, by names of `arm`."""
    rows = table.reset_index()
    capacity = rows["price"].isin(["closed", "capacity"])
    waiting = (rows["price"] == "p50") & rows["share"].isin(_WITH_OTHER_PROCESSORS)
    values: dict[str, str] = {}
    for name, chosen in (("capacity", capacity), ("waiting", waiting)):
        found = rows.loc[chosen, "change"].map(verdict)
        values |= {
            f"{arm}_{name}_{word.split()[-1]}": f"{int((found == word).sum())} of {len(found)}"
            for word in (_HIGHER, _LOWER, _SAME, _NOT_KNOWN)
        }
    return values


def other_processors_shown(table: pd.DataFrame, arm: str) -> pd.DataFrame:
    """Return `other_processors` in words; `arm` names the column with it."""
    words = titled(table.assign(verdict=table["change"].map(verdict)), {
        "without": ("shared processors", ".2f"), "with": (arm, ".2f"), "change": ("ratio of the two", ".2f"),
        "verdict": ("with it the price is", ""), "blocks": ("cluster starts", ""),
    }, missing="no price")  # fmt: skip
    prices_of = {"closed": "capacity, closed loop", "capacity": "capacity, open arrivals"}
    index = words.index.to_frame(index=False)
    index["price"] = [prices_of.get(price, f"{price} at the same arrivals") for price in index["price"]]
    index["share"] = ["" if np.isnan(share) else f"{share:g}" for share in index["share"]]
    words.index = pd.MultiIndex.from_frame(index)
    return words


def deployments(run: RecordedRun) -> dict[str, str]:
    """Return names of a run's deployments, by what cells call them."""
    return {called: name for name, called in labels(run.manifest["profile"]["distance"]["deployments"]).items()}


def data_centres(source: Source) -> pd.DataFrame:
    """Return the prices of a run with several deployments, each by itself.

    Index deployment, setting, share; columns p50_ms and p99_ms (Estimate), p50 and p99 (Estimate, over the weakest
    setting's), capacity, survives (reads, writes: dead replicas), blocks.
    """
    run = run_at_shares(source)
    table = open_results(run.statistics, replicas(run))
    table = table[table["measured"] == SHARE]
    known, one = _of_capacity(run), Estimate(1.0, 1.0, 1.0)
    keys = table[[*MIX, "setting"]].itertuples(index=False, name=None)
    of_capacity = [known.get(key, one) for key in keys]
    index = pd.MultiIndex.from_frame(table[["deployment", "setting", "at"]].rename(columns={"at": "share"}))
    return pd.DataFrame({
        **{f"{name}_ms": _ms(table, name) for name in ("p50", "p99")},
        **{name: estimates(table, f"ratio_{name}", f"ratio_{name}_low", f"ratio_{name}_high").to_numpy()
           for name in ("p50", "p99")},
        "capacity": of_capacity,
        "survives": [f"{r} and {w}" for r, w in zip(table["survives_reads"], table["survives_writes"], strict=True)],
        "blocks": table["blocks"].to_numpy(),
    }, index)  # fmt: skip


def data_centres_shown(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return `data_centres` in words; `names` are those of the deployments."""
    words = titled(table, {
        "p50_ms": ("median, ms", ".1f"), "p99_ms": ("p99, ms", ".1f"), "p50": ("median, times", ".2f"),
        "p99": ("p99, times", ".2f"), "capacity": ("capacity: times fewer requests", ".2f"),
        "survives": ("reads and writes survive", ""), "blocks": ("cluster starts", ""),
    }, missing="")  # fmt: skip
    return words.rename(index=names, level="deployment")


def predictions(source: Source, calibration: CalibrationRun | None = None) -> pd.DataFrame:
    """Return `lightest.predictions` of a run, with the calibrated network where one is given."""
    run = run_at_shares(source)
    network = None if calibration is None else _network(run, calibration).response_ms
    return lightest.predictions(run.statistics, int(run.manifest["machine"]["cores"]), network)


def off_shown(table: pd.DataFrame, shares: Sequence[float] = (0.6, 0.8)) -> pd.DataFrame:
    """Return by how much each method is off at heavier shares, as a factor; `table` is from `predictions`."""
    known = table[table["at"].isin(shares)]
    factors = lightest.off(known).unstack("method")  # noqa: PD010
    beyond = np.isinf(known["ratio"]).groupby([known["at"], known["method"]]).mean()
    below = beyond.unstack("method")  # noqa: PD010
    words = factors.map(lambda factor: "a rate that it has above capacity" if np.isinf(factor) else f"{factor:.2f}")
    return words.where(~((below > 0) & (below < 1)), "above capacity in some").rename_axis("share of capacity")


def quoted(source: Source) -> dict[str, object]:
    """Return what the prose quotes: reads alone and half reads at QUORUM, at the primary shares."""
    table = prices(source)
    values: dict[str, object] = {}
    for mix, setting, short in (("reads alone", "QUORUM", "reads"), ("updates alone", "QUORUM", "updates"),
                                ("50 % reads", "QUORUM/QUORUM", "mixed")):  # fmt: skip
        own = table[(table.index.get_level_values("mix") == mix) & (table.index.get_level_values("setting") == setting)]
        for share, row in zip(own.index.get_level_values("share"), own.to_dict("records"), strict=True):
            at = f"{100 * share:.0f}"
            values |= {f"{short}_p50_{at}": f"{row['p50']:.1f}", f"{short}_p99_{at}": f"{row['p99']:.1f}"}
            values[f"{short}_capacity"] = f"{row['capacity']:.1f}"
    return values


def headline(source: Source, share: float = PRIMARY[0]) -> HTML:
    """Return the front page's sentences: what QUORUM/QUORUM costs in capacity, and in waiting at a share of it.

    Points alone; the chapter has them with their intervals. That one price is the higher is said where these are apart.
    """
    table = prices(source, (share,)).reset_index()
    rows = table[(table["mix"] == mix_name(0.5)) & (table["setting"] == "QUORUM/QUORUM")].to_dict("records")
    if not rows:
        return HTML(f"<p>{source.label} has no half reads at QUORUM/QUORUM.</p>")
    capacity, median, p99 = (rows[0][name] for name in ("capacity", "p50", "p99"))
    first = "QUORUM costs a cluster capacity, and requests time."
    if median.high < capacity.low:
        first = "QUORUM costs a cluster more capacity than it costs requests time."
    elif median.low > capacity.high:
        first = "QUORUM costs requests more time than it costs a cluster capacity."
    return HTML(
        f"<p><b>{first}</b> Half of them reads, a cluster carries {capacity.value:.1f} times as many requests at "
        f"ONE/ONE as at QUORUM/QUORUM. Loaded to {100 * share:.0f} % of what the costliest setting carries, the median "
        f"response takes {median.value:.1f} times as long at QUORUM/QUORUM, and p99 {p99.value:.1f} times.</p>"
    )
