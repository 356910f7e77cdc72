"""A Sphinx extension: the text of all pages in one script, from which the search quotes.

A page that is opened from a disk may not fetch another, so the search would list titles alone there
(`book/static/search-excerpts.js`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes

NAME = "_static/texts.js"


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", _keep)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


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


def text_of(doctree: nodes.document) -> str:
    """Return the words of a page, without HTML that stands in it as it is."""
    words = (node.astext() for node in doctree.findall(nodes.Text) if not isinstance(node.parent, nodes.raw))
    return " ".join(" ".join(words).split())
