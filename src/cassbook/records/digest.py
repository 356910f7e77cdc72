"""What stays of a block when its samples go: statistics and histograms of all cells, full samples of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import InputError
from cassbook.core.files import whole
from cassbook.core.schema import CELLS, without_aside
from cassbook.latency import histograms, summaries

if TYPE_CHECKING:
    from cassbook.profile.profile import Profile

STATISTICS = "statistics.csv"
SLICES = "slices.csv"
HISTOGRAMS = "histograms.hlog"
#: Response times of each segment of cells under open arrivals, tagged CELL.SEGMENT; its failures are in `SLICES`.
SEGMENTS = "segments.hlog"
#: Thread count of the cells whose single requests are drawn: the paper's Figs. 2 and 3 are of 500 threads.
DRAWN_THREADS = 500
#: Kinds of cell that are given as a series from their first request on, in each block.
_SERIES_KINDS = frozenset({"warmup", "cold"})
#: Columns of the samples that statistics and histograms need.
COLUMNS = ["cell_id", "started_s", "intended_s", "operation", "latency_us", "outcome", "phase", "slice"]

#: Gives the samples of one cell, columns as in `schema.SAMPLES`.
ReadSamples = Callable[[str], pd.DataFrame]
#: Makes histograms of a cell's samples, by tag.
Counted = Callable[[pd.DataFrame, float, float, int], dict[str, histograms.Interval]]


def kept(cells: pd.DataFrame, profile: Profile) -> list[str]:
    """Cells whose samples a run keeps, by the profile's `keep_samples`.

    With 'all' every cell. With 'figures' those that a figure draws request by request or as a series in time: the
    pure cells at the thread count nearest to 500, the lower of two (raw delays and cold start; the same choice as
    `cold_start.nearest_threads`), the warm-ups, and the cells of kind cold and paced; with 'segments' too, next to
    histograms of each segment. With 'first_block' the pure and the paced ones only of the first block. All other
    tables and figures are made of statistics and histograms, which every cell has.

    `cells`: columns `schema.CELLS`.

    Returns their identifiers, in the order of `cells`.
    """
    if profile.keep_samples == "all":
        return cells["cell_id"].tolist()
    drawn = cells["kind"] == "paced"
    if profile.pure:
        nearest = min(sorted(profile.pure.threads), key=lambda threads: abs(threads - DRAWN_THREADS))
        drawn |= (cells["kind"] == "pure") & (cells["threads"] == nearest)
    drawn &= (cells["block"] == 1) | (profile.keep_samples != "first_block")
    return cells.loc[cells["kind"].isin(_SERIES_KINDS) | drawn, "cell_id"].tolist()


def statistics(cells: pd.DataFrame, read: ReadSamples) -> pd.DataFrame:
    """`summaries.cell_statistics` of each cell, one cell in memory at a time.

    `cells`: columns `schema.CELLS`.
    """
    measured = without_aside(cells).reset_index(drop=True)
    parts = [
        summaries.cell_statistics(read(cell_id), measured.iloc[[place]])
        for place, cell_id in enumerate(measured["cell_id"])
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["cell_id"])


def read_statistics(path: Path) -> pd.DataFrame:
    """Read a `statistics.csv` back as it was written: empty numbers are NaN, empty texts stay empty.

    Raises InputError if it is damaged.
    """
    try:
        names = pd.read_csv(path, nrows=0).columns
        kinds = {name: CELLS[name] for name in names if name in CELLS}
        numbers = {name: [""] for name in names if kinds.get(name) != "str" and name != "after"}
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=numbers)
        return table.set_index("cell_id").reset_index()  # a table without that column is none of ours
    except (OSError, ValueError, KeyError) as error:  # pandas' own errors are kinds of ValueError
        raise InputError(f"{path}: is damaged ({error})") from None


def with_block(path: Path, block: pd.DataFrame) -> str:
    """Text of a `statistics.csv` or `slices.csv` with further rows; those of the same cells are replaced."""
    if path.exists():
        before = read_statistics(path)
        before = before[~before["cell_id"].isin(block["cell_id"])]
        block = pd.concat([before, block], ignore_index=True) if len(before) else block
    return block.to_csv(index=False, lineterminator="\n")


def cell_histograms(
    samples: pd.DataFrame, start_s: float = 0.0, end_s: float = 0.0, digits: int = histograms.DIGITS
) -> dict[str, histograms.Interval]:
    """Histograms of one cell's successful steady operations, by tag.

    `samples`: of one cell, columns `schema.SAMPLES`. `start_s` and `end_s`: bounds of its steady window, in seconds
    since the run began. `digits`: significant digits of each.

    Its keys are tags. `CELL.OPERATION`: service time in microseconds; of a paced operation also
    `CELL.OPERATION.response`, the time from when it should have started.
    """
    steady = samples[(samples["phase"] == "steady") & (samples["outcome"] == "ok")]
    recorded = {}
    for (cell_id, operation), group in steady.groupby(["cell_id", "operation"], observed=True):
        tag, latency_us = f"{cell_id}.{operation}", group["latency_us"].to_numpy()
        recorded[tag] = (histograms.histogram(latency_us, digits), start_s, end_s)
        late_us = (group["started_s"] - group["intended_s"]).to_numpy(dtype=float) * 1e6
        if np.isfinite(late_us).all():
            response_us = np.maximum(latency_us + late_us, 0.0)
            recorded[f"{tag}.response"] = (histograms.histogram(response_us, digits), start_s, end_s)
    return recorded


def segment_histograms(
    samples: pd.DataFrame, start_s: float = 0.0, end_s: float = 0.0, digits: int = histograms.DIGITS
) -> dict[str, histograms.Interval]:
    """Histograms of one cell's response times, segment by segment: arguments and intervals as `cell_histograms`."""
    steady = samples[(samples["phase"] == "steady") & (samples["outcome"] == "ok") & samples["intended_s"].notna()]
    response_us = steady["latency_us"] + (steady["started_s"] - steady["intended_s"]).clip(lower=0.0) * 1e6
    keys = [steady["cell_id"].astype(str), steady["slice"].astype("int64")]
    return {
        f"{cell_id}.{number}": (histograms.histogram(group.to_numpy(), digits), start_s, end_s)
        for (cell_id, number), group in response_us.groupby(keys)
    }


def add_to_log(path: Path, cells: pd.DataFrame, read: ReadSamples, of: Counted = cell_histograms) -> None:
    """Add histograms of `cells` to a log, by rename; those of the same tags are replaced.

    `path`: the log; need not exist. `cells`: columns `schema.CELLS`. `of`: which histograms.
    """
    added: dict[str, histograms.Interval] = {}
    for cell_id, start_s, end_s in zip(cells["cell_id"], cells["steady_from_s"], cells["steady_to_s"], strict=True):
        added |= of(read(cell_id), start_s, end_s, histograms.KEPT_DIGITS)
    before = [line for tag, line in _tagged(path) if tag not in added] if path.exists() else []
    with whole(path) as draft:
        histograms.write_log(draft, added)
        header = [line for line in draft.read_text().splitlines() if not line.startswith("Tag=")]
        draft.write_text("\n".join([*header, *before, *(line for _, line in _tagged(draft))]) + "\n")


def _tagged(path: Path) -> Iterator[tuple[str, str]]:
    """Tag and text of each line of a log that holds a histogram."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("Tag="):
            yield line[len("Tag=") : line.index(",")], line


class Histograms(Mapping[str, HdrHistogram]):
    """The histograms of a log by tag, each decoded when it is asked for.

    `path`: a log whose sum has been checked.
    """

    def __init__(self, path: Path) -> None:
        self._lines = dict(_tagged(path))

    def __getitem__(self, tag: str) -> HdrHistogram:
        return HdrHistogram.decode(self._lines[tag].rsplit(",", 1)[1])

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def counted(samples: pd.DataFrame) -> dict[str, HdrHistogram]:
    """Histograms of a run that has only samples, by tag."""
    return {tag: interval[0] for tag, interval in cell_histograms(samples).items()}
