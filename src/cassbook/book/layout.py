"""Lay out an executed chapter to be rendered: pictures in words, tables captioned, one cell of code to try.

The code of all other cells is plumbing: it stands in the notebook that the page offers, and captions link the functions
that it calls.

Each table gets a number, a caption, plain headings and its values as CSV. A notebook names what its table answers in
the cell's metadata, as it does for a figure:

    "table": {"caption": "What does a level cost?", "folded": true, "links": {"reads, ": "latency"}}

A table of more than `MOST_ROWS` is folded unless "folded" says otherwise. Headings that begin as one of `links` become
links to that page, whose path is relative.
"""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from itertools import count
from pathlib import Path
from urllib.parse import quote

import nbformat
from bs4 import BeautifulSoup, Tag

from cassbook.book import chapters, gaps, notebooks
from cassbook.book.setting_names import in_levels
from cassbook.records import manifest

#: Papermill's two: the defaults, and what it was given.
_PARAMETERS = {"parameters", "injected-parameters"}
#: Parameters that no sentence of the prose is about.
_OWN = {notebooks.DATA_HASH, "fresh"}
_WHOSE = (
    "Numbers, tables and figures are computed from what was given; the sentences around them, and the versions "
    "that they name, were written about the defaults."
)
_WITHOUT_CODE, _OUT_OF_SIGHT = "remove-input", "remove-cell"
#: Tag of the cell whose code a page shows: short, on the shipped tables, to be changed by a reader.
READER = "reader"
_PICTURE = "image/"
KEY = "table"
#: As many as stand between two paragraphs without parting them.
MOST_ROWS = 16
_FRAME = re.compile(r'<table [^>]*class="dataframe')
_EVIDENCE = '<div class="evidence">'
#: Fact in the strip of evidence that names the record; its place on the page; where data lie, seen from there.
RECORD, _ANCHOR, _DATA = "record", "evidence", "../../_static/records"
#: Functions that put the tables of others side by side.
_FRAMES = frozenset({"by_version", "labels"})
#: A heading that is a name of the library's own: words joined by underscores.
_NAME = re.compile(r"(<th[^>]*>)([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?=</th>)")
_HEADING = re.compile(r"(<th[^>]*>)([^<]+)(?=</th>)")
#: A cell that holds a sentence.
_SENTENCE = re.compile(r"<td>(?=[^<]{40,}</td>)")
_UNIT = re.compile(r"_(ms|us|s|percent)$")


def stage(executed: Path, page: Path) -> list[str]:
    """Write the copy of an executed notebook that the book renders; return the records whose data it offers."""
    content = nbformat.read(executed, as_version=4)
    content.cells = [part for cell in content.cells for part in _without_sentences(cell)]
    for cell in content.cells:
        if cell.cell_type == "code":
            tags = list(cell.metadata.get("tags", []))
            shown_code = [] if READER in tags else [_WITHOUT_CODE]
            hidden = [_OUT_OF_SIGHT] if _PARAMETERS & set(tags) else shown_code
            cell.metadata["tags"] = [*(tag for tag in tags if tag != "hide-input"), *hidden]
            if text := in_levels(_in_words(cell)):
                shown = cell.metadata.setdefault("mystnb", {})
                shown["image"] = {"alt": text, **shown.get("image", {})}
    _say_what_was_given(content.cells)
    records = _put_evidence_last(content.cells)
    _name_functions(content.cells)
    caption(content.cells, page.stem)
    nbformat.write(content, page)
    return records


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


def _put_evidence_last(cells: list[nbformat.NotebookNode]) -> list[str]:
    """Move the strip of evidence behind the chapter, with links to the data; a line where it was leads there.

    Returns the names of the records.
    """
    shown = ((place, output) for place, cell in enumerate(cells) for output in cell.get("outputs", []))
    found = next(((place, output) for place, output in shown if _is_evidence(output)), None)
    if found is None:
        return []
    place, strip = found
    cells[place].outputs.remove(strip)
    html = strip.data["text/html"]
    listed = next((row[1:] for row in rows(html) if row[0] == RECORD), [])
    names = [name for name in dict.fromkeys(listed) if manifest.find(name)]
    said = f"Measured: {', '.join(f'<code>{escape(name)}</code>' for name in names)}; " if names else ""
    line = f'<p class="records">{said}<a href="#{_ANCHOR}">when, where, how long, and the data</a>.</p>'
    cells.insert(place + 1, nbformat.v4.new_markdown_cell(line))
    for name in names:
        link = f'<a download href="{_DATA}/{quote(name)}.zip">{escape(name)}</a>'
        html = html.replace(f"<td>{escape(name)}</td>", f"<td>{link}</td>")
    title = f'<div id="{_ANCHOR}"></div>\n\n## What was measured, and the data'
    cells += [nbformat.v4.new_markdown_cell(title), nbformat.v4.new_markdown_cell(html)]
    return names


def _name_functions(cells: Iterable[nbformat.NotebookNode]) -> None:
    """Let the captions of figures and tables link the function that computes them."""
    modules: dict[str, Path] = {}
    for cell in cells:
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == chapters.__name__:
                folder = Path(chapters.__path__[0])
                modules |= {alias.asname or alias.name: folder / f"{alias.name}.py" for alias in node.names}
        figure = cell.metadata.get("mystnb", {}).get("figure")
        if figure and "caption" in figure:
            figure["caption"] = in_levels(figure["caption"])
        if (link := _link_to_function(tree, modules)) and figure and "caption" in figure:
            figure["caption"] += " " + link
        if link and KEY in cell.metadata:
            cell.metadata[KEY]["function"] = link


def _link_to_function(tree: ast.AST, modules: Mapping[str, Path]) -> str:
    """Return a link to the function of the chapter's modules that a cell calls innermost; '' where it calls none."""
    called = [
        (node.value.id, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
    ]
    public = [pair for pair in called if pair[1] in _functions(modules[pair[0]])]
    numbers = [pair for pair in public if not pair[1].endswith("_shown") and pair[1] not in _FRAMES]
    for module, name in reversed(numbers or public):
        target = f"{chapters.__name__}.{modules[module].stem}.{name}"
        return f'<a class="values" href="../../book/library/chapters.html#{target}">{name}()</a>'
    return ""


@cache
def _functions(module: Path) -> frozenset[str]:
    found = ast.parse(module.read_text(encoding="utf-8")).body
    return frozenset(node.name for node in found if isinstance(node, ast.FunctionDef) and node.name[0] != "_")


def _is_evidence(output: nbformat.NotebookNode) -> bool:
    return str(output.get("data", {}).get("text/html", "")).startswith(_EVIDENCE)


def _in_words(cell: nbformat.NotebookNode) -> str:
    """The plain text that goes with a cell's pictures."""
    data = [output.data for output in cell.outputs if "data" in output]
    return " ".join(
        bundle["text/plain"]
        for bundle in data
        if "text/plain" in bundle and any(k.startswith(_PICTURE) for k in bundle)
    )


def has_table(output: nbformat.NotebookNode) -> bool:
    """Whether an output is a table to be captioned; the strip of evidence explains itself."""
    html = output.get("data", {}).get("text/html", "")
    return bool(_FRAME.search(html)) and not html.startswith(_EVIDENCE)


def caption(cells: Iterable[nbformat.NotebookNode], slug: str) -> None:
    """Caption the tables of a chapter in place, numbered in their order.

    `cells`: executed. What `show` displays before a table, the name of its source, moves into the caption. `slug`: the
    chapter's name, with which the names of CSV files begin.
    """
    numbers = count(1)
    for cell in cells:
        if cell.cell_type == "code" and KEY in cell.metadata:
            cell.outputs = list(_captioned(cell.outputs, cell.metadata[KEY], numbers, slug))


def _captioned(
    outputs: Iterable[nbformat.NotebookNode], wanted: nbformat.NotebookNode, numbers: Iterator[int], slug: str
) -> Iterator[nbformat.NotebookNode]:
    named: nbformat.NotebookNode | None = None
    for output in outputs:
        if has_table(output):
            number = next(numbers)
            source = f", {named.data['text/markdown'].strip('*')}" if named else ""
            head = f"<b>Table {number}{escape(source)}.</b> {escape(in_levels(wanted['caption']))}"
            name = f"{slug}-{number}.csv"
            table = _linked(in_levels(output.data["text/html"]), wanted.get("links", {}))
            output.data["text/html"] = _framed(
                table, head, name, wanted.get("folded", _is_long(table)), wanted.get("function", "")
            )
            named = None
        elif named:
            yield named
            named = None
        if "text/markdown" in output.get("data", {}):
            named = output
        else:
            yield output
    if named:
        yield named


def heading(name: str) -> str:
    """Return a name of the library's own as a page shows it; CSV files keep the name.

    >>> heading("farthest_off_ms"), heading("worst_percent"), heading("printed_per_s"), heading("read_share")
    ('farthest off, ms', 'worst, %', 'printed per s', 'read share')
    """
    unit = None if name.endswith("_per_s") else _UNIT.search(name)
    words = _UNIT.sub("", name) if unit else name
    return words.replace("_", " ") + (f", {unit[1].replace('percent', '%')}" if unit else "")


def _linked(table: str, links: Mapping[str, str]) -> str:
    def link(found: re.Match[str]) -> str:
        page = next((page for begin, page in links.items() if found[2].startswith(begin)), None)
        return f'{found[1]}<a href="{page}.html">{found[2]}</a>' if page else found[0]

    return _HEADING.sub(link, table)


def _is_long(table: str) -> bool:
    return table.partition("<tbody")[2].count("<tr") > MOST_ROWS


def _framed(table: str, head: str, name: str, folded: bool, function: str) -> str:
    values = io.StringIO()
    csv.writer(values, lineterminator="\n").writerows(rows(table))
    link = f'<a class="values" download="{name}" href="data:text/csv;charset=utf-8,{quote(values.getvalue())}">CSV</a>'
    link = f"{link} {function}".rstrip()
    table = _SENTENCE.sub('<td class="sentence">', _NAME.sub(lambda found: found[1] + heading(found[2]), table))
    # What is wider than the page is scrolled, by the keyboard too.
    wide = f'<div class="scrolled" tabindex="0" role="region" aria-label="{name}">{table}</div>'
    if folded:
        return f'<details class="table"><summary>{head}</summary>{link}{wide}</details>'
    return f'<figure class="table"><figcaption>{head} {link}</figcaption>{wide}</figure>'


def rows(table: str) -> list[list[str]]:
    """Return a table's cells as text; one that spans several columns or rows stands in each.

    `table`: HTML.
    """
    found: list[list[str]] = []
    below: dict[int, tuple[int, str]] = {}  # by column: for how many rows to come, which text
    for row in BeautifulSoup(table, "html.parser").select("tr"):
        line: list[str] = []
        for cell in row.select("th, td"):
            _fill(line, below)
            text = cell.get_text(" ", strip=True)
            for _ in range(_span(cell, "colspan")):
                if (left := _span(cell, "rowspan") - 1) > 0:
                    below[len(line)] = (left, text)
                line.append(text)
        _fill(line, below)
        found.append(line)
    return found


def _fill(line: list[str], below: dict[int, tuple[int, str]]) -> None:
    """Put what spans rows from above into the next columns of a line."""
    while len(line) in below:
        left, text = below.pop(len(line))
        if left > 1:
            below[len(line)] = (left - 1, text)
        line.append(text)


def _span(cell: Tag, name: str) -> int:
    return int(str(cell.get(name, "1")))
