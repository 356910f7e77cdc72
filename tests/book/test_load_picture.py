"""The picture of the price at a given load, opened from a file: what it says is what the library says, to the digit."""

import re
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

from cassbook.advisor.open_advice import open_loads
from cassbook.book.chapters import load_picture
from cassbook.core.paths import project_root
from cassbook.records.run import RecordedRun

STYLE = (project_root() / "book" / "static").glob("*.css")
pytestmark = pytest.mark.book


@pytest.fixture
def run():
    return RecordedRun("load-pilot-5.0.9")


@pytest.fixture
def opened(window, run, tmp_path):
    style = "\n".join(path.read_text() for path in STYLE)
    page = tmp_path / "page.html"
    html = load_picture.explorer(run).data
    page.write_text(f"<!doctype html><html><meta charset=utf-8><style>{style}</style><body>{html}</body></html>")
    errors = []
    window.on("pageerror", lambda error: errors.append(str(error)))
    window.goto(page.as_uri())
    yield window
    assert not errors


def digits(ms):
    five = float(f"{ms:.5g}")  # as the page has them
    steps = Decimal(1).scaleb(0 if five >= 100 else Decimal(five).adjusted() - 2)
    return f"{float(Decimal(five).quantize(steps, ROUND_HALF_UP)):g}"  # a script takes the larger of two as near


def set_knob(page, name, value):
    page.eval_on_selector(
        f'[data-knob="{name}"]',
        "(knob, value) => { knob.value = value; knob.dispatchEvent(new Event('input', { bubbles: true })); }",
        str(value),
    )


def legend(page):
    entries = page.locator(".legend span").all_inner_texts()
    return {text.split()[0]: text.partition(" ")[2] for text in map(str.strip, entries)}


@pytest.mark.parametrize("figure", ["p50", "p99"])
def test_each_figure_of_each_share_is_that_of_advise(opened, run, figure):
    loads = open_loads(run, figure)
    found = load_picture.data(run)
    set_knob(opened, "figure", figure)
    for place, mix in enumerate(loads.mixes if found["mixes"][0]["reads"] == loads.mixes[0].read_share else ()):
        set_knob(opened, "mix", place)
        for at, share in enumerate(loads.shares(mix)):
            set_knob(opened, "load", at)
            advice = loads.advise(mix, of_capacity=share)
            shown = legend(opened)
            for choice in (*advice.choices, *advice.weak):
                pair = f"{choice.setting.read_cl}/{choice.setting.write_cl}"
                level = {1.0: choice.setting.read_cl, 0.0: choice.setting.write_cl}.get(mix.read_share, pair)
                said = f"{digits(1e-3 * choice.response_us.value)} ms" if choice.known else None
                assert said is None or shown[level] == said
            rate = np.exp(np.mean(np.log(advice.rates_per_s)))
            assert f"about {rate:,.0f} requests a second" in opened.locator("#load-said").inner_text()


def test_the_sentence_names_the_settings_that_advise_says_keep_the_bound(opened, run):
    loads, found = open_loads(run, "p99"), load_picture.data(run)
    mix = loads.mixes[0]
    assert found["mixes"][0]["reads"] == mix.read_share
    set_knob(opened, "mix", 0)
    several = set()
    for place, bound in enumerate(found["bounds"]):
        set_knob(opened, "bound", place)
        for at, share in enumerate(loads.shares(mix)):
            set_knob(opened, "load", at)
            advice = loads.advise(mix, of_capacity=share, bound_ms=bound)
            choices = (*advice.choices, *advice.weak)
            keeping = [choice for choice in choices if choice.verdict == "keeps"]
            said = opened.locator("#load-said").inner_text()
            named = set(re.findall(r"(?:below: |; )([A-Z_]+)", said.partition(" Not settled")[0]))
            levels = {choice.setting.read_cl if mix.read_share else choice.setting.write_cl for choice in keeping}
            assert named == levels, said
            several.add(len(named))
            for choice in keeping:
                if np.isfinite(choice.headroom.value):
                    assert f"{float(f'{choice.headroom.value:.2f}'):g} times this rate" in said
    assert len(several) > 1  # bounds that none, some and all keep


def test_it_is_set_by_keyboard_and_fits_a_telephone_in_light_and_dark(opened):
    opened.set_viewport_size({"width": 390, "height": 800})
    before = opened.locator("#load-said").inner_text()
    opened.focus('[data-knob="load"]')
    opened.keyboard.press("ArrowRight")
    assert opened.locator("#load-said").inner_text() != before
    opened.focus("[data-axis]")
    opened.keyboard.press("Enter")
    assert "requests a second" in opened.locator("svg").text_content()
    for theme in ("light", "dark"):
        opened.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390
