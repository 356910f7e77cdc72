"""Chromium as this machine has it: prints the PDF, and opens the book in tests."""

from __future__ import annotations

import shutil

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def browser() -> str | None:
    """Return the path of an installed Chromium, None where there is none."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)
