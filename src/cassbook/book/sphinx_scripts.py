"""A Sphinx extension: takes scripts off pages that do not need them.

Thebe is loaded by the theme even where it is switched off: it names a content network in every page and declares its
constants twice, which is an error in the browser. Jupyter Book loads every script of the static folder on every page;
plotly has millions of bytes, and pages with plots name it where they draw.
"""

from __future__ import annotations

from typing import Any

_UNASKED = ("thebe", "plotly")


def _unasked(script: Any) -> bool:
    said = f"{script.filename} {script.attributes.get('body', '')}".lower()
    return any(name in said for name in _UNASKED)


def _without(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    context["script_files"] = [script for script in context["script_files"] if not _unasked(script)]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx, after everything that adds scripts."""
    app.connect("html-page-context", _without, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
