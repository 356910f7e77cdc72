"""Jupyter Book's command line, on two processors: by itself it reads and writes one page after the other.

python -m cassbook.book.rendering build ...
"""

from __future__ import annotations

from functools import partial

import jupyter_book.sphinx
from jupyter_book.cli.main import main

_JOBS = 2

if __name__ == "__main__":
    jupyter_book.sphinx.build_sphinx = partial(jupyter_book.sphinx.build_sphinx, jobs=_JOBS)
    main()
