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
