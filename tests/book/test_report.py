"""The page of `cassbook report`, opened in a browser that has no network, as a colleague does who was sent it."""

import pytest

from tests.helpers.command import cassbook

pytestmark = pytest.mark.book


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    done = cassbook("report", "standard-5.0.9", "--output", path)
    assert done.exit_code == 0, done.output
    assert path.stat().st_size < 500_000
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_whole_offline_at_any_width_and_in_any_scheme(window, address, width, scheme):
    errors, asked = [], []
    window.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    window.on("request", lambda request: asked.append(request.url))
    window.set_viewport_size({"width": width, "height": 900})
    window.emulate_media(color_scheme=scheme)
    window.goto(address, wait_until="load")
    assert errors == []
    assert [url for url in asked if not url.startswith("data:")] == [address]
    assert window.evaluate("document.documentElement.scrollWidth") == width  # only tables scroll, each for itself
    sizes = window.eval_on_selector_all("svg", "all => all.map(one => [one.clientWidth, one.clientHeight])")
    assert len(sizes) > 20
    assert all(250 < wide <= width and high > 150 for wide, high in sizes)
    letters = window.eval_on_selector_all("svg text", "all => all.map(one => one.getBoundingClientRect().height)")
    assert min(letters) > 8
    ink, paper = window.evaluate(
        "[getComputedStyle(document.querySelector('svg text')).fill, getComputedStyle(document.body).backgroundColor]"
    )
    light, dark = "rgb(255, 255, 255)", "rgb(13, 17, 23)"
    assert paper == (dark if scheme == "dark" else light)
    assert ink == ("rgb(230, 237, 243)" if scheme == "dark" else "rgb(31, 35, 40)")
