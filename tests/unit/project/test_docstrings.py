"""Docstrings have a subject: none begins with "Of"."""

import ast

from tests.helpers.data import ROOT

EXEMPT_ROOMS = {"advisor", "deployment", "lab", "queueing", "records"}
SOURCES = ROOT / "src/cassbook"
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_no_docstring_begins_with_of():
    documented = {
        f"{path.relative_to(SOURCES)}:{getattr(node, 'lineno', 1)}": docstring
        for path in SOURCES.rglob("*.py")
        if path.relative_to(SOURCES).parts[0] not in EXEMPT_ROOMS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node))
    }
    assert len(documented) > 500
    assert {place: text for place, text in documented.items() if text.startswith("Of ")} == {}
