"""What a chapter's page depends on, as one hash: a build executes only the chapters whose hash is new.

A chapter depends on its notebook, its parameters, the records that these name, the library modules that the notebook
imports (and what those import), the printed tables, the benchmarks, and the locked versions of other packages.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import cassbook
from cassbook.book import notebooks
from cassbook.core import paths
from cassbook.core.paths import LOGS_INDEX
from cassbook.ingest.folder import open_run
from cassbook.records import manifest

_PACKAGE = "cassbook"
_DIGITS = 16


def of_chapter(notebook: Path, given: Mapping[str, Any]) -> str:
    """Return the fingerprint of a chapter.

    `given`: values of all its parameters but `data_hash`.

    Returns 16 hexadecimal digits.

    Raises InputError if a folder of logs that is named cannot be read.
    """
    digest = hashlib.sha256()
    cells = notebooks.cells(notebook)
    stored = [(cell["cell_type"], cell["source"], cell["metadata"]) for cell in cells]  # not the outputs
    digest.update(json.dumps(stored, sort_keys=True).encode())
    text = "\n\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
    digest.update(json.dumps(dict(sorted(given.items())), default=str).encode())
    for value in given.values():
        if isinstance(value, str):
            for path in _depends(value):
                digest.update(path.read_bytes())
            if (paths.project_root() / value / LOGS_INDEX).is_file():
                digest.update(open_run(paths.project_root() / value).data_hash.encode())
    modules = reached(imports(text))
    for path in [*sorted(modules), *_package_data(), *_printed()]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:_DIGITS]


def _depends(value: str) -> list[Path]:
    """Files that a parameter's value stands for: the manifest of a record, which holds the sums of its files.

    A version of Cassandra ('2.1.20') stands for every record of it.
    """
    folder = manifest.find(value) if value else None
    if folder is not None:
        return [folder / manifest.NAME]
    return sorted(paths.records_dir().glob(f"*-{value}/{manifest.NAME}")) if value else []


def _printed() -> list[Path]:
    """The printed tables, the benchmarks, and the lock of other packages."""
    root = paths.project_root()
    lock = root / "requirements.lock"
    tables = [*paths.resource("data/published").glob("*.csv"), *(root / "data" / "bench").glob("*.*")]
    return [*sorted(tables), *([lock] if lock.is_file() else [])]


def _root() -> Path:
    return Path(cassbook.__file__).parent


def _package_data() -> list[Path]:
    """Files of the package that are no modules: templates, configurations; no caches, and no data of a wheel."""
    others = (path for path in _root().rglob("*") if path.is_file() and path.suffix != ".py")
    return sorted(path for path in others if {"__pycache__", "data"}.isdisjoint(path.relative_to(_root()).parts))


def module_file(module: str) -> Path | None:
    """Return the file of a module of cassbook, or None where there is no such module."""
    path = _root().joinpath(*module.split(".")[1:])
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file() and module.split(".", maxsplit=1)[0] == _PACKAGE:
            return candidate
    return None


def imports(text: str, package: str = "") -> set[str]:
    """Return the modules of cassbook that a source text names: in imports, and in strings.

    `package`: of which the text is the `__init__`, if any: its strings name the modules that it offers lazily.
    """
    named: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        named.update(_named(node))
        if package and isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            named.add(f"{package}.{node.value}")
    return {name for name in named if module_file(name)}


def _named(node: ast.AST) -> Iterator[str]:
    """Modules that one node of a syntax tree may name."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            yield module
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Constant(value=str(text)) if text.startswith(f"{_PACKAGE}."):
            yield text


def reached(modules: set[str]) -> set[Path]:
    """Return the files of modules and of everything they import, directly or not, the packages above them included.

    A module that imports by computed names (with `importlib`) reaches all of its package.
    """
    files: set[Path] = set()
    waiting = set(modules)
    seen: set[str] = set()
    while waiting:
        module = waiting.pop()
        seen.add(module)
        path = module_file(module)
        if path is None:
            continue
        files.add(path)
        above = {module.rpartition(".")[0]} - {""}
        waiting |= (above | _imports_of(path, path.stat().st_mtime_ns)) - seen
    return files


def _imports_by_name(text: str) -> bool:
    """Whether a module imports modules of this package whose names it computes."""
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "importlib.import_module"
        and any(isinstance(part, ast.Constant) and str(part.value).startswith(_PACKAGE) for part in ast.walk(node))
        for node in ast.walk(ast.parse(text))
    )


@cache
def _imports_of(path: Path, _changed_ns: int) -> frozenset[str]:
    """Modules that a file of the package imports; read again when the file has changed."""
    text = path.read_text(encoding="utf-8")
    relative = path.relative_to(_root().parent).with_suffix("")
    package = ".".join(relative.parent.parts)
    modules = imports(text, package if path.name == "__init__.py" else "")
    if _imports_by_name(text):
        inside = (p.relative_to(_root().parent).with_suffix("") for p in path.parent.rglob("*.py"))
        modules |= {".".join(p.parts).removesuffix(".__init__") for p in inside}
    return frozenset(modules)
