"""Execute a copy of a notebook through Papermill, with what it took; the tracked notebook stays as it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import papermill
from papermill.engines import NBClientEngine, papermill_engines

from cassbook.book import notebooks, publication, substitution
from cassbook.book.kernel_environment import LOG_VARIABLE, PLOTLY_VARIABLE
from cassbook.book.kernels import QuietKernelManager, ended_on_error
from cassbook.core import paths
from cassbook.core.errors import InputError, LaboratoryError


class _WrittenOnce(NBClientEngine):
    """Papermill's own engine, without its writing all of a notebook before and after each cell."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, *given: Any, **options: Any) -> None:
        nb_man.save = lambda **_: None
        super().execute_managed_notebook(nb_man, *given, **options)


_ENGINE = "written-once"
papermill_engines.register(_ENGINE, _WrittenOnce)


def build_dir() -> Path:
    """Return the folder that takes everything made: `_build` in the project, unless CASSBOOK_BUILD names another."""
    named = os.environ.get("CASSBOOK_BUILD")
    return Path(named).resolve() if named else paths.project_root() / "_build"


def execute(
    notebook: Path, output: Path, parameters: dict[str, Any], loud: bool = False,
    manager: type[QuietKernelManager] = QuietKernelManager,
) -> None:  # fmt: skip
    """Execute a copy of a notebook with parameters.

    `parameters`: every key must be a parameter of the notebook. `loud`: pass on what cells print while they run.
    `manager`: what starts the kernel.

    Raises InputError for an unknown parameter, with those that exist, or an output folder that cannot be written.
    Raises LaboratoryError if a cell fails, with its last lines.
    """
    notebooks.check(notebook, set(parameters))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{output.parent}: cannot be written ({error.strerror}); CASSBOOK_BUILD may name another"
        ) from None
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this environment's kernel, not a user's of the same name
    os.environ[LOG_VARIABLE] = str(build_dir() / "kernels.log")
    # Linear algebra here is small; two kernels whose libraries each start a thread per core take four times as long.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ[PLOTLY_VARIABLE] = "../../_static/plotly.min.js"
    streams = {"stdout_file": sys.stderr, "stderr_file": sys.stderr} if loud else {}
    try:
        with ended_on_error():
            papermill.execute_notebook(
                str(notebook),
                str(output),
                parameters=parameters,
                engine_name=_ENGINE,
                kernel_name="python3",
                progress_bar=False,
                cwd=str(paths.project_root()),
                kernel_manager_class=manager,
                **streams,
            )
    except papermill.PapermillExecutionError as error:
        tail = "\n".join(error.traceback[-3:])
        raise LaboratoryError(f"{notebook.name}: a cell failed: {error.ename}: {error.evalue}\n{tail}") from None
    content = nbformat.read(output, as_version=4)
    substitution.fill(content)
    content.metadata[publication.KEY] = {"peak_mb": QuietKernelManager.peak_mb}
    nbformat.write(content, output)
