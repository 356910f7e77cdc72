"""Replace a cell whose data a run lacks by a sentence, in the kernel that executes a chapter.

`install` teaches the kernel to show the sentence of a `LackingError` and to go on; a cell that needs what such a cell
would have defined shows the same, and figures that prose quotes and no cell glued read `NOT_DETERMINED` (see `fill`).
Any other error still ends the execution.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import nbformat
import pandas as pd
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from cassbook.book import gaps
from cassbook.book.gaps import NOT_DETERMINED, Sentence, in_words
from cassbook.core.errors import CassbookWarning, LackingError

_QUOTED = re.compile(r"\{glue:text\}`([^`:]+)")
_GLUED = "application/papermill.record/"


@dataclass
class _Page:
    """What a page has said so far, and why names could not be defined that its cells use."""

    said: set[str] = field(default_factory=set)
    undefined: dict[str, str] = field(default_factory=dict)

    def replaced(self, shell: InteractiveShell, error: BaseException) -> bool:
        """Show what is lacking in the place of a cell; False for an error that is none of ours."""
        cell = ast.parse(_source_of(shell))
        if isinstance(error, LackingError):
            sentence = in_words(error)
        elif isinstance(error, NameError) and error.name in self.undefined:
            sentence = self.undefined[error.name]
        else:
            return False
        if _shows(cell) or sentence not in self.said:
            gaps.display(Sentence(sentence))
        self.said.add(sentence)
        self.undefined |= dict.fromkeys(_assigned(cell) - set(shell.user_ns), sentence)
        return True

    def warned(self, warning: Warning | str) -> None:
        """Show a warning of our own as a sentence, once."""
        sentence = in_words(LackingError(str(warning)))
        if sentence not in self.said:
            gaps.display(Sentence(sentence))
        self.said.add(sentence)


def install(shell: InteractiveShell) -> None:
    """Teach a kernel to show a sentence in the place of what is lacking, and tables without NaN."""
    if shell.custom_exceptions:  # a notebook's first call may run again
        return
    page, forgiven = _Page(), []

    def handle(
        shell: InteractiveShell, kind: type[BaseException], error: BaseException, trace: TracebackType,
        tb_offset: int | None = None,
    ) -> list[str]:  # fmt: skip
        if page.replaced(shell, error):
            forgiven.append(error)
        else:
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        return []

    def forgive(result: ExecutionResult) -> None:
        if result is not None and result.error_in_exec in forgiven:
            result.error_in_exec = None

    others = warnings.showwarning

    def warn(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, CassbookWarning):
            page.warned(message)
        else:
            others(message, category, *where, **more)

    warnings.showwarning = warn
    shell.set_custom_exc((LackingError, NameError), handle)
    shell.events.register("post_run_cell", forgive)
    if shell.display_formatter is not None:
        formats = shell.display_formatter.formatters
        formats["text/html"].for_type(pd.DataFrame, _html)
        formats["text/plain"].for_type(pd.DataFrame, _plain)


def _source_of(shell: InteractiveShell) -> str:
    return str(shell.user_ns["In"][-1])


def _shows(cell: ast.Module) -> bool:
    """Whether a cell ends with something to look at, not with figures for the prose."""
    last = cell.body[-1] if cell.body else None
    if not isinstance(last, ast.Expr):
        return False
    called = last.value.func if isinstance(last.value, ast.Call) else None
    return not (isinstance(called, ast.Name) and called.id.startswith("glue"))


def _assigned(cell: ast.Module) -> set[str]:
    stored = (node for node in ast.walk(cell) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return {node.id for node in stored}


def _html(table: pd.DataFrame) -> str | None:
    """As pandas shows it, but empty where there is no value."""
    if not table.isna().to_numpy().any():
        return str(table._repr_html_())  # type: ignore[operator]
    rows, columns = _most(table)
    return str(table.to_html(na_rep="", notebook=True, max_rows=rows, max_cols=columns, show_dimensions=_is_cut(table)))


def _plain(table: pd.DataFrame, printer: Any, _cycle: bool) -> None:
    if not table.isna().to_numpy().any():
        printer.text(repr(table))
        return
    rows, columns = _most(table)
    width, cut = pd.get_option("display.width"), _is_cut(table)
    printer.text(table.to_string(na_rep="", max_rows=rows, max_cols=columns, line_width=width, show_dimensions=cut))


def _most(table: pd.DataFrame) -> tuple[int, int]:
    """How many rows and columns pandas shows of a table: of one that is too long it leaves out more."""
    most, few = pd.get_option("display.max_rows"), pd.get_option("display.min_rows")
    return few if _is_longer(len(table), most) else most, pd.get_option("display.max_columns")


def _is_cut(table: pd.DataFrame) -> bool:
    """Whether pandas leaves out the middle of a table."""
    most = pd.get_option("display.max_rows"), pd.get_option("display.max_columns")
    return any(_is_longer(length, limit) for length, limit in zip(table.shape, most, strict=True))


def _is_longer(length: int, limit: int) -> bool:
    return bool(limit) and length > limit


def fill(content: nbformat.NotebookNode) -> None:
    """Glue `NOT_DETERMINED` for each figure that an executed chapter's prose quotes and no cell glued."""
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    outputs = (output for cell in code for output in cell.outputs)
    glued = {output.get("metadata", {}).get("scrapbook", {}).get("name") for output in outputs}
    prose = "\n".join(cell.source for cell in content.cells if cell.cell_type == "markdown")
    quoted = dict.fromkeys(name.strip() for name in _QUOTED.findall(prose))
    if code:
        code[-1].outputs += [_glue_of(name) for name in quoted if name not in glued]


def _glue_of(name: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_output(
        "display_data",
        data={f"{_GLUED}text/plain": NOT_DETERMINED},
        metadata={"scrapbook": {"mime_prefix": _GLUED, "name": name}},
    )
