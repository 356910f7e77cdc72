"""A browser for pages that must not ask anything of the world."""

import pytest

from cassbook.lab.doctor import browser


@pytest.fixture
def window():
    """A tab of a browser for which no name resolves but this machine's: whatever a page asks of the world fails."""
    chromium = browser()
    if chromium is None:
        pytest.skip("no Chromium on the PATH (Debian: package chromium); the page was not opened in a browser")
    from playwright.sync_api import sync_playwright

    rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    arguments = ["--no-sandbox", "--disable-background-networking", rules]
    with sync_playwright() as tools:
        opened = tools.chromium.launch(executable_path=chromium, args=arguments)
        yield opened.new_page(viewport={"width": 1280, "height": 900})
        opened.close()
