"""Tables and quoted values of the chapter on failures: what each setting makes of each fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import Proportion
from cassbook.core.units import MILLION, PERCENT
from cassbook.latency.under_faults import between
from cassbook.records.fault_costs import while_dead
from cassbook.records.faults import OPERATIONS, VARIANT, FaultRun
from cassbook.shown.outages import share as unanswered_share
from cassbook.shown.tables import spread

#: Counts of `FaultRun.by_fault` as shares: how their column is headed, what all are in its unit, and its decimals.
SHARES: dict[str, tuple[str, float, int]] = {
    "unanswered": ("not answered, %", PERCENT, 1),
    "stale": ("stale, per million", MILLION, 0),
    "back": ("back, per million", MILLION, 0),
}
OF_READS = ("stale", "back")

#: Settings of the schedules on one data centre.
SETTINGS = ("ONE/ONE", "ONE/QUORUM", "1R-3W", "2R-2W", "3R-1W")
#: Schedules that ask what becomes of acknowledged writes when a node is killed.
MEMORY = ("faults-kill", "faults-no-hints", "faults-hint-window", "faults-commit-log")
_OF_FAULT = ["not answered, %", "seconds with failures", "worst p99, ms", "recovered after, s"]
#: Columns of `by_fault` and `overview` that are about answers, and those about data.
ANSWERS = ["not answered, %", "worst p99, ms", "recovered after, s"]
DATA = ["stale, per million", "lost writes"]
DRIVER = "driver"
#: Stands in prose for the figure of a record that has not its schedule, or not its setting.
NOT_RECORDED = "not recorded"
UNNOTICED = "longer than the fault lasted"
#: How the columns of `FaultRun.by_fault` are headed, and how their values are shown.
_SHOWN: dict[str, tuple[str, Callable[[float], str]]] = {
    "failing_s": ("seconds with failures", lambda value: f"{value:.1f}"),
    "worst_p99_ms": ("worst p99, ms", lambda value: f"{value:,.0f}"),
    "recovered_s": ("recovered after, s", lambda value: f"{value:.1f}"),
}


def short(setup: str) -> str:
    """Return a schedule's name as tables and figures show it; `schedules` has its title."""
    return setup.removeprefix("faults-").replace("-", " ")


def schedules(run: FaultRun) -> pd.DataFrame:
    """Return what each schedule does: index its short name, columns what happens and seconds."""
    rows = {short(setup): (run.title(setup), f"{run.length_s(setup):.0f}") for setup in run.setups}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["what happens", "seconds"]).rename_axis("schedule")


def by_fault(run: FaultRun, setup: str, number: int = 1) -> pd.DataFrame:
    """Return what each setting made of one fault of a schedule: index (operation, setting), columns as headed.

    Where there are several drivers or tables, they are in the index too.

    Shares are of all cluster starts together, with bounds that allow for starts that differ. Other values are medians
    over cluster starts, with the least and the most; the last column counts lost writes of the whole schedule in all
    starts.
    """
    made = run.by_fault(setup)
    made = made[made["number"] == number]
    keys = ["operation", "setting", *(name for name in ("driver", "table") if len(made[name].unique()) > 1)]
    groups = made.groupby(keys, sort=False)
    shown = {head: groups[column].apply(spread, shown) for column, (head, shown) in _SHOWN.items()}
    shares = {head: in_text(of_fault(made, keys, column), column) for column, (head, *_) in SHARES.items()}
    table = pd.DataFrame(shares | shown)[[*_OF_FAULT, *(SHARES[name][0] for name in OF_READS)]].fillna("")
    rows = run.results.rows
    lost = rows[rows["setup"] == setup].groupby(keys)["lost"].sum()
    table["lost writes"] = lost.reindex(table.index).where(table.index.get_level_values(0) == "UPDATE").map(_count)
    return table.rename(index=OPERATIONS, level=0)


def quoted(
    pair: Mapping[str, FaultRun], setup: str, wanted: Mapping[str, tuple[str, ...]], number: int = 1
) -> dict[str, str]:
    """Return what the prose quotes of `by_fault`, of each run under the name by which prose calls it.

    Parameters
    ----------
    pair : mapping of str to FaultRun
    setup : str
        '' for the first of each run, which may have other names for the same.
    wanted : mapping of str to tuple of str
        By name: operation, setting (and driver or table, where there are several), and column.
    number : int
        Of the fault.
    """
    tables = {suffix: _or_none(by_fault, run, setup or run.setups[0], number) for suffix, run in pair.items()}
    return {
        f"{name}_{suffix}": _cell(table, tuple(place), column)
        for suffix, table in tables.items()
        for name, (*place, column) in wanted.items()
    }


def _or_none(make: Callable[..., pd.DataFrame], *of: Any) -> pd.DataFrame | None:
    """Make a table; None where the record lacks the schedule."""
    try:
        return make(*of)
    except LackingError:
        return None


def _cell(table: pd.DataFrame | None, place: tuple[str, ...] | str, column: str) -> str:
    """Quote a cell of a table; where there is no such row `NOT_RECORDED`."""
    return NOT_RECORDED if table is None or place not in table.index else str(table.loc[place, column])


def having(runs: Sequence[FaultRun], setup: str) -> list[FaultRun]:
    """Return the runs that have a schedule.

    Raises
    ------
    LackingError
        If none has it.
    """
    found = [run for run in runs if setup in run.setups]
    if not found:
        names = " and ".join(run.results.name for run in runs)
        raise LackingError(f"{names}: there is no schedule {setup}; `cassbook experiment {setup}` records it")
    return found


def profile_of(runs: Sequence[FaultRun], setup: str) -> dict[str, Any]:
    """Return the profile of a schedule, of the first run that has it; raises as `having`."""
    return having(runs, setup)[0].profile(setup)


def labels(runs: Sequence[FaultRun]) -> list[str]:
    """Return what runs are called: their versions, and their names too where two are of one version."""
    engines = [run.engine for run in runs]
    return [run.engine if engines.count(run.engine) == 1 else f"{run.engine} ({run.results.name})" for run in runs]


def unanswered_while_dead(run: FaultRun) -> pd.DataFrame:
    """Return the percent of requests that are not answered while one node of three is dead: as `while_dead`."""
    return while_dead(run).map(str)


def quoted_while_dead(pair: Mapping[str, FaultRun], wanted: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return what prose quotes of `while_dead`, in words, named as by `quoted`; wanted are setting and operation."""
    tables = {suffix: _or_none(while_dead, run) for suffix, run in pair.items()}
    shares = {suffix: {} if table is None else table.to_dict("index") for suffix, table in tables.items()}
    return {
        f"{name}_{suffix}": unanswered_share(of_setting[place][operation], operation)
        if place in of_setting
        else NOT_RECORDED
        for suffix, of_setting in shares.items()
        for name, (place, operation) in wanted.items()
    }


def counted(
    pair: Mapping[str, FaultRun], wanted: Mapping[str, tuple[str, str, str]], driver: str = "", table: str = ""
) -> dict[str, str]:
    """Return what the checker found in all cluster starts of a schedule, named as by `quoted`.

    As '7 of 4,350', and where it found none (or all) with the 95 % bound: '0 of 4,350 (at most 0.085 %)'. Each cluster
    start is a group.

    Parameters
    ----------
    pair : mapping of str to FaultRun
    wanted : mapping of str to (str, str, str)
        By name: schedule (as of `quoted`), setting, and what is counted: 'stale' or 'back' of reads, 'lost' of writes.
    driver, table : str
        By default the first of the schedule.
    """
    found = {}
    for suffix, run in pair.items():
        for name, (setup, of, what) in wanted.items():
            own = _found(run, setup, of, what, driver, table)
            found[f"{name}_{suffix}"] = NOT_RECORDED if own.empty else _with_bound(own[what], own["n"])
    return found


def _with_bound(yes: pd.Series, of: pd.Series) -> str:
    share = Proportion.grouped(yes, of)
    return f"{share.counts} ({share.bounds()} %)" if share.exact else share.counts


def _found(run: FaultRun, setup: str, of: str, what: str, driver: str, table: str) -> pd.DataFrame:
    """Rows of the record, one per cluster start, that have what the checker found of one setting of a schedule."""
    rows = run.results.rows[run.results.rows["setup"] == (setup or run.setups[0])]
    rows = rows if rows.empty else of_one(rows, driver, table)
    return rows[(rows["setting"] == of) & (rows["operation"] == ("UPDATE" if what == "lost" else "READ"))]


def by_version(runs: Sequence[FaultRun], table: Callable[[FaultRun], pd.DataFrame]) -> pd.DataFrame:
    """Return a table of each run that has its schedule, under one another: the version stands before its index.

    Raises
    ------
    LackingError
        If none has it, with what each lacks.
    """
    made, lacks = {}, []
    for label, run in zip(labels(runs), runs, strict=True):
        try:
            made[label] = table(run)
        except LackingError as lacking:
            lacks.append(str(lacking))
    if not made:
        raise LackingError("; ".join(lacks))
    return pd.concat(made, names=["version"])


def trade_offs(runs: Sequence[FaultRun], titles: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    """Return `trade_off` of schedules, by version and title, of the runs that have them; titles are by schedule."""
    made = {
        f"{label}, {title}": _or_none(trade_off, run, setup)
        for setup, title in titles.items()
        for label, run in zip(labels(runs), runs, strict=True)
    }
    found = {title: table for title, table in made.items() if table is not None}
    if not found:
        having(runs, next(iter(titles)))
    return found


def overview(run: FaultRun, setups: Sequence[str] = ()) -> pd.DataFrame:
    """Return what each setting made of each schedule, reads and writes together: index (schedule, setting).

    From when its first fault struck until the load ended; the worst of its faults for p99 and recovery. Shares are of
    all cluster starts together; other values are medians over them, with the least and the most; lost writes are
    counted over all. Of several drivers and tables the first is taken. By default of all schedules.
    """
    parts = {short(setup): _of_schedule(run, setup) for setup in setups or run.setups}
    return pd.concat(parts, names=["schedule"])


def unanswered(run: FaultRun, settings: Sequence[str]) -> pd.DataFrame:
    """Return the percent of requests that were not answered, as `overview` does: index schedule, columns settings.

    Of all cluster starts together, of the schedules that have all of the settings.
    """
    parts = {}
    for setup in run.setups:
        sums = _by_start(run, setup)[["unanswered", "n"]].groupby(level="setting").sum()
        if set(settings) <= set(sums.index):
            parts[short(setup)] = (PERCENT * sums["unanswered"] / sums["n"])[list(settings)]
    return pd.DataFrame(parts).T


def _by_start(run: FaultRun, setup: str) -> pd.DataFrame:
    """What a setting made of a schedule in each cluster start: index (setting, start)."""
    made = of_one(run.by_fault(setup))
    reads = made["operation"] == "READ"
    counted = made.assign(**{name: made[name].where(reads, 0) for name in OF_READS}, reads=made["n"].where(reads, 0))
    of = counted.groupby(["setting", "start"], sort=False)
    return of[["worst_p99_ms", "recovered_s"]].max().join(of[["unanswered", "n", "stale", "reads"]].sum())


def _of_schedule(run: FaultRun, setup: str) -> pd.DataFrame:
    settings = _by_start(run, setup).groupby(level="setting", sort=False)
    texts = {}
    for what, of in (("unanswered", "n"), ("stale", "reads")):
        counts = {name: own[[what, of]].to_numpy().T for name, own in settings if own[of].sum()}
        shares = {name: Proportion.grouped(*own) for name, own in counts.items()}
        texts[SHARES[what][0]] = in_text(pd.Series(shares, dtype=object), what)
    others = {head: settings[column].apply(spread, shown) for column, (head, shown) in _SHOWN.items()
              if column != "failing_s"}  # fmt: skip
    table = pd.DataFrame(texts | others)[[*ANSWERS, DATA[0]]].fillna("")
    lost = run.results.rows.query("setup == @setup and operation == 'UPDATE'").groupby("setting")["lost"].sum()
    table["lost writes"] = lost.reindex(table.index).map(_count)
    return table


def of_one(requests: pd.DataFrame, driver: str = "", table: str = "") -> pd.DataFrame:
    """Return what one driver did on one table: of several the first, unless one is named."""
    chosen = {"driver": driver or requests["driver"].iloc[0], "table": table or requests["table"].iloc[0]}
    return requests[(requests[list(chosen)] == pd.Series(chosen)).all(axis=1)]


def _count(value: float) -> str:
    return "" if np.isnan(value) else f"{value:,.0f}"


def noticed(run: FaultRun, setup: str) -> pd.DataFrame:
    """Return how long driver and nodes took to mark a node down, and up again, in seconds.

    Returns
    -------
    DataFrame
        One row per start, fault and node that observed another; columns as of `FaultRun.noticed`, and who: the driver
        or the other nodes.
    """
    notices = run.noticed(setup)
    notices = notices.assign(who=np.where(notices["observer"] == DRIVER, "the driver", "the other nodes"))
    return notices[notices["observer"] != notices["node"].astype(str)]


def noticed_shown(notices: pd.DataFrame) -> pd.DataFrame:
    """Return `noticed` in words: index (fault, who), medians over starts and nodes, with the least and the most."""
    groups = notices.groupby(["number", "fault", "who"], sort=False)
    seconds = lambda value: f"{value:.1f}"  # noqa: E731
    table = pd.DataFrame(
        {head: groups[column].apply(spread, seconds) for column, head in
         (("down_s", "marked down after, s"), ("up_s", "marked up again after, s"))}
    )  # fmt: skip
    return table.reset_index("number", drop=True)


def noticed_values(pair: Mapping[str, FaultRun], setup: str, fault: str) -> dict[str, str]:
    """Return what prose quotes of `noticed_shown` of the first fault of a kind: driver_down, driver_up, nodes_down,
    named as by `quoted`.

    Each with its unit; `UNNOTICED` where it was not noticed while it lasted.
    """
    wanted = {
        "driver_down": ("the driver", "marked down after, s"), "driver_up": ("the driver", "marked up again after, s"),
        "nodes_down": ("the other nodes", "marked down after, s"),
    }  # fmt: skip
    found = {}
    for suffix, run in pair.items():
        notices = _or_none(noticed, run, setup)
        table = None if notices is None else noticed_shown(notices)
        for name, (who, head) in wanted.items():
            if table is None:
                found[f"{name}_{suffix}"] = NOT_RECORDED
                continue
            seconds = table.loc[[of == (fault, who) for of in table.index], head]
            found[f"{name}_{suffix}"] = f"{seconds.iloc[0]} s" if len(seconds) else UNNOTICED
    return found


def answered_by_dead(run: FaultRun, setup: str, settle_s: float) -> pd.DataFrame:
    """Return the percent of requests answered with no, one and two nodes dead, bounded: index (operation, setting).

    Parameters
    ----------
    run : FaultRun
        Of a schedule that kills nodes one after the other.
    setup : str
    settle_s : float
        Only what was due so long after a node died counts, when the driver knows of it.
    """
    counts: dict[int, list[pd.DataFrame]] = {}
    bins = run.bins_of(setup)
    for start, faults in run.faults(setup).groupby("start"):
        own = bins[bins["start"] == start]
        moments = [0.0, *faults["begins_s"]]
        first_back_s = faults["ends_s"].fillna(run.length_s(setup)).min()
        for dead, (since_s, until_s) in enumerate(zip(moments, [*faults["begins_s"], first_back_s], strict=True)):
            during = between(own, since_s + (settle_s if dead else 0.0), until_s)
            counts.setdefault(dead, []).append(during.groupby(["operation", "setting"], sort=False)[["ok", "n"]].sum())
    table = pd.DataFrame({f"{dead or 'no'} dead": answered(pd.concat(parts)) for dead, parts in counts.items()})
    return table.map(str).rename(index=OPERATIONS, level=0)


def trade_off(run: FaultRun, setup: str, number: int = 1) -> pd.DataFrame:
    """Return latency when all is well against what is lost in a fault, reads and writes together.

    Returns
    -------
    DataFrame
        Index setting; estimates over cluster starts: p50_ms and p99_ms (of each start the median of half seconds before
        the first fault), failed (share of requests that were due in the fault).
    """
    rows = []
    bins = run.bins_of(setup)
    faults = run.faults(setup)
    bounds = faults[faults["number"] == number].groupby("start").agg({"begins_s": "min", "until_s": "max"})
    for start, first_s in faults.groupby("start")["begins_s"].min().items():
        begins_s, until_s = bounds.loc[[start]].to_numpy()[0]
        for name, own in bins[bins["start"] == start].groupby("setting", sort=False):
            before, during = own[own["bin_s"] < first_s - 1], between(own, begins_s, until_s)
            due = during[["ok", "n"]].sum()
            rows.append((name, before["p50_ms"].median(), before["p99_ms"].median(), due["n"] - due["ok"], due["n"]))
    columns = ["setting", "p50_ms", "p99_ms", "unanswered", "n"]
    settings = pd.DataFrame(rows, columns=columns).groupby("setting", sort=False)
    failed = {name: Proportion.grouped(own["unanswered"], own["n"]) for name, own in settings}
    latencies = {name: settings[name].apply(Estimate.positive) for name in ("p50_ms", "p99_ms")}
    return pd.DataFrame(latencies).assign(failed=pd.Series(failed))


def throughput(run: FaultRun, setup: str) -> pd.DataFrame:
    """Return how many requests a second are answered in a closed load: index setting, medians with least and most.

    Before the first fault, while its node is away, and from when the node is back until the end; '-' where it was not
    back by then.
    """
    bins = run.bins_of(setup)
    parts = []
    for start, faults in run.faults(setup).groupby("start"):
        begins_s, ends_s = faults["begins_s"].iloc[0], np.nanmin([faults["ends_s"].iloc[0], run.length_s(setup)])
        windows = {"before": (0.0, begins_s), "node dead": (begins_s, ends_s), "back": (ends_s, run.length_s(setup))}
        for when, (from_s, to_s) in windows.items():
            ok = between(bins[bins["start"] == start], from_s, to_s).groupby("setting", sort=False)["ok"].sum()
            parts.append((ok / (to_s - from_s)).rename("per_s").reset_index().assign(when=f"{when}, answered per s"))
    in_words = lambda values: spread(values, lambda value: f"{value:,.0f}")  # noqa: E731
    table = pd.concat(parts).pivot_table("per_s", "setting", "when", aggfunc=in_words, sort=False)
    heads = [f"{when}, answered per s" for when in windows]
    return table.rename_axis(columns=None).reindex(columns=heads, fill_value="-")


def of_fault(made: pd.DataFrame, keys: Sequence[str], what: str) -> pd.Series:
    """Return a counted share by some keys, of all cluster starts: `Proportion`, None where there was nothing to count.

    Parameters
    ----------
    made : DataFrame
        From `FaultRun.by_fault`, of one fault.
    keys : sequence of str
    what : str
        unanswered (of requests), stale or back (of reads).
    """
    of = made[made["operation"] == "READ"] if what in OF_READS else made
    starts = of.drop_duplicates([*VARIANT, "start"])  # a fault that strikes several nodes at once has one row for each
    sums = starts.groupby([*keys, "start"], sort=False)[[what, "n"]].sum()
    found = {
        place: Proportion.grouped(own[what], own["n"]) for place, own in sums.groupby(list(keys), sort=False)
        if own["n"].sum()
    }  # fmt: skip
    return pd.Series(found, dtype=object).rename_axis(list(keys))


def in_text(shares: pd.Series, what: str) -> pd.Series:
    """Say shares as their column shows them."""
    _, factor, digits = SHARES[what]
    return shares.map(lambda share: share.text(factor, digits))


def answered(counts: pd.DataFrame) -> pd.Series:
    """Return the share answered (`Proportion`) by operation and setting, of one row of ok and n per cluster start."""
    of = counts.groupby(["operation", "setting"], sort=False)
    return pd.Series({place: Proportion.grouped(own["ok"], own["n"]) for place, own in of}).rename_axis(
        ["operation", "setting"]
    )
