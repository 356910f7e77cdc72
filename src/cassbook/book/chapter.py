"""What every notebook opens with: parameters checked, data opened and named; and how its numbers reach the prose."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import myst_nb
import pandas as pd
from IPython.core.getipython import get_ipython
from IPython.display import HTML, Markdown, display
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import set_matplotlib_formats

from cassbook.book import fingerprint, gaps, notebooks, substitution
from cassbook.book.evidence import describe
from cassbook.book.provenance import FRESH, PUBLISHED, Source, recorded_sources, run_of
from cassbook.book.setting_names import in_levels
from cassbook.core import paths
from cassbook.core.errors import InputError, LackingError
from cassbook.ingest.folder import open_run
from cassbook.records import manifest, open_record
from cassbook.records.kinds import KINDS, RUN, TABLES, read_by
from cassbook.records.manifest import kind_of

__all__ = ["Chapter", "check_parameters", "describe", "glue", "glue_each", "of_each", "open_chapter", "show"]

of_each = gaps.of_each
#: More rows than any table of a page has, and far fewer than samples.
_MOST_ROWS = 5_000
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
#: Papermill puts this above the cell of parameters that it adds.
_INJECTED = "# Parameters"


class Chapter:
    """The data of one chapter, each opened when it is first asked for.

    A parameter that names a further record is an attribute of the same name, such as `six` or `probed`.

    Parameters
    ----------
    slug : str
        The notebook's name without its ending.
    given : mapping
        Values of its parameters by name.
    """

    def __init__(self, slug: str, given: Mapping[str, Any]) -> None:
        self.slug = slug
        self._given = dict(given)

    @cached_property
    def published(self) -> Source:
        """The printed tables."""
        return Source(PUBLISHED)

    @cached_property
    def _recorded(self) -> list[Source]:
        names = [name for name in ("recorded", "today") if name in self._given]
        return recorded_sources(open_run(self._given[name]) for name in names)

    @property
    def recorded(self) -> Source:
        """The run that parameter `recorded` names."""
        self._value("recorded")
        return self._recorded[0]

    @property
    def today(self) -> Source:
        """The run that parameter `today` names."""
        self._value("today")
        return self._recorded[-1]

    @cached_property
    def fresh(self) -> Source | None:
        """The run that was just measured, if parameter `fresh` names one."""
        named = self._value("fresh")
        return Source(FRESH, open_run(paths.project_root() / Path(named))) if named else None

    @property
    def pair(self) -> dict[str, Source]:
        """The runs of both versions, by the name that prose uses: `recorded` and `today`."""
        return {"recorded": self.recorded, "today": self.today}

    @property
    def runs(self) -> list[Source]:
        """The runs that the chapter asked for: recorded, today, and fresh where there is one."""
        fresh = self.fresh if "fresh" in self._given else None
        return [*self._recorded, *([fresh] if fresh else [])]

    @property
    def sources(self) -> list[Source]:
        """The printed tables, and `runs`."""
        return [self.published, *self.runs]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or hasattr(type(self), name):
            raise AttributeError(name)
        given = self._value(name)
        if usual := self._defaults.get(name):
            check_kind(name, given, usual)
        value = run_of(given) if kind_of(given) in (None, RUN) else open_record(given)
        self.__dict__[name] = value
        return value

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        known = {notebook.stem: notebook for notebook in notebooks.analyse_notebooks()}
        return notebooks.parameters(known[self.slug]) if self.slug in known else {}

    def _value(self, name: str) -> Any:
        if name not in self._given:
            known = ", ".join(self._given) or "none"
            raise InputError(f"chapter {self.slug} has no parameter {name}; it was opened with {known}")
        return self._given[name]


def check_kind(parameter: str, name_or_path: str, usual: str) -> None:
    """Check that a record is of the kind that a chapter reads under a parameter, as its default is.

    Raises LackingError if it is of another kind, or its tables are those of another experiment.
    """
    given, wanted = (_notes(name) for name in (name_or_path, usual))
    if given["kind"] != wanted["kind"] or (given["kind"] == TABLES and given["experiment"] != wanted["experiment"]):
        said = [
            f"a record of {notes['experiment']}" if "experiment" in notes else f"a {KINDS[RUN].noun}"
            for notes in (given, wanted)
        ]
        raise LackingError(
            f"{parameter}: {name_or_path} is {said[0]}, not {said[1]} like {usual}; "
            f"{read_by(given.get('experiment'), name_or_path)}"
        )


def _notes(name_or_path: str) -> dict[str, Any]:
    """Return the manifest of a record; that of a run where there is none, as of logs or of what is not there."""
    folder = manifest.find(name_or_path)
    return {"kind": RUN} if folder is None else manifest.read(folder)


def open_chapter(slug: str, *, data_hash: str = "", **parameters: Any) -> Chapter:
    """Check an analysis notebook's parameters and open its data.

    Parameters
    ----------
    slug : str
        The notebook's name without its ending.
    data_hash : str
        The chapter's fingerprint when the build began; empty in a notebook that is opened by hand.
    **parameters
        All others that the notebook declares, by name.

    Raises
    ------
    InputError
        For a parameter that the notebook does not have, or data that changed since the build began.

    Notes
    -----
    In a notebook, a cell whose data a run lacks is from now on replaced by a sentence: see
    `cassbook.book.substitution`.
    """
    check_parameters([*parameters, notebooks.DATA_HASH])
    if shell := get_ipython():
        os.chdir(paths.project_root())  # from wherever a notebook was opened: its cells name tables as seen from there
        # Twice as many points, shown at the same size; a rendered book's pictures are made small at its end.
        set_matplotlib_formats("retina", pil_kwargs={"compress_level": 1})
        substitution.install(shell)
        show_whole_and_plain()
    if data_hash:
        now = fingerprint.of_chapter(notebooks.chapter_notebook(slug), parameters)
        if now != data_hash:
            raise InputError(f"the data or the library changed since the build began ({data_hash}, now {now})")
    return Chapter(slug, parameters)


def show_whole_and_plain() -> None:
    """Let tables show all rows and texts to their end, and warnings say what they say without the path of a file.

    A page folds a long table; a table that pandas has cut cannot be unfolded. Without any limit, pandas would write out
    a series of a million samples whenever it is grouped by, for the message of an error that it catches itself.
    """
    pd.set_option("display.max_rows", _MOST_ROWS, "display.max_colwidth", None)
    warnings.formatwarning = _warned


def _warned(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Write a warning without where it was raised: a path on whichever machine built the page."""
    return f"{category.__name__}: {message}\n"


def check_parameters(known: Iterable[str]) -> None:
    """Refuse a parameter that Papermill set and the notebook does not have; Papermill itself only warns.

    Papermill adds a cell that assigns what it was given, and Jupyter's namespace holds the text of every cell that ran;
    this is the one place that looks there. Outside Jupyter there is nothing to check.

    `known`: names in the notebook's `parameters` cell.

    Raises InputError, naming the unknown and the known.
    """
    shell = get_ipython()
    cells = shell.user_ns.get("In", []) if shell else []
    injected = [ast.parse(cell) for cell in cells if cell.lstrip().startswith(_INJECTED)]
    given = {
        target.id
        for tree in injected
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    unknown = sorted(given - set(known))
    if unknown:
        names = ", ".join(name for name in known if name != notebooks.DATA_HASH) or "none"
        raise InputError(f"unknown parameter {', '.join(unknown)}; this notebook has {names}")


def show(tables: Mapping[str, pd.DataFrame]) -> None:
    """Display one table per source, each under the source's name; not of a source that has nothing to show."""
    for label, table in tables.items():
        if table.empty:
            continue
        display(Markdown(f"*{label}*"))
        display(table)


def glue(**figures: Any) -> None:
    """Glue figures under their names, formatted as prose quotes them; tables, drawings and HTML as they are.

    Parameters
    ----------
    **figures
        `read_slowdown=1.8` is quoted as `read-slowdown`: three significant digits, or whole numbers from 1,000.
    """
    for name, value in figures.items():
        if isinstance(value, pd.DataFrame | Figure | HTML):
            myst_nb.glue(name.replace("_", "-"), value, display=False)
            continue
        text = f"{value:,.0f}" if isinstance(value, float) and abs(value) >= 1000 else value  # noqa: PLR2004
        text = f"{text:.3g}" if isinstance(text, float) else str(text)
        text = in_levels(gaps.without_nan(text))
        myst_nb.glue(name.replace("_", "-"), _Plain(text), display=False)


def glue_each(sources: Mapping[str, Source], figures: Callable[[Source], Mapping[str, Any]]) -> None:
    """Glue figures of each source; those of one that lacks the data read `gaps.NOT_DETERMINED` in the prose.

    `sources`: by what prose calls them; names of figures end in it: `spread` of 'today' is quoted as `spread-today`.
    `figures`: raises `LackingError` for a source that lacks the data.
    """
    for name, source in sources.items():
        try:
            found = figures(source)
        except LackingError:
            continue
        glue(**{f"{figure}_{name}".rstrip("_"): value for figure, value in found.items()})


class _Plain:
    """Text whose representation is itself, so that glued words stand in prose without quotes.

    Except '1,234', which the book would take for two numbers: in quotes it comes out as it is.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return repr(self._text) if _THOUSANDS.fullmatch(self._text) else self._text
