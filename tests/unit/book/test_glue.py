"""Glued figures come out in the book's prose as they were given."""

import pytest
from myst_nb.core.variables import format_plain_text

from cassbook.book import chapter


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (53_911.4, "53,911"), ("100,000", "100,000"), ("1,000,000", "1,000,000"), (7, "7"), (0.98123, "0.981"),
        ("0.98 [0.82, 1.16]", "0.98 [0.82, 1.16]"), ("3 of 60", "3 of 60"), ("1R-3W", "ONE/ALL"),
        ("1R-5W", "1R-5W"), ("yes", "yes"),
    ],
)  # fmt: skip
def test_prose_has_the_text_that_was_glued(monkeypatch, value, shown):
    glued = {}
    monkeypatch.setattr(chapter.myst_nb, "glue", lambda name, text, display: glued.update({name: repr(text)}))
    chapter.glue(some_figure=value)
    assert format_plain_text(glued["some-figure"], "") == shown
