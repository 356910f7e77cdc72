"""Store the tables that the tracked notebooks show (`make outputs`), for nbval and the book's tests to compare with.

Only this writes to a tracked notebook, and only when a person asks: after new data, or a change that is meant to
change a table. Figures are not stored; their cells are tagged `nbval-ignore-output`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from cassbook.book.kernels import QuietKernelManager
from cassbook.book.notebooks import analyse_notebooks
from cassbook.core.files import whole
from cassbook.core.paths import project_root
from cassbook.core.progress import bar

IGNORED = "nbval-ignore-output"
_INJECTED = "injected-parameters"  # Papermill's tag of the cell that it adds


def store(notebook: Path) -> None:
    """Execute a notebook with its defaults and keep what it shows, but for figures and traces of the execution."""
    content = nbformat.read(notebook, as_version=4)
    where = {"metadata": {"path": str(project_root())}}
    client = NotebookClient(content, kernel_name="python3", kernel_manager_class=QuietKernelManager, resources=where)
    client.execute()
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        cell.metadata.pop("execution", None)
        cell.execution_count = number
        if IGNORED in cell.metadata.get("tags", []):
            cell.outputs = []
    content.metadata.language_info = {"name": "python"}
    with whole(notebook) as draft:
        nbformat.write(content, draft)


def differences(stored: Path, executed: Path) -> list[str]:
    """Compare what an executed copy shows with what is stored: the first line of each cell that differs and both texts.

    As with nbval, figures and cells that are tagged so are left out.
    """
    differing = []
    for before, after in zip(_shown(stored), _shown(executed), strict=True):
        if before != after:
            differing.append(f"{before[0]}\n--- stored\n{before[1]}\n--- executed\n{after[1]}")
    return differing


def _shown(notebook: Path) -> list[tuple[str, list[Any]]]:
    """First line of each code cell that is compared, and what it shows."""
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    return [
        (cell.source.split("\n", 1)[0], [_text_of(output) for output in cell.outputs])
        for cell in cells
        if not {IGNORED, _INJECTED} & set(cell.metadata.get("tags", []))
    ]


def _text_of(output: Any) -> Any:
    if output.output_type == "stream":
        return output.name, output.text
    return {kind: text for kind, text in output.get("data", {}).items() if not kind.startswith("image/")}


def main() -> None:
    """Store the outputs of every analysis notebook."""
    notebooks = analyse_notebooks()
    with bar(len(notebooks), 0, "notebook") as progress:
        for notebook in notebooks:
            store(notebook)
            progress.update()


if __name__ == "__main__":
    main()
