"""A Sphinx extension: pages are read and written by two processes.

Jupyter Book has no option for it. Three of the extensions that it loads do not say whether pages may be read so; they
do nothing while pages are read.
"""

from __future__ import annotations

from typing import Any

_PROCESSES = 2
_SILENT = ("sphinx_multitoc_numbering", "sphinx_jupyterbook_latex", "sphinx-mathjax-offline")


def _begin(app: Any) -> None:
    for name in _SILENT:
        app.extensions[name].parallel_read_safe = True
    app.parallel = _PROCESSES


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx, before anything is read."""
    app.connect("builder-inited", _begin)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
