"""The tracked notebooks: where they are, and which parameters each declares."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from cassbook.core import paths
from cassbook.core.errors import InputError

MEASURE = "measure.ipynb"
#: The builder's own parameter: the fingerprint of the chapter (see `cassbook.book.fingerprint`).
DATA_HASH = "data_hash"
#: Parameters that stand for the runs that a book is built from.
RUNS = ("recorded", "today", "fresh")
_TAG = "parameters"


def analyse_notebooks() -> list[Path]:
    """Return the tracked analysis notebooks, by name; `_toc.yml` alone orders the pages."""
    return sorted((paths.project_root() / "notebooks" / "analyse").glob("*.ipynb"))


def measure_notebook() -> Path:
    """Return the notebook that measures a profile."""
    return paths.project_root() / "notebooks" / "measure" / MEASURE


def chapter_notebook(slug: str) -> Path:
    """Return the notebook of a chapter.

    `slug`: name of its file without the ending: 'latency'.

    Raises InputError if there is no such chapter, with those that exist.
    """
    known = {path.stem: path for path in analyse_notebooks()}
    if slug not in known:
        raise InputError(f"chapter: there is no {slug!r}; use one of {', '.join(known) or 'none (no checkout here)'}")
    return known[slug]


def cells(notebook: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook as they are stored, `source` joined to one text.

    Raises InputError if the file is missing or no notebook.
    """
    try:
        stored = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{notebook}: is no notebook that can be read ({error})") from None
    return [cell | {"source": "".join(cell["source"])} for cell in stored]


def parameters(notebook: Path) -> dict[str, Any]:
    """Return the parameters that a notebook declares, with their defaults.

    Its cell tagged `parameters` assigns literals and nothing else.

    Raises InputError if the cell assigns anything but a literal.
    """
    declared: dict[str, Any] = {}
    for cell in cells(notebook):
        if _TAG in cell["metadata"].get("tags", []):
            try:
                declared |= assigned(cell["source"])
            except InputError as error:
                raise InputError(f"{notebook.name}: {error}") from None
    return declared


def assigned(source: str) -> dict[str, Any]:
    """Return the values that a cell of parameters assigns, by name.

    Raises InputError if one is no literal.
    """
    values: dict[str, Any] = {}
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    values[name] = ast.literal_eval(value)
                except ValueError:
                    raise InputError(f"parameter {name} is no literal") from None
    return values


def check(notebook: Path, given: set[str]) -> None:
    """Refuse names that are no parameters of a notebook; Papermill itself would only warn.

    Raises InputError, naming the unknown parameters, and those that the notebook has.
    """
    known = [name for name in parameters(notebook) if name != DATA_HASH]
    unknown = sorted(given - set(known) - {DATA_HASH})
    if unknown:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"{notebook.stem}: no parameter {', '.join(unknown)}; {has}")
