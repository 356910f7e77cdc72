"""The page on the book's own state: what its chapters took to execute, with which versions, and what is tested."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import nbformat

from cassbook.core import paths

#: Stands in `book/status.md` where the tables go.
PLACE = "<!-- tables -->"
#: Where an executed notebook keeps what its kernel took at most.
KEY = "cassbook"
_PACKAGES = (
    "cassbook", "numpy", "pandas", "scipy", "statsmodels", "scikit-learn", "numba", "matplotlib", "plotly",
    "jupyter-book", "sphinx", "papermill", "cassandra-driver",
)  # fmt: skip
_KINDS = {
    "tests/unit": "functions, files and messages, without a cluster",
    "tests/book": "the rendered book, in a browser",
    "tests/live": "live clusters: loads, faults, switches, Ctrl-C in the middle",
}
_TEST = re.compile(r"^\s*(?:async )?def test_", re.MULTILINE)


def filled(text: str, copies: Iterable[Path]) -> str:
    """Return the page with its tables.

    `text`: the tracked page, which says `PLACE` where they go. `copies`: the executed notebooks that the book shows.
    """
    tables = ["## Chapters", *_chapters(copies), "", "## Versions", *_versions(), "", "## Tests", *_tests()]
    return text.replace(PLACE, "\n".join(tables))


def _chapters(copies: Iterable[Path]) -> Iterator[str]:
    yield "\n| Chapter | Executed in, s | Memory at most, MB |\n|---|--:|--:|"
    for copy in copies:
        content = nbformat.read(copy, as_version=4)
        title = content.cells[0].source.splitlines()[0].removeprefix("# ")
        seconds = content.metadata.get("papermill", {}).get("duration")
        peak_mb = content.metadata.get(KEY, {}).get("peak_mb", "")
        yield f"| {title} | {f'{seconds:.1f}' if seconds else ''} | {peak_mb} |"


def _versions() -> Iterator[str]:
    yield f"\n| Package | Version |\n|---|---|\n| Python | {platform.python_version()} |"
    for name in _PACKAGES:
        yield f"| {name} | {version(name)} |"


def _tests() -> Iterator[str]:
    yield "\n| Of | What | Test functions |\n|---|---|--:|"
    for folder, what in _KINDS.items():
        files = (paths.project_root() / folder).rglob("test_*.py")
        yield f"| `{folder}` | {what} | {sum(len(_TEST.findall(file.read_text(encoding='utf-8'))) for file in files)} |"
