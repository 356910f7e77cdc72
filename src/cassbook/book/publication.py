"""The published book: what its pages say of it, the buttons of its repository, and no file that no page needs.

One page is on the book's own state: what its chapters took to execute, with which versions, and what is tested.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat
import yaml
from PIL import Image

from cassbook.core import paths
from cassbook.records import manifest

_LICENCES = "Code: Apache-2.0. Text and data: CC BY 4.0."
#: Of MathJax what pages ask for: formulas written in TeX, set in its web fonts, read out in English.
_ASKED_FOR = ("tex-chtml.js", "input/tex/extensions", "output/chtml", "a11y", "ui", "sre/mathmaps/base.json",
              "sre/mathmaps/en.json", "sre/mathmaps/nemeth.json")  # fmt: skip
#: Icons as pictures, 1.5 MB of script on every page: the theme's styles draw the same icons with its fonts.
_ICONS = "fontawesome.js"
_ICONS_ASKED_FOR = re.compile(rf"<script[^>]*/{re.escape(_ICONS)}[^>]*></script>\s*")
_COLOURS = 128
_PROCESSES = 2
#: Stands in `book/status.md` where the tables go, and in a page where the project's address does.
PLACE, ADDRESS = "<!-- tables -->", "<!-- address -->"
#: Addresses that a reader can open, of those that Git may fetch from.
_PUBLIC = re.compile(r"(https://(?:github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)/[\w.-]+/[\w.-]+?)(?:\.git)?/?")
#: Where an executed notebook keeps what its kernel took at most.
KEY = "cassbook"
_PACKAGES = (
    "cassbook", "numpy", "pandas", "scipy", "statsmodels", "scikit-learn", "numba", "matplotlib", "plotly",
    "jupyter-book", "sphinx", "papermill", "cassandra-driver",
)  # fmt: skip
_KINDS = {
    "tests/unit": "functions, files and messages, without a cluster",
    "tests/book": "the rendered book, in a browser",
    "tests/live": "live clusters: loads, faults, switches, Ctrl-C in the middle",
}
_TEST = re.compile(r"^\s*(?:async )?def test_", re.MULTILINE)


def footer(built: datetime | None = None) -> str:
    """Return the line at the foot of each page, as HTML."""
    day = (built or datetime.now(UTC)).date().isoformat()
    return f"<p>cassbook {version('cassbook')}, built on {day}. {_LICENCES} How to cite: see the bibliography.</p>"


def repository(path: Path) -> str:
    """Return the address of the project, '' where none is known that readers can open.

    It is the `url` of `repository` in the book's configuration (`path`); without one, the address that Git fetches
    from, where that is an https address of a public forge.
    """
    config: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    if url := config.get("repository", {}).get("url"):
        return str(url)
    command = ["git", "-C", str(path.parent), "remote", "get-url", "origin"]
    try:
        address = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
    found = _PUBLIC.fullmatch(address)
    return found[1] if found else ""


def configuration(path: Path) -> str:
    """Return the book's configuration with the footer, and with buttons where the project has an address.

    `path`: `_config.yml`; where no address is known (see `repository`), no button shows.
    """
    config: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    html = config["html"]
    html["extra_footer"] = footer()
    if url := repository(path):
        config["repository"]["url"] = url
        html |= {"use_repository_button": True, "use_issues_button": True, "use_edit_page_button": True}
        config["launch_buttons"]["binderhub_url"] = "https://mybinder.org"
    else:
        config.pop("repository", None)
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def plan_page(text: str) -> str:
    """Return the plan of what is recorded as one page: headings behind its first title are a level lower."""
    first, title, rest = text.partition("\n# ")
    return first + title.replace("# ", "## ") + re.sub(r"^#", "##", rest, flags=re.MULTILINE)


def with_address(text: str, url: str) -> str:
    """Say on a page where the project is; nothing where no address is known."""
    return text.replace(ADDRESS, f" The project is at <{url}>." if url else "")


def slim(html: Path, notebooks: Iterable[Path]) -> None:
    """Take out of a rendered book what no page asks for.

    `html`: the book's folder. `notebooks`: the tracked notebooks: what a page offers for download is these, which run
    as they are, and not the executed copies with all pictures in them.
    """
    for notebook in notebooks:
        offered = html / "_sources" / "notebooks" / "analyse" / notebook.name
        if offered.is_file():
            shutil.copy(notebook, offered)
    shutil.rmtree(html / "_static" / "locales", ignore_errors=True)  # translations of the theme
    for path in list((html / "_static").rglob("fa-*.ttf")):  # browsers take the woff2 beside it
        path.unlink()
    for path in list((html / "_static").rglob("*.map")):  # the themes' scripts and styles, for who develops them
        path.unlink()
    (html / "_static" / "scripts" / _ICONS).unlink(missing_ok=True)
    for page in html.rglob("*.html"):
        page.write_text(_ICONS_ASKED_FOR.sub("", page.read_text(encoding="utf-8")), encoding="utf-8")
    mathjax = html / "_static" / "mathjax"
    kept = {mathjax / name for name in _ASKED_FOR}
    for path in list(mathjax.rglob("*")):
        if path.is_file() and not kept & {path, *path.parents}:
            path.unlink()
    with ProcessPoolExecutor(_PROCESSES, get_context("spawn")) as pool:
        list(pool.map(few_colours, (html / "_images").glob("*.png")))


def offer_data(records: Iterable[str], folder: Path) -> None:
    """Put what pages offer for download there: of each record its manifest and tables, without slices and requests."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(set(records)):
        of = manifest.located(name)
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as packed:
            tables = (path for path in of.rglob("*.csv") if path.name != "slices.csv")
            for path in sorted([of / manifest.NAME, *tables]):
                packed.write(path, Path(name, path.relative_to(of)))


def few_colours(picture: Path) -> None:
    """Store a picture with a palette, where that makes it smaller: drawings have few colours."""
    with Image.open(picture) as drawn:
        image = drawn.convert("RGB").quantize(_COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    draft = picture.with_suffix(".draft")
    image.save(draft, format="png")  # to optimize it takes ten times as long, for a tenth of its bytes
    if draft.stat().st_size < picture.stat().st_size:
        draft.replace(picture)
    else:
        draft.unlink()


def status_page(text: str, copies: Iterable[Path]) -> str:
    """Return the page with its tables.

    `text`: the tracked page, which says `PLACE` where they go. `copies`: the executed notebooks that the book shows.
    """
    tables = ["## Chapters", *_chapters(copies), "", "## Versions", *_versions(), "", "## Tests", *_tests()]
    return text.replace(PLACE, "\n".join(tables))


def _chapters(copies: Iterable[Path]) -> Iterator[str]:
    yield "\n| Chapter | Executed in, s | Memory at most, MB |\n|---|--:|--:|"
    for copy in copies:
        content = nbformat.read(copy, as_version=4)
        title = content.cells[0].source.splitlines()[0].removeprefix("# ")
        seconds = content.metadata.get("papermill", {}).get("duration")
        peak_mb = content.metadata.get(KEY, {}).get("peak_mb", "")
        yield f"| {title} | {f'{seconds:.1f}' if seconds else ''} | {peak_mb} |"


def _versions() -> Iterator[str]:
    yield f"\n| Package | Version |\n|---|---|\n| Python | {platform.python_version()} |"
    for name in _PACKAGES:
        yield f"| {name} | {version(name)} |"


def _tests() -> Iterator[str]:
    yield "\n| Of | What | Test functions |\n|---|---|--:|"
    for folder, what in _KINDS.items():
        files = (paths.project_root() / folder).rglob("test_*.py")
        yield f"| `{folder}` | {what} | {sum(len(_TEST.findall(file.read_text(encoding='utf-8'))) for file in files)} |"
