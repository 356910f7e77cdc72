"""Numbers go with nouns in the form that is read."""

import pytest

from cassbook.core.words import counted


@pytest.mark.parametrize(
    ("number", "form", "said"),
    [(1, "d", "1 node"), (2, "d", "2 nodes"), (0, "d", "0 nodes"), (1.4, ".0f", "1 node"), (1.0, ".1f", "1.0 nodes")],
)
def test_the_number_that_is_shown_decides(number, form, said):
    assert counted(number, "node", form) == said
