"""A run folder while it is written: every finished cell kept, none measured twice, whole files by rename.

manifest.json          complete: false until the last file is in place
cells.csv              one row a finished cell; the row is its completion mark
cells/CELL.parquet     samples of the finished cells of the block in hand
samples/block-N.parquet  samples of finished blocks
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cassbook.errors import InputError
from cassbook.load.recorder import write_samples
from cassbook.profile import Profile
from cassbook.run import manifest
from cassbook.schema import CELLS, SAMPLES, SCHEMA_VERSION, read_cells


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that it appears whole or not at all."""
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text)
    draft.rename(path)


class RunStore:
    """The writing side of a run folder.

    Use `create` or `resume`; both refuse before anything is started.
    """

    def __init__(self, folder: Path, notes: dict[str, Any]) -> None:
        self.folder = folder
        self.notes = notes
        self._lock = _lock(folder)
        self._rows: list[dict[Any, Any]] = []
        if (folder / "cells.csv").exists():
            self._rows = read_cells(folder / "cells.csv").to_dict("records")
        #: Monotonic time at which the run began, as this process counts.
        self.epoch = time.perf_counter() - (time.time() - notes["begun_unix_s"])

    @classmethod
    def create(cls, folder: Path, profile: Profile) -> RunStore:
        """Begin a run in a new folder.

        Raises
        ------
        InputError
            If the folder holds a run already, or cannot be written.
        """
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: is a file; name a folder")
        if (folder / "manifest.json").exists():
            raise InputError(f"{folder}: holds a run already; use --resume to go on with it, or another folder")
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty and holds no run; name a new folder")
        try:
            (folder / "cells").mkdir(parents=True)
            (folder / "samples").mkdir()
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be written ({error.strerror}); name a folder you may write to"
            ) from None
        notes = manifest.begin(profile) | {"begun_unix_s": time.time()}
        store = cls(folder, notes)
        store.save_notes()
        return store

    @classmethod
    def resume(cls, folder: Path, profile: Profile) -> RunStore:
        """Go on with a run that was interrupted.

        Raises
        ------
        InputError
            If there is none, it is complete, or it was begun with another profile or schema.
        """
        notes = manifest.read(folder)
        if notes["complete"]:
            raise InputError(f"{folder}: the run is complete; there is nothing to resume")
        begun_with = notes["profile"]
        now = profile.model_dump(mode="json")
        if begun_with != now:
            other = sorted(key for key in now if now[key] != begun_with.get(key))
            raise InputError(f"{folder}: was begun with another profile (different: {', '.join(other)})")
        store = cls(folder, notes)
        store._remove_unfinished()
        return store

    def close(self) -> None:
        """Let other processes have the folder; the end of this process does so too."""
        os.close(self._lock)

    @property
    def done(self) -> set[str]:
        """Identifiers of the cells that are finished."""
        return {row["cell_id"] for row in self._rows}

    def _remove_unfinished(self) -> None:
        """Remove what belongs to no finished cell: streams and files of a cell that was cut off, drafts."""
        (self.folder / "cells").mkdir(exist_ok=True)
        for path in (*(self.folder / "cells").iterdir(), *self.folder.rglob("*.draft")):
            if path.suffix != ".parquet" or path.stem not in self.done:
                path.unlink(missing_ok=True)

    def save_notes(self) -> None:
        """Write the manifest."""
        write_whole(self.folder / "manifest.json", json.dumps(self.notes, indent=1) + "\n")

    def sample_path(self, cell_id: str) -> Path:
        """Where the samples of a cell go while its block is in hand."""
        return self.folder / "cells" / f"{cell_id}.parquet"

    def finish_cell(self, row: dict[str, Any]) -> None:
        """Put down a cell's row: from now on it is finished."""
        self._rows.append({"schema_version": SCHEMA_VERSION, **row})
        frame = pd.DataFrame(self._rows, columns=list(CELLS)).astype(CELLS)
        write_whole(self.folder / "cells.csv", frame.to_csv(index=False, lineterminator="\n"))

    def finish_block(self, block: int) -> None:
        """Put the samples of a block's cells into one file, a row group each; harmless to repeat."""
        ids = [row["cell_id"] for row in self._rows if row["block"] == block]
        waiting = [cell_id for cell_id in ids if self.sample_path(cell_id).exists()]
        target = self.folder / "samples" / f"block-{block}.parquet"
        if not waiting or target.exists():
            _remove(self.sample_path(cell_id) for cell_id in waiting)
            return
        tables = [pq.read_table(self.sample_path(cell_id)).cast(SAMPLES) for cell_id in ids]
        write_samples(pa.concat_tables(tables).unify_dictionaries(), target)
        _remove(self.sample_path(cell_id) for cell_id in waiting)

    def complete(self) -> None:
        """Mark the run complete, with the sum of each artefact; the manifest is written last."""
        self.notes["artefacts"] = manifest.sums(self.folder)
        self.notes["complete"] = True
        self.save_notes()
        shutil.rmtree(self.folder / "cells", ignore_errors=True)


def _lock(folder: Path) -> int:
    """Keep other processes out of a run folder for as long as this one lives."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(f"{folder}: another process is measuring into it") from None
    return descriptor


def _remove(paths: Any) -> None:
    for path in paths:
        path.unlink()
