"""A Sphinx extension: takes Thebe off the pages, which the theme loads even where it is switched off.

It names a content network in every page and declares its constants twice, which is an error in the browser.
"""

from __future__ import annotations

from typing import Any


def _is_thebe(script: Any) -> bool:
    return "thebe" in f"{script.filename} {script.attributes.get('body', '')}".lower()


def _without_thebe(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    context["script_files"] = [script for script in context["script_files"] if not _is_thebe(script)]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx, after everything that adds scripts."""
    app.connect("html-page-context", _without_thebe, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
