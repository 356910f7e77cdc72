"""The picture of the price at a given load, opened from a file: what it says is what the library says, to the digit."""

import re
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

from cassbook.advisor.freshness import of_run
from cassbook.advisor.open_advice import open_loads
from cassbook.book.chapters import load_picture
from cassbook.core.paths import project_root
from cassbook.records.run import RecordedRun
from tests.helpers import open_runs

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


@pytest.fixture
def asked(window, tmp_path):
    """The picture of a made run of half reads, with staleness, and of a second place."""
    near = "{[C], ([R1], [R2], [R3]}, {[R4], [R5], [R6]})"
    profile = {"name": "two", "cluster": {"nodes": 6, "replication_factor": 6},
               "distance": {"deployments": {"near": {"notation": near, "regions": ["here", "near"]}}}}  # fmt: skip
    local = {"ONE/ONE": "LOCAL_ONE/LOCAL_ONE", "QUORUM/QUORUM": "LOCAL_QUORUM/LOCAL_QUORUM", "ONE/ALL": "QUORUM/QUORUM"}

    def renamed(row):
        read, write = local[f"{row['read_cl']}/{row['write_cl']}"].split("/")
        return {"read_cl": read, "write_cl": write, "deployment": near}

    one = RecordedRun(open_runs.write_run(tmp_path / "one", open_runs.open_cells()))
    two = RecordedRun(open_runs.write_run(tmp_path / "two", open_runs.open_cells(changes=renamed), profile=profile))
    html = load_picture.explorer(one, of_run("stale-three-5.0.9"), {"two data centres, 10 ms": (two, near)}).data
    (tmp_path / "page.html").write_text(f"<!doctype html><html><meta charset=utf-8><body>{html}</body></html>")
    errors = []
    window.on("pageerror", lambda error: errors.append(str(error)))
    window.goto((tmp_path / "page.html").as_uri())
    set_knob(window, "bound", len(load_picture.BOUNDS_MS) - 1)
    set_knob(window, "figure", "p50")
    yield window
    assert not errors


def answered(page):
    said = page.locator("#load-said").inner_text()
    keeping, _, rest = said.partition(" Not settled")
    out = re.findall(r"([A-Z_]+/[A-Z_]+) \(([^)]*)\)", said.partition(" Out: ")[2])
    return set(re.findall(r"(?:below: |; )([A-Z_]+/[A-Z_]+)", keeping.partition(" Out:")[0])), dict(out), rest


def test_settings_that_do_not_do_what_a_reader_asks_for_are_out_with_the_reason(asked):
    assert answered(asked)[0] == {"ONE/ONE", "QUORUM/QUORUM", "ONE/ALL"}
    set_knob(asked, "survive", 1)
    assert answered(asked)[:2] == ({"ONE/ONE", "QUORUM/QUORUM"}, {"ONE/ALL": "survives none"})
    set_knob(asked, "stale", "none")
    assert answered(asked)[:2] == ({"QUORUM/QUORUM"}, {"ONE/ALL": "survives none", "ONE/ONE": "may read stale data"})


def test_staleness_is_that_of_the_record(asked):
    known = of_run("stale-three-5.0.9")
    states = set()
    for place, age_ms in enumerate(load_picture.AGES_MS):
        set_knob(asked, "age", place)
        fresh = known.at(1, 1, age_ms).stale
        for limit in ("0.1", "0.01", "0.001"):
            set_knob(asked, "stale", limit)
            keeping, out, rest = answered(asked)
            state = "out" if fresh.low > float(limit) else "keeps" if fresh.high <= float(limit) else "open"
            states.add(state)
            found = "out" if "ONE/ONE" in out else "keeps" if "ONE/ONE" in keeping else "open"
            assert found == state, (age_ms, limit)
            assert (state == "open") == ("ONE/ONE" in rest)
            assert "QUORUM/QUORUM" in keeping
        assert asked.locator('[data-says="age"]').inner_text() == f"{age_ms} ms"
    assert len(states) > 1


def test_another_place_has_its_own_settings_and_staleness_that_nobody_recorded(asked):
    set_knob(asked, "where", 1)
    assert answered(asked)[0] == {"LOCAL_ONE/LOCAL_ONE", "LOCAL_QUORUM/LOCAL_QUORUM", "QUORUM/QUORUM"}
    set_knob(asked, "stale", "0.01")
    keeping, out, rest = answered(asked)
    assert keeping == {"LOCAL_QUORUM/LOCAL_QUORUM", "QUORUM/QUORUM"}
    assert not out
    assert "LOCAL_ONE/LOCAL_ONE" in rest
