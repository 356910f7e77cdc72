"""Read recorded experiments: means over cluster starts, and ratios of conditions within one.

Every record of `cassbook experiment` has this form; the readers of one kind, `calibration`, `staleness`, `predictor`
and `schedule_runs`, build on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ArrowException

from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.files import check_recorded, hash_of
from cassbook.records import manifest
from cassbook.records.kinds import KINDS, RUN, TABLES

#: Columns of text: those that are mostly empty, and names that may look like numbers.
_WORDS = ("errors", "marks", "condition")


class Results:
    """A recorded experiment.

    `name_or_path`: in `data/records`, or a folder. `kinds`: of which the record must be; by default it may be of any
    that has rows.

    `files`: names of its files, in order. `rows`: all rows, in order of start and setup; `errors` and `marks` empty
    where there are none.

    Raises InputError if there is no such record, it is of another kind or not complete, or differs from its manifest's
    sums.
    """

    def __init__(self, name_or_path: str | Path, *kinds: str) -> None:
        folder = manifest.located(name_or_path, *kinds)
        self.manifest = manifest.read(folder, *(kinds or [kind for kind in KINDS if kind != RUN]))
        if not self.manifest["complete"]:
            raise InputError(f"{folder}: is not complete; `cassbook experiment NAME --resume` resumes it")
        check_recorded(folder, self.manifest["sums"])
        self._folder = folder
        self.files = sorted(self.manifest["sums"])
        parts = [_rows(folder / name) for name in self.files if name.endswith(".csv")]
        if not parts:  # the first records of the adviser are JSON
            raise InputError(manifest.unread(folder, self.manifest, KINDS[TABLES].noun))
        self.rows = pd.concat(parts, ignore_index=True)

    @property
    def name(self) -> str:
        return self._folder.name

    @property
    def data_hash(self) -> str:
        """One hash over all files."""
        return hash_of(self.manifest["sums"])

    def has_table(self, name: str) -> bool:
        """Return whether the rows have such a table with them."""
        return any(file.endswith(f"-{name}.parquet") for file in self.files)

    def table_or_empty(self, name: str, columns: Sequence[str]) -> pd.DataFrame:
        """Read a table as `table` does; with these columns and no rows where no row had anything in it."""
        return self.table(name) if self.has_table(name) else pd.DataFrame(columns=list(columns))

    def table(self, name: str) -> pd.DataFrame:
        """Read a table that the rows have with them: its columns, and start, setup and panel of the row.

        Raises InputError if there is none, or a file is damaged.
        """
        files = [self._folder / file for file in self.files if file.endswith(f"-{name}.parquet")]
        if not files:
            raise InputError(f"{self._folder}: holds no table {name!r}")
        parts = []
        for path in files:
            try:
                parts.append(pq.read_table(path, use_threads=False))  # they are small
            except (OSError, ArrowException) as error:
                raise InputError(f"{path}: cannot be read ({error})") from None
        return pa.concat_tables(parts, promote_options="permissive").to_pandas()

    def mean(self, value: str, by: Sequence[str]) -> pd.Series:
        """Return geometric means of a column over cluster starts, each averaged first: index `by`, `Estimate`."""
        starts = self.rows.groupby([*by, "start"], sort=False)[value].mean().reset_index()
        keys = list(by) if len(by) > 1 else by[0]
        return pd.Series(
            {key: Estimate.positive(group[value]) for key, group in starts.groupby(keys, sort=False)}, dtype=object
        )

    def ratio(self, value: str, over: Mapping[str, Any], under: Mapping[str, Any]) -> Estimate:
        """Return the ratio of two conditions, given by the values of columns, over cluster starts.

        Raises InputError if one of them was not measured.
        """
        parts = []
        for which in (over, under):
            rows = self.rows
            for column, wanted in which.items():
                rows = rows[rows[column] == wanted]
            if rows.empty:
                raise InputError(f"the experiment has no row with {dict(which)}")
            parts.append(rows.groupby("start")[value].mean())
        return Estimate.ratio((parts[0] / parts[1]).dropna())


def _rows(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, dtype=dict.fromkeys(_WORDS, "str"))
    except (OSError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    return table.assign(**{name: table[name].fillna("") for name in _WORDS if name in table.columns})
