"""Store the tables that the tracked notebooks show, for nbval to compare with (`make outputs`).

Only this writes to a tracked notebook, and only when a person asks: after new data, or a change that is meant to
change a table. Figures are not stored; their cells are tagged `nbval-ignore-output`.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

from cassbook.book import analyse_notebooks
from cassbook.kernels import QuietKernelManager
from cassbook.paths import project_root
from cassbook.progress import bar

IGNORED = "nbval-ignore-output"


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
    draft = notebook.with_suffix(".draft")
    nbformat.write(content, draft)
    draft.rename(notebook)


def main() -> None:
    """Store the outputs of every analysis notebook."""
    notebooks = analyse_notebooks()
    with bar(len(notebooks), 0, "notebook") as progress:
        for notebook in notebooks:
            store(notebook)
            progress.update()


if __name__ == "__main__":
    main()
