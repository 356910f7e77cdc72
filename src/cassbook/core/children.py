"""What a child process that failed said first: its cause, and where the rest of its words is kept."""

from __future__ import annotations

import re
from pathlib import Path

from cassbook.core.errors import LaboratoryError
from cassbook.core.files import write_text
from cassbook.core.paths import cache_dir

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[\d+(?:;\d+)*m(?=\S)")
_TRACEBACK = "Traceback (most recent call last):"
#: A line that names an exception, of Python or Java: its class, and what it says.
_EXCEPTION = re.compile(r"(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception|Exit|Interrupt|Warning|Throwable)(?::.*|$)")
_IN_THREAD = re.compile(r"Exception in thread .*")
#: What tools put before what went wrong: pip, Maven, nodetool, Sphinx's own errors, warnings that stop a strict build.
_ERROR = re.compile(r"(?:\[ERROR\]|ERROR\b|[Ee]rror:|fatal:|nodetool:|[A-Z][\w ]* error:)|.*\b(?:ERROR|CRITICAL):")
_WARNING = re.compile(r".*\bWARNING:")
_CAUSED = "Caused by: "
_MOST_SIGNS = 600


def first_cause(output: str, warnings: bool = False) -> str:
    r"""Return the first cause that a program's output names, on one line.

    That is the exception of its first traceback, which is the one that the others followed from, the first exception of
    Java with what it was caused by, or the first line that a tool marks as an error, whichever comes first; a line that
    ends in a colon is taken with the next. If it names none, its last line.

    `output`: all that it printed. `warnings`: whether a warning is an error to it.

    >>> first_cause("Traceback (most recent call last):\n  File 'a'\nKeyError: 'b'\n\nDuring ...\nValueError: c")
    "KeyError: 'b'"
    >>> first_cause("Collecting x\nERROR: No matching distribution found for x\nERROR: again")
    'ERROR: No matching distribution found for x'
    """
    lines = [_COLOURS.sub("", line).rstrip() for line in output.splitlines()]
    for place, line in enumerate(lines):
        found = line if warnings and _WARNING.match(line) else _cause_at(lines, place, line)
        if found:
            return found[:_MOST_SIGNS]
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][:_MOST_SIGNS] if said else "it printed nothing"


def _cause_at(lines: list[str], place: int, line: str) -> str:
    """What goes wrong in a line, with the lines that belong to it; '' if nothing does."""
    if line.strip() == _TRACEBACK:
        return next((after.strip() for after in lines[place + 1 :] if after and not after.startswith((" ", "\t"))), "")
    if line.startswith((" ", "\t")):
        return ""
    if _IN_THREAD.match(line) or _EXCEPTION.fullmatch(line):
        return line + _caused_by(lines[place + 1 :])
    if not _ERROR.match(line):
        return ""
    behind = next((after for after in lines[place + 1 :] if after.strip()), "")
    if _EXCEPTION.fullmatch(behind):  # a log's line, then the exception that it is about
        return f"{line.rstrip(':')}: {behind}" + _caused_by(lines[lines.index(behind, place) + 1 :])
    return f"{line} {behind.strip()}" if line.endswith(":") else line


def _caused_by(lines: list[str]) -> str:
    """What Java says its exception was caused by in the end, within the same stack trace."""
    cause = ""
    for line in lines:
        if line.startswith(_CAUSED):
            cause = line.removeprefix(_CAUSED)
        elif line.strip() and not line.startswith((" ", "\t")):
            break
    return f" (caused by {cause})" if cause else ""


def kept(output: str, name: str) -> Path | None:
    """Keep all that a program printed in a file of the cache, replacing what it said before; None if that fails.

    `name`: of the file, such as 'sphinx'.
    """
    path = cache_dir() / "failures" / f"{name}.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, output)
    except OSError:
        return None
    return path


def described(output: str, name: str, warnings: bool = False) -> str:
    """Say why a program failed, and in which file all of its output is kept."""
    path = kept(output, name)
    whole = f"its whole output is in {path}" if path else "its output could not be kept"
    return f"{first_cause(output, warnings)}\n{whole}"


def failure(what: str, output: str, name: str, warnings: bool = False) -> LaboratoryError:
    """Return the error for a program that failed.

    `what`: what failed, such as 'the book was not rendered'. `output`: all that it printed. `name`: of the file in the
    cache that keeps it. `warnings`: whether a warning is an error to it.
    """
    return LaboratoryError(f"{what}: {described(output, name, warnings)}")
