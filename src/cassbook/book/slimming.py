"""Make a rendered book small enough to be sent: what no page asks for goes, pictures take few colours."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from PIL import Image

#: Of MathJax what pages ask for: formulas written in TeX, set in its web fonts, read out in English.
_ASKED_FOR = ("tex-chtml.js", "input/tex/extensions", "output/chtml", "a11y", "ui", "sre/mathmaps/base.json",
              "sre/mathmaps/en.json", "sre/mathmaps/nemeth.json")  # fmt: skip
_COLOURS = 256
_PROCESSES = 2


def slim(html: Path, notebooks: Iterable[Path]) -> None:
    """Take out of a rendered book what no page asks for.

    Parameters
    ----------
    html : Path
        The book's folder.
    notebooks : iterable of Path
        The tracked notebooks: what a page offers for download is these, which run as they are, and not the executed
        copies with all pictures in them.
    """
    for notebook in notebooks:
        offered = html / "_sources" / "notebooks" / "analyse" / notebook.name
        if offered.is_file():
            shutil.copy(notebook, offered)
    for path in list((html / "_static").rglob("*.map")):  # the themes' scripts and styles, for who develops them
        path.unlink()
    mathjax = html / "_static" / "mathjax"
    kept = {mathjax / name for name in _ASKED_FOR}
    for path in list(mathjax.rglob("*")):
        if path.is_file() and not kept & {path, *path.parents}:
            path.unlink()
    with ProcessPoolExecutor(_PROCESSES, get_context("spawn")) as pool:
        list(pool.map(few_colours, (html / "_images").glob("*.png")))


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
