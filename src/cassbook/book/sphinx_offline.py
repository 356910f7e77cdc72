"""A Sphinx extension for pages that ask nothing of other hosts, rendered on several processors.

It takes Thebe off the pages, which the theme loads even where it is switched off: Thebe names a content network in
every page and declares its constants twice, which is an error in the browser. And it vouches for extensions that do
not say whether pages can be read and written in parallel, of which a single one makes Sphinx do all in one process.
"""

from __future__ import annotations

from typing import Any

#: They set options when the build begins, or numbers when all pages are read, and keep nothing of a page.
_PARALLEL_TOO = ("sphinx-mathjax-offline", "sphinx_jupyterbook_latex", "sphinx_multitoc_numbering")


def _is_thebe(script: Any) -> bool:
    return "thebe" in f"{script.filename} {script.attributes.get('body', '')}".lower()


def _without_thebe(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    context["script_files"] = [script for script in context["script_files"] if not _is_thebe(script)]


def _vouch(app: Any) -> None:
    for name in _PARALLEL_TOO:
        if name in app.extensions:
            app.extensions[name].parallel_read_safe = app.extensions[name].parallel_write_safe = True


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx, after everything that adds scripts."""
    app.connect("html-page-context", _without_thebe, priority=900)
    app.connect("builder-inited", _vouch)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
