"""The printed tables, one tidy CSV each in `data/published`; its README names sources, units and repairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.paths import resource
from cassbook.core.schema import LEVEL_STATS

#: (operation, level) -> coefficients, constant first: equations (2)-(7).
Coefficients = dict[tuple[str, str], tuple[float, ...]]


def _folder() -> Path:
    """Folder of the CSVs.

    Raises
    ------
    LaboratoryError
        If the installation carries no printed tables.
    """
    folder = resource("data/published")
    if not any(folder.glob("*.csv")):
        raise LaboratoryError(
            f"no printed tables in {folder}: reinstall cassbook or use a checkout with data/published"
        )
    return folder


def names() -> list[str]:
    """Names of all printed tables, sorted; each is accepted by `table`.

    Raises
    ------
    LaboratoryError
        If the installation carries no printed tables.

    Examples
    --------
    >>> "g20_table1" in names()
    True
    """
    return sorted(path.stem for path in _folder().glob("*.csv"))


def _path(name: str) -> Path:
    """File of one table, or an InputError that lists those there are."""
    known = names()
    if name not in known:
        raise InputError(f"printed table: {name!r} is unknown; use one of {', '.join(known)}")
    return _folder() / f"{name}.csv"


def table(name: str) -> pd.DataFrame:
    """Load one printed table; every number is as printed.

    Parameters
    ----------
    name : str
        One of `names()`, e.g. 'g20_table1'. Columns and units are in `data/published/README.md`.

    Raises
    ------
    InputError
        If there is no such table; the message lists those there are.
    LaboratoryError
        If the installation carries no printed tables at all.

    Examples
    --------
    >>> len(table("g20_table1"))
    36
    """
    return pd.read_csv(_path(name))


def as_text(name: str) -> pd.DataFrame:
    """Load one printed table with every cell as the text that was printed, so that its digits can be counted.

    Blank cells are ''. Parameters and errors as for `table`.

    Examples
    --------
    >>> as_text("d16_table2").loc[0, "cpu_demand_ms"]
    '0.8028'
    """
    return pd.read_csv(_path(name), dtype=str, keep_default_na=False)


def level_stats() -> pd.DataFrame:
    """Tables I and II of Gorbenko 2020 as measured statistics are given, 72 rows.

    Returns
    -------
    DataFrame
        Columns `schema.LEVEL_STATS`; latency in us, throughput in operations/s, variation in percent. The
        paper prints no interval, so `latency_low_us` and `latency_high_us` are NaN and `blocks` is 1.
    """
    stats = pd.concat([table("g20_table1"), table("g20_table2")], ignore_index=True)
    stats = stats.assign(latency_low_us=np.nan, latency_high_us=np.nan, blocks=1, marks="")
    return stats[list(LEVEL_STATS)]


def mixed_estimates() -> pd.DataFrame:
    """Table IV of Gorbenko 2020: the latency the paper predicts for mixed workloads, 144 rows.

    Returns
    -------
    DataFrame
        Columns setting, read_share, threads, latency_us, as `latency.mixing.estimates` gives them.
    """
    return table("g20_table4")[["setting", "read_share", "threads", "latency_us"]]


def equations() -> Coefficients:
    """Equations (2)-(7) of Gorbenko 2020, coefficients as printed.

    Returns
    -------
    dict
        (operation, level) to the coefficients, constant first, in us / threads^power.
    """
    printed = table("g20_equations").sort_values("power", kind="stable")
    return {
        (str(operation), str(level)): tuple(float(c) for c in rows["coefficient"])
        for (operation, level), rows in printed.groupby(["operation", "level"], sort=False)
    }
