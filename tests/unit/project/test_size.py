"""A function fits a screen, a module a sitting."""

import ast

from tests.helpers.data import PACKAGES

FUNCTION_LINES, MODULE_LINES = 60, 600
SOURCES = {str(path.relative_to(package.parent)): path for package in PACKAGES for path in package.rglob("*.py")}


def _functions(name: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(SOURCES[name].read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_no_function_is_longer_than_a_screen():
    lengths = {
        f"{name}: {function.name}": function.end_lineno - function.lineno + 1
        for name in SOURCES
        for function in _functions(name)
    }
    assert len(lengths) > 1000
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES} == {}


def test_no_module_is_longer_than_a_sitting():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in SOURCES.items()}
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES} == {}
