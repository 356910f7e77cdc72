"""A cell whose data a run lacks is replaced by a sentence; whatever else fails still ends the page."""

import warnings

import nbformat
import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

from cassbook.book import gaps, substitution
from cassbook.book.chapter import glue_each
from cassbook.book.provenance import PUBLISHED, Source
from cassbook.core.errors import CassbookWarning, LackingError


@pytest.fixture
def shown(monkeypatch):
    texts = []
    monkeypatch.setattr(gaps, "display", lambda thing: texts.append(repr(thing)))
    return texts


@pytest.fixture
def shell(monkeypatch, shown):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # what `install` replaces is put back
    made = InteractiveShell()
    substitution.install(made)
    made.user_ns |= {"LackingError": LackingError, "glue": lambda **figures: None, "fail": fail}
    return made


def fail():
    raise LackingError("this run has one level, ONE; comparing levels takes two")


def run(shell, cell):
    return shell.run_cell(cell, store_history=True)


SENTENCE = "This run has one level, ONE; comparing levels takes two."


def test_a_sentence_takes_the_place_of_a_table_and_of_all_that_is_made_of_it(shell, shown):
    assert run(shell, "table = fail()\ntable").success
    assert run(shell, "shares = table * 2\nshares").success
    assert run(shell, "shares.sum()").success
    assert shown == [SENTENCE] * 3, "each section says why it is not there"
    assert run(shell, "glue(most=shares.max())").success
    assert shown == [SENTENCE] * 3, "figures of the prose say nothing themselves"
    assert run(shell, "1 + 1").result == 2


def test_what_is_said_nowhere_else_is_said_where_figures_are_glued(shell, shown):
    assert run(shell, "glue(most=fail())").success
    assert run(shell, "glue(least=fail())").success
    assert shown == [SENTENCE]


@pytest.mark.parametrize(
    "cell", ["1 / 0", "tabel", "[][0]", "raise ValueError('All arrays must be of the same length')"]
)
def test_any_other_error_still_ends_the_page(shell, shown, cell, capsys):
    run(shell, "table = fail()")
    assert not run(shell, cell).success
    assert "Traceback" in capsys.readouterr().out


def test_a_warning_of_ours_is_a_sentence_once(shell, shown):
    shell.user_ns["CassbookWarning"] = CassbookWarning
    cell = "import warnings\nwarnings.simplefilter('always')\nwarnings.warn('order 4 on 6 counts', CassbookWarning)"
    with warnings.catch_warnings():
        assert run(shell, cell).success
        assert run(shell, cell).success
    assert shown == ["Order 4 on 6 counts."]


def test_a_table_is_empty_where_there_is_no_value(shell):
    table = pd.DataFrame({"ms": [1.5, np.nan], "level": ["ONE", None]})
    data, _ = shell.display_formatter.format(table)
    assert "nan" not in (data["text/plain"] + data["text/html"]).lower()
    assert "None" not in data["text/plain"] + data["text/html"]
    assert "<td>1.5</td>" in data["text/html"]
    long = pd.DataFrame({"ms": [np.nan, *range(99)]})
    assert shell.display_formatter.format(long)[0]["text/html"] == long._repr_html_().replace("NaN", "")
    assert shell.display_formatter.format(long)[0]["text/plain"] == repr(long).replace("NaN", "   ")
    whole, _ = shell.display_formatter.format(table.head(1))
    assert whole["text/plain"] == repr(table.head(1))
    assert whole["text/html"] == table.head(1)._repr_html_()


def sources(*labels):
    return [Source(label) for label in labels]


def levels(source):
    if source.label != PUBLISHED:
        raise LackingError(f"{source.label} has one level")
    return 3


def test_a_table_of_those_that_have_it_and_a_sentence_for_each_other(shown):
    made = gaps.of_each(sources(PUBLISHED, "mine"), levels)
    assert dict(made) == {PUBLISHED: 3}
    assert shown == ["Mine has one level."]
    with pytest.raises(LackingError, match="mine has one level"):
        _ = made["mine"]
    with pytest.raises(KeyError):
        _ = made["no such source"]
    assert [one.label for one in gaps.served(sources("mine", PUBLISHED), levels)] == [PUBLISHED]


def test_what_all_lack_is_lacking():
    with pytest.raises(LackingError, match=r"^Mine has one level\. Yours has one level\.$"):
        gaps.of_each(sources("mine", "yours"), levels)


def test_a_source_is_named_where_what_is_lacking_does_not(shown):
    def make(source):
        if source.label == "mine":
            raise LackingError("no mix was measured")
        return 1

    gaps.of_each(sources("mine", PUBLISHED), make)
    assert shown == ["mine: no mix was measured."]


def test_figures_of_those_that_have_them_are_glued(monkeypatch):
    glued = {}
    monkeypatch.setattr("cassbook.book.chapter.glue", lambda **figures: glued.update(figures))
    named = dict(zip(("recorded", "today", ""), sources("mine", PUBLISHED, PUBLISHED), strict=True))
    glue_each(named, lambda source: {"most": levels(source)})
    assert glued == {"most_today": 3, "most": 3}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("nan", "not determined"), ("nan [nan, nan]", "not determined"), ("nan (nan)", "not determined"),
        ("3.1 [2.9, 3.3]", "3.1 [2.9, 3.3]"), ("Nantes, nano", "Nantes, nano"), ("+nan %", "not determined"),
    ],
)  # fmt: skip
def test_prose_quotes_no_nan(text, read):
    assert gaps.without_nan(text) == read


def test_prose_that_quotes_what_no_cell_glued_reads_not_determined():
    code = nbformat.v4.new_code_cell("glue(known=1)")
    code.outputs = [substitution._glue_of("known")]
    prose = nbformat.v4.new_markdown_cell("{glue:text}`known` of {glue:text}`unknown` and {glue:text}`share:.2f`")
    content = nbformat.v4.new_notebook(cells=[code, prose])
    substitution.fill(content)
    assert [output.metadata.scrapbook.name for output in code.outputs] == ["known", "unknown", "share"]
    assert code.outputs[-1].data == {"application/papermill.record/text/plain": "not determined"}
    substitution.fill(content)
    assert len(code.outputs) == 3
