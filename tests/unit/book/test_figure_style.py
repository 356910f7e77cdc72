"""Type that can be read once a wide figure stands in a page's column."""

import io

import pytest
from matplotlib.text import Text

from cassbook.book.figure_style import done, panels


@pytest.mark.parametrize(("columns", "least_pt"), [(1, 6.4), (4, 13.7)])
def test_small_type_grows_with_the_width_that_is_shrunk(columns, least_pt):
    figure, axes = panels(1, columns)
    axes[0, 0].plot([1, 2], [3, 4], label="small")
    axes[0, 0].legend(fontsize=5)
    axes[0, 0].set_xticks([1, 2], ["one", "two"], fontsize=4)
    axes[0, 0].text(1, 3, "smaller", fontsize=3)
    done(figure).savefig(io.BytesIO())
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text()]
    assert min(sizes) == pytest.approx(least_pt, abs=0.1)
    assert max(sizes) >= 11


def drawn(names):
    figure, axes = panels(1, 1)
    axes[0, 0].plot(names, range(len(names)), label=names[0])
    axes[0, 0].set_title(f"{names[-1]} is last")
    axes[0, 0].legend()
    for _ in range(2):  # a figure may be drawn again
        done(figure).savefig(io.BytesIO())
    labels = [label.get_text() for label in axes[0, 0].get_xticklabels()]
    return labels, axes[0, 0].get_title(), axes[0, 0].get_legend().get_texts()[0].get_text()


def test_settings_of_three_replicas_are_drawn_by_their_levels():
    assert drawn(["1R-3W", "2R-2W"]) == (["ONE/\nALL", "QUORUM/\nQUORUM"], "QUORUM/QUORUM is last", "ONE/ALL")
    assert drawn(["3R-3W", "1R-5W"]) == (["3R-3W", "1R-5W"], "1R-5W is last", "3R-3W")
