"""The whole book as one PDF: its pages in the order of the contents on one page, printed by Chromium."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Error, sync_playwright

from cassbook.book.execution import build_dir
from cassbook.core import paths
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.paths import browser

_ARTICLE = re.compile(r"<article\b.*?</article>", re.DOTALL)
_FORMULAS = re.compile(r"<script[^>]*>\s*window\.MathJax.*?</script>|<script[^>]*mathjax[^>]*></script>", re.DOTALL)
_UP = re.compile(r"(\.\./)+_static")
#: What works only on a screen: code that is folded, links of headings and of values, what scripts draw.
_ON_SCREEN = (
    "details.hide, a.headerlink, a.values, p.pdf, script, iframe, button, style, "
    ".plotly-graph-div, .explorer, [id^=every-claim-]"
)
_TIMEOUT_MS = 300_000
_BARE = "print.html"
_OFFERED = '<p class="pdf">This book '


def write(html: Path) -> Path:
    """Print a rendered book.

    `html`: the folder of the rendered book.

    Returns the PDF, `the-price-of-consistency.pdf` in the build folder.

    Raises InputError if no Chromium is installed. Raises LaboratoryError if it prints nothing, with what it says.
    """
    chromium = browser()
    if chromium is None:
        raise InputError("no Chromium on the PATH, which prints the PDF (Debian: package chromium)")
    page = html / _BARE
    page.write_text(one_page(html, contents(paths.project_root() / "_toc.yml")), encoding="utf-8")
    pdf = build_dir() / "the-price-of-consistency.pdf"
    draft = pdf.with_suffix(".draft.pdf")
    draft.unlink(missing_ok=True)
    try:
        _print(chromium, page, draft)
    except Error as error:
        raise LaboratoryError(f"{chromium} printed nothing: {error.message}") from None
    finally:
        page.unlink()
    draft.replace(pdf)
    _offer(pdf, html)
    return pdf


def _offer(pdf: Path, html: Path) -> None:
    """Put a copy next to the pages, and a link to it on the front page."""
    shutil.copy(pdf, html / pdf.name)
    front = html / "book" / "index.html"
    link = f'{_OFFERED}<a href="../{pdf.name}">as one PDF</a> ({pdf.stat().st_size / 1e6:.0f} MB).</p>'
    text = re.sub(rf"{_OFFERED}.*?</p>", "", front.read_text(encoding="utf-8"))
    front.write_text(text.replace("</h1>", f"</h1>{link}", 1), encoding="utf-8")


def _print(chromium: str, page: Path, pdf: Path) -> None:
    """Open a page and print it when its formulas are set."""
    with sync_playwright() as tools:
        opened = tools.chromium.launch(
            executable_path=chromium, args=["--disable-background-networking"],
            chromium_sandbox=os.geteuid() != 0,  # Chromium refuses to run as root with one
        )  # fmt: skip
        tab = opened.new_page()
        tab.set_default_timeout(_TIMEOUT_MS)
        tab.goto(page.resolve().as_uri())
        tab.wait_for_function("!window.MathJax || MathJax.startup?.promise?.then(() => true)")
        tab.pdf(path=pdf, prefer_css_page_size=True, tagged=True, outline=True)
        opened.close()


def contents(toc: Path) -> list[tuple[str, list[str]]]:
    """Return the parts of the book: caption, and pages in order, the front page first."""
    plan = yaml.safe_load(toc.read_text(encoding="utf-8"))
    parts = [(part["caption"], [chapter["file"] for chapter in part["chapters"]]) for part in plan["parts"]]
    return [("", [plan["root"]]), *parts]


def one_page(html: Path, parts: list[tuple[str, list[str]]]) -> str:
    """Return all pages as one: links between them stay inside it, pictures are found from the book's folder.

    `parts`: captions with pages, by their names without `.html`.
    """
    names = {page: page.replace("/", "--") for _, pages in parts for page in pages}
    body, formulas = [], ""
    for caption, pages in parts:
        if caption:
            body.append(f'<h1 class="part">{caption}</h1>')
        for page in pages:
            text = (html / f"{page}.html").read_text(encoding="utf-8")
            formulas = formulas or _UP.sub("_static", "".join(_FORMULAS.findall(text)))
            body.append(_printed(text, page, names))
    style = resources.files("cassbook.book").joinpath("templates/print.css").read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8"><title>The Price of Consistency</title>'
        f'<link rel="stylesheet" href="_static/pygments.css"><style>{style}</style>'
    )
    return f'<!doctype html><html lang="en"><head>{head}{formulas}</head><body>{"".join(body)}</body></html>'


def _printed(text: str, page: str, names: Mapping[str, str]) -> str:
    """One page's article, to stand among others."""
    found = _ARTICLE.search(text)
    if found is None:
        raise LaboratoryError(f"{page}.html: has no article; was the book rendered?")
    article = BeautifulSoup(found.group(), "html.parser")
    for part in article.select(_ON_SCREEN):
        part.decompose()
    for part in article.select("details"):
        part["open"] = ""
    for part in article.select("[id]"):
        part["id"] = f"{names[page]}--{part['id']}"
    for link in article.select("a[href]"):
        _lead(link, page, names)
    for picture in article.select("img[src]"):
        picture["src"] = _from_top(page, str(picture["src"]))
    return f'<section class="page" id="{names[page]}">{article}</section>'


def _lead(link: Tag, page: str, names: Mapping[str, str]) -> None:
    """Let a link lead to a place on the same page; one that leads to what is not printed is none."""
    url = urlsplit(str(link["href"]))
    if url.scheme:
        return
    target = _from_top(page, unquote(url.path)).removesuffix(".html") if url.path else page
    if target in names:
        link["href"] = f"#{names[target]}--{url.fragment}" if url.fragment else f"#{names[target]}"
    else:
        link.unwrap()


def _from_top(page: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
