"""CONTRIBUTING is short, its tables name the rooms that there are, and its guides are pages of the book."""

import re

from tests.helpers.data import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LIBRARY = ROOT / "src" / "cassbook"
GUIDES = ROOT / "book" / "guides"


def test_it_is_read_in_minutes_and_leads_to_guides_that_the_book_has():
    assert len(TEXT.encode()) <= 7000
    linked = set(re.findall(r"\(book/guides/(\w+)\.md\)", TEXT))
    assert linked == {path.stem for path in GUIDES.glob("*.md")} >= {"chapter", "record", "experiment"}
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert all(f"file: book/guides/{name}\n" in contents for name in linked)


def test_every_room_is_in_the_table():
    rooms = {path.stem for path in LIBRARY.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    rows = TEXT[TEXT.index("| Room |") : TEXT.index("The way of one latency sample")].splitlines()
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")} == (
        rooms - {"__init__"}
    )


def test_the_way_of_a_sample_goes_through_modules_that_exist():
    way = TEXT[TEXT.index("The way of one latency sample") : TEXT.index("## Guides")]
    names = re.findall(r"^ +([a-z_]+(?:\.[a-z_]+)+) ", way, re.MULTILINE)
    assert len(names) == 9
    assert [name for name in names if not (LIBRARY / (name.replace(".", "/") + ".py")).is_file()] == []
