"""The commands that README.md shows, and what executes each: recorded data, or what `make reproduce` made."""

from __future__ import annotations

import shlex

from cassbook.core.paths import project_root

_BEGIN, _END = "## Five things to do next", "## Without the checkout"
_PROGRAMS = ("cassbook", "papermill", "make")
#: Commands that are executed by no test of README.md, by how they begin, and why.
NOT_EXECUTED = {
    "make reproduce PROFILE=standard": "takes three hours; with a small profile tests/live/test_reproduce.py runs it",
    "cassbook run --profile quick --hosts": "asks for a cluster of one's own; tests/live/test_hosts.py has one",
}
#: How those begin that want a run: what `make reproduce` made is given for the names that the page uses.
_ON_A_RUN = ("cassbook chapter", "papermill", "cassbook show _build", "cassbook report", "cassbook book")
RUN_NAMES = ("my-run", "_build/runs/quick-existing-2.1.20", "_build/runs/quick-2.1.20")


def commands() -> list[str]:
    """Return the commands of README.md's five things to do next, without their comments."""
    text = (project_root() / "README.md").read_text(encoding="utf-8")
    block = [line for line in text[text.index(_BEGIN) : text.index(_END)].splitlines() if line.startswith("    ")]
    lines = [
        " ".join(shlex.split(line.strip().removeprefix("$ "), comments=True)) for line in block if _is_command(line)
    ]
    return list(dict.fromkeys(lines))


def _is_command(line: str) -> bool:
    return line.strip().removeprefix("$ ").startswith(tuple(f"{program} " for program in _PROGRAMS))


def on_a_run() -> list[str]:
    """Return those that are executed on what `make reproduce` made."""
    return [command for command in commands() if command.startswith(_ON_A_RUN)]


def on_recorded() -> list[str]:
    """Return those that are executed on recorded data: all others."""
    others = (*_ON_A_RUN, *NOT_EXECUTED)
    return [command for command in commands() if not command.startswith(others)]


def given(command: str, run: str) -> list[str]:
    """Return a command's words with the path of a run for the names that the page uses."""
    for name in RUN_NAMES:
        command = command.replace(f"recorded {name}", f"recorded {run}").replace(f"={name}", f"={run}")
        command = command.replace(f" {name}", f" {run}")
    return shlex.split(command)
