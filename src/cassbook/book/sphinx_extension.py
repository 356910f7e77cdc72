"""A Sphinx extension for the whole book: reading by two processes, scripts that pages do without, texts to search.

* Pages are read and written by two processes. Jupyter Book has no option for it. Three of the extensions that it loads
  do not say whether pages may be read so; they do nothing while pages are read.
* Thebe is loaded by the theme even where it is switched off: it names a content network in every page and declares its
  constants twice, which is an error in the browser. Jupyter Book loads every script of the static folder on every page;
  plotly has millions of bytes, and pages with plots name it where they draw.
* The functions behind tables are listed without their lines: those would be a tenth of the book.
* A picture that a page takes from a chapter has its words there as alternative text, not the name of its file.
* The words of all pages, without their code, are in one script, by which the search quotes and ranks them. A page that
  is opened from a disk may not fetch another, so the search would list titles alone there
  (`book/static/search-excerpts.js`).
"""

from __future__ import annotations

import json
from base64 import b64decode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from docutils import nodes

NAME = "_static/texts.js"
_PROCESSES = 2
_SILENT = ("sphinx_multitoc_numbering", "sphinx_jupyterbook_latex", "sphinx-mathjax-offline")
_UNASKED = ("thebe", "plotly")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx: before anything is read, and after everything that adds scripts."""
    app.connect("builder-inited", _begin)
    app.connect("html-page-context", _without, priority=900)
    app.connect("html-page-context", _keep)
    app.connect("doctree-resolved", _put_words)
    app.connect("env-updated", _without_pages_of_lines)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _without_lines(app: Any, module: str) -> tuple[str, dict[str, Any]] | None:
    """Let `viewcode` show no lines of the chapters' modules; None for the others, of which it finds them itself."""
    return ("", {}) if module.startswith("cassbook.book.chapters.") else None


def _without_pages_of_lines(app: Any, env: Any) -> None:
    known = getattr(env, "_viewcode_modules", {})
    for module in [name for name in known if name.startswith("cassbook.book.chapters.")]:
        del known[module]


def _begin(app: Any) -> None:
    app.connect("viewcode-find-source", _without_lines)  # now all extensions have named their events
    for name in _SILENT:
        app.extensions[name].parallel_read_safe = True
    app.parallel = _PROCESSES


def _unasked(script: Any) -> bool:
    said = f"{script.filename} {script.attributes.get('body', '')}".lower()
    return any(name in said for name in _UNASKED)


def _without(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if page == "search":
        app.add_js_file(Path(NAME).name, priority=100)
    context["script_files"] = [script for script in context["script_files"] if not _unasked(script)]


def _put_words(app: Any, doctree: nodes.document, page: str) -> None:
    for picture in doctree.findall(nodes.image):
        words = "" if picture.get("alt") else _pictures_in_words(app.srcdir).get(Path(picture["uri"]).stem, "")
        if words:
            picture["alt"] = words


@cache
def _pictures_in_words(source: str) -> dict[str, str]:
    """Plain text of each picture in chapters, by the name of the file that it is written to."""
    found = {}
    for chapter in Path(source).glob("notebooks/analyse/*.ipynb"):
        for cell in json.loads(chapter.read_text(encoding="utf-8"))["cells"]:
            for data in (output.get("data", {}) for output in cell.get("outputs", [])):
                for kind, text in data.items():
                    if kind.endswith("image/png"):  # also of what is glued
                        name = sha256(b64decode("".join(text))).hexdigest()
                        found[name] = "".join(data.get(kind.replace("image/png", "text/plain"), ""))
    return found


def _kept(app: Any, page: str) -> Path:
    """Where the text of a page is kept: pages may be written by several processes."""
    return Path(app.doctreedir) / "texts" / f"{page}.txt"


def _keep(app: Any, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    if doctree is not None:
        _kept(app, page).parent.mkdir(parents=True, exist_ok=True)
        _kept(app, page).write_text(text_of(doctree), encoding="utf-8")


def _write(app: Any, error: Exception | None) -> None:
    pages = sorted(page for page in app.env.found_docs if _kept(app, page).is_file())
    if error is None and pages:
        texts = {page: _kept(app, page).read_text(encoding="utf-8") for page in pages}
        script = f"window.cassbookTexts = {json.dumps(texts, ensure_ascii=False)};\n"
        (Path(app.outdir) / NAME).write_text(script, encoding="utf-8")


def _is_code(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Element) and "cell_input" in node.get("classes", [])


def text_of(doctree: nodes.document) -> str:
    """Return the words of a page, without HTML that stands in it as it is and without the code of its cells."""
    code = {id(node) for cell in doctree.findall(_is_code) for node in cell.findall(nodes.Text)}
    shown = (node for node in doctree.findall(nodes.Text) if not isinstance(node.parent, nodes.raw))
    words = (node.astext() for node in shown if id(node) not in code)
    return " ".join(" ".join(words).split())
