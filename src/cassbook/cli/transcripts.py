"""Sample answers on the book's pages: commands with what they print, stored by `make outputs` and compared by a test.

A sample is a block of a page that begins with a command; what follows the command is its answer:

    ```console
    $ cassbook advise --run standard-5.0.9 --threads 300 --reads 0.4
    ...
    ```
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import nbformat
from click.testing import CliRunner

from cassbook.book.notebooks import analyse_notebooks
from cassbook.cli.main import main
from cassbook.core import paths
from cassbook.core.errors import LaboratoryError
from cassbook.core.files import whole

#: Stands in every file that has a sample, also where a notebook has its newlines in quotes.
_BEGINS = "$ cassbook "

#: A block: its command, which a backslash continues on the next line, and its answer.
_BLOCK = re.compile(r"(?<=^```console\n)(\$ (?:[^\n]*\\\n)*[^\n]*\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
#: A command may be cut to its first lines: `| head -8`.
_HEAD = re.compile(r" \| head -(\d+)$")


def answered(text: str) -> str:
    """Return a page with the present answer to each of its sample commands.

    Raises LaboratoryError if a command fails, with what it says.
    """
    return _BLOCK.sub(lambda block: _answered(block.group(1)), text)


def _answered(typed: str) -> str:
    line = typed.removeprefix("$ ").replace("\\\n", " ").strip()
    cut = _HEAD.search(line)
    words = shlex.split(_HEAD.sub("", line))
    result = CliRunner().invoke(main, words[1:], prog_name=words[0])
    if result.exit_code:
        raise LaboratoryError(f"{line}: exit code {result.exit_code}: {result.output}")
    lines = [said.rstrip() for said in result.stdout.rstrip("\n").splitlines()]
    return typed + "".join(f"{said}\n" for said in lines[: int(cut.group(1)) if cut else None])


def pages() -> list[Path]:
    """Return the pages of the book that have a sample: those of prose, then the chapters, in which it is an answer."""
    of_prose = sorted((paths.project_root() / "book").glob("*.md"))
    return [page for page in [*of_prose, *analyse_notebooks()] if _BEGINS in page.read_text(encoding="utf-8")]


def renewed(page: Path) -> str:
    """Return the content of a page's file with the present answers; errors as `answered`."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return answered(text)
    content = nbformat.reads(text, as_version=4)
    for cell in content.cells:
        if cell.cell_type == "markdown":
            cell.source = answered(cell.source)
    return nbformat.writes(content) + "\n"


def store() -> None:
    """Write the present answers into all pages of the book."""
    for page in pages():
        if (now := renewed(page)) != page.read_text(encoding="utf-8"):
            with whole(page) as draft:
                draft.write_text(now, encoding="utf-8")


if __name__ == "__main__":
    store()
