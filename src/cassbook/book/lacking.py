"""What a page shows where a run cannot serve a section: one sentence in its place, and the rest of the page.

Whatever a cell calls raises `LackingError` with that sentence. `install` teaches the kernel to show it and to go on;
a cell that needs what such a cell would have defined is passed over, and figures that prose quotes and no cell glued
read `NOT_DETERMINED` (see `fill`). Any other error still ends the execution.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from types import TracebackType
from typing import Any, TypeVar

import nbformat
import pandas as pd
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.display import display

from cassbook.book.source import Source
from cassbook.core.errors import CassbookWarning, LackingError

T = TypeVar("T")
NOT_DETERMINED = "not determined"
#: A number in text that there is not, alone or with its bounds.
_NO_NUMBER = re.compile(r"(?<![\w.])[+-]?(?:nan|NaN)(?: ?%)?(?: \[(?:nan|NaN), (?:nan|NaN)\]| \((?:nan|NaN)\))?(?!\w)")
_QUOTED = re.compile(r"\{glue:text\}`([^`:]+)")
_GLUED = "application/papermill.record/"


@dataclass(frozen=True)
class Sentence:
    """A sentence in the place of a table or a figure; no Markdown, which captions take for the name of a source."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f'<p class="lacking">{escape(self.text)}</p>'


def in_words(lacking: LackingError, source: str = "") -> str:
    """Return what is lacking as a sentence, with the source that lacks it."""
    clause = str(lacking).rstrip(".")
    return f"{source}: {clause}." if source and source not in clause else f"{clause[:1].upper()}{clause[1:]}."


class ByLabel(dict[str, T]):
    """What was made of each source, by its label; to ask for that of a source which lacks the data is lacking too."""

    def __init__(self) -> None:
        super().__init__()
        self.lacking: dict[str, LackingError] = {}

    def __missing__(self, label: str) -> T:
        if label in self.lacking:
            raise self.lacking[label]
        raise KeyError(label)


def of_each(sources: Iterable[Source], make: Callable[[Source], T]) -> ByLabel[T]:
    """Make something of each source, and show a sentence for each that lacks the data.

    Parameters
    ----------
    sources : iterable of Source
    make : callable
        Raises `LackingError` for a source that lacks the data.

    Returns
    -------
    ByLabel
        By the source's label.

    Raises
    ------
    LackingError
        If all of them lack it.
    """
    made: ByLabel[T] = ByLabel()
    for source in sources:
        try:
            made[source.label] = make(source)
        except LackingError as lacking:
            made.lacking[source.label] = lacking
    sentences = [in_words(lacking, label) for label, lacking in made.lacking.items()]
    if sentences and not made:
        raise LackingError(" ".join(sentences))
    for sentence in sentences:
        display(Sentence(sentence))
    return made


def served(sources: Iterable[Source], make: Callable[[Source], Any]) -> list[Source]:
    """Return the sources of which `make` makes something, and show a sentence for each other (see `of_each`)."""
    listed = list(sources)
    made = of_each(listed, make)
    return [source for source in listed if source.label in made]


def each_served(sources: Mapping[str, Source], make: Callable[[Source], T]) -> Iterator[tuple[str, T]]:
    """Yield name and value of the sources of which `make` makes something; what others lack is said elsewhere."""
    for name, source in sources.items():
        try:
            value = make(source)
        except LackingError:
            continue
        yield name, value


def without_nan(text: str) -> str:
    """Return a text that quotes numbers with `NOT_DETERMINED` for each that there is not.

    >>> without_nan("nan [nan, nan] ms; 3.1 [2.9, 3.3]; banana")
    'not determined ms; 3.1 [2.9, 3.3]; banana'
    """
    return _NO_NUMBER.sub(NOT_DETERMINED, text)


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
            display(Sentence(sentence))
        self.said.add(sentence)
        self.undefined |= dict.fromkeys(_assigned(cell) - set(shell.user_ns), sentence)
        return True

    def warned(self, warning: Warning | str) -> None:
        """Show a warning of our own as a sentence, once."""
        sentence = in_words(LackingError(str(warning)))
        if sentence not in self.said:
            display(Sentence(sentence))
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
    option = pd.get_option
    return str(
        table.to_html(
            na_rep="", notebook=True, max_rows=option("display.max_rows"), max_cols=option("display.max_columns"),
            show_dimensions=bool(option("display.show_dimensions")) and _is_cut(table),
        )
    )  # fmt: skip


def _plain(table: pd.DataFrame, printer: Any, _cycle: bool) -> None:
    if not table.isna().to_numpy().any():
        printer.text(repr(table))
        return
    option = pd.get_option
    rows, columns, width = option("display.max_rows"), option("display.max_columns"), option("display.width")
    printer.text(table.to_string(na_rep="", max_rows=rows, max_cols=columns, line_width=width))


def _is_cut(table: pd.DataFrame) -> bool:
    """Whether pandas leaves out the middle of a table."""
    most = pd.get_option("display.max_rows"), pd.get_option("display.max_columns")
    return any(limit and length > limit for length, limit in zip(table.shape, most, strict=True))


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
