"""A run's tables as files: what is there, what LaTeX would trip over, what is refused."""

import re

import numpy as np
import pandas as pd
import pytest

from cassbook.book import export, paper_tables
from cassbook.book.provenance import PUBLISHED, Source
from cassbook.core.errors import InputError
from cassbook.records.run import RecordedRun
from tests.helpers.command import cassbook

RUN = "quick-2.1.20"


@pytest.fixture(scope="module")
def run():
    return RecordedRun(RUN)


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    to = tmp_path_factory.mktemp("export") / "tables"
    export.export(run, to)
    return to


def body(text):
    """Rows of a LaTeX table, headers too, without its rules."""
    inner = re.search(r"\\toprule\n(.*?)\\bottomrule", text, re.DOTALL).group(1)
    return [line for line in inner.splitlines() if line != r"\midrule"]


def columns_of(line):
    """How many columns a row fills: unescaped ampersands, and what is spanned."""
    spanned = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line))
    return len(re.findall(r"(?<!\\)&", line)) + 1 + spanned


def test_all_tables_are_there(folder):
    names = {path.name for path in folder.iterdir()}
    for table in ("table1_reads", "table2_writes", "table3_fit", "table4_estimated", "table5_measured",
                  "table5_deviations", "rankings", "little"):  # fmt: skip
        assert {f"{table}.csv", f"{table}.tex"} <= names
    assert {"cell_statistics.csv", "levels.csv", "level_quantiles.csv", "settings.csv", "quantiles.csv"} <= names
    readme = (folder / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in names - {"README.md"})
    assert "cold_start: the run has no cold cells" in readme


def test_csv_holds_what_the_functions_give(folder, run):
    source = Source("x", run)
    levels = pd.read_csv(folder / "levels.csv").fillna({"marks": ""})
    pd.testing.assert_frame_equal(levels, source.level_stats, check_dtype=False)
    printed = pd.read_csv(folder / "table1_reads.csv", index_col=0)
    shape = paper_tables.performance_shown(paper_tables.performance(source.level_stats, "READ"))
    assert printed["latency, us / QUORUM"].tolist() == shape["latency, us", "QUORUM"].tolist()
    rankings = pd.read_csv(folder / "rankings.csv")
    assert set(rankings["distinguishable"]) <= {"yes", "no", "unknown"}


def test_every_tidy_table_carries_the_marks_and_one_says_what_they_mean(folder, run):
    tidy = ("results", "cell_statistics", "levels", "level_quantiles", "settings", "quantiles")
    for name in tidy:
        assert pd.read_csv(folder / f"{name}.csv")["marks"].notna().any(), name
    marks = pd.read_csv(folder / "marks.csv")
    expected = {(row.cell_id, mark) for row in run.statistics.itertuples() for mark in row.marks.split(";") if mark}
    assert set(zip(marks["cell_id"], marks["mark"], strict=True)) == expected
    assert marks["meaning"].str.contains("Little's law").any()
    assert (marks.loc[marks["mark"] == "little", "little_ratio"] - 1).abs().min() > 0.05


def test_deviations_of_marked_mixes_carry_their_signs(folder, run):
    mixed = Source("x", run).mixed_stats
    cells = pd.read_csv(folder / "table5_deviations.csv", index_col=0).melt()["value"]
    assert len(cells) == len(mixed)
    assert cells.str.contains("[†‡]").sum() == (mixed["marks"] != "").sum() > 0


def test_quantiles_come_from_histograms(folder, run):
    table = pd.read_csv(folder / "quantiles.csv")
    assert set(table["time"]) == {"service"}
    row = table[table["operation"] == "READ"].iloc[0]
    samples = run.samples(cells=[row["cell_id"]])
    kept = (samples["phase"] == "steady") & (samples["outcome"] == "ok") & (samples["operation"] == "READ")
    latency_us = samples.loc[kept, "latency_us"].to_numpy()
    assert row["n"] == latency_us.size
    nearest = np.sort(latency_us)[round(0.99 * latency_us.size) - 1]  # a histogram takes the nearest operation
    assert row["p99_us"] == pytest.approx(nearest, rel=1e-3)


def test_every_latex_table_is_well_formed(folder):
    files = [*sorted(folder.glob("t*.tex")), *folder.glob("*rankings.tex"), folder / "little.tex"]
    assert len(files) == 9
    for path in files:
        text = path.read_text()
        opened, closed = (re.findall(rf"\\{word}\{{(\w+)\}}", text) for word in ("begin", "end"))
        assert opened == closed[::-1]
        assert opened[0] == "table"
        bare = re.sub(r"\\[{}]", "", text)
        assert bare.count("{") == bare.count("}")
        assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0
        assert r"\caption{" in text
        assert f"\\label{{tab:{path.stem}}}" in text
        width = len(re.search(r"\\begin\{tabular\}\{([lrc]+)\}", text).group(1))
        rows = body(text)
        assert all(row.endswith(r"\\") for row in rows)
        assert {columns_of(row) for row in rows} == {width}
        assert not re.search(r"(?<!\\)[%#]", "\n".join(rows))
        assert text.isascii()
    document = (folder / "all.tex").read_text()
    assert document.count(r"\input{") == 9
    assert document.rstrip().endswith(r"\end{document}")
    assert r"\usepackage{booktabs,graphicx}" in document


def test_signs_that_latex_reads_as_commands_are_escaped():
    table = pd.DataFrame({"50 % & _x_": ["a\\b ~ ^ # $ {y}", "[z] <w> ± 1"]}, index=pd.Index([1, 2], name="n_o"))
    text = export.latex(table, "100 % of R²", "x")
    assert r"50 \% \& \_x\_" in text
    assert r"a\textbackslash{}b \textasciitilde{} \textasciicircum{} \# \$ \{y\}" in text
    assert r"{[}z{]} $<$w$>$ $\pm$ 1" in text
    assert r"n\_o" in text
    assert r"\caption{100 \% of R$^2$}" in text


def test_a_wide_table_is_made_to_fit():
    wide = export.latex(pd.DataFrame(np.ones((2, 12))), "wide", "x")
    assert wide.index(r"\resizebox{\textwidth}{!}{%") < wide.index(r"\begin{tabular}")
    assert r"\end{tabular}}" in wide


@pytest.mark.parametrize(("form", "absent"), [("csv", ".tex"), ("latex", ".csv")])
def test_one_format_alone(run, tmp_path, form, absent):
    paths = export.export(run, tmp_path / "out", form)
    assert paths
    assert not [path for path in paths if path.suffix == absent]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_something_in_it_is_left_alone(run, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for target, message in ((tmp_path, "is not an empty folder"), (tmp_path / "mine.txt", "is not an empty folder"),
                            (tmp_path / "mine.txt" / "x", "cannot be written")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            export.export(run, target)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_fails_leaves_nothing(run, tmp_path, monkeypatch):
    monkeypatch.setattr(export, "latex", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export.export(run, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_run_with_little_in_it_says_what_is_left_out(tmp_path):
    class Bare(RecordedRun):
        """The recorded run, with its reads at ONE only."""

        @property
        def cells(self):
            cells = super().cells
            return cells[(cells["kind"] == "pure") & (cells["read_share"] == 1) & (cells["read_cl"] == "ONE")]

        @property
        def statistics(self):
            statistics = super().statistics
            return statistics[statistics["cell_id"].isin(self.cells["cell_id"])].reset_index(drop=True)

    export.export(Bare(RUN), tmp_path / "out")
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "table5_measured: the run has no mixed cells" in readme
    assert "`little.csv`" in readme


def test_printed_tables_are_not_a_run():
    with pytest.raises(InputError, match="only a run is exported"):
        export.tables_of(Source(PUBLISHED))


def test_the_command_lists_what_it_wrote(tmp_path):
    result = cassbook("export", RUN, "--to", tmp_path / "out", "--format", "csv")
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "out" / "table1_reads.csv") in result.output.splitlines()
    again = cassbook("export", RUN, "--to", tmp_path / "out")
    assert again.exit_code == 2
    assert "is not an empty folder; name a new one" in again.output
