"""Execute the notebooks through Papermill and render the book; tracked notebooks stay as they are.

Everything happens in the build folder: `source` (pages and executed copies), `html` (the book), `runs` (what was
measured now).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import papermill
import plotly

import cassbook
from cassbook.book.chapters.plots import PLOTLY_VARIABLE
from cassbook.book.chapters.tables import LEVELS
from cassbook.book.kernels import LOG_VARIABLE, QuietKernelManager
from cassbook.core import paths
from cassbook.core.consistency import STRONG_SETTINGS
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.progress import bar
from cassbook.ingest.folder import open_run
from cassbook.profile.profile import load_profile
from cassbook.records import manifest
from cassbook.records.run import RecordedRun

Say = Callable[[str], None]
_WORKERS = 2
_MEASURE = "measure.ipynb"
#: A polynomial of fourth order leaves nothing to judge it by with fewer; `fit` warns below eight.
_LEAST_THREADS = 6


def build_dir() -> Path:
    """Folder that takes everything made: `_build` in the project, unless CASSBOOK_BUILD names another."""
    named = os.environ.get("CASSBOOK_BUILD")
    return Path(named).resolve() if named else paths.project_root() / "_build"


def default_run(parameter: str) -> str:
    """Name of the run that the analysis notebooks have as the default of `recorded` or `today`."""
    notebook = analyse_notebooks()[0]
    found = papermill.inspect_notebook(str(notebook))[parameter]["default"]
    return str(found).strip("\"'")


def analyse_notebooks() -> list[Path]:
    """Tracked analysis notebooks, in the order of their numbers."""
    return sorted((paths.project_root() / "notebooks" / "analyse").glob("*.ipynb"))


def execute(notebook: Path, output: Path, parameters: dict[str, Any], loud: bool = False) -> None:
    """Execute a copy of a notebook with parameters.

    Parameters
    ----------
    notebook, output : Path
    parameters : dict
        Every key must be a parameter of the notebook; Papermill itself would only warn.
    loud : bool
        Pass on what cells print while they run.

    Raises
    ------
    InputError
        For an unknown parameter, with those there are.
    LaboratoryError
        If a cell fails, with its last lines.
    """
    known = papermill.inspect_notebook(str(notebook))
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise InputError(f"{notebook.name}: no parameter {', '.join(unknown)}; it has {', '.join(known)}")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{output.parent}: cannot be written ({error.strerror}); CASSBOOK_BUILD may name another"
        ) from None
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this environment's kernel, not a user's of the same name
    os.environ[LOG_VARIABLE] = str(build_dir() / "kernels.log")
    # Linear algebra here is small; two kernels whose libraries each start a thread a core take four times as long.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ[PLOTLY_VARIABLE] = "../../_static/plotly.min.js"
    streams = {"stdout_file": sys.stderr, "stderr_file": sys.stderr} if loud else {}
    try:
        papermill.execute_notebook(
            str(notebook),
            str(output),
            parameters=parameters,
            kernel_name="python3",
            progress_bar=False,
            cwd=str(paths.project_root()),
            kernel_manager_class=QuietKernelManager,
            **streams,
        )
    except papermill.PapermillExecutionError as error:
        tail = "\n".join(error.traceback[-3:])
        raise LaboratoryError(f"{notebook.name}: a cell failed: {error.ename}: {error.evalue}\n{tail}") from None


def data_hash(*parts: str) -> str:
    """Hash of what an analysis depends on: the data named, the library, the printed tables, the benchmarks.

    It is a parameter of each executed notebook, so no cache keyed by code can serve stale output.
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
    root = paths.project_root() / "data"
    # A manifest holds the sums of all that its run consists of.
    data = [*paths.resource("data/published").glob("*.csv"), *(root / "bench").glob("*.*")]
    data += [*root.glob("runs/*/manifest.json"), *root.glob("rides/**/*.json"), *root.glob("trials/*/*.json")]
    sources = [*data, *Path(cassbook.__file__).parent.rglob("*.py")]
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def build(recorded: str | None = None, today: str | None = None, fresh: Path | None = None, say: Say = print) -> Path:
    """Execute the analysis notebooks and render the book.

    Parameters
    ----------
    recorded, today : str, optional
        Runs in `data/runs`, or paths of runs: of the papers' Cassandra and of today's. The notebooks' own otherwise.
    fresh : Path, optional
        A run to show beside it.

    Returns
    -------
    Path
        `index.html`.

    Raises
    ------
    InputError
        If a run cannot be read.
    LaboratoryError
        If a notebook fails, or the book is rendered with a warning.
    """
    asked = {"recorded": recorded or default_run("recorded"), "today": today or default_run("today")}
    if fresh is not None:
        asked["fresh"] = str(fresh)
    runs = {parameter: open_run(named) for parameter, named in asked.items()}
    for run in runs.values():
        check_shown(run)
    check_pair(runs["recorded"], runs["today"])
    parameters = {"fresh": ""} | {
        parameter: _relative(run.folder) if Path(asked[parameter]).is_dir() else run.name
        for parameter, run in runs.items()
    }
    source = _assemble(keep_measurement=fresh is not None)
    parameters["data_hash"] = data_hash(*[run.data_hash for run in runs.values()])
    _execute_all(source, parameters, say)
    return _render(source, say)


def _relative(folder: Path) -> str:
    """Path relative to the project, where notebooks run, so that no path of this machine gets into a page."""
    return os.path.relpath(folder.resolve(), paths.project_root())


def check_shown(run: RecordedRun) -> None:
    """Refuse a run that lacks what the chapters draw, before any is executed.

    Raises
    ------
    InputError
        Naming everything that is missing.
    """
    cells = run.cells
    pure, mixed = cells[cells["kind"] == "pure"], cells[cells["kind"] == "mixed"]
    missing = []
    for share, word in ((1.0, "reads"), (0.0, "writes")):
        absent = [level for level in LEVELS if level not in set(pure.loc[pure["read_share"] == share, "read_cl"])]
        if absent:
            missing += [f"{word} at {level}" for level in absent]
        elif not _all_levels(pure[pure["read_share"] == share]):
            missing.append(f"a thread count with {word} at all of {', '.join(LEVELS)} in one block")
    if pure["threads"].nunique() < _LEAST_THREADS:
        missing.append(
            f"at least {_LEAST_THREADS} thread counts of pure reads and writes (a fourth-order fit needs them)"
        )
    if not {(s.read_cl, s.write_cl) for s in STRONG_SETTINGS} <= set(
        zip(mixed["read_cl"], mixed["write_cl"], strict=True)
    ):
        missing.append(f"mixed cells at {', '.join(s.name for s in STRONG_SETTINGS)}")
    if missing:
        raise InputError(f"{run.folder}: the book cannot show this run; it lacks {'; '.join(missing)}")


def _all_levels(pure: pd.DataFrame) -> bool:
    """Whether some thread count has all levels in one block, so that they can be ranked."""
    return bool((pure.groupby(["block", "threads"])["read_cl"].nunique() >= len(LEVELS)).any())


def check_pair(recorded: RecordedRun, today: RecordedRun) -> None:
    """Refuse two runs of which the chapters could show no cell side by side.

    Raises
    ------
    InputError
        Naming both and what each measured.
    """
    keys = ["read_share", "read_cl", "threads"]
    pure = [run.cells.loc[run.cells["kind"] == "pure", keys].drop_duplicates() for run in (recorded, today)]
    if pure[0].merge(pure[1]).empty:
        threads = [", ".join(map(str, sorted(cells["threads"].unique()))) for cells in pure]
        raise InputError(
            f"{recorded.folder} and {today.folder}: the book cannot show these side by side; they have no pure cell in "
            f"common (threads {threads[0]} and {threads[1]})"
        )


def _assemble(keep_measurement: bool) -> Path:
    """Lay out the book's source: pages, configuration, static files, the measurement's page."""
    root, source = paths.project_root(), build_dir() / "source"
    measured = source / "notebooks" / "measure" / _MEASURE
    executed = measured.read_bytes() if keep_measurement and measured.is_file() else None
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(root / name, source / name)
    shutil.copytree(root / "book", source / "book")
    shutil.copytree(root / "notebooks" / "measure", source / "notebooks" / "measure")
    if executed:
        measured.write_bytes(executed)
    static = source / "_static"
    shutil.copytree(root / "book" / "static", static)
    # Copied once from the installed wheel: pages load it from beside them, never from a content network.
    shutil.copy(Path(plotly.__file__).parent / "package_data" / "plotly.min.js", static)
    return source


def _execute_all(source: Path, parameters: dict[str, Any], say: Say) -> None:
    notebooks = analyse_notebooks()
    say(f"executing {len(notebooks)} analysis notebooks")
    # Spawned, not forked: a kernel's event loop does not survive a fork.
    with (
        ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool,
        bar(len(notebooks), 0, "page") as done,
    ):
        jobs = [pool.submit(execute, n, source / "notebooks" / "analyse" / n.name, parameters) for n in notebooks]
        try:
            for job in as_completed(jobs):
                job.result()
                done.update()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _render(source: Path, say: Say) -> Path:
    """Run Jupyter Book with warnings as errors; the last HTML is removed only when the new is finished."""
    say("rendering the book")
    target, output = build_dir() / "html", build_dir() / "rendered"
    shutil.rmtree(output, ignore_errors=True)
    program = "from jupyter_book.cli.main import main; main()"  # the package cannot be run as a module
    options = ["build", "-W", "--keep-going", "--path-output", str(output), str(source)]
    command = [sys.executable, "-c", program, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    index = output / "_build" / "html" / "index.html"
    if done.returncode or not index.is_file():
        lines = [line for line in done.stdout.splitlines() if "WARNING" in line or "ERROR" in line]
        raise LaboratoryError("the book was not rendered:\n" + "\n".join(lines[-30:] or done.stdout.splitlines()[-30:]))
    shutil.rmtree(target, ignore_errors=True)
    index.parent.rename(target)
    return target / "index.html"


def reproduce(profile: str, engine: str | None, say: Say = print) -> Path:
    """Measure a profile through its notebook, then build the book with it.

    An interrupted measurement of the same profile is gone on with; any other is set aside (`...-before`).

    Returns
    -------
    Path
        `index.html`.
    """
    asked = load_profile(profile, engine=engine)
    folder = build_dir() / "runs" / f"{asked.name}-{asked.engine}"
    resume = _resumable(folder, asked.model_dump(mode="json"))
    if not resume:
        _set_aside(folder)
    notebook = paths.project_root() / "notebooks" / "measure" / _MEASURE
    relative = os.path.relpath(folder, paths.project_root())
    parameters = {"profile": profile, "engine": asked.engine, "out": relative, "resume": resume}
    execute(notebook, build_dir() / "source" / "notebooks" / "measure" / _MEASURE, parameters, loud=True)
    return build(fresh=folder, say=say)


def _resumable(folder: Path, profile: dict[str, Any]) -> bool:
    """Whether a folder holds an interrupted run of just this profile."""
    try:
        notes = manifest.read(folder)
    except InputError:
        return False
    return not notes["complete"] and notes["profile"] == profile


def _set_aside(folder: Path) -> None:
    """Make way for a new run: what lies there is renamed, replacing only what was set aside before it."""
    if folder.exists():
        aside = folder.with_name(f"{folder.name}-before")
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
