"""A run folder while it is written: every finished cell kept, none measured twice, whole files by rename.

manifest.json          complete: false until the last file is in place
cells.csv              one row per finished cell; the row is its completion mark
cells/CELL.parquet     samples of the finished cells of the block in hand
slices.csv             statistics of each slice of cells that alternate
statistics.csv         statistics of each cell of finished blocks, made of all its samples
histograms.hlog        histograms of the same
samples/block-N.parquet  samples that are kept of a finished block (`digest.kept`); the block's completion mark
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import ValidationError

from cassbook.core.errors import CassbookWarning, InputError
from cassbook.core.files import sha256, write_text
from cassbook.core.schema import CELLS, OPEN, SAMPLES, SCHEMA_VERSION, TRIAL, Mark, read_cells
from cassbook.core.words import counted
from cassbook.lab.load.recorder import write_samples
from cassbook.lab.load.slices import Slices
from cassbook.lab.run import circumstances
from cassbook.lab.run.plan import rates_apart
from cassbook.lab.run.segments import Segments
from cassbook.latency import prices
from cassbook.latency.slices import slice_statistics
from cassbook.profile.profile import Profile
from cassbook.records import digest, manifest
from cassbook.records.digest import SLICES
from cassbook.records.kinds import RUN


class RunStore:
    """The writing side of a run folder.

    Use `create` or `resume`; both refuse before anything is started.
    """

    def __init__(self, folder: Path, profile: Profile, notes: dict[str, Any]) -> None:
        self.folder = folder
        self.notes = notes
        self._profile = profile
        self._lock = _lock(folder)
        self._elsewhere = False
        self._rows: list[dict[Any, Any]] = []
        if (folder / "cells.csv").exists():
            self._rows = read_cells(folder / "cells.csv").to_dict("records")
        #: Monotonic time at which the run began, as this process counts.
        self.epoch = time.perf_counter() - (time.time() - notes["begun_unix_s"])

    @classmethod
    def create(cls, folder: Path, profile: Profile) -> RunStore:
        """Begin a run in a new folder, or in one whose run was interrupted before its first cell.

        InputError if the folder holds a run already, or cannot be written.
        """
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: is a file; name a folder")
        if (folder / "manifest.json").exists():
            if not begun_without_cells(folder):
                raise InputError(f"{folder}: holds a run already; use --resume to continue it, or another folder")
            os.close(_lock(folder))  # refused while another process measures into it
            shutil.rmtree(folder)
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty and holds no run; name a new folder")
        try:
            (folder / "cells").mkdir(parents=True)
            (folder / "samples").mkdir()
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be written ({error.strerror}); name a folder you may write to"
            ) from None
        notes = circumstances.begin(profile) | {"begun_unix_s": time.time()}
        store = cls(folder, profile, notes)
        store.save_notes()
        return store

    @classmethod
    def resume(cls, folder: Path, profile: Profile) -> RunStore:
        """Resume a run that was interrupted.

        InputError if there is none, it is complete, or it was begun with another profile, schema or design of fixed
        rates.
        """
        notes = manifest.read(folder, RUN)
        if notes["complete"]:
            raise InputError(f"{folder}: the run is complete; there is nothing to resume")
        if notes["schema"] != SCHEMA_VERSION:
            raise InputError(f"{folder}: was begun by an earlier cassbook, and not finished; measure into a new folder")
        begun_with = notes["profile"]
        now = profile.model_dump(mode="json")
        if begun_with != now and not _same_profile(begun_with, profile):
            other = sorted(key for key in now if now[key] != begun_with.get(key))
            raise InputError(f"{folder}: was begun with another profile (different: {', '.join(other)})")
        if rates_apart(profile) and notes.get("fixed_rates", "") != profile.fixed_rates:
            raise InputError(
                f"{folder}: was begun by an earlier cassbook, which measured the settings of a fixed rate together; "
                "each is measured by itself now, and a run does not mix the two; measure into a new folder"
            )
        store = cls(folder, profile, notes)
        store._note_machine()
        store._forget_lost()
        store._remove_unfinished()
        return store

    def close(self) -> None:
        """Let other processes have the folder; the end of this process does so too."""
        os.close(self._lock)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def done(self) -> set[str]:
        """Identifiers of the cells that are finished."""
        return {row["cell_id"] for row in self._rows}

    def _note_machine(self) -> None:
        """Record, and log, that the run resumes somewhere else than where it was begun; cells there may get a mark."""
        here, known = circumstances.machine(), [self.notes["machine"], *self.notes.get("other_machines", [])]
        ours = "existing_cluster" not in self.notes  # else the machine is the client's
        self._elsewhere = ours and manifest.processors(here) != manifest.processors(known[0])
        if here not in known:
            counts = "; this one has other processors, so its blocks count in ratios alone" if self._elsewhere else ""
            warnings.warn(
                f"{self.folder}: was begun on another machine, as the manifest says{counts}",
                CassbookWarning,
                stacklevel=3,
            )
            self.notes["other_machines"] = [*known[1:], here]
            self.save_notes()

    def _forget_lost(self) -> None:
        """Forget finished cells whose samples are nowhere, as where only finished blocks were taken to a new place."""
        kept = [row for row in self._rows if self._block_path(row["block"]).exists() or self._waits(row["cell_id"])]
        if len(kept) < len(self._rows):
            lost = len(self._rows) - len(kept)
            warnings.warn(
                f"{self.folder}: {counted(lost, 'cell')} of an unfinished block came without samples, to be measured "
                "again",
                CassbookWarning,
                stacklevel=3,
            )
            self._rows = kept

    def _remove_unfinished(self) -> None:
        """Remove what belongs to no finished cell: streams and files of a cell that was cut off, drafts."""
        for name in ("cells", "samples"):  # git keeps no empty folder
            (self.folder / name).mkdir(exist_ok=True)
        for path in (*(self.folder / "cells").iterdir(), *self.folder.rglob("*.draft")):
            if path.suffix != ".parquet" or path.stem not in self.done:
                path.unlink(missing_ok=True)

    def save_notes(self) -> None:
        """Write the manifest."""
        manifest.write(self.folder, self.notes)

    def sample_path(self, cell_id: str) -> Path:
        """Where the samples of a cell go while its block is in hand."""
        return self.folder / "cells" / f"{cell_id}.parquet"

    def _waits(self, cell_id: str) -> bool:
        return self.sample_path(cell_id).exists()

    def _block_path(self, block: int) -> Path:
        return self.folder / "samples" / f"block-{block}.parquet"

    def finish_cell(self, row: dict[str, Any]) -> None:
        """Put down the row of a cell whose samples are at `sample_path`: from now on it is finished."""
        self._put_down([row])

    def finish_group(self, rows: list[dict[str, Any]], samples: pa.Table, turns: Slices | Segments) -> None:
        """Put down cells that took turns, all at once: their samples cell by cell, their slices, then their rows."""
        cell_ids = [row["cell_id"] for row in rows]
        for cell_id in cell_ids:
            write_samples(of_cell(samples, cell_id), self.sample_path(cell_id))
        columns = ["phase", "outcome", "slice", "latency_us", "started_s", "intended_s"]
        statistics = slice_statistics(
            samples.select(columns).to_pandas(), cell_ids, turns.order,
            turns.guard_s, turns.counted_s, turns.begun_s(rows[0]["steady_from_s"]),
        )  # fmt: skip
        path = self.folder / SLICES
        write_text(path, digest.with_block(path, statistics))
        self._put_down(rows)
        self.sample_path(rows[0]["cell_group"]).unlink(missing_ok=True)

    def amend(self, columns: dict[str, dict[str, Any]]) -> None:
        """Set columns of finished cells, by identifier; marks are added to those that a cell has."""
        for row in self._rows:
            if own := columns.get(row["cell_id"]):
                marks = [mark for mark in str(row["marks"]).split(";") if mark]
                row.update(own | {"marks": ";".join([*marks, *own.get("marks", [])])})
        self._put_down([])

    def _put_down(self, rows: list[dict[str, Any]]) -> None:
        if self._elsewhere:
            rows = [row | {"marks": ";".join(filter(None, [row["marks"], Mark.ELSEWHERE]))} for row in rows]
        self._rows += [{"schema_version": SCHEMA_VERSION, **row} for row in rows]
        write_text(self.folder / "cells.csv", self.cells().to_csv(index=False, lineterminator="\n"))

    def cells(self, deployment: str | None = None) -> pd.DataFrame:
        """Return what `cells.csv` holds so far, of all deployments or of one."""
        rows = [row for row in self._rows if deployment in {None, row["deployment"]}]
        return pd.DataFrame(rows, columns=list(CELLS)).astype(CELLS)

    def finish_block(self, block: int) -> None:
        """Put down a block's statistics and histograms, then the samples that are kept; harmless to repeat.

        The file of samples comes last, and only then do the samples of the cells go: whatever is cut off before
        is made again from them.
        """
        cells = self.cells()
        cells = cells[cells["block"] == block].reset_index(drop=True)
        waiting = [cell_id for cell_id in cells["cell_id"] if self._waits(cell_id)]
        if waiting and not self._block_path(block).exists():
            self._digest(cells)
            self._keep_samples(block, digest.kept(cells, self._profile))
        for cell_id in waiting:
            self.sample_path(cell_id).unlink()

    def _digest(self, cells: pd.DataFrame) -> None:
        """Add the statistics and the histograms of a block's cells to those of the run."""

        def read(cell_id: str) -> pd.DataFrame:
            return pq.read_table(self.sample_path(cell_id), columns=digest.COLUMNS).to_pandas()

        path = self.folder / digest.STATISTICS
        write_text(path, digest.with_block(path, digest.statistics(cells, read)))
        digest.add_to_log(self.folder / digest.HISTOGRAMS, cells[cells["kind"] != TRIAL], read)
        if self._profile.keep_samples == "segments":
            in_turn = cells[(cells["kind"] == OPEN) & (cells["slices"] > 0)]
            digest.add_to_log(self.folder / digest.SEGMENTS, in_turn, read, digest.segment_histograms)

    def _keep_samples(self, block: int, cell_ids: list[str]) -> None:
        """Put the samples of some of a block's cells into one file."""
        tables = [pq.read_table(self.sample_path(cell_id)).cast(SAMPLES) for cell_id in cell_ids]
        samples = pa.concat_tables(tables) if tables else SAMPLES.empty_table()
        write_samples(samples.unify_dictionaries(), self._block_path(block))

    def prices(self) -> pd.DataFrame:
        """Return what levels cost by the blocks that are finished (`prices.table`)."""
        if not (self.folder / SLICES).exists():
            return prices.table(pd.DataFrame(), pd.DataFrame())
        return prices.table(*(digest.read_statistics(self.folder / name) for name in (digest.STATISTICS, SLICES)))

    def complete(self) -> None:
        """Mark the run complete, with the sum of each file; the manifest is written last."""
        self.notes["sums"] = _sums(self.folder)
        self.notes |= {"ended": circumstances.now(), "complete": True}
        self.save_notes()
        shutil.rmtree(self.folder / "cells", ignore_errors=True)


def begun_without_cells(folder: Path) -> bool:
    """Whether a folder holds a run that ended before its first cell was finished: nothing in it is worth keeping.

    A manifest that cannot be read is for a person to look at.
    """
    path = folder / "manifest.json"
    try:
        complete = json.loads(path.read_text(encoding="utf-8")).get("complete", True)
    except (OSError, ValueError, AttributeError):
        return False
    rows = folder / "cells.csv"
    return not complete and (not rows.exists() or read_cells(rows).empty)


def of_cell(samples: pa.Table, cell_id: str) -> pa.Table:
    """Return the samples of one cell of a group."""
    return samples.filter(pc.equal(samples["cell_id"].cast(pa.string()), cell_id))


def _sums(folder: Path) -> dict[str, str]:
    """SHA-256 of tables, histograms, and each block's samples, by relative path."""
    tables = [folder / name for name in ("cells.csv", SLICES, digest.STATISTICS, digest.HISTOGRAMS, digest.SEGMENTS)]
    files = [*(path for path in tables if path.exists()), *sorted((folder / "samples").glob("block-*.parquet"))]
    return {path.relative_to(folder).as_posix(): sha256(path) for path in files}


def _same_profile(content: dict[str, Any], profile: Profile) -> bool:
    """Whether a dump is of this profile: one of before a key existed lacks it, and means its default."""
    try:
        return Profile.model_validate(content) == profile
    except ValidationError:
        return False


def _lock(folder: Path) -> int:
    """Keep other processes out of a run folder for as long as this one lives."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(f"{folder}: another process is measuring into it") from None
    return descriptor
