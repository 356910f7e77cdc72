"""Chapters that show no run look the same in every book, so that the tests execute them once: where the book is built.

`tests/test_book.py` compares those with what is stored. Whoever names one here has it executed by nbval all the same.
"""

from pathlib import Path

from cassbook.book.outputs import shows_runs

collect_ignore = [path.name for path in Path(__file__).parent.glob("*.ipynb") if not shows_runs(path)]


def pytest_report_header() -> str:
    return f"notebooks: {len(collect_ignore)} that show no run are compared by tests/test_book.py"
