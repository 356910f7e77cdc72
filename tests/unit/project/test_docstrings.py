"""Docstrings have a subject and name what there is."""

import ast
import importlib.util
import re

from tests.helpers.data import PACKAGES

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
TREES = {
    ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
        path.read_text()
    )
    for package in PACKAGES
    for path in package.rglob("*.py")
}
#: Files that docstrings name have a dot too.
FILES = re.compile(r"\.(csv|html|json|sh|yml)$")


def docstrings():
    """Every docstring, by its module and line."""
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node)):
                yield f"{module}:{getattr(node, 'lineno', 1)}", docstring


def names_of(module):
    """Every name that a module defines, imports or sets."""
    for node in ast.walk(TREES[module]):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name


def exists(named):
    """Whether 'module.name', of cassbook or of another package, is there."""
    above, _, name = named.rpartition(".")
    for path, wanted in ((f"{above}.{name}", set()), (above, {name}), (above.rpartition(".")[0], {name})):
        for module in TREES:
            if path and f".{module}".endswith(f".{path}") and wanted <= set(names_of(module)):
                return True
    first = named.partition(".")[0]
    return first not in {module.rpartition(".")[2] for module in TREES} and importlib.util.find_spec(first) is not None


def test_no_docstring_begins_with_of():
    documented = dict(docstrings())
    assert len(documented) > 2000
    assert {place: text for place, text in documented.items() if text.startswith("Of ")} == {}


def test_a_docstring_names_no_module_that_is_gone():
    named = {
        (place, name)
        for place, text in docstrings()
        for name in re.findall(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`", text)
        if not FILES.search(name)
    }
    assert len(named) > 100
    assert {(place, name) for place, name in named if not exists(name)} == set()


def test_what_is_gone_is_found():
    assert exists("curves.over_t")
    assert exists("scipy.stats")
    assert not exists("rides.recorded_switches")
    assert not exists("curves.under_t")
