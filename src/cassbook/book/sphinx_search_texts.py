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
    texts: dict[str, str] = {}

    def keep(app: Any, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
        if doctree is not None:
            texts[page] = text_of(doctree)

    def write(app: Any, error: Exception | None) -> None:
        if error is None and texts:
            script = f"window.cassbookTexts = {json.dumps(texts, ensure_ascii=False)};\n"
            (Path(app.outdir) / NAME).write_text(script, encoding="utf-8")

    app.connect("html-page-context", keep)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}


def text_of(doctree: nodes.document) -> str:
    """Return the words of a page, without HTML that stands in it as it is."""
    words = (node.astext() for node in doctree.findall(nodes.Text) if not isinstance(node.parent, nodes.raw))
    return " ".join(" ".join(words).split())
