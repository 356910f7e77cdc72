"""The printed tables, read a second time from the papers' own texts: text = tests/data/parsed = data/published."""

import re
from functools import partial

import pandas as pd
import pytest

from cassbook.core.paths import resource
from tests.helpers.table_differences import agree, differences, stored
from tests.helpers.texts import LEVELS, PAPERS, PARSED, folder, paper_of, parse, parsers, text_of

#: Columns that the published side adds: what the text around a formula says of its variables.
ADDED = {"thesis_equations": ["dependent", "variable"]}


@pytest.mark.parametrize("name", parsers)
def test_the_texts_still_say_what_was_read_from_them(name):
    if folder() is None:
        pytest.skip("the papers' texts are not at hand: name their folder in CASSBOOK_PAPERS")
    differing = differences(name, stored(PARSED / f"{name}.csv"), parse(name, text_of(name)), ("fixture", "text"))
    assert not differing, "\n".join(differing)


@pytest.mark.parametrize("name", parsers)
def test_published_tables_say_what_was_read_from_the_texts(name):
    path = resource("data/published") / f"{name}.csv"
    assert path.is_file(), f"{name}: no {path.name} in data/published"
    published = stored(path).drop(columns=ADDED.get(name, []))
    differing = differences(
        name, stored(PARSED / f"{name}.csv"), published, ("text", "published"), partial(agree, name)
    )
    assert not differing, "\n".join(differing)


def test_every_parser_has_its_fixture_and_its_paper():
    assert {path.stem for path in PARSED.glob("*.csv")} == set(parsers)
    assert {paper_of(name) for name in parsers} == set(PAPERS)


def test_texts_are_looked_for_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("CASSBOOK_PAPERS", str(tmp_path))
    assert folder() == tmp_path
    with pytest.raises(FileNotFoundError, match=r"0 files d16-\*\.txt"):
        text_of("d16_table1")
    (tmp_path / "d16-x.txt").write_text("a text")
    assert text_of("d16_table1") == "a text"


def cut(*rows):
    return "\n".join("\t".join(str(cell) for cell in row) for row in rows)


NAMES = ["ONE", "QUORUM", "(slowdown, % of ONE)", "ALL", "(slowdown, % of ONE)"]
STATISTICS = cut(
    ["TABLE I. CASSANDRA READ PERFORMANCE STATISTICS\n"],
    ["Threads", "Average latency, us", "", "Coefficient of variation, %", "", "Average throughput, ops/s", "", ""],
    ["", *NAMES, *LEVELS, *NAMES, "", ""],
    *(
        [n, 700 + n, 710 + n, "(+3%)", 720 + n, "(+4%)", "9%", "8%", "7%", 90 + n, 80 + n, "(+5%)", 70 + n, "(+6%)", ""]
        for n in range(1, 13)
    ),
    ["Average::", "", "", "(+3%)", "(+4%)", "9%", "8%", "7%", "(+5%)", "(+6%)"],
)
RATIOS = [f"Read/Write = {share}" for share in ("10/90%", "30/70%", "50/50%", "90/10%")]
MIXED = cut(
    ["TABLE V. A DEVIATION\n"],
    ["Threads", *(cell for ratio in RATIOS for cell in (ratio, "", ""))],
    ["", *["<u>1R-3W</u>", "2R-2W", "3R-1W"] * 4],
    *([n, *["-1.5%", "2.0%", "<u>0.3%</u>"] * 4] for n in range(1, 13)),
)
EQUATIONS = "\n".join(
    rf"$$y_{{{level}}}^{{{operation}}}(x) = {n}E-08x^4 - 0.01x^3 + 0.2x^2 - 3.5x + 40 \quad ({n})$$"
    for n, (operation, level) in enumerate([(o, level) for o in ("Read", "Write") for level in LEVELS], start=2)
)
REGIONS = cut(
    ["Table 1 - AWS inter-region latency, ms\n"],
    ["", "", "<u> </u>"],
    ["AWS Region", "us_west_2", "'a_central_l", "eu_west_2", "ap_south_1", ""],
    ["us_west_2", "1.5", "2.5", "3.5", "4.5", ""],
    ["ca_central_1", "5.5", "6.5", "7.5", "8.5", ""],
    ["eu_west_2", "9.5", "10.5", "11.5", "12.5", ""],
    ["an south 1", "13.5", "14 25", "15.5", "16.5", ""],
)
PLACES = [rf"{letter}: $\{{[C], ([R_1], [R_2])\}}$" for letter in "abcd"]
THROUGHPUT = cut(
    ["Table 2 - The highest Cassandra throughput, ops/s\n"],
    ["D1", "Oì", "NE", "QUO", "RUM", "ALL"],
    ["Deployment scenarios", *["Read", "Write"] * 3],
    *([place, "610", "620*", "630", "640", "650", "660"] for place in PLACES),
)


def latency_grid(*top):
    rows = ([n * 10, *(f"{n}.{column}0" for column in range(12, 24))] for n in range(1, 11))
    return cut(top, ["Threads", *PLACES * 3], *rows)


LATENCY = "\n\n".join(
    [
        latency_grid("", "ONE", "", "QUORUM", "", "ALL"),
        "Table 3 - Cassandra READ latency (ms)",
        "Table 4 - Cassandra WRITE latency (ms)",
        latency_grid("", "", "ON", "NE", "QUORUM", "", "ALL"),
    ]
)
DEMANDS = """
| Class | ONE | QUORUM | ALL |
|---|---|---|---|
| in | 0.11 | 0.12 | 0.13 |
| out | 0.21 | 0.22 | 0.23 |
| by | 0.31 | 0.32 | 0.33 |
| up | 0.41 | 0.42 | 0.43 |
| on | 0.51 | 0.52 | 0.53 |
| off | n/a | n/a | n/a |

Table 2: invented
"""
CHOICES = """
Level Description
ONE Only one replica node
answers.
QUORUM About 77 percent of them.
ALL It takes all replica
nodes.
Table 2. 1: writes
Level Description
"""
WORKLOADS = """
Workload Read
Weightage
Update Weightage Insert Weightage Scan Weightage
A-Some Thing 10% 20% 30% 40%
B-Some Thing 11% 21% 31% 41%
C-Some Thing 12% 22% 32% 42%
D-Some Thing 13% 23% 33% 43%
E-Some Thing 14% 24% 34% 44%
Table 3. 1: invented
"""
REGRESSIONS = """
 Y=0.5-3.25*X1+1.5*X2+0.7*X3+0.9*X4    (2)
 Y=0.6-3.26*X1+1.6*X2+0.8*X3    (3)
 Y=0.7-3.27*X1+1.7*X2+0.9*X3    (4)
"""
PROSE = """
(R=1,W=3)
corresponds to a read-intensive setting; the write-intensive
configuration with (R=3, W=1). The write latency
in the read-intensive configuration is 6.5 times worse than in the write-intensive
configuration, but read latency in the read-intensive configuration is only 5.5 times
better than in the write-intensive configuration. (R=1, W=2) has still a relatively high write latency (7.5 times
worse than when W=1). R=2 has a read latency 8.5 times worse than R=1.
"""
TEXTS = {
    "g20_table1": STATISTICS,
    "g20_table1_averages": STATISTICS,
    "g20_table5": MIXED,
    "g20_equations": EQUATIONS,
    "g21_table1": REGIONS,
    "g21_table2": THROUGHPUT,
    "g21_table4": LATENCY,
    "d16_table2": DEMANDS,
    "thesis_table2_1": CHOICES,
    "thesis_table3_1": WORKLOADS,
    "thesis_equations": REGRESSIONS,
    "pbs_ratios": PROSE,
}


def altered(name, old, new):
    """The invented text with its last `old` changed, and the number of the line where that was."""
    at = TEXTS[name].rindex(old)
    return TEXTS[name][:at] + new + TEXTS[name][at + len(old) :], TEXTS[name].count("\n", 0, at) + 1


@pytest.mark.parametrize(
    ("name", "rows", "row"),
    [
        ("g20_table1", 36, "12 READ QUORUM 722 3 8 92 5"),
        ("g20_table1", 36, "12 READ ONE 712  9 102 "),
        ("g20_table1_averages", 3, "READ ALL 4 7 6"),
        ("g20_table5", 144, "12 0.9 3R-1W 0.3 true"),
        ("g20_table5", 144, "12 0.3 1R-3W -1.5 false"),
        ("g20_equations", 30, "3 READ QUORUM 4 3E-08"),
        ("g20_equations", 30, "7 WRITE ALL 1 -3.5"),
        ("g21_table1", 16, "ap_south_1 ca_central_1 14 25"),
        ("g21_table2", 24, "d READ QUORUM 630 true"),
        ("g21_table2", 24, "d WRITE ONE 620 false"),
        ("g21_table4", 120, "20 b WRITE QUORUM 2.170"),
        ("d16_table2", 18, "up QUORUM 0.42"),
        ("d16_table2", 18, "off ALL "),
        ("thesis_table2_1", 3, "ONE  one"),
        ("thesis_table2_1", 3, "QUORUM 77 "),
        ("thesis_table3_1", 5, "E-Some Thing 14 24 34 44"),
        ("thesis_equations", 13, "2 X1 -3.25"),
        ("pbs_ratios", 4, "READ R=3,W=1 R=1,W=3 5.5"),
        ("pbs_ratios", 4, "WRITE R=1,W=2 W=1 7.5"),
    ],
)
def test_tables_are_read_as_printed(name, rows, row):
    table = parse(name, TEXTS[name])
    assert len(table) == rows
    assert row in [" ".join(cells) for cells in table.to_numpy()]


def test_notations_keep_their_faults():
    listed = "\n".join(rf"- {letter})  $\{{C\}}$ ,  $([R_1], [R_1]\}})$ - a client" for letter in "abcd")
    table = parse("g21_scenarios", f"{listed}\n\n{THROUGHPUT}\n\n{LATENCY}")
    assert len(table) == 4 + 4 + 12 + 12
    assert table.iloc[0].tolist() == ["a", "section 1.2", "", "{C}, ([R1], [R1]})"]
    assert table.iloc[-1].tolist() == ["d", "Table 4", "ALL", "{[C], ([R1], [R2])}"]


@pytest.mark.parametrize(
    ("name", "old", "new", "difference"),
    [
        ("g20_table1", "732", "733", "threads=12, operation=READ, level=ALL, column latency_us: a '732', b '733'"),
        ("g20_table1_averages", "9%", "8%", "operation=READ, level=ONE, column cv_percent: a '9', b '8'"),
        ("g20_table5", "<u>0.3%</u>", "0.3%", "setting=3R-1W, column underlined: a 'true', b 'false'"),
        ("g20_table5", "-1.5", "1.5", "setting=1R-3W, column deviation_percent: a '-1.5', b '1.5'"),
        ("g20_equations", "- 3.5x", "+ 3.5x", "equation=7, power=1, column coefficient: a '-3.5', b '3.5'"),
        ("g21_table2", "620*", "620", "scenario=d, operation=WRITE, level=ONE, column saturated: a 'false', b 'true'"),
        ("g21_table4", "10.230", "10.23", "level=ALL, column latency_ms: a '10.230', b '10.23'"),
        ("d16_table2", "0.42", "0.24", "class=up, level=QUORUM, column cpu_demand_ms: a '0.42', b '0.24'"),
        ("thesis_table2_1", "77", "78", "level=QUORUM, column percent_of_replicas: a '77', b '78'"),
        ("thesis_table3_1", "44%", "4%", "workload=E-Some Thing, column scan_percent: a '44', b '4'"),
        ("thesis_equations", "3.27", "3.72", "equation=4, term=X1, column coefficient: a '-3.27', b '-3.72'"),
        ("pbs_ratios", "8.5", "8.6", "operation=READ, worse=R=2, than=R=1, column ratio: a '8.5', b '8.6'"),
    ],
)
def test_a_digit_changed_is_seen(name, old, new, difference):
    before, after = parse(name, TEXTS[name]), parse(name, altered(name, old, new)[0])
    (line,) = differences(name, before, after, "ab")
    assert line.startswith(f"{name}: row ")
    assert line.endswith(difference)


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("g20_table1", "732\t", "", "12 cells"),
        ("g20_table1", "732\t", "732\t733\t", "14 cells"),
        ("g20_table1", "732", "7E2", "'7E2'"),
        ("g20_table1", "732", "", "''"),
        ("g20_table1", "(+4%)\t9%\t8%\t7%\t102", "4%\t9%\t8%\t7%\t102", "'4%'"),
        ("g20_table1", "\n12\t", "\n11\t", "a second value"),
        ("g20_table1_averages", "\t7%", "", "6 cells"),
        ("g20_table1_averages", "\t7%", "\t7%\t7%", "8 cells"),
        ("g20_table5", "\t-1.5%", "", "11 cells"),
        ("g20_table5", "-1.5%", "-1,5%", "'-1,5%'"),
        ("g20_table5", "<u>0.3%</u>", "<u>0.3%", "'<u>0.3%'"),
        ("g20_equations", "- 0.01x^3", "", "powers"),
        ("g20_equations", "0.01x^3", "O.01x^3", "O.01"),
        ("g20_equations", "+ 40", "+ 40 + 41", "powers"),
        ("g21_table1", "\t14 25", "", "3 cells"),
        ("g21_table1", "14 25", "14 2 5", "'14 2 5'"),
        ("g21_table1", "an south 1", "an north 1", "'an north 1'"),
        ("g21_table2", "\t630", "", "5 cells"),
        ("g21_table2", "620*", "620+", r"'620+'"),
        ("g21_table4", "\t10.230", "", "11 cells"),
        ("g21_table4", "10.230", "10.23O", "'10.23O'"),
        ("d16_table2", " 0.42 |", "", "2 cells"),
        ("d16_table2", "0.42", "0.42 | 0.42", "4 cells"),
        ("d16_table2", "n/a", "none", "'none'"),
        ("thesis_table2_1", "77", "most", "'most'"),
        ("thesis_table3_1", " 44%", "", "3 cells"),
        ("thesis_table3_1", "44%", "44% 45%", "5 cells"),
        ("thesis_table3_1", "44%", "4a%", "'4a%'"),
        ("thesis_equations", "-3.27*X1", "", "terms"),
        ("thesis_equations", "3.27", "3..27", "'0.7-3..27"),
    ],
)
def test_a_misshapen_table_is_refused(name, old, new, fault):
    text, at = altered(name, old, new)
    at += old.startswith("\n")
    with pytest.raises(ValueError, match=rf"^{name}, line {at}: .*{re.escape(fault)}"):
        parse(name, text)


@pytest.mark.parametrize(
    ("name", "old", "fault"),
    [
        ("g20_table1", "\n12\t", "14 lines instead of 15"),
        ("g21_table4", "\n100\t", "10 lines instead of 11"),
        ("d16_table2", "\n| by ", "7 lines instead of 8"),
        ("thesis_table3_1", "\nC-", "where the table has 5 rows"),
        ("thesis_table2_1", "\nQUORUM ", "rows begin in lines"),
        ("thesis_equations", "\n Y=0.6", "so far 2 of 3 lines"),
        ("g20_equations", "\n$$y_{ONE}^{Write}", "so far 5 of 6 lines"),
    ],
)
def test_a_missing_row_is_refused(name, old, fault):
    start = TEXTS[name].rindex(old)
    end = (TEXTS[name] + "\n").index("\n", start + 1)
    with pytest.raises(ValueError, match=rf"^{name}, line \d+: .*{re.escape(fault)}"):
        parse(name, TEXTS[name][:start] + TEXTS[name][end:])


def test_a_ratio_that_is_none_is_refused():
    text, at = altered("pbs_ratios", "8.5", "several")
    with pytest.raises(ValueError, match=f"^pbs_ratios, line {at}: 'several'"):
        parse("pbs_ratios", text)
    with pytest.raises(ValueError, match=r"^pbs_ratios, line \d+: so far 0 of 1 sentences"):
        parse("pbs_ratios", altered("pbs_ratios", "read latency 8.5 times", "read latency")[0])


def test_comparison_joins_on_keys_and_names_what_differs():
    left = pd.DataFrame({"level": ["ONE", "ALL"], "average_error_percent": ["1.5", "2.50"]})
    assert differences("d16_table4", left, left[::-1][left.columns[::-1]], "ab") == []
    right = pd.DataFrame({"level": ["ALL", "QUORUM", "QUORUM"], "average_error_percent": ["2.5", "3", "3"], "n": "1"})
    assert differences("d16_table4", left, right, ("text", "published")) == [
        "d16_table4: column n only in published",
        "d16_table4: row level=QUORUM twice in published",
        "d16_table4: row level=ONE only in text",
        "d16_table4: row level=ALL, column average_error_percent: text '2.50', published '2.5'",
        "d16_table4: row level=QUORUM only in published",
    ]
    assert differences("d16_table4", left, right.drop(columns="level"), "ab")


def test_a_lost_point_leaves_the_digits_to_compare():
    assert agree("g21_table1", "14 25", "14.25")
    assert not agree("g21_table1", "14 25", "14.26")
    assert not agree("g21_table1", "14 25", "142.5")
    assert not agree("g21_table1", "14 25", "14 25")
    assert not agree("g21_table2", "14 25", "14.25")
