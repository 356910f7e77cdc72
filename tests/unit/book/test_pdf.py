"""All pages as one: links stay inside, pictures are found, what works only on a screen goes."""

import pytest
from bs4 import BeautifulSoup

from cassbook.book import pdf
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.paths import project_root

PAGE = """<html><head><script>window.MathJax = {};</script>
<script defer src="../../_static/mathjax/tex-chtml.js"></script></head><body>
<article class="bd-article"><h1 id="a">Title<a class="headerlink" href="#a">#</a></h1>
<p id="b"><a href="#a">here</a> <a href="../../book/words.html#term">there</a> <a href="../../book/words.html">all</a>
<a href="../../_modules/x.html">source</a> <a href="https://example.org/">away</a></p>
<details class="admonition hide"><summary>The code</summary>x = 1</details>
<details class="table"><summary>Table 1</summary><a class="values" href="data:,">CSV</a><table></table></details>
<img src="../../_images/one.png" alt="One"></article><nav>elsewhere</nav></body></html>"""


@pytest.fixture
def html(tmp_path):
    (tmp_path / "notebooks" / "analyse").mkdir(parents=True)
    (tmp_path / "book").mkdir()
    (tmp_path / "notebooks" / "analyse" / "one.html").write_text(PAGE)
    words = '<script src="../_static/mathjax/tex-chtml.js"></script><article><dl><dt id="term">Term</dt></dl></article>'
    (tmp_path / "book" / "words.html").write_text(words)
    return tmp_path


def test_pages_stand_on_one_page_and_lead_to_each_other(html):
    page = BeautifulSoup(
        pdf.one_page(html, [("", ["book/words"]), ("A part", ["notebooks/analyse/one"])]), "html.parser"
    )
    targets = [link["href"] for link in page.find_all("a")]
    assert targets == ["#notebooks--analyse--one--a", "#book--words--term", "#book--words", "https://example.org/"]
    assert all(page.find(id=target[1:]) for target in targets if target.startswith("#"))
    assert "source" in page.get_text()
    assert page.find("img")["src"] == "_images/one.png"
    assert [script["src"] for script in page.find_all("script")] == ["_static/mathjax/tex-chtml.js"]
    assert [heading.get_text() for heading in page.find_all("h1")] == ["A part", "Title"]


def test_what_works_only_on_a_screen_is_left_out_and_what_is_folded_opens(html):
    text = pdf.one_page(html, [("", ["notebooks/analyse/one"])])
    assert "x = 1" not in text
    assert "CSV" not in text
    assert "elsewhere" not in text
    assert '<details class="table" open="">' in text
    assert 'src="_static/mathjax/tex-chtml.js"' in text


def test_a_page_that_is_not_there_says_what_is_wrong(html):
    (html / "book" / "words.html").write_text("<html></html>")
    with pytest.raises(LaboratoryError, match=r"^book/words\.html: .*article; .*rendered"):
        pdf.one_page(html, [("", ["book/words"])])


def test_every_page_of_the_contents_is_printed():
    parts = pdf.contents(project_root() / "_toc.yml")
    pages = [page for _, pages in parts for page in pages]
    assert pages[0] == "book/index"
    assert "book/library/latency" in pages
    assert len(pages) == len(set(pages)) > 40


def test_without_chromium_it_says_so(html, monkeypatch):
    monkeypatch.setattr(pdf, "browser", lambda: None)
    with pytest.raises(InputError, match=r"^no Chromium on the PATH"):
        pdf.write(html)
