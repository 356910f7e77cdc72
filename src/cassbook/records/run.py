"""A run folder that is read: checked against its manifest before a single number is drawn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import InputError, LackingError
from cassbook.core.files import check_recorded, hash_of
from cassbook.core.paths import is_packaged
from cassbook.core.schema import SAMPLES, read_cells
from cassbook.latency import slices, summaries
from cassbook.records import digest, manifest
from cassbook.records.kinds import RUN


class RecordedRun:
    """A complete run.

    `name_or_path`: the name of a folder in `data/records`, or a path.

    Raises InputError if the folder is missing, incomplete, of another schema version, or differs from its manifest's
    sums.
    """

    def __init__(self, name_or_path: str | Path) -> None:
        self.folder = folder = manifest.located(name_or_path, RUN)
        self.manifest = manifest.read(folder, RUN)
        if not self.manifest["complete"]:
            raise InputError(
                f"{folder}: the run is incomplete; finish it with `cassbook run --resume --output {folder}`"
            )
        self._check_sums()

    def _check_sums(self) -> None:
        listed = self.manifest["sums"]
        if "cells.csv" not in listed or not any(name.startswith("samples/") for name in listed):
            raise InputError(f"{self.folder / 'manifest.json'}: is damaged (it lists no cells or no samples)")
        check_recorded(self.folder, {name: pinned for name, pinned in listed.items() if name not in self._left_out})

    @cached_property
    def _left_out(self) -> frozenset[str]:
        """Samples and histograms that an installed wheel has not, for their size."""
        if not is_packaged(self.folder):
            return frozenset()
        logs = {digest.HISTOGRAMS, digest.SEGMENTS}
        large = (n for n in self.manifest["sums"] if n.startswith("samples/") or n in logs)
        return frozenset(name for name in large if not (self.folder / name).is_file())

    def _check_there(self, name: str, what: str) -> None:
        if name in self._left_out:
            raise InputError(
                f"run {self.name}: its {what} are not in the installed package, only its tables; they are in the "
                f"repository of cassbook, in data/records/{self.name}"
            )

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def parts(self) -> pd.DataFrame | None:
        """Statistics of each operation within mixed cells, which logs hold apart; None of a run."""
        return None

    @property
    def notes(self) -> list[str]:
        """What a reader must know of how logs were read; nothing of a run."""
        return []

    @property
    def data_hash(self) -> str:
        """One hash over all its files; a notebook shows it, so that no stale output can pass for new."""
        return hash_of(self.manifest["sums"])

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells, columns as in `schema.CELLS`."""
        return read_cells(self.folder / "cells.csv")

    @cached_property
    def slices(self) -> pd.DataFrame:
        """Each slice of the cells that alternated (`slices.slice_statistics`); no row where none did."""
        if digest.SLICES not in self.manifest["sums"]:
            return pd.DataFrame(columns=list(slices.COLUMNS))
        return digest.read_statistics(self.folder / digest.SLICES)

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Statistics of each cell (`summaries.cell_statistics`), made of all its samples, kept or not."""
        if digest.STATISTICS in self.manifest["sums"]:
            return digest.read_statistics(self.folder / digest.STATISTICS)
        return summaries.cell_statistics(self.samples(digest.COLUMNS), self.cells)

    @cached_property
    def histograms(self) -> Mapping[str, HdrHistogram]:
        """Histograms of each cell's successful steady operations in microseconds, decoded when asked for.

        By tag: `CELL.OPERATION` is service time, `CELL.OPERATION.response` response time, of paced operations only.
        """
        if digest.HISTOGRAMS in self.manifest["sums"]:
            self._check_there(digest.HISTOGRAMS, "histograms")
            return digest.Histograms(self.folder / digest.HISTOGRAMS)
        return digest.counted(self.samples(digest.COLUMNS))

    @cached_property
    def segments(self) -> Mapping[str, HdrHistogram]:
        """Response times of each segment of cells under open arrivals in microseconds, by tag `CELL.SEGMENT`.

        Empty where they were not kept.
        """
        if digest.SEGMENTS not in self.manifest["sums"]:
            return {}
        self._check_there(digest.SEGMENTS, "segments")
        return digest.Histograms(self.folder / digest.SEGMENTS)

    @property
    def has_histograms(self) -> bool:
        """Whether `histograms` can be read: an installed package has those of few recorded runs."""
        if digest.HISTOGRAMS in self.manifest["sums"]:
            return digest.HISTOGRAMS not in self._left_out
        return not any(name.startswith("samples/") for name in self._left_out)

    def has_samples(self, cell_id: str) -> bool:
        """Whether the samples of a cell were kept; a cell without any operation has nothing to keep."""
        return cell_id in self._sampled

    @cached_property
    def _sampled(self) -> frozenset[str]:
        column = self._dataset().to_table(columns=["cell_id"]).column("cell_id").unify_dictionaries()
        used = (pc.unique(chunk).cast("string").to_pylist() for chunk in column.chunks)
        return frozenset(cell_id for ids in used for cell_id in ids)

    def _dataset(self) -> ds.Dataset:
        listed = [name for name in self.manifest["sums"] if name.startswith("samples/")]
        for name in listed:
            self._check_there(name, "samples")
        return ds.dataset([str(self.folder / name) for name in listed], format="parquet", schema=SAMPLES)

    def _check_kept(self, cells: Sequence[str]) -> None:
        """Refuse cells that there are not, or whose samples were measured but not kept."""
        operations = self.cells.set_index("cell_id")["operations"]
        for cell_id in cells:
            if cell_id not in operations.index:
                raise InputError(f"run {self.name}: has no cell {cell_id!r}")
            if operations[cell_id] > 0 and not self.has_samples(cell_id):
                how = self.manifest["profile"].get("keep_samples", "figures")
                raise LackingError(
                    f"run {self.name}: the samples of {cell_id} were not kept (its profile says keep_samples: {how}); "
                    "use its statistics and histograms, or measure with keep_samples: all"
                )

    def samples(self, columns: Sequence[str] | None = None, cells: Sequence[str] | None = None) -> pd.DataFrame:
        """Read samples, columns as in `schema.SAMPLES`; labels come as categories.

        `columns`: only these. `cells`: only those of these cells; otherwise all that were kept, which need not be all
        that were measured.

        Raises InputError if one of `cells` is none of the run's, or its samples were not kept.
        """
        wanted = None
        if cells is not None:
            self._check_kept(cells)
            wanted = pc.field("cell_id").cast("string").isin(pa.array(list(cells), pa.string()))
        table = self._dataset().to_table(columns=list(columns) if columns else None, filter=wanted)
        return table.unify_dictionaries().to_pandas()
