"""The book as a reader meets it: no warning, links that lead somewhere, nothing asked of other hosts."""

import functools
import http.server
import re
import shutil
import subprocess
import threading
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from cassbook.book import build, notebooks, outputs, pdf
from cassbook.book.chapters import record, staleness_explorer
from cassbook.claims.registry import ledger
from cassbook.core import paths
from cassbook.core.errors import LaboratoryError
from cassbook.lab.doctor import browser
from cassbook.records.run import RecordedRun
from cassbook.staleness.explorer import Knobs, needed_ms
from tests.conftest import BUILD
from tests.helpers.folder_of_logs import make

#: To build the book beside live tests, at the lowest priority, takes a quarter of an hour on a busy machine.
pytestmark = [pytest.mark.book, pytest.mark.timeout(2400)]
#: Pages that stand for their kinds: answers, words, sliders, an explorer of the library.
_LOOKED_AT = (
    "notebooks/analyse/answers.html",
    "notebooks/analyse/latency.html",
    "notebooks/analyse/what-if.html",
    "notebooks/analyse/queueing-model.html",
    "book/faults.html",
    "book/glossary.html",
    "book/library/latency.html",
)
SCORECARD = "notebooks/analyse/scorecard.html"
FRONT, CHAPTER = "book/index.html", "notebooks/analyse/mixed-estimates.html"


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    """The whole book as it is published: from the recorded runs, in the folder that CI takes it from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASSBOOK_BUILD", str(BUILD))
        patch.setenv("CASSBOOK_CACHE", str(tmp_path_factory.mktemp("cache")))  # it needs no engine and no Java
        before = tracked()
        index = build.build(log=lambda line: None)
        assert tracked() == before
    return index.parent


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A folder of another tool's logs that holds what a run measured."""
    folder = tmp_path_factory.mktemp("logs")
    run = RecordedRun("quick-2.1.20")
    make(folder, run, tuple(run.cells["threads"].unique()))
    return folder


def tracked():
    return {path: path.read_bytes() for path in (paths.project_root() / "notebooks").rglob("*.ipynb")}


class Links(HTMLParser):
    """Targets, anchors and pictures of a page."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors, self.pictures = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given.get("id"), given.get("name")}
        if tag == "img":
            self.pictures.append(given)
        for key in ("href", "src"):
            if given.get(key) and given.get("rel") not in ("preconnect", "dns-prefetch"):
                self.targets.append((tag, given[key]))


def test_index_is_there_and_every_page_of_the_contents(html):
    assert (html / "index.html").is_file()
    for page in (
        "book/methods",
        "notebooks/measure/measure",
        *(f"notebooks/analyse/{n.stem}" for n in notebooks.analyse_notebooks()),
    ):
        assert (html / f"{page}.html").is_file()


@pytest.mark.parametrize("notebook", notebooks.analyse_notebooks(), ids=lambda path: path.stem)
def test_a_chapter_shows_what_is_stored(html, notebook):
    copies = [
        path
        for path in (html.parent / "executed").glob(f"{notebook.stem}-*.ipynb")
        if build._slug(path) == notebook.stem
    ]
    assert not outputs.differences(notebook, max(copies, key=lambda path: path.stat().st_mtime))


@pytest.mark.parametrize("notebook", notebooks.analyse_notebooks(), ids=lambda path: path.stem)
def test_tables_have_numbers_and_captions(html, notebook):
    text = (html / "notebooks" / "analyse" / f"{notebook.stem}.html").read_text()
    tables = text.count('class="dataframe') - text.count('<div class="evidence">')
    numbers = [int(number) for number in re.findall(r"<b>Table (\d+)", text)]
    assert numbers == list(range(1, tables + 1))


def test_the_whole_book_is_printed(html, tmp_path, monkeypatch):
    if browser() is None:
        pytest.skip("no Chromium on the PATH (Debian: package chromium); the book was not printed")
    monkeypatch.setenv("CASSBOOK_BUILD", str(tmp_path))
    copy = shutil.copytree(html, tmp_path / "html")
    printed = pdf.write(copy)
    assert printed.read_bytes().startswith(b"%PDF")
    assert printed.stat().st_size > 10e6, "all pictures are in it"
    assert {path.name for path in tmp_path.iterdir()} == {printed.name, "html"}
    (link,) = re.findall(r'<p class="pdf">.*?href="([^"]+)"', (copy / "book" / "index.html").read_text())
    assert (copy / "book" / link).read_bytes() == printed.read_bytes()


@pytest.fixture
def jobs(html, monkeypatch):
    """Chapters that builds in the same folder would execute from now on."""
    executed = []
    monkeypatch.setenv("CASSBOOK_BUILD", str(html.parent))
    monkeypatch.setattr(build, "_execute_all", executed.extend)
    return executed


def test_the_next_build_executes_only_what_shows_another_run(jobs, logs):
    every = notebooks.analyse_notebooks()
    build._executed(every, {}, lambda line: None)
    assert not jobs, "nothing has changed since the book was built"
    fresh = [path for path in every if "fresh" in notebooks.parameters(path)]
    assert 5 < len(fresh) < 15
    build._executed(every, {"fresh": str(logs)}, lambda line: None)
    assert [notebook for notebook, _, _ in jobs] == fresh


def test_a_chapter_alone_is_rendered_with_its_figures_and_citations(jobs):
    page = build.chapter("ccm-latency", {}, lambda line: None)
    assert not jobs, "it is unchanged since the book was built"
    text = page.read_text()
    assert "../../book/bibliography.html#" in text
    assert "glue:text" not in text
    pictures = [target for tag, target in Links(text).targets if tag == "img" and not urlsplit(target).scheme]
    assert pictures
    assert all((page.parent / unquote(picture)).is_file() for picture in pictures)


def test_a_folder_of_logs_is_shown_as_if_just_measured(html, logs, monkeypatch):
    monkeypatch.setenv("CASSBOOK_BUILD", str(html.parent))
    text = build.chapter("latency", {"fresh": str(logs)}, lambda line: None).read_text()
    assert "measured now" in text
    assert f'"{logs}"' not in text, "a page names paths as seen from the project"


def test_internal_links_lead_somewhere(html):
    pages = {page: Links(page.read_text()) for page in html.rglob("*.html") if "_static" not in page.parts}
    assert len(pages) > 8
    broken = []
    for page, links in pages.items():
        for _, target in links.targets:
            url = urlsplit(target)
            if url.scheme or url.netloc or target == "#":
                continue
            file = (page.parent / unquote(url.path)).resolve() if url.path else page
            if not file.is_file() or (
                url.fragment and file.suffix == ".html" and url.fragment not in pages[file].anchors
            ):
                broken.append(f"{page.relative_to(html)}: {target}")
    assert not broken


def test_nothing_is_loaded_from_another_host(html):
    foreign = [
        f"{page.relative_to(html)}: {target}"
        for page in html.rglob("*.html")
        for tag, target in Links(page.read_text()).targets
        if tag in {"script", "img", "link", "iframe"} and urlsplit(target).netloc
    ]
    assert not foreign


def test_plotly_is_loaded_only_where_something_is_drawn_with_it(html):
    loading = {
        page.stem
        for page in html.rglob("*.html")
        if any("plotly" in target for _, target in Links(page.read_text()).targets)
    }
    assert loading == {page.stem for page in html.rglob("*.html") if "plotly-graph-div" in page.read_text()}
    assert {"mixed-estimates", "what-if"} <= loading


def test_every_picture_has_words(html):
    wordless = [
        f"{page.relative_to(html)}: {attributes.get('src')}"
        for page in (*html.glob("book/**/*.html"), *html.glob("notebooks/**/*.html"))
        for attributes in Links(page.read_text()).pictures
        if not attributes.get("alt", "").strip() or "_images/" in attributes["alt"]
    ]
    assert not wordless


def test_of_a_chapters_code_one_cell_is_shown(html):
    text = (html / CHAPTER).read_text()
    assert "set by the build, so that no cache" not in text
    assert text.count('class="cell_input') == 1


def test_the_book_is_small_enough_to_be_sent(html):
    assert sum(path.stat().st_size for path in html.rglob("*") if path.is_file()) < 40e6


def test_sources_stand_side_by_side_and_numbers_are_glued(html):
    text = (html / "notebooks/analyse/latency.html").read_text()
    for label in ("published", "recorded 2.1.20", "recorded 5.0.9"):
        assert label in text
    for page in (html / "notebooks").rglob("*.html"):
        assert "glue:text" not in page.read_text()
        assert str(paths.project_root()) not in page.read_text()
        assert "site-packages" not in page.read_text()  # as in a warning that a cell let through


def test_the_library_a_claim_rests_on_is_linked(html):
    assert "cassbook.latency.cold_start.cold_start" in (html / "book/library/latency.html").read_text()


@pytest.fixture
def served(html):
    """Address of the book, served on loopback."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=html)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("page", [FRONT, CHAPTER, "notebooks/analyse/regressions.html", SCORECARD])
def test_a_browser_without_network_shows_it_whole(served, window, page):
    errors, foreign = [], []
    window.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    window.on("pageerror", lambda error: errors.append(str(error)))
    window.on("requestfailed", lambda request: errors.append(f"failed: {request.url}"))
    window.on(
        "request",
        lambda request: None if request.url.startswith((served, "data:", "blob:")) else foreign.append(request.url),
    )
    window.goto(served + page, wait_until="load")  # a script that computes for long looks idle before the page is whole
    window.wait_for_load_state("networkidle")
    pictures = window.eval_on_selector_all(
        "article img", "all => all.map(i => [i.src, i.complete && i.naturalWidth > 0])"
    )
    plots = window.locator(".plotly-graph-div .main-svg").count()
    title = window.title()
    assert not foreign
    assert not errors
    assert "The Price of Consistency" in title
    assert all(loaded for _, loaded in pictures)
    if page == CHAPTER:
        assert len(pictures) >= 2
        assert plots >= 1


@pytest.mark.parametrize("place", ["file", "served"])
def test_icons_are_drawn_by_a_font(served, html, window, place):
    """The theme can also draw them by a script of 1.5 MB, which no page loads."""
    assert not [path for path in html.rglob("*.html") if "fontawesome.js" in path.read_text()]
    window.goto((html / CHAPTER).as_uri() if place == "file" else served + CHAPTER, wait_until="load")
    drawn = window.evaluate("""() => document.fonts.ready.then(() => [
        getComputedStyle(document.querySelector("i.fa-magnifying-glass"), "::before").fontFamily,
        [...document.fonts].filter(font => font.status === "loaded").map(font => font.family),
    ])""")
    assert drawn[0].strip('"') in [family.strip('"') for family in drawn[1]]
    assert "Awesome" in drawn[0]


_WIDTHS = (1400, 390)
#: How much of a page lies beyond its right edge, and headings or words that are names of the code.
_LOOK = """() => ({
  over: document.documentElement.scrollWidth - window.innerWidth,
  wide: [...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > window.innerWidth + 1
    && getComputedStyle(e.parentElement).overflowX === 'visible').slice(0, 3).map(e => e.tagName + '.' + e.className),
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_its_window(served, html, window, scheme):
    """Every page, at the width of a desk and of a hand."""
    window.emulate_media(color_scheme=scheme)
    errors, over = [], []
    shown = {html, *(html / part for part in ("book", "book/library", "notebooks/analyse", "notebooks/measure"))}
    window.on("pageerror", lambda error: errors.append(str(error)))
    pages = {path.relative_to(html) for path in html.rglob("*.html") if path.parent in shown}
    for page in sorted(pages - {Path("index.html")}):  # which leads to the front page at once
        window.goto(served + str(page), wait_until="load")
        for width in _WIDTHS:
            window.set_viewport_size({"width": width, "height": 900})
            seen = window.evaluate(_LOOK)
            if seen["over"] > 1:
                over.append(f"{page} at {width}: {seen}")
    assert not errors
    assert not over


def test_the_search_quotes_pages_from_a_file(html, window):
    window.goto(f"{(html / 'search.html').as_uri()}?q=autocorrelated")
    window.locator("ul.search li p.context").first.wait_for()
    assert "autocorrelated" in window.locator("ul.search li p.context").first.inner_text()


@pytest.mark.parametrize(
    ("query", "among", "chapter"),
    [
        ("node dies", 3, "When a node fails"),
        ("node fails", 1, "When a node fails"),
        ("stale", 3, "How stale? Measured"),
    ],
)
def test_the_search_finds_chapters_before_functions_and_quotes_no_code(html, window, query, among, chapter):
    window.goto(f"{(html / 'search.html').as_uri()}?q={query}")
    window.locator("ul.search li p.context").nth(5).wait_for()
    found = [item.inner_text() for item in window.locator("ul.search li").all()]
    assert any(text.startswith(chapter) for text in found[:among]), found[:among]
    assert not [text for text in found[:30] if "glue(" in text or "of_each(" in text]
    library = [place for place, text in enumerate(found) if text.startswith("cassbook.")]
    assert not library or min(library) > 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_hinders_those_who_use_a_keyboard_or_a_screen_reader(served, html, window, scheme):
    window.emulate_media(color_scheme=scheme)
    window.set_viewport_size({"width": _WIDTHS[0], "height": 900})
    found = []
    for page in (FRONT, CHAPTER, SCORECARD, *_LOOKED_AT):
        window.goto(served + page, wait_until="load")
        for violation in Axe().run(window).response["violations"]:
            if violation["impact"] in {"serious", "critical"}:
                where = [node["target"] for node in violation["nodes"][:3]]
                found.append(f"{page}: {violation['id']}: {violation['help']}: {where}")
    assert not found


@pytest.mark.parametrize(
    "knobs",
    [
        Knobs(),
        Knobs(n=5, r=2, w=2, write_ms=20.0, other_ms=0.5),
        Knobs(n=3, r=1, w=2, far=2, far_ms=75.0),
        Knobs(n=3, r=2, w=2),
    ],
    ids=str,
)
def test_the_page_computes_the_staleness_curve_as_the_library_does(window, knobs):
    window.set_content("<p>Nothing.</p>")
    window.add_script_tag(content=staleness_explorer.script())
    there = window.evaluate("([knobs, trials]) => [...neededMs(knobs, trials)]", [asdict(knobs), 5_000])
    np.testing.assert_allclose(there, needed_ms(knobs, 5_000), rtol=1e-9, atol=1e-9)


def test_the_staleness_curve_says_what_was_chosen(served, window):
    window.goto(served + "notebooks/analyse/staleness-predicted.html", wait_until="load")
    said = window.locator("#staleness-said")
    assert "1R-1W of 3: " in said.inner_text()
    window.locator("[data-knob=r]").fill("3")
    assert "every read sees the last acknowledged write while all is well" in said.inner_text()


def test_the_ladder_leaves_what_does_what_is_asked_for(served, window):
    window.goto(served + "notebooks/analyse/answers.html", wait_until="load")
    said, out = window.locator("#ladder-said"), window.locator("#ladder-explorer tr.out th")
    assert said.inner_text().startswith("QUORUM/QUORUM alone does that: a read ")
    assert window.locator("[data-step='ONE/QUORUM'] .why").inner_text() == "a read can miss a write"
    window.locator("[data-knob=dead]").select_option("writes")
    assert said.inner_text() == "2 of 6 settings do that: ONE/ALL, QUORUM/QUORUM."
    window.locator("[data-knob=strong]").select_option("no")
    assert out.all_inner_texts() == ["ALL/ONE"]
    before = window.locator("[data-step='ALL/ONE'] [data-side=read]").inner_text()
    window.locator("[data-knob=figure]").select_option("p99")
    assert window.locator("[data-step='ALL/ONE'] [data-side=read]").inner_text() != before


def test_the_scorecard_is_searched_sorted_and_filtered_from_a_file(html, window):
    """Opened from the disk, with no server and no network, as a reader who copied the book would."""
    window.goto((html / SCORECARD).as_uri())
    rows = window.locator("#every-claim-table tbody tr")
    rows.nth(5).wait_for()
    shown = window.locator(".dt-info")
    everything = shown.inner_text()
    assert f"of {len(ledger()):,} entries" in everything
    window.locator(".dt-search input").last.fill("exponential progression")
    window.wait_for_function("!document.querySelector('.dt-info').innerText.startsWith('Showing 1 to 25')")
    texts = rows.all_inner_texts()
    assert 1 <= len(texts) <= 5
    assert all("exponential progression" in text for text in texts)
    assert window.locator("#every-claim-table a").first.get_attribute("href").startswith("../../_modules/cassbook/")
    window.locator(".dt-search input").last.fill("")
    assert not window.locator(".dtsp-nameCont", has_text="untestable").is_visible(), "filters are folded"
    window.locator(".dtsp-showAll").click()
    window.locator(".dtsp-nameCont", has_text="untestable").click()
    window.wait_for_function("document.querySelector('.dt-info').innerText.includes('filtered')")
    assert all("untestable" in text for text in rows.all_inner_texts())
    window.locator(".dtsp-clearAll").click()
    assert rows.first.inner_text().startswith("Gorbenko 2020")
    window.locator("#every-claim-table thead th").first.click()
    window.wait_for_function("document.querySelector('#every-claim-table tbody').innerText.startsWith('ccm study')")


def test_every_claim_links_to_the_lines_that_recompute_it(html):
    anchors = functools.cache(lambda page: Links(page.read_text()).anchors)
    for finding in ledger():
        if finding.function:
            path, _, anchor = record.source_page(finding.function).partition("#")
            assert anchor in anchors((html / "notebooks" / "analyse" / path).resolve()), finding.id


def test_a_warning_stops_the_build(html, tmp_path, monkeypatch):
    """A link to nowhere in a copy of the book's source: the build fails, the last book stays."""
    monkeypatch.setenv("CASSBOOK_BUILD", str(tmp_path))
    source = tmp_path / "source"
    (source / "book").mkdir(parents=True)
    root = paths.project_root()
    shutil.copy(root / "_config.yml", source)
    (source / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    shutil.copytree(root / "book" / "static", source / "_static")
    shutil.copy(root / "book" / "references.bib", source / "book")
    (source / "book" / "index.md").write_text("# Title\n\nSee {doc}`nowhere`.\n")
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "index.html").write_text("the last book")
    with pytest.raises(LaboratoryError, match="nowhere"):
        build._render(source, tmp_path / "html", lambda line: None)
    assert (tmp_path / "html" / "index.html").read_text() == "the last book"


def test_make_alone_prints_help():
    done = subprocess.run(["make"], cwd=paths.project_root(), capture_output=True, text=True, check=True)
    for target in ("reproduce", "book", "test", "lint", "bench", "clean"):
        assert f"make {target}" in done.stdout
