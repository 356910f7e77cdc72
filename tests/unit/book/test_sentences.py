"""What pages say of prices, promises and typed numbers stays within what was measured, on whichever page it stands."""

import re
import shutil
import subprocess
import sys

import nbformat
import pytest

from cassbook.book import notebooks
from cassbook.core import paths

BOOK = paths.project_root() / "book"
ANALYSES = notebooks.analyse_notebooks()
PAGES = sorted(BOOK.glob("*.md"))
#: Ratios of latencies under the same number of threads: prices in capacity, which need their load beside them.
_PRICE = re.compile(
    r"\{glue:text\}`(?:price-[\w-]+-(?:mean|p99)|tail-\w+-(?:mean|p99)|safe-(?:read|write)-mean|most-mean)`"
)
_LOAD = re.compile(
    r"closed loop|in this loop|the same (?:closed )?loop|under the same load, here a closed loop", re.IGNORECASE
)
#: Said once and refuted by a record of ours, or never measured.
_WITHDRAWN = {
    "always reads": r"always\s+reads?\s+the\s+last",
    "a shared machine makes it dearer": r"more\s+here\s+than\s+on\s+(?:machines\s+of\s+their\s+own|three\s+machines)",
    "the tail is cheaper": r"price\s+of\s+a\s+level\s+shrinks|mean\s+more\s+than\s+in\s+the\s+tail|tail\s+pays",
    "disks cost all levels alike": r"cost\s+all\s+levels\s+alike",
    "latency is service time everywhere": r"always\s+service\s+time|none\s+mixes\s+the\s+two",
    "no significant effect is none": r"takes\s+nothing\s+away|intervals\s+of\s+all\s+\w+\s+overlap",
    "equal for not significantly off": r"not\s+significantly\s+off",
    "an average as a bound": r"within\s+[\d.]+\s*%\s+on\s+average|within \{glue:text\}`[^`]+-mean` % on average",
    "numbers are never typed": r"never\s+typed",
}  # fmt: skip
#: Translated English that has come back before, and what stands there instead.
_CAME_BACK = {
    "5.0.9's figure alone; 2.1.20's is in the table": r"\{glue:text\}`[^`]+`\s*/\s*\{glue:text\}`|2\.1\.20 / 5\.0\.9",
    "known, shown, says; significant": r"\btold\s+(?:apart|from)\b|\bnought\b|(?<!`)\bforetold\b",
    "hangs": r"\bstands?\s+still\b",
    "range": r"\bthe\s+least\s+and\s+the\s+most\b",
    "B is n times A": r"\btimes\s+(?:less|fewer|shorter|smaller)\b",
    "repeatedly": r"\bagain\s+and\s+again\b",
    "Prerequisites": r"\bKnow\s+first\b",
    "a statement": r"\bNone\s+of\s+it\s+is\.|\bIs\s+that\s+so\?",
}
#: Shares that name a rule: a level of confidence, a percentile, a mark's limit.
_RULES = {"1 %", "2 %", "5 %", "10 %", "95 %", "99 %", "99.9 %", "100 %"}
#: Other numbers with a unit that chapters type: conditions of an experiment and what a paper prints, no result of ours.
_TYPED = {
    "ccm-latency": {"9.4 times", "1 ms"},
    "ccm-predictor": {"100 ms"},
    "cold-start": {"1000 ms", "8 times", "50 ms", "250 ms"},
    "deployments": {"1 ms"},
    "deviation": {"92 %"},
    "failures": {"0.2 s"},
    "failures-adviser": {"3 s"},
    "failures-data": {"100 ms"},
    "generator": {"1 ms", "10 ms"},
    "interleaving": {"100 ms", "500 ms"},
    "latency": {"12%", "12 %"},
    "mitigating-distance": {"13 %", "150 ms", "12 s"},
    "queueing-calibrated": {"7 %"},
    "queueing-reproduced": {"8 %", "12.9 %"},
    "record-2020": {"92 %", "17 %"},
    "record-2021": {"560 %", "2 times"},
    "staleness-measured": {"0.3 ms", "33.3 %", "66.6 %"},
    "staleness-predicted": {"75 ms", "3, times"},
    "thesis": {"30 %", "90 %"},
    "what-if": {"8 ms", "2 ms"},
}
_UNIT = re.compile(r"(?<![\w.-])\d[\d,.]*\s?(?:ms|us|s|%|times|seconds)(?![\w])")
#: What commands print, which may have empty lines.
_FENCED = re.compile(r"^```console\n.*?^```$", re.DOTALL | re.MULTILINE)
_NO_PROSE = re.compile(r"```.*?```|\{glue:text\}`[^`]*`|`[^`]*`|\"[^\"]*\"", re.DOTALL)


#: Words of a sentence that nobody reads twice.
_LONGEST = 40
_SENTENCE = re.compile(r"(?<=[.?!])[)*\"]*\s+(?=[A-Z`*({$0-9†‡\"])")
_ITEM = re.compile(r"\n(?=\s*(?:[*-] |\d+\. |:::))")
_NOT_READ = re.compile(r"\s*(?:\||:::)| {4}")
_ROLE = re.compile(r"\{[\w:]+\}`[^`]*`")


def prose(path):
    """Paragraphs of a page or chapter, with the captions of its figures and tables."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8").split("\n\n")
    found = []
    for cell in nbformat.read(path, as_version=4).cells:
        shown = cell.metadata.get("mystnb", {}).get("figure", {}), cell.metadata.get("table", {})
        found += [of["caption"] for of in shown if "caption" in of]
        found += _FENCED.sub("", cell.source).split("\n\n") if cell.cell_type == "markdown" else []
    return found


@pytest.mark.parametrize("path", [*PAGES, *ANALYSES], ids=lambda path: path.stem)
@pytest.mark.parametrize("said", _WITHDRAWN)
def test_what_was_withdrawn_is_not_said_again(path, said):
    assert not [paragraph for paragraph in prose(path) if re.search(_WITHDRAWN[said], paragraph)]


@pytest.mark.parametrize("path", [*PAGES, *ANALYSES], ids=lambda path: path.stem)
@pytest.mark.parametrize("instead", _CAME_BACK)
def test_english_that_came_back_stays_away(path, instead):
    text = "\n\n".join(re.sub(r"```.*?```", "", paragraph, flags=re.DOTALL) for paragraph in prose(path))
    assert not re.findall(_CAME_BACK[instead], text)


@pytest.mark.parametrize("path", [*PAGES, *ANALYSES], ids=lambda path: path.stem)
def test_a_sentence_is_read_in_one_breath(path):
    paragraphs = re.sub(r"^(`{3,}).*?^\1", "", "\n\n".join(prose(path)), flags=re.DOTALL | re.MULTILINE).split("\n\n")
    items = [item for paragraph in paragraphs for item in _ITEM.split(paragraph) if not _NOT_READ.match(item)]
    sentences = [sentence for item in items for sentence in _SENTENCE.split(" ".join(item.split()))]
    long = [each for each in sentences if len(re.findall(r"\S*\w\S*", _ROLE.sub("it", each))) > _LONGEST]
    assert not long


def swept(root):
    command = [sys.executable, root / "tools" / "list-sweeping-sentences", "--open"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_said_of_all_is_counted_or_has_its_reason():
    """After a change: read what `tools/list-sweeping-sentences --open` prints, then list it with its reason."""
    found = swept(paths.project_root())
    assert (found.stdout, found.returncode) == ("", 0), found.stdout + found.stderr


def test_a_new_sweeping_sentence_is_found_and_a_counted_one_is_not(tmp_path):
    for folder in ("tools", "book", "notebooks/analyse"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("list-sweeping-sentences", "sweeping-sentences.tsv"):
        shutil.copy(paths.project_root() / "tools" / name, tmp_path / "tools")
    for name in ("index", "limitations", "agreement", "statistics"):
        shutil.copy(BOOK / f"{name}.md", tmp_path / "book")
    with (tmp_path / "book" / "limitations.md").open("a") as page:
        page.write("\n\nWrites at ALL are never lost. All {glue:text}`n` were found. ALL waits.\n")
    found = swept(tmp_path)
    assert found.returncode == 1
    assert found.stdout == "limitations\t\tWrites at ALL are never lost.\n"


def test_each_price_is_said_with_its_load():
    """Whichever chapter has it, in the same cell: a ratio at the same number of threads is one of capacity."""
    priced = {}
    for path in ANALYSES:
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown" and _PRICE.search(cell.source):
                priced[path.stem] = priced.get(path.stem, 0) + 1
                assert _LOAD.search(cell.source), f"{path.stem}: {cell.source}"
    assert {"answers", "deployments", "latency", "thesis"} <= set(priced)
    assert sum(priced.values()) >= 9


def test_each_table_of_prices_names_its_load():
    captions = [
        cell.metadata["table"]["caption"]
        for path in ANALYSES
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code" and "price.text(" in cell.source
    ]
    assert len(captions) >= 3
    assert [caption for caption in captions if not (_LOAD.search(caption) or "fixed rate" in caption)] == []


def test_a_strong_read_depends_on_replicas_that_remember_and_clocks_that_agree():
    terms = (BOOK / "glossary.md").read_text(encoding="utf-8").split("\n\n")
    (strong,) = (" ".join(term.split()) for term in terms if term.startswith("strong consistency\n"))
    assert "as long as replicas keep what they acknowledged and clocks agree" in strong


def test_the_front_page_says_what_its_costs_are_of():
    text = " ".join((BOOK / "index.md").read_text(encoding="utf-8").split())
    assert "a closed loop that keeps the cluster busy" in text
    assert "while all is well" in text
    chapter = nbformat.read(notebooks.chapter_notebook("answers"), as_version=4)
    (figure,) = (
        cell.metadata["mystnb"]["figure"] for cell in chapter.cells if "figure" in cell.metadata.get("mystnb", {})
    )
    assert re.search("closed loop that keeps the cluster busy.*while all is well", figure["caption"])


@pytest.mark.parametrize("path", ANALYSES, ids=lambda path: path.stem)
def test_results_in_the_text_are_glued_and_only_conditions_are_typed(path):
    typed = {match for text in prose(path) for match in _UNIT.findall(_NO_PROSE.sub("", text))}
    assert typed <= _RULES | _TYPED.get(path.stem, set())


#: Tables and figures of the chapter on failures whose shares are pooled over cluster starts.
_POOLED = re.compile(r"failures\.(?:overview|by_fault|unanswered|unanswered_while_dead|answered_by_dead)\b")


def test_no_caption_calls_pooled_shares_medians_or_means():
    captions = []
    for path in ANALYSES:
        for cell in nbformat.read(path, as_version=4).cells:
            shown = cell.metadata.get("table", {}) or cell.metadata.get("mystnb", {}).get("figure", {})
            if cell.cell_type == "code" and _POOLED.search(cell.source) and "caption" in shown:
                captions.append(shown["caption"])
    assert len(captions) >= 10
    averaged = [caption for caption in captions if re.search(r"\b(?:medians|means)\b", caption, re.IGNORECASE)]
    assert [caption for caption in averaged if "of all cluster starts together" not in caption] == []


def test_none_of_so_many_reads_has_its_bound():
    chapter = nbformat.read(notebooks.chapter_notebook("failures-data"), as_version=4)
    glued = [
        text
        for cell in chapter.cells
        for output in cell.get("outputs", ())
        for kind, text in output.get("data", {}).items()
        if kind == "application/papermill.record/text/plain" and str(text).strip("'").startswith("0 of ")
    ]
    assert len(glued) >= 5
    assert [text for text in glued if not re.search(r"\(at most [\d.]+ %\)", text)] == []
    (summary,) = (text for text in prose(notebooks.chapter_notebook("failures-data")) if "**In short.**" in text)
    assert "three known cases" in summary
    assert re.search(
        r"\{glue:text\}`random-1r3w-newer` ONE/ALL reads on [\d.]+ were stale [^.]*, which we cannot explain", summary
    )
