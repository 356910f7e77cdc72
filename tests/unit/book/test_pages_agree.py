"""What is stored of all chapters agrees: one value for one meaning, no impossible number, every record named."""

import re
from collections import defaultdict

import pytest
from bs4 import BeautifulSoup

from cassbook.book import layout, notebooks
from cassbook.records import manifest
from tests.helpers.notebook_cells import code_cells

ANALYSES = notebooks.analyse_notebooks()
#: Counts of claims, which each page on a text has of that text.
_OF_THE_PAGE = {"claims", "holds", "other", "fails", "lost"}
_NUMBER = re.compile(r"^-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
#: Heads of columns that hold times, and of those that hold differences of them.
_TIME = re.compile(r", (?:ms|us|µs)\b|_(?:ms|us)\b")
_DIFFERENCE = re.compile(r"off|error|differ|deviation|above|%|±")
_SAVED = re.compile(r"saved|saves|saving|speedup")
_CHANCE = re.compile(r"P\(")


def tables(path):
    """Tables of a chapter as (heads by column, values by column)."""
    for cell in code_cells(path):
        for output in cell.outputs:
            if layout.has_table(output):
                html = output.data["text/html"]
                rows, first = layout.rows(html), len(BeautifulSoup(html, "html.parser").select("thead tr"))
                heads = [" ".join(column) for column in zip(*rows[:first], strict=True)]
                yield heads, [list(column) for column in zip(*rows[first:], strict=True)]


def numbers(column):
    found = (_NUMBER.match(text) for text in column)
    return [float(match.group().replace(",", "")) for match in found if match]


def test_pages_that_quote_a_number_by_one_name_quote_the_same_number():
    values = defaultdict(lambda: defaultdict(list))
    for path in ANALYSES:
        for cell in code_cells(path):
            for output in cell.outputs:
                glued = output.get("metadata", {}).get("scrapbook")
                texts = [str(value) for kind, value in output.get("data", {}).items() if kind.endswith("text/plain")]
                if glued and glued["name"] not in _OF_THE_PAGE:
                    values[glued["name"]]["".join(texts)].append(path.stem)
    assert values
    assert not {name: dict(by_value) for name, by_value in values.items() if len(by_value) > 1}


@pytest.mark.parametrize("path", ANALYSES, ids=lambda path: path.stem)
def test_no_table_shows_what_cannot_be(path):
    """A time below zero, more saved than there was, a chance outside of 0 to 1 (or of 0 to 100 %)."""
    wrong = []
    for heads, columns in tables(path):
        for head, column in zip(heads, columns, strict=True):
            found = numbers(column)
            if _TIME.search(head) and not _DIFFERENCE.search(head):
                wrong += [f"{head}: {value}" for value in found if value < 0]
            if _SAVED.search(head):
                wrong += [f"{head}: {value}" for value in found if value > 100]
            if _CHANCE.search(head):
                most = 100 if "%" in head else 1
                wrong += [f"{head}: {value}" for value in found if not 0 <= value <= most]
    assert not wrong


@pytest.mark.parametrize("rule", [_TIME, _SAVED, _CHANCE], ids=["times", "savings", "chances"])
def test_each_rule_on_tables_has_some_to_judge(rule):
    judged = [head for path in ANALYSES for heads, _ in tables(path) for head in heads if rule.search(head)]
    assert [head for head in judged if rule is not _TIME or not _DIFFERENCE.search(head)]


@pytest.mark.parametrize("path", ANALYSES, ids=lambda path: path.stem)
def test_every_record_that_a_page_opens_is_named_on_it(path):
    given = [value for value in notebooks.parameters(path).values() if isinstance(value, str) and value]
    records = {value for value in given if manifest.find(value) is not None}
    shown = "".join(
        output.data["text/html"]
        for cell in code_cells(path)
        for output in cell.outputs
        if output.get("data", {}).get("text/html", "").startswith('<div class="evidence">')
    )
    assert not {record for record in records if record not in shown}
