"""Quotations of the ledger against the papers' own texts, wherever these are at hand."""

import re

import pytest

from cassbook.claims.registry import ledger
from tests.helpers.texts import folder, full_text

CUT = re.compile(r"\s*(?:\.\.\.|\[[^\]]*\])\s*")
#: Typographic quotation marks and dashes, and the marks of typesetting.
MARKS = str.maketrans(
    dict.fromkeys("\u2018\u2019", "'")
    | dict.fromkeys("\u201c\u201d", '"')
    | dict.fromkeys("\u2013\u2014\u2212", "-")
    | dict.fromkeys("$*\\_|")
)


def plain(text):
    """Text without typesetting: one space between words, none at the end of a line inside a word."""
    return (
        re.sub(r"\s+", " ", re.sub(r"(\w)-\n(\w)", r"\1\2", text).translate(MARKS))
        .replace("<u>", "")
        .replace("</u>", "")
    )


def fragments(quote):
    """What stands between the cuts of a quotation."""
    return [part.strip(" ;.,") for part in CUT.split(quote) if part.strip(" ;.,")]


def test_fragments_of_a_quotation():
    assert fragments("it costs ... up to 25% [of throughput] at ALL.") == ["it costs", "up to 25%", "at ALL"]


@pytest.mark.parametrize("paper", ["g20", "pbs", "g21", "thesis", "d16"])
def test_sentences_are_quoted_word_by_word_and_in_their_order(paper):
    if folder() is None:
        pytest.skip("the papers' texts are not at hand: name their folder in CASSBOOK_PAPERS")
    text = plain(full_text(paper))
    missing = []
    for finding in ledger(papers=[paper]):
        if finding.kind != "text":
            continue
        at = 0
        for fragment in fragments(finding.quote):
            place = text.find(plain(fragment), at)
            if place < 0:
                missing.append(f"{finding.id}: {fragment!r} is not in the text (or stands earlier)")
            at = max(place, 0)
    assert not missing, "\n".join(missing)
