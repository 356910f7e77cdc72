"""Which extra of cassbook brings which package, and how one that is missing is named."""

from __future__ import annotations

from collections.abc import Mapping

#: Imported package -> the extra with which the command that imports it works. (The driver alone, `[advisor]`, is for
#: programs: whatever starts a cluster or measures one needs more.)
EXTRAS = {
    "numba": "predict",
    "cassandra": "lab",
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
FOR_PROGRAMS = EXTRAS | {"cassandra": "advisor"}


def name_missing(error: ModuleNotFoundError, needed_by: str, extras: Mapping[str, str] = EXTRAS) -> str | None:
    """Return what to install, in one line.

    Parameters
    ----------
    error : ModuleNotFoundError
    needed_by : str
        Command or name that needs the package.
    extras : mapping of str to str
        Imported package to extra.

    Returns
    -------
    str or None
        None where the missing module is of no extra's package.
    """
    package = (error.name or "").partition(".")[0]
    if package not in extras:
        return None
    return f'{needed_by} needs {package}, which is not installed: pip install "cassbook[{extras[package]}]"'
