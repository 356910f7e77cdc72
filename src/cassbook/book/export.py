"""A run's tables as files: the papers' Tables I to V in their shape, and tidy ones, as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cassbook.book import paper_tables
from cassbook.book.chapters import cold_start, measure
from cassbook.book.provenance import Source
from cassbook.core.errors import InputError
from cassbook.core.files import whole
from cassbook.core.schema import explained
from cassbook.latency import histograms, summaries
from cassbook.latency.cold_start import cold_cells
from cassbook.records import results
from cassbook.records.run import RecordedRun

FORMS = ("csv", "latex", "both")
#: Quantiles that are read from histograms, by column.
QUANTILES = {"p50_us": 0.5, "p90_us": 0.9, "p95_us": 0.95, "p99_us": 0.99, "p999_us": 0.999, "p9999_us": 0.9999}
#: A LaTeX table of more columns is made as wide as the text.
_MOST_COLUMNS = 10
_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "[": "{[}", "]": "{]}"}
    | {sign: "\\" + sign for sign in "&%$#_{}"}
    | {
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "±": r"$\pm$",
        "²": "$^2$",
        "≥": r"$\geq$",
        "†": r"$\dagger$",
        "‡": r"$\ddagger$",
    }
)
_PREAMBLE = r"""\documentclass[a4paper,landscape]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[margin=2cm]{geometry}
\usepackage{booktabs,graphicx}
\begin{document}
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table to be written."""

    name: str  # of its files
    caption: str
    #: Returns the DataFrame, or raises InputError where the run does not suffice for it.
    make: Callable[[], pd.DataFrame]
    in_latex: bool = True  # tidy tables are long and for programs: they are CSV only


def quantiles(run: RecordedRun) -> pd.DataFrame:
    """Return quantiles of each cell and operation from its HdrHistograms.

    Columns: cell_id, operation, time ('service', or 'response' of a paced load), n, columns of `QUANTILES`, max_us;
    all to three significant digits; marks of the cell.
    """
    rows, marks = [], run.cells.set_index("cell_id")["marks"]
    for tag, counted in run.histograms.items():
        response = tag.endswith(".response")
        cell_id, operation = tag.removesuffix(".response").rsplit(".", 1)
        row: dict[str, object] = {
            "cell_id": cell_id,
            "operation": operation,
            "time": "response" if response else "service",
        }
        row |= {"n": counted.get_total_count(), "max_us": float(counted.get_max_value())}
        row |= {name: histograms.quantile_us(counted, q) for name, q in QUANTILES.items()}
        rows.append(row | {"marks": marks.get(cell_id, "")})
    return pd.DataFrame(rows, columns=["cell_id", "operation", "time", "n", *QUANTILES, "max_us", "marks"])


def marked(cells: pd.DataFrame) -> pd.DataFrame:
    """Return each mark of each cell in words.

    `cells`: from `cell_statistics`.

    Columns: cell_id, kind, threads, read_cl, write_cl, read_share, block, little_ratio, mark, meaning; empty if no
    cell is marked.
    """
    columns = ["cell_id", "kind", "threads", "read_cl", "write_cl", "read_share", "block", "little_ratio", "marks"]
    marks = cells[columns].assign(mark=cells["marks"].str.split(";")).explode("mark").drop(columns="marks")
    marks = marks[marks["mark"].fillna("") != ""].reset_index(drop=True)
    return marks.assign(meaning=[explained(mark) for mark in marks["mark"]])


def _with_marks(quantiles: pd.DataFrame, level_stats: pd.DataFrame) -> pd.DataFrame:
    """Level quantiles with the marks of the cells that they are of."""
    keys = ["operation", "level", "threads"]
    return quantiles.merge(level_stats[[*keys, "marks"]], on=keys, how="left")


def _measured(make: Callable[[], pd.DataFrame], of: pd.DataFrame, kind: str) -> Callable[[], pd.DataFrame]:
    """Return `make`, but for a run without such cells one that says so."""

    def checked() -> pd.DataFrame:
        if of.empty:
            raise InputError(f"the run has no {kind} cells")
        return make()

    return checked


def _some(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of open arrivals, or say that the run has none."""
    if table.empty:
        raise InputError("the run has no open cells")
    return table


def tables_of(source: Source) -> list[Table]:
    """Return all tables that a run can give."""
    run = source.run
    if run is None:
        raise InputError("the printed tables are in data/published already; only a run is exported")
    cells, level_stats, mixed_stats = source.cell_stats, source.level_stats, source.mixed_stats
    shares = sorted(mixed_stats["read_share"].unique())

    def pure(make: Callable[[], pd.DataFrame]) -> Callable[[], pd.DataFrame]:
        return _measured(make, level_stats, "pure")

    def mixed(make: Callable[[], pd.DataFrame]) -> Callable[[], pd.DataFrame]:
        return _measured(pure(make), mixed_stats, "mixed")

    def performance(operation: str) -> pd.DataFrame:
        return paper_tables.performance_shown(paper_tables.performance(level_stats, operation))

    def deviations() -> pd.DataFrame:
        return paper_tables.deviations_shown(paper_tables.measured_deviations(source))

    cost = "in brackets: against ONE"
    return [
        Table("table1_reads", f"Read performance by threads; {cost}",
              pure(lambda: performance("READ"))),
        Table("table2_writes", f"Write performance by threads; {cost}",
              pure(lambda: performance("WRITE"))),
        Table("table3_fit", "Goodness of fit (R²) of latency over threads, by order of the polynomial",
              pure(lambda: paper_tables.goodness_of_fit([source]))),
        Table("table4_estimated", "Latency of mixed workloads in us, estimated from the pure ones; * marks the least",
              mixed(lambda: paper_tables.latencies_shown(paper_tables.estimated(source, shares)))),
        Table("table5_measured", "Latency of mixed workloads in us, measured; * marks the least mean",
              _measured(lambda: paper_tables.latencies_shown(mixed_stats), mixed_stats, "mixed")),
        Table("table5_deviations", "Deviation of the measurement from the estimate, in % of the measurement",
              mixed(deviations)),
        Table("rankings", "Levels by mean latency, and whether neighbours differ within blocks (5 %, Holm)",
              pure(lambda: paper_tables.rankings_shown(paper_tables.rankings(source)))),
        Table("setting_rankings", "Settings of mixed workloads by mean latency, and whether neighbours differ",
              _measured(lambda: paper_tables.rankings_shown(paper_tables.setting_rankings(source)),
                        mixed_stats, "mixed")),
        Table("cold_start", "Cold start by what was cold",
              _measured(lambda: cold_start.cold_conditions_shown(source), cold_cells(run), "cold")),
        Table("little", "Little's law: throughput times mean latency by threads, over the steady window",
              lambda: measure.little(run)),
        Table("results", "Every cell over its blocks, as `cassbook show` has it",
              lambda: results.of_run(run).table, in_latex=False),
        Table("open_results", "Response times under open arrivals, over blocks, as `cassbook show` has them",
              lambda: _some(results.of_run(run).under_open), in_latex=False),
        Table("carried", "What each setting carried before and after its mix was measured, over blocks",
              lambda: _some(results.of_run(run).carried), in_latex=False),
        Table("marks", "Marks of cells: what a reader must know of them",
              _measured(lambda: marked(cells), marked(cells), "marked"), in_latex=False),
        Table("cell_statistics", "Every cell with its intervals within the cell", lambda: cells, in_latex=False),
        Table("levels", "Pure workloads, 95 % over blocks", lambda: level_stats, in_latex=False),
        Table("level_quantiles", "Means and quantiles of pure workloads; `interval` says what the bounds rest on",
              lambda: _with_marks(summaries.level_quantiles(cells), level_stats), in_latex=False),
        Table("settings", "Mixed workloads, 95 % over blocks", lambda: mixed_stats, in_latex=False),
        Table("quantiles", "Quantiles of every cell and operation from its HdrHistogram",
              lambda: quantiles(run), in_latex=False),
    ]  # fmt: skip


def _escaped(value: object) -> str:
    return str(value).translate(_LATEX)


def latex(table: pd.DataFrame, caption: str, label: str) -> str:
    """Return a table as LaTeX, with booktabs' rules; every cell, header and caption is escaped."""
    style = table.style.format(_escaped, na_rep="").format_index(_escaped, axis=0).format_index(_escaped, axis=1)
    for axis in (0, 1):
        style.format_index_names(_escaped, axis=axis)
    text = style.to_latex(
        hrules=True, caption=_escaped(caption), label=f"tab:{label}", position="htbp", position_float="centering",
        sparse_index=False, multicol_align="c",
    )  # fmt: skip
    if table.shape[1] > _MOST_COLUMNS:
        text = text.replace(r"\begin{tabular}", "\\resizebox{\\textwidth}{!}{%\n\\begin{tabular}")
        text = text.replace(r"\end{tabular}", r"\end{tabular}}")
    return text


def as_csv(table: pd.DataFrame) -> str:
    """Return CSV with one header line: a column of several levels is named 'level / level'."""
    flat = table.copy()
    if isinstance(flat.columns, pd.MultiIndex):
        flat.columns = pd.Index([" / ".join(map(str, names)) for names in flat.columns])
    named = any(name is not None for name in flat.index.names)
    return flat.to_csv(index=named, lineterminator="\n")


def _write(folder: Path, run: RecordedRun, source: Source, form: str) -> None:
    """Write everything into a folder that exists, with a list of what is there and what is not."""
    listed, left_out, inputs = [], [], []
    about = f"run {run.name}, Cassandra {run.manifest['engine']}"
    for table in tables_of(source):
        try:
            frame = table.make()
        except InputError as error:
            left_out.append(f"* {table.name}: {error}")
            continue
        if form != "latex":
            (folder / f"{table.name}.csv").write_text(as_csv(frame), encoding="utf-8")
            listed.append(f"* `{table.name}.csv`: {table.caption}")
        if form != "csv" and table.in_latex:
            text = latex(frame, f"{table.caption} ({about})", table.name)
            (folder / f"{table.name}.tex").write_text(text, encoding="utf-8")
            listed.append(f"* `{table.name}.tex`: {table.caption}")
            inputs.append(f"\\input{{{table.name}}}\n")
    if inputs:
        (folder / "all.tex").write_text(_PREAMBLE + "".join(inputs) + "\\end{document}\n", encoding="utf-8")
        listed.append("* `all.tex`: a document with all of them; needs booktabs and graphicx")
    lines = [
        f"# Tables of {about}",
        "",
        f"Data hash {run.data_hash}.",
        "Units stand in the names of columns.",
        "Behind a figure, † says that the client is a part of it, ‡ that a cell has another mark (`marks.csv`).",
        "",
    ]
    lines += [*listed, *(["", "Left out:", "", *left_out] if left_out else [])]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def export(run: RecordedRun, to: Path, form: str = "both") -> list[Path]:
    """Write the tables of a run.

    `to`: folder to be made; it appears whole, by rename. `form`: 'csv', 'latex' or 'both'.

    Returns what was written; README.md names each, and the tables that this run does not suffice for.

    Raises InputError if the folder is there and not empty, or cannot be written.
    """
    if form not in FORMS:
        raise InputError(f"form: {form!r} is not one of {', '.join(FORMS)}")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(f"{to}: is not an empty folder; name a new one, nothing is overwritten")
    with whole(to) as draft:  # an empty folder in its place is replaced
        try:
            draft.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"{to}: cannot be written ({error.strerror}); name a folder you may write to") from None
        _write(draft, run, Source(run.name, run), form)
    return sorted(to.iterdir())
