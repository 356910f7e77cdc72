"""Tables of the chapter on interleaving: what the design buys, what carries over, and labels that are the same."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cassbook.book import needs
from cassbook.book.chapters import price
from cassbook.book.chapters.latency import nearest
from cassbook.book.gaps import of_each, served
from cassbook.book.provenance import Source
from cassbook.core.balanced_order import balanced_order
from cassbook.core.errors import LackingError
from cassbook.core.estimate import FEWEST, Estimate
from cassbook.core.proportion import share_text
from cassbook.core.schema import without_open
from cassbook.core.units import PERCENT
from cassbook.latency import carry_over, designs, percentiles, prices, same_level
from cassbook.latency.labels import labelled
from cassbook.records.experiment import Results
from cassbook.records.run import RecordedRun
from cassbook.shown.tables import Format, formatted, titled

#: What the experiments call what is asked.
WORDS = {"READ": "reads", "UPDATE": "writes", "MIX": "half reads"}
#: Of the primary ratios: what they are taken of, and the half-width that the number of blocks was chosen for (PLAN.md).
PRIMARY_FIGURES, PLANNED_PERCENT = ("mean", "p50", "p95", "p99"), 10.0
#: Cluster starts of a comparison of labels.
STARTS = 3
#: So many comparisons are simulated.
SIMULATED = 4000
#: Of the slices of `interleaving-carry-over`, what is sent so late counts as settled.
SETTLED_FROM_MS = 2000.0
#: Times since a change that are kept apart.
WINDOWS_MS = (0.0, 100.0, 500.0, 1000.0, 2000.0)
_ALPHA = 0.05


def timeline(run: RecordedRun, operation: str = "READ", threads: int = 100, block: int = 1) -> pd.DataFrame:
    """Return the slices of one group in the order of time: at the thread count that is nearest to `threads`.

    Returns
    -------
    DataFrame
        level, from_s (since the first began), guard_s, counted_s, latency_ms (mean).

    Raises
    ------
    InputError
        If the run has no such group.
    """
    cells = labelled(run.statistics).query("kind == 'pure' and operation == @operation and block == @block")
    table = run.slices.merge(cells[["cell_id", "level", "threads"]], on="cell_id")
    levels = table.groupby("threads")["level"].nunique()
    counts = levels.index[levels > 1]
    if counts.empty:
        raise LackingError(f"{run.name} has no levels of {operation} that alternated in block {block}")
    table = table[table["threads"] == nearest(counts, threads)]
    table = table.sort_values("slice").assign(latency_ms=table["latency_us"] / 1000)
    table["from_s"] -= table["from_s"].min()
    return table[["level", "from_s", "guard_s", "counted_s", "latency_ms"]].reset_index(drop=True)


def primary_half_widths(sources: Sequence[Source]) -> pd.DataFrame:
    """Return how wide the intervals of the primary ratios are: half-widths on the logarithmic scale, in percent.

    Returns
    -------
    DataFrame
        Index (run, ratio of); ratios (how many), median, largest, within (how many are at most `PLANNED_PERCENT`), and
        absolute: the median half-width of the latencies that the ratios are of.
    """
    rows = {}
    for source, figure in itertools.product(served(sources, _with_intervals), PRIMARY_FIGURES):
        of_blocks = pd.concat([price.ratios(source, figure, kind) for kind in ("pure", "mixed")])
        half = prices.prices(of_blocks[of_blocks["threads"] >= price.BUSY_THREADS])["half_width_percent"]
        within = int((half <= PLANNED_PERCENT).sum())
        rows[source.label, figure] = (len(half), half.median(), half.max(), within, _half_of_absolute(source, figure))
    index = pd.MultiIndex.from_tuples(rows, names=["run", "ratio of"])
    return pd.DataFrame(list(rows.values()), index, ["ratios", "median", "largest", "within", "absolute"])


def _with_intervals(source: Source) -> None:
    """Check that a run has ratios of levels with intervals."""
    needs.levels(source)
    closed = without_open(source.cell_stats)
    cells = closed[closed["threads"] >= price.BUSY_THREADS]
    if (blocks := cells["block"].nunique()) < FEWEST:
        at = f"at {price.BUSY_THREADS} threads and more"
        raise LackingError(f"{source.label} has {blocks} block{'s' * (blocks != 1)} {at}; an interval takes {FEWEST}")


def _half_of_absolute(source: Source, figure: str) -> float:
    """Median half-width of a figure of latency itself, as `primary_half_widths` has that of ratios."""
    cells = labelled(source.cell_stats)
    cells = cells[cells["kind"].isin(["pure", "mixed"]) & (cells["threads"] >= price.BUSY_THREADS)]
    groups = cells.groupby(["operation", "level", "threads"])[percentiles.COLUMNS[figure]]
    return float(np.median([Estimate.ratio(group).half_width_percent for _, group in groups]))


def half_widths(results: Results) -> pd.DataFrame:
    """Return ratios of levels by both designs as `designs.compared` does, with half-widths in percent."""
    table = designs.compared(designs.block_ratios(results.rows, results.table("slices")))
    order = pd.Categorical(table["operation"], list(WORDS))
    table = table.assign(order=order).sort_values(["order", "threads", "level"], ignore_index=True)
    halves = [f"half_{name}" for name in (designs.SEQUENTIAL, designs.INTERLEAVED)]
    return table.drop(columns="order").assign(**{name: PERCENT * np.expm1(table[name]) for name in halves})


def half_widths_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return `half_widths` in words: index (asked, threads, ratio), columns (design, ratio or half-width) and gain."""
    names = table["level"] + "/" + table["base"]
    index = pd.MultiIndex.from_arrays([table["operation"].map(WORDS), table["threads"], names])
    columns: dict[str, tuple[tuple[str, str], Format]] = {
        f"{column}_{name}": ((name, title), spec)
        for name in (designs.SEQUENTIAL, designs.INTERLEAVED)
        for column, title, spec in (("ratio", "ratio", ".2f"), ("half", "± %", ".0f"))
    }
    shown = titled(table, {**columns, "gain": (("", "times narrower"), ".1f")})
    return shown.set_index(index).rename_axis(["asked", "threads", "ratio"])


def gains(table: pd.DataFrame) -> dict[str, Estimate]:
    """Return by operation how many times narrower ratios are in slices, over thread counts and levels."""
    return {str(operation): designs.gain(group) for operation, group in table.groupby("operation")}


def attempts_text(results: Results) -> pd.DataFrame:
    """Return `designs.attempts` in words: index what was asked."""
    table = designs.attempts(results.rows, results.table("slices"))
    return formatted(table, ".1f").rename(index=WORDS)


def blocks_needed(results: Results) -> int:
    """Return how many blocks the pilot says that a run needs (`designs.blocks_needed`)."""
    return designs.blocks_needed(half_widths(results)["sd_interleaved"])


def left_by_rule(results: Results) -> pd.DataFrame:
    """Return `off_by_rule` in words: index (asked, level), columns threads."""
    wide = formatted(off_by_rule(results).unstack("threads"), "+.1f")  # noqa: PD010 - of objects
    return wide.rename(index=WORDS, columns="{} threads".format).rename_axis(["asked", "level"]).rename_axis(columns="")


def off_by_rule(results: Results) -> pd.Series:
    """Return how far what the rule counts is from settled, in percent, as `carry_over.left_by_rule` (Estimate)."""
    return pd.Series(carry_over.left_by_rule(_bins(results), _rules(results), SETTLED_FROM_MS)["off"])


def ratios_off_shown(results: Results) -> pd.DataFrame:
    """Return `ratios_off` in words."""
    return titled(ratios_off(results), {"off": ("off by, %", "+.1f")})


def ratios_off(results: Results) -> pd.DataFrame:
    """Return how far ratios are off for what the rule leaves, in percent: index (asked, ratio), column off
    (Estimate).
    """
    table = carry_over.ratios_off(_bins(results), _rules(results), SETTLED_FROM_MS)
    names = table.index.get_level_values("level") + "/" + table.index.get_level_values("base")
    index = pd.MultiIndex.from_arrays([table.index.get_level_values("operation").map(WORDS), names])
    return table[["off"]].set_axis(index).rename_axis(["asked", "ratio"])


def windows_shown(results: Results) -> pd.DataFrame:
    """Return `windows` in words."""
    names = [f"{first:g} to {last:g} ms" for first, last in itertools.pairwise(WINDOWS_MS)]
    return formatted(windows(results), "+.1f").set_axis(names, axis=1)


def windows(results: Results) -> pd.DataFrame:
    """Return how far from settled levels are in `WINDOWS_MS` since a change, in percent: index asked, columns
    (from, to) in ms.
    """
    table = carry_over.by_window(_bins(results), WINDOWS_MS, SETTLED_FROM_MS).rename(index=WORDS).rename_axis("asked")
    columns = pd.MultiIndex.from_tuples(itertools.pairwise(WINDOWS_MS), names=["from_ms", "to_ms"])
    return table.set_axis(columns, axis=1)


def since_change(results: Results) -> pd.DataFrame:
    """Return latency by the time since a change of level (see `carry_over.since_change`)."""
    return carry_over.since_change(_bins(results), SETTLED_FROM_MS)


def _bins(results: Results) -> pd.DataFrame:
    return results.table("bins").merge(results.rows[["start", "panel", "operation", "threads"]])


def _rules(results: Results) -> pd.DataFrame:
    return results.rows[["start", "panel", "guard_ms", "counted_ms"]]


def predecessors(sources: Sequence[Source]) -> pd.DataFrame:
    """Return by how many percent a level differs behind each other level in runs (Estimate, NaN where a run has no such
    pair): index (operation, level, after), columns labels of runs.
    """
    return pd.DataFrame(of_each(sources, _behind)).rename(index=price.SETTINGS)


def predecessors_shown(sources: Sequence[Source]) -> pd.DataFrame:
    """Return `predecessors` in words."""
    return formatted(predecessors(sources), "+.1f")


def predecessor_values(source: Source) -> dict[str, float | int]:
    """Return what the prose quotes of `predecessors` for a run.

    A level has two predecessors, whose effects mirror each other; it counts once. The most is between predecessors, in
    percent of the level's average over them: over all levels, and over those in which the two differ significantly.
    """
    effects = _behind(source)
    if effects.map(lambda effect: effect.n < FEWEST).any():
        raise LackingError(f"{source.label} has too few blocks for intervals; they take {FEWEST}")
    by_level = effects.groupby(level=["operation", "level"])
    settled = by_level.agg(lambda of_level: all(map(_holds_nought, of_level)))
    apart = by_level.agg(lambda of_level: np.ptp([effect.value for effect in of_level]))
    return {
        "behind_all": len(settled), "behind_differ": int((~settled).sum()),
        "behind_most": float(apart.max()), "behind_sure": float(apart.where(~settled, 0.0).max()),
    }  # fmt: skip


def _behind(source: Source) -> pd.Series:
    needs.slices(source)
    assert source.run is not None  # noqa: S101 - only runs have slices
    effects = carry_over.by_predecessor(source.run.statistics, source.run.slices)["effect"]
    if effects.empty:
        raise LackingError(f"{source.label} has no level that followed two others")
    return effects


def same_compared(results: Results) -> pd.DataFrame:
    """Return all comparisons of labels that stand for the same level (see `same_level.compared`), with their set."""
    values = same_level.by_round(results.rows, results.table("slices"), STARTS)
    return same_level.compared(values).assign(
        cluster=lambda t: t["condition"].str.extract(r"set (\d+)$", expand=False).astype(int)
    )


def simulated(results: Results, seed: int = 28) -> pd.DataFrame:
    """Return comparisons that differ by nothing but noise like the record's (see `same_level.simulated`)."""
    slices = results.table("slices")
    rounds = int(slices.groupby(["start", "panel"])["round"].max().median()) + 1
    drawn = [balanced_order(2, rounds, (seed, place)) for place in range(SIMULATED * STARTS)]
    orders = np.reshape(drawn, (SIMULATED, STARTS, 2 * rounds))
    return same_level.compared(same_level.simulated(same_level.noise(slices), orders, seed))


def same_table(recorded: pd.DataFrame, made: pd.DataFrame) -> pd.DataFrame:
    """Return `same_shares` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "comparisons": ("comparisons", ","), "covers": ("intervals that hold 1, %", share_text),
        "rejects": ("tests that reject at 5 %, %", share_text),
    }  # fmt: skip
    return titled(same_shares(recorded, made), columns)


def same_shares(recorded: pd.DataFrame, made: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons (how many), and the shares of intervals that hold 1 and of tests that reject at 5 %, covers
    and rejects (Estimate): index recorded and simulated.
    """
    rows = {}
    for name, table, cluster in (("recorded", recorded, recorded["cluster"]), ("simulated", made, None)):
        covers, rejects = same_level.share(table["covers"], cluster), same_level.share(table["p"] < _ALPHA, cluster)
        rows[name] = {"comparisons": len(table), "covers": covers, "rejects": rejects}
    return pd.DataFrame.from_dict(rows, orient="index")


def primary_values(halves: pd.DataFrame, named: Mapping[str, Source]) -> dict[str, float | int]:
    """Return what the prose quotes of `primary_half_widths`, by what prose calls the runs."""
    found: dict[str, float | int] = {"busy_threads": price.BUSY_THREADS, "planned_percent": round(PLANNED_PERCENT)}
    for name, source in named.items():
        if source.label not in halves.index.unique("run"):
            continue
        of_run = halves.loc[[source.label]].droplevel("run").to_dict("index")
        found |= {f"half_{figure}_{name}": float(of_run[figure]["median"]) for figure in PRIMARY_FIGURES}
        found[f"half_absolute_{name}"] = float(of_run["mean"]["absolute"])
        found |= {f"{what}_{name}": int(of_run["mean"][what]) for what in ("ratios", "within")}
    return found


def timeline_values(slices: pd.DataFrame) -> dict[str, float | int]:
    """Return what the prose quotes of `timeline`, in seconds."""
    first, last = slices.iloc[0], slices.iloc[-1]
    length_s = float(first["guard_s"] + first["counted_s"])
    return {
        "group_s": round(float(last["from_s"]) + length_s), "group_slices": len(slices),
        "slice_s": length_s, "guard_s": float(first["guard_s"]),
    }  # fmt: skip


def pilot_values(results: Results) -> dict[str, float | int]:
    """Return what the prose quotes of `interleaving-designs`."""
    numbers = results.manifest["numbers"]
    return {
        "alone_s": numbers["steady_s"], "design_starts": int(results.manifest["starts"]),
        "blocks_needed": blocks_needed(results),
    }  # fmt: skip


def carry_values(results: Results) -> dict[str, float]:
    """Return what the prose quotes of `interleaving-carry-over`."""
    by_rule = off_by_rule(results)
    off, ratios = by_rule.map(lambda estimate: abs(estimate.value)), ratios_off(results)["off"]
    return {
        "carry_slice_s": results.manifest["numbers"]["slice_s"],
        "rule_median": float(off.median()), "rule_all": len(off), "rule_settled": int(by_rule.map(_holds_nought).sum()),
        "ratios_all": len(ratios), "ratios_settled": int(ratios.map(_holds_nought).sum()),
        "ratios_worst": float(ratios.map(lambda estimate: abs(estimate.value)).max()),
        "ratios_bound": float(ratios.map(lambda estimate: max(abs(estimate.low), abs(estimate.high))).max()),
    }  # fmt: skip


def _holds_nought(estimate: Estimate) -> bool:
    return estimate.low <= 0 <= estimate.high


def same_values(recorded: pd.DataFrame, made: pd.DataFrame, results: Results) -> dict[str, float | int]:
    """Return what the prose quotes of `interleaving-same` and its simulation."""
    noise = same_level.noise(results.table("slices"))
    return {
        "same_covers": int(recorded["covers"].sum()), "same_comparisons": len(recorded),
        "made_covers": PERCENT * float(made["covers"].mean()), "noise_sd": PERCENT * noise.sd,
        "noise_correlation": noise.correlation, "same_labels": int(results.table("slices")["level"].nunique()),
        "same_starts": STARTS,
    }  # fmt: skip
