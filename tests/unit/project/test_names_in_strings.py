"""Modules that are named in strings exist: package data, extensions. The import linter sees none."""

import ast
import importlib
import re
from importlib import resources

import pytest
import yaml

from tests.helpers.data import PACKAGES, ROOT

NAME = re.compile(r"cassbook(_advisor)?(\.\w+)+")
#: A property of Java processes, and no module.
OTHERS = {"cassbook.jvm"}


def strings(text):
    """String constants of a source."""
    return {
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def named():
    files = [*(path for package in PACKAGES for path in package.rglob("*.py")), *(ROOT / "tools").glob("*.py")]
    return sorted({text for file in files for text in strings(file.read_text()) if NAME.fullmatch(text)} - OTHERS)


def test_the_search_finds_packages_of_data():
    assert {"cassbook.lab.engine", "cassbook.book.chapters"} <= set(named())


@pytest.mark.parametrize("name", named())
def test_a_module_named_in_a_string_is_there(name):
    importlib.import_module(name)


def test_the_books_extensions_are_there():
    extensions = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["extra_extensions"]
    ours = [name for name in extensions if name.startswith("cassbook.")]
    assert ours
    for name in ours:
        assert callable(importlib.import_module(name).setup)


def test_the_library_pages_name_modules_and_members_that_are_there():
    page = "\n".join(path.read_text() for path in (ROOT / "book" / "library").glob("*.md"))
    listed = re.findall(r"automodule:: (\S+)\n\s+:members:([^\n]*)", page)
    assert len(listed) > 20
    for module, members in listed:
        loaded = importlib.import_module(module)
        for member in filter(None, map(str.strip, members.split(","))):
            assert hasattr(loaded, member), f"{module}.{member}"


def test_the_settings_of_tools_name_modules_that_are_there():
    text = (ROOT / "pyproject.toml").read_text()
    for name in sorted(set(re.findall(r'"(cassbook(?:\.\w+)+)"', text))):
        importlib.import_module(name)


def test_templates_of_pages_are_package_data():
    template = resources.files("cassbook.book.chapters").joinpath("templates/whatif.html")
    assert "{{" in template.read_text()
