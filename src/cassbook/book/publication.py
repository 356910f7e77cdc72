"""What every page says of the book itself: version, date of the build, licences; and the buttons of its repository."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

_LICENCES = "Code: Apache-2.0. Text and data: CC BY 4.0."


def footer(built: datetime | None = None) -> str:
    """Return the line at the foot of each page, as HTML."""
    day = (built or datetime.now(UTC)).date().isoformat()
    return f"<p>cassbook {version('cassbook')}, built on {day}. {_LICENCES} How to cite: see the bibliography.</p>"


def configuration(path: Path) -> str:
    """Return the book's configuration with the footer, and with buttons if it names the address of a repository.

    Parameters
    ----------
    path : Path
        `_config.yml`; where its `repository` has no `url`, no button shows.
    """
    config: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    html = config["html"]
    html["extra_footer"] = footer()
    if config.get("repository", {}).get("url"):
        html |= {"use_repository_button": True, "use_issues_button": True}
        config["launch_buttons"]["binderhub_url"] = "https://mybinder.org"
    else:
        config.pop("repository", None)
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
