"""Lay out an executed chapter to be rendered: code folded, parameters hidden, pictures in words, tables captioned.

What a reader downloads from the page is this copy, with all its cells.
"""

from __future__ import annotations

from pathlib import Path

import nbformat

from cassbook.book import captions, gaps, notebooks

#: Papermill's two: the defaults, and what it was given.
_PARAMETERS = {"parameters", "injected-parameters"}
#: Parameters that no sentence of the prose is about.
_OWN = {notebooks.DATA_HASH, "fresh"}
_WHOSE = (
    "Numbers, tables and figures are computed from what was given; the sentences around them, and the versions "
    "that they name, were written about the defaults."
)
_FOLDED, _OUT_OF_SIGHT = "hide-input", "remove-cell"
_PICTURE = "image/"


def stage(executed: Path, page: Path) -> None:
    """Write the copy of an executed notebook that the book renders."""
    content = nbformat.read(executed, as_version=4)
    content.cells = [part for cell in content.cells for part in _without_sentences(cell)]
    for cell in content.cells:
        if cell.cell_type == "code":
            tags = list(cell.metadata.get("tags", []))
            wanted = _OUT_OF_SIGHT if _PARAMETERS & set(tags) else _FOLDED
            cell.metadata["tags"] = [*tags, *([wanted] if wanted not in tags else [])]
            if text := _in_words(cell):
                shown = cell.metadata.setdefault("mystnb", {})
                shown["image"] = {"alt": text, **shown.get("image", {})}
    _say_what_was_given(content.cells)
    captions.caption(content.cells, page.stem)
    nbformat.write(content, page)


def _without_sentences(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Part a cell from the sentences that it shows before its figure: all outputs of one cell get the figure's name."""
    if "figure" not in cell.metadata.get("mystnb", {}):
        return [cell]
    shown = [output for output in cell.outputs if not output.get("metadata", {}).get("scrapbook")]
    before = [output for output in shown[:-1] if gaps.is_sentence(output.get("data", {}))]
    cell.outputs = [output for output in cell.outputs if output not in before]
    return [*(nbformat.v4.new_markdown_cell(output.data["text/html"]) for output in before), cell]


def _say_what_was_given(cells: list[nbformat.NotebookNode]) -> None:
    """Add to the first cell which records the page shows instead of those that its prose was written about."""
    sources = {tag: cell.source for cell in cells for tag in _PARAMETERS & set(cell.metadata.get("tags", []))}
    usual, given = (notebooks.assigned(sources.get(tag, "")) for tag in ("parameters", "injected-parameters"))
    changed = [
        f"{name} = {value} instead of {usual[name]}" for name, value in given.items()
        if name not in _OWN and name in usual and usual[name] and value != usual[name]
    ]  # fmt: skip
    if changed and cells[0].cell_type == "markdown":
        note = f"This page was executed with {', '.join(changed)}. {_WHOSE}"
        cells[0].source += f"\n\n```{{note}}\n{note}\n```"


def _in_words(cell: nbformat.NotebookNode) -> str:
    """The plain text that goes with a cell's pictures."""
    data = [output.data for output in cell.outputs if "data" in output]
    return " ".join(
        bundle["text/plain"]
        for bundle in data
        if "text/plain" in bundle and any(k.startswith(_PICTURE) for k in bundle)
    )
