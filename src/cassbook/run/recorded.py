"""A run folder that is read: checked against its manifest before a single number is drawn from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as ds

from cassbook.engine.checksums import sha256
from cassbook.errors import InputError
from cassbook.paths import runs_dir
from cassbook.run import manifest
from cassbook.schema import SAMPLES, read_cells


class RecordedRun:
    """A complete run.

    Parameters
    ----------
    name_or_path : str or Path
        The name of a folder in `data/runs`, or a path.

    Raises
    ------
    InputError
        If the folder is missing, incomplete, of another schema version, or differs from its manifest's sums.
    """

    def __init__(self, name_or_path: str | Path) -> None:
        folder = Path(name_or_path)
        if not folder.is_dir():
            folder = runs_dir() / name_or_path
        if not (folder / "manifest.json").is_file():
            known = ", ".join(sorted(p.parent.name for p in runs_dir().glob("*/manifest.json"))) or "none"
            raise InputError(f"run: {name_or_path} is no run folder (no manifest.json); recorded runs: {known}")
        self.folder = folder
        self.manifest = manifest.read(folder)
        if not self.manifest["complete"]:
            raise InputError(f"{folder}: the run is incomplete; finish it with `cassbook run --resume --out {folder}`")
        self._check_sums()

    def _check_sums(self) -> None:
        listed = self.manifest.get("artefacts", {})
        if "cells.csv" not in listed or not any(name.startswith("samples/") for name in listed):
            raise InputError(f"{self.folder / 'manifest.json'}: is damaged (it lists no cells or no samples)")
        for name, pinned in listed.items():
            path = self.folder / name
            if not path.is_file():
                raise InputError(f"{path}: is missing, though the manifest lists it")
            found = sha256(path)
            if found != pinned:
                raise InputError(f"{path}: is not what was recorded (SHA-256 {found}, manifest says {pinned})")

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def data_hash(self) -> str:
        """One hash over all artefacts; a notebook shows it, so that no stale output can pass for new."""
        return hashlib.sha256(json.dumps(self.manifest["artefacts"], sort_keys=True).encode()).hexdigest()

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells, columns as in `schema.CELLS`."""
        return read_cells(self.folder / "cells.csv")

    def samples(self, columns: Sequence[str] | None = None, cells: Sequence[str] | None = None) -> pd.DataFrame:
        """Read samples, columns as in `schema.SAMPLES`; labels come as categories.

        Parameters
        ----------
        columns : sequence of str, optional
            Only these.
        cells : sequence of str, optional
            Only those of these cells.
        """
        listed = [str(self.folder / name) for name in self.manifest["artefacts"] if name.startswith("samples/")]
        dataset = ds.dataset(listed, format="parquet", schema=SAMPLES)
        wanted = pc.field("cell_id").cast("string").isin(list(cells)) if cells is not None else None
        table = dataset.to_table(columns=list(columns) if columns else None, filter=wanted)
        return table.unify_dictionaries().to_pandas()
