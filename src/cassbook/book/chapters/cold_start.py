"""How cells and clusters begin: cold starts and warm-ups of a run, as tables (section III.B)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from cassbook.book import needs
from cassbook.book.chapters.latency import nearest
from cassbook.book.provenance import Source
from cassbook.core.consistency import LEVELS
from cassbook.core.errors import InputError, LackingError
from cassbook.core.units import MS_PER_S, US_PER_MS
from cassbook.latency import changepoint, cold_start
from cassbook.records import digest
from cassbook.shown.tables import Format, formatted, titled

NO_WARM_UP = "no warm-up was recorded: logs of other tools begin when the measurement does"
#: How the beginning of a cell was: slow to `ends_ms`; slow to its end; not slow; of too few bins, or without samples.
ENDS, UNSETTLED, NONE, TOO_SHORT, NOT_KEPT = "ends", "not in", "none", "too short to say", "samples not kept"
_ENDING = ["outcome", "ends_ms", "factor", "watched_s"]


_CONDITION = ["condition", "operation", "level", "block"]


def ending(bins: pd.DataFrame | None) -> tuple[str, float, float, float]:
    """Return how the beginning of a cell was (`ENDS` and so on), its end in ms and how many times slower it was (NaN
    unless it ended), and for how many seconds it was watched.
    """
    if bins is None:
        return NOT_KEPT, np.nan, np.nan, np.nan
    watched_s = bins["since_start_ms"].max() / MS_PER_S
    if len(bins) < changepoint.FEWEST:
        return TOO_SHORT, np.nan, np.nan, watched_s
    start = cold_start.end(bins)
    if start.ends_ms is None:
        return NONE if start.settled else UNSETTLED, np.nan, np.nan, watched_s
    return ENDS, start.ends_ms, start.factor, watched_s


def _in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Columns 'ends, ms', or why there is no such number, and 'times slower', from the columns of `_ENDING`."""
    words = titled(table, {"ends_ms": ("ends, ms", ".0f"), "factor": ("times slower", ".1f")})
    unsettled = UNSETTLED + " " + table["watched_s"].map("{:.1f} s".format)
    why = table["outcome"].mask(table["outcome"] == UNSETTLED, unsettled)
    words["ends, ms"] = words["ends, ms"].where(table["outcome"] == ENDS, why)
    return words


def cold_load(sources: Iterable[Source]) -> str:
    """Return the load of the cells of `cold_cells` in runs, in the words of a sentence: 'QUORUM with 500 threads'."""
    cells = pd.concat([cold_start.cold_cells(source.run) for source in sources if source.run is not None])
    loads = [
        f"{', '.join(levels.unique())} with {threads} threads" for threads, levels in cells.groupby("threads")["level"]
    ]
    return "; ".join(loads) or "no load, for there are none"


def cold_conditions(source: Source, bin_ms: float = 50) -> pd.DataFrame:
    """Return the cold start by what was cold: nothing, the client, the pages of the data files, the servers (section
    III.B).

    A beginning is judged by what follows it in its cell, so a cell that is slow to its end has none. The last column is
    for those: the mean latency of the whole cell by that of the warm one of its block, operation, level and threads.

    Returns
    -------
    DataFrame
        Index condition, operation, level, block; columns as of `ending`: outcome, ends_ms, factor, watched_s; and
        times_warm (NaN where there is no warm cell). Empty for a run without such cells.
    """
    rows = [
        (cell["condition"].replace("_", " "), cell["operation"], cell["level"], int(cell["block"]),
         *ending(cell["bins"]), cell["times_warm"])
        for cell in cold_start.against_warm(source.run, bin_ms).to_dict("records")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=[*_CONDITION, *_ENDING, "times_warm"]).set_index(_CONDITION)


def cold_conditions_shown(source: Source, bin_ms: float = 50) -> pd.DataFrame:
    """Return `cold_conditions` in words; the first row is what the paper says of each of its tests."""
    (low_ms, high_ms), (low, high) = cold_start.PAPER_ENDS_MS, cold_start.PAPER_FACTOR
    index = pd.MultiIndex.from_tuples([("paper: every test", "", "", "")], names=_CONDITION)
    paper = pd.DataFrame({"ends, ms": f"{low_ms}-{high_ms}", "times slower": f"{low}-{high}"}, index)
    table = cold_conditions(source, bin_ms)
    words = _in_words(table).assign(**formatted(table, {"times_warm": ".1f"}))
    return pd.concat([paper, words]).rename(columns={"times_warm": "times the warm cell"}).fillna("")


def cold_in_words(source: Source, bin_ms: float = 50) -> dict[tuple[str, str], str]:
    """Return what `cold_conditions` found, by (one of `cold_start.CONDITIONS`, READ or WRITE), in words of a sentence.

    Returns
    -------
    dict of str
        'in 2 of 3 (ends after 700 to 1450 ms, 1.5 to 1.6 times slower)', 'in none of 3', or 'not measured'; behind it
        '; whole cells 1.1 to 2.0 times the warm ones' where there are warm ones.
    """
    cells = cold_start.against_warm(source.run, bin_ms)
    words = {}
    for condition in cold_start.CONDITIONS:
        for operation in ("READ", "WRITE"):
            chosen = cells.query("condition == @condition and operation == @operation") if len(cells) else cells
            words[condition, operation] = _words(chosen)
    return words


def _words(cells: pd.DataFrame) -> str:
    long_enough = [b for b in cells.get("bins", ()) if b is not None and len(b) >= changepoint.FEWEST]
    if not long_enough:
        return "not measured"
    ends = [cold_start.end(bins) for bins in long_enough]
    known = [end for end in ends if end.ends_ms is not None]
    unsettled = sum(not end.settled for end in ends)
    parts = []
    if known:
        after = _span([end.ends_ms for end in known], "{:.0f}")
        parts.append(f"ends after {after} ms, {_span([end.factor for end in known])} times slower")
    if unsettled:
        parts.append(f"{unsettled} not over when the cell was")
    text = f"in {len(known) + unsettled} of {len(ends)} ({'; '.join(parts)})" if parts else f"in none of {len(ends)}"
    times = cells["times_warm"].dropna()
    return f"{text}; whole cells {_span(times)} times the warm ones" if len(times) else text


def _span(values: Sequence[float | None] | pd.Series, spec: str = "{:.1f}") -> str:
    low, high = spec.format(min(values)), spec.format(max(values))
    return low if low == high else f"{low} to {high}"


def warm_ups(sources: Sequence[Source], bin_ms: float = 250) -> dict[str, pd.DataFrame]:
    """Return the latency series of each block's warm-up (see `cold_start.warm_ups`), by source and cluster start."""
    by_start = {}
    for source in sources:
        assert source.run is not None  # noqa: S101 - only runs have samples
        for number, series in enumerate(cold_start.warm_ups(source.run, bin_ms), start=1):
            by_start[f"{source.label}, cluster start {number}"] = series
    return by_start


def warm_up_factors(sources: Sequence[Source]) -> pd.DataFrame:
    """Return how much slower a fresh cluster's first second is than its last: index cluster start; columns first_ms,
    last_ms, factor, warm_up_s.
    """
    rows = {}
    for name, series in warm_ups(sources).items():
        first_us, last_us = cold_start.first_and_last_us(series)
        rows[name] = {
            "first_ms": first_us / US_PER_MS,
            "last_ms": last_us / US_PER_MS,
            "factor": first_us / last_us,
            "warm_up_s": series["since_start_ms"].max() / MS_PER_S,
        }
    if not rows:
        raise LackingError(NO_WARM_UP)
    return pd.DataFrame.from_dict(rows, orient="index")


def warm_up_factors_shown(factors: pd.DataFrame) -> pd.DataFrame:
    """Return `warm_up_factors` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "first_ms": ("first second, ms", ".1f"), "last_ms": ("last second, ms", ".1f"),
        "factor": ("times slower", ".1f"), "warm_up_s": ("warm-up, s", ".0f"),
    }  # fmt: skip
    return titled(factors, columns)


def nearest_threads(source: Source, wanted: int) -> int:
    """Return the thread count of a run's pure cells that is nearest to the one wanted."""
    needs.pure(source)
    return nearest(source.level_stats["threads"].unique(), wanted)


def check_threads(sources: Sequence[Source], wanted: int, default: int = digest.DRAWN_THREADS) -> None:
    """Refuse a thread count that runs did not measure, or of which one kept no single operations to draw.

    The default is nobody's wish: of a run that has nothing near it, the nearest is shown, or what it lacks.

    Raises
    ------
    InputError
        Naming the thread counts that can be drawn.
    """
    counts = sorted({int(count) for source in sources for count in source.level_stats["threads"].unique()})
    if wanted != default and counts and not counts[0] <= wanted <= counts[-1]:
        known = ", ".join(map(str, counts))
        raise InputError(f"threads: {wanted} is outside of what these runs measured; use one of {known}")
    for source in sources:
        kept = _kept_threads(source)
        if wanted != default and kept and nearest_threads(source, wanted) not in kept:
            known = ", ".join(map(str, kept))
            raise InputError(f"threads: of {wanted}, {source.label} kept no single operations; use one of {known}")


def _kept_threads(source: Source) -> list[int]:
    """Thread counts of which a run kept its first block's samples of pure cells; none where its logs hold only sums."""
    run = source.run
    assert run is not None  # noqa: S101 - only runs have samples
    pure = run.cells[(run.cells["kind"] == "pure") & (run.cells["block"] == 1)]
    kept = pure["cell_id"].map(run.has_samples).astype(bool)
    lost = set(pure.loc[~kept & (pure["operations"] > 0), "threads"])
    return sorted({int(count) for count in pure.loc[kept, "threads"]} - lost)


def cold_starts(source: Source, near: int, bin_ms: float = 50) -> pd.DataFrame:
    """Return the cold start of each pure cell at the thread count next to `near` (section III.B): its end, how much
    slower it was. Cells whose samples were not kept are left out.

    Returns
    -------
    DataFrame
        Index block, operation, level; columns as of `ending`: outcome (`NONE` is an answer), ends_ms, factor,
        watched_s.
    """
    run = source.run
    assert run is not None  # noqa: S101 - only runs have samples
    threads = nearest_threads(source, near)
    cells = run.cells[(run.cells["kind"] == "pure") & (run.cells["threads"] == threads)]
    series = cold_start.series_of(run, cells, bin_ms)
    rows = []
    places = cells["read_cl"].map(LEVELS.index)
    ordered = cells.assign(place=places).sort_values(["block", "read_share", "place"], ascending=[True, False, True])
    for cell in ordered[ordered["cell_id"].astype(str).isin(series)].itertuples():
        end = ending(series[str(cell.cell_id)])
        rows.append((cell.block, "READ" if cell.read_share else "WRITE", cell.read_cl, *end))
    if not rows:
        raise LackingError(f"{source.label} kept no single operations of reads and writes alone at {threads} threads")
    keys = ["block", "operation", "level"]
    return pd.DataFrame(rows, columns=[*keys, *_ENDING]).set_index(keys)


def cold_starts_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `cold_starts` in words."""
    return _in_words(table)


def begin_slowly(table: pd.DataFrame) -> int:
    """Return how many cells of `cold_starts` begin slower than they continue, or have not settled when they end."""
    return int(table["outcome"].isin([ENDS, UNSETTLED]).sum())


def cold_values(table: pd.DataFrame) -> dict[str, int]:
    """Return what the prose quotes of `cold_starts`: how many cells there are, and how many begin slowly."""
    return {"cold_cells": len(table), "cold_found": begin_slowly(table)}


def condition_values(source: Source) -> dict[str, str]:
    """Return `cold_in_words` under the names that the prose quotes."""
    return {f"{condition}_{operation}": text for (condition, operation), text in cold_in_words(source).items()}


def warm_values(factors: pd.DataFrame, source: Source) -> dict[str, float]:
    """Return the least and the most of how many times slower a fresh cluster of a run is, of `warm_up_factors`."""
    slower = factors.filter(like=f"{source.label},", axis=0)["factor"].round(1)
    return {"warm_least": slower.min(), "warm_most": slower.max()}
