"""Execute the chapters that changed and render the book; tracked notebooks stay as they are.

Everything happens in the build folder: `executed` (executed copies, named for their fingerprints), `source` (pages and
copies to render), `html` (the book), `chapters` (single pages), `runs` (what was measured now).
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import plotly

from cassbook.book import execution, fingerprint, kernels, layout, needs, notebooks, publication
from cassbook.book.kernels import ForkedKernelManager
from cassbook.core import paths
from cassbook.core.children import failure
from cassbook.core.errors import InputError
from cassbook.core.progress import bar
from cassbook.core.signals import held_back
from cassbook.core.types import Log
from cassbook.core.words import counted
from cassbook.ingest.folder import open_run
from cassbook.profile.profile import load_profile
from cassbook.records import manifest
from cassbook.records.kinds import RUN

_WORKERS = 2
#: Executed copies of a chapter that are kept, newest first: with the recorded runs, and with a fresh one.
_KEPT = 3
_ANALYSE = Path("notebooks") / "analyse"
#: What executing all chapters and rendering them takes on 2 idle cores of 2024, as seen on an ordinary day.
_EXECUTE_AND_RENDER_S = 170.0
#: The page that citations lead to, with a chapter that is rendered alone too.
_BIBLIOGRAPHY = "book/bibliography"


def default_run(parameter: str) -> str:
    """Return the run that the chapters have as the default of `recorded` or `today`."""
    defaults = (notebooks.parameters(notebook) for notebook in notebooks.analyse_notebooks())
    return str(next(declared[parameter] for declared in defaults if parameter in declared))


def build(recorded: str | None = None, today: str | None = None, fresh: Path | None = None, log: Log = print) -> Path:
    """Execute the chapters whose fingerprint is new and render the book.

    `recorded` and `today`: runs in `data/records`, or paths of runs: of 2.1.20 and of 5.0.9. By default the notebooks'
    own. `fresh`: a run to show next to them. `log`: takes each line of progress.

    Returns `index.html`.

    Raises InputError if a run cannot be read or shown. Raises LaboratoryError if a notebook fails, or the book is
    rendered with a warning.
    """
    names = {"recorded": recorded or default_run("recorded"), "today": today or default_run("today")}
    if fresh is not None:
        names["fresh"] = str(fresh)
    runs = {parameter: open_run(named) for parameter, named in names.items()}
    for run in runs.values():
        needs.check_shown(run)
    needs.check_pair(runs["recorded"], runs["today"])
    given = {
        parameter: _relative(run.folder) if Path(names[parameter]).is_dir() else run.name
        for parameter, run in runs.items()
    }
    source = _assemble(keep_measurement=fresh is not None)
    copies = _executed(notebooks.analyse_notebooks(), given, log)
    offered = [name for copy in copies for name in layout.stage(copy, source / _ANALYSE / f"{_slug(copy)}.ipynb")]
    publication.offer_data(offered, source / "_static" / "records")
    page = source / "book" / "status.md"
    page.write_text(publication.status_page(page.read_text(encoding="utf-8"), copies), encoding="utf-8")
    return _render(source, build_dir() / "html", log)


def chapter(slug: str, given: Mapping[str, str], log: Log = print) -> Path:
    """Execute one chapter and render its page with the bibliography; links to other pages of the book lead nowhere.

    `slug`: the notebook's name without its ending. `given`: values of its parameters, as typed on a command line.

    Returns the page.

    Raises InputError for an unknown chapter or parameter, or a value of the wrong type, with what would be right.
    Raises LaboratoryError if a cell fails, or the page is not rendered.
    """
    notebook = notebooks.chapter_notebook(slug)
    parameters = {
        name: _relative(Path(value)) if _is_folder(value) else value for name, value in typed(notebook, given).items()
    }
    (copy,) = _executed([notebook], parameters, log)
    folder = build_dir() / "chapters" / slug
    source = folder / "source"
    _lay_out(source)
    (source / _ANALYSE).mkdir(parents=True)
    publication.offer_data(layout.stage(copy, source / _ANALYSE / notebook.name), source / "_static" / "records")
    shutil.copytree(paths.project_root() / "book", source / "book")
    contents = f"format: jb-book\nroot: {(_ANALYSE / slug).as_posix()}\nchapters:\n  - file: {_BIBLIOGRAPHY}\n"
    (source / "_toc.yml").write_text(contents, encoding="utf-8")
    _render(source, folder / "html", log, strict=False)
    return folder / "html" / _ANALYSE / f"{slug}.html"


def typed(notebook: Path, given: Mapping[str, str]) -> dict[str, Any]:
    """Return parameters that were typed as text as values of the types that the notebook's defaults have.

    Raises InputError for an unknown parameter, or a value of another type.
    """
    notebooks.check(notebook, set(given))
    defaults = notebooks.parameters(notebook)
    parameters: dict[str, Any] = {}
    for name, text in given.items():
        default = defaults[name]
        try:
            value = text if isinstance(default, str) else ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = None
        if not isinstance(value, (int, float) if isinstance(default, float) else type(default)):
            raise InputError(f"{notebook.stem}: {name}={text}: must be like the default, {default!r}")
        parameters[name] = value
    return parameters


def build_dir() -> Path:
    """Return the folder that takes everything made (see `execution.build_dir`)."""
    return execution.build_dir()


def _slug(copy: Path) -> str:
    """Name of the chapter of an executed copy."""
    return copy.stem.rpartition("-")[0]


def _relative(folder: Path) -> str:
    """Path relative to the project, where notebooks run, so that no path of this machine gets into a page."""
    return os.path.relpath(folder.resolve(), paths.project_root())


def _is_folder(value: Any) -> bool:
    """Whether a parameter's value is the path of a folder, as seen from the working directory."""
    return isinstance(value, str) and value != "" and Path(value).is_dir()


def _lay_out(source: Path) -> None:
    """Make a folder to render anew: configuration and static files."""
    root, static = paths.project_root(), source / "_static"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    (source / "_config.yml").write_text(publication.configuration(root / "_config.yml"), encoding="utf-8")
    shutil.copytree(root / "book" / "static", static)
    shutil.copy(root / "advisor" / "src" / "cassbook_advisor" / "map.schema.json", static)
    shutil.copy(root / "src" / "cassbook" / "advisor" / "decision.schema.json", static)
    # Copied once from the installed wheel: pages load it from next to them, never from a content network.
    shutil.copy(Path(plotly.__file__).parent / "package_data" / "plotly.min.js", static)


def _assemble(keep_measurement: bool) -> Path:
    """Lay out the book's source: pages, configuration, static files, the measurement's page."""
    root, source = paths.project_root(), build_dir() / "source"
    measured = source / "notebooks" / "measure" / notebooks.MEASURE
    executed = measured.read_bytes() if keep_measurement and measured.is_file() else None
    _lay_out(source)
    shutil.copy(root / "_toc.yml", source / "_toc.yml")
    shutil.copytree(root / "book", source / "book")
    plan = (root / "data" / "PLAN.md").read_text(encoding="utf-8")
    (source / "book" / "plan.md").write_text(publication.plan_page(plan), encoding="utf-8")
    front, url = source / "book" / "index.md", publication.repository(root / "_config.yml")
    front.write_text(publication.with_address(front.read_text(encoding="utf-8"), url), encoding="utf-8")
    shutil.copytree(root / "notebooks" / "measure", source / "notebooks" / "measure")
    (source / _ANALYSE).mkdir()
    if executed:
        measured.write_bytes(executed)
    return source


def _executed(chapters: Sequence[Path], given: Mapping[str, Any], log: Log) -> list[Path]:
    """Return the executed copy of each chapter, made now unless one of the same fingerprint is kept.

    Each chapter gets what it declares of `given`.
    """
    folder = build_dir() / "executed"
    copies, missing = [], []
    for notebook in chapters:
        declared = notebooks.parameters(notebook)
        passed = {name: value for name, value in given.items() if name in declared}
        defaults = {name: value for name, value in declared.items() if name != notebooks.DATA_HASH}
        data_hash = fingerprint.of_chapter(notebook, defaults | passed)
        copy = folder / f"{notebook.stem}-{data_hash}.ipynb"
        copies.append(copy)
        if copy.is_file():
            copy.touch()
        else:
            missing.append((notebook, copy, passed | {notebooks.DATA_HASH: data_hash}))
    log(f"executing {len(missing)} of {counted(len(chapters), 'chapter')}; the others are unchanged")
    _execute_all(missing)
    for notebook in chapters:
        _forget(folder, notebook.stem)
    return copies


def _execute_all(jobs: Sequence[tuple[Path, Path, dict[str, Any]]]) -> None:
    """Execute notebooks, two at a time."""
    if not jobs:
        return
    others = set(active_children())
    # Spawned, not forked: a kernel's event loop does not survive a fork. No process is started before the first job.
    pool = ProcessPoolExecutor(min(_WORKERS, len(jobs)), get_context("spawn"), initializer=kernels.alone)
    try:
        with kernels.signals_later():
            # To import for one chapter what all of them import takes longer than a kernel of its own; and macOS may end
            # a process that is forked after imports.
            forked = len(jobs) > _WORKERS and sys.platform == "linux"
            manager = ForkedKernelManager if forked else kernels.QuietKernelManager
            running = [pool.submit(_execute_whole, *job, manager=manager) for job in jobs]
        _wait_for(running, pool)
    except (KeyboardInterrupt, SystemExit):
        with held_back():
            kernels.end_workers(worker.pid for worker in set(active_children()) - others if worker.pid)
            # Or Python, which wakes the pool's thread as it exits, finds the pipe to it closed now and then.
            pool.shutdown(cancel_futures=True)
            for _, copy, _ in jobs:
                _draft(copy).unlink(missing_ok=True)
        raise


def _wait_for(running: Sequence[Future[None]], pool: ProcessPoolExecutor) -> None:
    """Wait for notebooks that are executed; where one fails, those under way are finished and no other is begun."""
    try:
        with bar(len(running), 0, "page") as done:
            for job in as_completed(running):
                job.result()
                done.update()
    except Exception:
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


def _execute_whole(notebook: Path, copy: Path, parameters: dict[str, Any], **options: Any) -> None:
    """Execute a notebook; its copy appears under its name only when every cell has run."""
    try:
        execution.execute(notebook, _draft(copy), parameters, **options)
    except (KeyboardInterrupt, SystemExit):
        _draft(copy).unlink(missing_ok=True)
        raise
    _draft(copy).replace(copy)


def _draft(copy: Path) -> Path:
    return copy.with_suffix(".draft.ipynb")


def _forget(folder: Path, slug: str) -> None:
    """Remove the older of a chapter's executed copies, and what failed left."""
    copies = [path for path in folder.glob(f"{slug}-*.ipynb") if _slug(path) == slug]
    for old in sorted(copies, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT:]:
        old.unlink()


def _render(source: Path, target: Path, log: Log, strict: bool = True) -> Path:
    """Run Jupyter Book, strictly with warnings as errors; the last HTML is removed only when the new is finished."""
    log("rendering the book" if strict else "rendering the page")
    output = target.with_name("rendered")
    shutil.rmtree(output, ignore_errors=True)
    program = "from jupyter_book.cli.main import main; main()"  # the package cannot be run as a module
    options = ["build", *(["-W", "--keep-going"] if strict else []), "--path-output", str(output), str(source)]
    command = [sys.executable, "-c", program, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    index = output / "_build" / "html" / "index.html"
    if done.returncode or not index.is_file():
        raise failure("the book was not rendered", done.stdout, "sphinx", warnings=strict)
    publication.slim(index.parent, notebooks.analyse_notebooks())
    with held_back():
        shutil.rmtree(target, ignore_errors=True)
        index.parent.rename(target)
    return target / "index.html"


def reproduce(profile: str, engine: str | None, log: Log = print) -> Path:
    """Measure a profile through its notebook, then build the book with it.

    An interrupted measurement of the same profile resumes; any other is set aside (`...-before`).

    Returns `index.html`.
    """
    wanted = load_profile(profile, engine=engine)
    folder = build_dir() / "runs" / f"{wanted.name}-{wanted.engine}"
    resume = _resumable(folder, wanted.model_dump(mode="json"))
    if not resume:
        _set_aside(folder)
    relative = os.path.relpath(folder, paths.project_root())
    parameters = {"profile": profile, "engine": wanted.engine, "out": relative, "resume": resume}
    parameters["then_s"] = _EXECUTE_AND_RENDER_S
    output = build_dir() / "source" / "notebooks" / "measure" / notebooks.MEASURE
    _execute_whole(notebooks.measure_notebook(), output, parameters, loud=True)
    return build(fresh=folder, log=log)


def _resumable(folder: Path, profile: dict[str, Any]) -> bool:
    """Whether a folder holds an interrupted run of just this profile."""
    try:
        notes = manifest.read(folder, RUN)
    except InputError:
        return False
    return not notes["complete"] and notes["profile"] == profile


def _set_aside(folder: Path) -> None:
    """Make way for a new run: what lies there is renamed, replacing only what was set aside before it."""
    if folder.exists():
        aside = folder.with_name(f"{folder.name}-before")
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
