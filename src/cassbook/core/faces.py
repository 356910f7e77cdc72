"""Packages that offer names of their modules and load a module only when its name is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from cassbook.core.extras import FOR_PROGRAMS, name_missing


def lazy(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that offers `names`, each with the module of the package that defines it.

    Importing the package then costs nothing, and importing one name loads what that name needs and no more. Where that
    is not installed, the error names the extra that brings it.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = importlib.import_module(f"{package}.{names[name]}")
        except ModuleNotFoundError as error:
            missing = name_missing(error, f"{package}.{name}", FOR_PROGRAMS)
            if missing is None:
                raise
            raise ModuleNotFoundError(missing, name=error.name) from None
        return getattr(module, name)

    return find
