"""The words for marks."""

from cassbook.core.schema import EXPLAINED, Mark, explained


def test_each_mark_has_words_and_one_of_a_later_version_is_named_unknown():
    assert set(EXPLAINED) == set(Mark)
    assert explained("moonlight") == "a mark that this cassbook does not know"
