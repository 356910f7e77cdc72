"""One colour for one meaning."""

import re
from pathlib import Path

import cassbook.book
from cassbook.book import palette

#: Where colours are set down, and where they have to be seen on white and on black.
ALLOWED = {"palette.py", "report_figures.py"}
NEUTRAL = {"#D9D9D9", "#8C8C8C", "#bbbbbb"}


def test_meanings_have_colours_of_their_own():
    for meaning in (palette.LEVELS, palette.ALL_SETTINGS, palette.SCENARIOS, palette.VERDICTS):
        assert len(set(meaning.values())) == len(meaning)


def test_a_setting_has_the_same_colour_by_any_of_its_names():
    assert palette.setting("QUORUM/QUORUM") == palette.setting("2R-2W") == palette.SETTINGS["2R-2W"]
    assert palette.setting("LOCAL_QUORUM/LOCAL_QUORUM", 2) == palette.SERIES[2]


def test_figures_take_their_colours_from_the_palette():
    typed = [
        f"{path.name}: {colour}"
        for path in Path(cassbook.book.__file__).parent.rglob("*.py")
        if path.name not in ALLOWED
        for colour in re.findall(r'"(#[0-9A-Fa-f]{6})"', path.read_text(encoding="utf-8"))
        if colour not in NEUTRAL
    ]
    assert not typed
