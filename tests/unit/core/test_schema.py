"""The words for marks."""

from cassbook.core.paths import project_root
from cassbook.core.schema import EXPLAINED, Mark, explained


def test_each_mark_has_words_and_one_of_a_later_version_is_named_unknown():
    assert set(EXPLAINED) == set(Mark)
    assert explained("moonlight") == "a mark that this cassbook does not know"


def test_the_page_on_methods_has_every_mark():
    """Those of distances are on the page on deployments too, which says how they come about."""
    text = (project_root() / "book" / "methods.md").read_text(encoding="utf-8")
    listed = text[text.index("## Marks") :]
    assert [mark for mark in Mark if f"* `{mark}`: " not in listed] == []
