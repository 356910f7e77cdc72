"""The tables of CONTRIBUTING name what there is: modules that moved, rooms, chapters."""

import re

import pytest

from tests.helpers.data import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LIBRARY = ROOT / "src" / "cassbook"
MODULES, CHAPTERS = TEXT[TEXT.index("## Where things went") :].split("Chapters have lost their numbers")


def now(table):
    """Names in the columns headed 'Now'."""
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    return sorted({name for row in rows for cell in row[1::2] for name in re.findall(r"`([\w.*-]+)`", cell)})


@pytest.mark.parametrize("name", [name for name in now(MODULES) if "." in name])
def test_a_module_is_where_the_table_says(name):
    assert list(LIBRARY.glob(name.replace(".", "/") + ".py"))


def test_the_chapters_are_those_of_the_folder():
    assert set(now(CHAPTERS)) <= {path.stem for path in (ROOT / "notebooks").rglob("*.ipynb")}
    assert len(now(CHAPTERS)) > 25


def test_every_room_is_in_the_table():
    rooms = {path.stem for path in LIBRARY.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    rows = TEXT[TEXT.index("| Room |") : TEXT.index("The way of one latency sample")].splitlines()
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")} == (
        rooms - {"__init__"}
    )


def test_the_way_of_a_sample_goes_through_modules_that_exist():
    way = TEXT[TEXT.index("The way of one latency sample") : TEXT.index("## Tests")]
    names = re.findall(r"^ +([a-z_]+(?:\.[a-z_]+)+) ", way, re.MULTILINE)
    assert len(names) == 9
    assert [name for name in names if not (LIBRARY / (name.replace(".", "/") + ".py")).is_file()] == []
