"""Which extra of cassbook brings which package, how a missing one is named, and packages that load modules late."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

#: Imported package -> the extra with which the command that imports it works. (The driver alone, `[advisor]`, is for
#: programs: whatever starts a cluster or measures one needs more.)
EXTRAS = {
    "numba": "predict",
    "cassandra": "lab",
    "cassbook_advisor": "lab",
    "ccmlib": "lab",
    "psutil": "lab",
    "distributed": "dask",
    "dask": "dask",
    "IPython": "book",
    "itables": "book",
    "jupyter_book": "book",
    "matplotlib": "book",
    "myst_nb": "book",
    "nbclient": "book",
    "nbformat": "book",
    "papermill": "book",
    "plotly": "book",
    "seaborn": "book",
    "sklearn": "book",
    "sphinx": "book",
}
#: The same for programs that import cassbook.
FOR_PROGRAMS = EXTRAS | {"cassandra": "advisor", "cassbook_advisor": "advisor"}


def name_missing(error: ModuleNotFoundError, needed_by: str, extras: Mapping[str, str] = EXTRAS) -> str | None:
    """Return what to install, in one line.

    `needed_by`: command or name that needs the package. `extras`: imported package to extra.

    None where the missing module is of no extra's package.
    """
    package = (error.name or "").partition(".")[0]
    if package not in extras:
        return None
    return f'{needed_by} needs {package}, which is not installed: pip install "cassbook[{extras[package]}]"'


def lazy(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that offers `names`, each with the module of the package that defines it.

    A module with a colon in front is of another package: ":cassbook_advisor.adviser".

    Importing the package then costs nothing, and importing one name loads what that name needs and no more. Where that
    is not installed, the error names the extra that brings it.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            inside, colon, elsewhere = names[name].partition(":")
            module = importlib.import_module(elsewhere if colon else f"{package}.{inside}")
        except ModuleNotFoundError as error:
            missing = name_missing(error, f"{package}.{name}", FOR_PROGRAMS)
            if missing is None:
                raise
            raise ModuleNotFoundError(missing, name=error.name) from None
        return getattr(module, name)

    return find
