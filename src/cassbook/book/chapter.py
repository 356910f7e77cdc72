"""What every notebook begins with: its parameters checked, its data loaded and named, its hash shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from IPython.display import Markdown, display
from myst_nb import glue

from cassbook import published
from cassbook.core import paths
from cassbook.core.errors import InputError
from cassbook.ingest.folder import open_run
from cassbook.latency import summaries, validation
from cassbook.records.run import RecordedRun

_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
PUBLISHED, RECORDED, FRESH = "published", "recorded", "measured now"
_ANALYSIS_PARAMETERS = frozenset({"recorded", "today", "fresh", "data_hash"})
_OF_JUPYTER = frozenset({"In", "Out", "get_ipython", "exit", "quit", "open"})


@dataclass(frozen=True)
class Source:
    """One origin of numbers: the printed tables, or a run. All go through the same functions.

    Attributes
    ----------
    label : str
        'published', 'recorded' and the version, or 'measured now'.
    run : RecordedRun or None
    """

    label: str
    run: RecordedRun | None = None

    @cached_property
    def cell_stats(self) -> pd.DataFrame:
        """Statistics of each cell of a run (see `summaries.cell_statistics`)."""
        if self.run is None:
            raise InputError("the printed tables have no cells")
        return self.run.statistics

    @cached_property
    def level_stats(self) -> pd.DataFrame:
        """Pure workloads, columns `schema.LEVEL_STATS`."""
        return published.level_stats() if self.run is None else summaries.level_stats(self.cell_stats)

    @cached_property
    def mixed_stats(self) -> pd.DataFrame:
        """Mixed workloads: measured in a run; for the paper, what Tables IV and V together imply."""
        return validation.printed_measured() if self.run is None else summaries.mixed_stats(self.cell_stats)


def check_parameters(namespace: Mapping[str, Any], known: Set[str]) -> None:
    """Refuse a parameter that the notebook does not have; Papermill itself would only warn.

    Called in the cell after the parameters, when nothing else has been defined yet.

    Parameters
    ----------
    namespace : mapping
        The notebook's `globals()`.
    known : set of str
        Names in its `parameters` cell.

    Raises
    ------
    InputError
        Naming the unknown and the known.
    """
    defined = {
        name
        for name, value in namespace.items()
        if not name.startswith("_") and name not in _OF_JUPYTER and not _is_tool(value)
    }
    unknown = defined - known
    if unknown:
        raise InputError(
            f"unknown parameter {', '.join(sorted(unknown))}; this notebook has {', '.join(sorted(known))}"
        )


def _is_tool(value: Any) -> bool:
    """Whether a name stands for something imported, not for a parameter."""
    return callable(value) or isinstance(value, ModuleType)


def begin(namespace: Mapping[str, Any], *further: str) -> list[Source]:
    """Check an analysis notebook's parameters and load its sources.

    Parameters
    ----------
    namespace : mapping
        The notebook's `globals()`, holding `recorded`, `today`, `fresh` and `data_hash`.
    *further : str
        Names of parameters of its own; `run_of` opens those that name runs.

    Returns
    -------
    list of Source
        Published; recorded with the paper's version and with today's; what was just measured if there is any.

    Raises
    ------
    InputError
        For an unknown parameter, a run that cannot be read, or data that changed since the build began.
    """
    check_parameters(namespace, _ANALYSIS_PARAMETERS | set(further))
    sources = [Source(PUBLISHED), *_recorded(open_run(namespace[name]) for name in ("recorded", "today"))]
    if namespace["fresh"]:
        folder = paths.project_root() / Path(namespace["fresh"])
        sources.append(Source(FRESH, open_run(folder)))
    if namespace["data_hash"]:
        from cassbook.book.build import data_hash  # noqa: PLC0415 - a notebook opened by hand needs no builder

        now = data_hash(*[s.run.data_hash for s in sources if s.run])
        if now != namespace["data_hash"]:
            raise InputError(
                f"the data or the library changed since the build began ({namespace['data_hash']}, now {now})"
            )
    return sources


def run_of(name_or_path: str) -> Source:
    """Open a run that a chapter has beside the usual ones; named for its profile and version.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    run = open_run(name_or_path)
    profile = run.manifest.get("profile", {}).get("name", run.name)
    return Source(f"{profile}, {run.manifest['engine']}", run)


def _recorded(runs: Iterable[RecordedRun]) -> list[Source]:
    """Recorded runs as sources, named for their versions; a version that comes again is numbered."""
    found: list[Source] = []
    for run in runs:
        label = f"{RECORDED} {run.manifest['engine']}"
        again = sum(source.label == label or source.label.startswith(f"{label} (") for source in found)
        found.append(Source(f"{label} ({again + 1})" if again else label, run))
    return found


def describe(sources: list[Source]) -> pd.DataFrame:
    """One row a source: engine, Java, machine, cells, blocks, marks, and the hash of its data."""
    rows = []
    for source in sources:
        if source.run is None:
            rows.append(
                {
                    "source": source.label,
                    "Cassandra": "2.1",
                    "machine": "3 EC2 c3.xlarge, client apart",
                    "cells": "36 + 36",
                }
            )
            continue
        notes, cells = source.run.manifest, source.run.cells
        measured = cells[cells["kind"] != "warmup"]
        rows.append(
            {
                "source": source.label,
                "Cassandra": notes["engine"],
                "Java": _java(notes),
                "machine": _machine(notes),
                "cells": str(len(measured)),
                "blocks": str(measured["block"].nunique()),
                "busy before, %": f"{notes['busy_before_percent']:.0f}" if "busy_before_percent" in notes else "",
                "marked cells": str(int((measured["marks"] != "").sum())),
                "data hash": source.run.data_hash[:12],
            }
        )
    return pd.DataFrame(rows).set_index("source").fillna("")


def _java(notes: Mapping[str, Any]) -> str:
    starts = notes.get("cluster_starts") or [{}]
    return str(starts[0].get("java", {}).get("version", ""))


def _machine(notes: Mapping[str, Any]) -> str:
    if "machine" not in notes:
        return "logs do not tell"
    return f"{notes['machine']['cores']} cores for 3 nodes and the client"


def show(tables: Mapping[str, pd.DataFrame]) -> None:
    """Display one table a source, each under the source's name."""
    for label, table in tables.items():
        display(Markdown(f"*{label}*"))
        display(table)


def put(**figures: Any) -> None:
    """Glue figures under their names, formatted as prose quotes them, and tables as they are; nothing is shown."""
    for name, value in figures.items():
        if isinstance(value, pd.DataFrame):
            glue(name.replace("_", "-"), value, display=False)
            continue
        text = f"{value:,.0f}" if isinstance(value, float) and abs(value) >= 1000 else value  # noqa: PLR2004
        text = f"{text:.3g}" if isinstance(text, float) else str(text)
        glue(name.replace("_", "-"), _Plain(text), display=False)


class _Plain:
    """Text whose representation is itself, so that glued words stand in prose without quotes.

    Except '1,234', which the book would take for two numbers: in quotes it comes out as it is.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return repr(self._text) if _THOUSANDS.fullmatch(self._text) else self._text
