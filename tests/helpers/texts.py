"""Reads the printed tables out of the papers' own texts, the second path to every number of data/published.

It shares nothing with the first path: no file of data/published is opened here and nothing of `cassbook` is imported,
so that a slip in the one is not repeated in the other. The texts are not part of the project. What was read from them
is kept in tests/data/parsed, which `python -m tests.helpers.texts` writes anew wherever the texts are at hand.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from tests.helpers.data import DATA, ROOT

PARSED = DATA / "parsed"
PAPERS = {"g20": "g20-*.txt", "g21": "g21-*.txt", "d16": "d16-*.txt", "thesis": "thesis-*.txt", "pbs": "pbs-*.txt"}
LEVELS = ("ONE", "QUORUM", "ALL")

# Labels that the texts garble: two regions in Table 1 of g21, the level ONE over its Tables 2 and 4 (cut in two cells,
# joined before the look-up). Numbers are never repaired.
LABEL_REPAIRS = {"'a_central_l": "ca_central_1", "an south 1": "ap_south_1", "OìNE": "ONE", "ONNE": "ONE"}

# Tables whose text shows a blank where the decimal point of a cell was ('9 15'). Such a cell is kept with its blank,
# since only the print says what stood there; a comparison can ask no more than that the digits agree.
LOST_POINTS = {"g21_table1"}

NUMBER = r"\d+(?:\.\d+)?"
LEVEL = r"(?P<level>ONE|QUORUM|ALL)"
THREADS = r"(?P<threads>\d+)"

Row = tuple[int, list[str]]  # number of a line, and its cells
Column = tuple[dict[str, str], str]  # what a column's head says of its cells, and their pattern
parsers: dict[str, Callable[[str], pd.DataFrame]] = {}
KEYS: dict[str, list[str]] = {}  # of each table, the columns that name a row


class Sheet:
    """The lines of one paper, read for one table; every complaint names the table and the line."""

    def __init__(self, table: str, text: str):
        self.table = table
        self.text = text
        self.lines = text.split("\n")
        self.rows: dict[tuple, dict[str, str]] = {}

    def fault(self, at: int, what: str) -> ValueError:
        return ValueError(f"{self.table}, line {at}: {what}")

    def line(self, at: int) -> str:
        return self.lines[at - 1].strip()

    def find(self, pattern: str, count: int = 1) -> list[int]:
        """Return the numbers of the lines that begin like this: `count` of them, neither more nor fewer."""
        hits = [at for at in range(1, len(self.lines) + 1) if re.match(pattern, self.line(at))]
        if len(hits) != count:
            raise self.fault((hits or [len(self.lines)])[-1], f"so far {len(hits)} of {count} lines like {pattern!r}")
        return hits

    def sentence(self, pattern: str) -> tuple[int, re.Match]:
        """Return line and match of the one place of the pattern in running text, wherever its lines break."""
        hits = list(re.finditer(pattern.replace(" ", r"\s+"), self.text))
        if len(hits) != 1:
            raise self.fault(len(self.lines), f"so far {len(hits)} of 1 sentences like {pattern!r}")
        return self.text.count("\n", 0, hits[0].start()) + 1, hits[0]

    def block(self, start: int, height: int, step: int = 1) -> list[Row]:
        """Return the `height` lines of the table next below line `start` (above it for step -1), cut into cells."""
        lines: list[int] = []
        at = start + step
        while 0 < at <= len(self.lines):
            if re.sub("</?u>", "", self.line(at)).strip():
                lines.append(at)
            elif lines:
                break
            at += step
        if len(lines) != height:
            raise self.fault((lines or [start])[-1], f"end of a table of {len(lines)} lines instead of {height}")
        return [(at, self.cells(at)) for at in sorted(lines)]

    def cells(self, at: int) -> list[str]:
        line = self.lines[at - 1].rstrip()
        bars = re.fullmatch(r"\|(.*)\|", line)
        return [cell.strip() for cell in (bars[1].split("|") if bars else line.split("\t"))]

    def match(self, at: int, cell: str, pattern: str) -> re.Match:
        """Match the whole cell, its label repaired."""
        match = re.fullmatch(pattern, LABEL_REPAIRS.get(cell, cell))
        if not match:
            raise self.fault(at, f"{cell!r} instead of something like {pattern!r}")
        return match

    def width(self, at: int, cells: list, width: int) -> None:
        if len(cells) != width:
            raise self.fault(at, f"{len(cells)} cells instead of {width}: {cells}")

    def add(self, at: int, values: dict[str, str]) -> None:
        """Enter values into the row that their keys name; none may be there already."""
        key = tuple(values[column] for column in KEYS[self.table])
        row = self.rows.setdefault(key, {})
        if row.keys() & (values.keys() - set(KEYS[self.table])):
            raise self.fault(at, f"a second value for {key}")
        row.update(values)

    def grid(self, body: list[Row], label: str, columns: list[Column], **common: str) -> None:
        """Enter a table; label and cells go under the names of the groups in their patterns."""
        for at, (first, *cells) in body:
            self.width(at, cells, len(columns))
            named = self.match(at, first, label).groupdict() | common
            for (head, pattern), cell in zip(columns, cells, strict=True):
                self.add(at, named | head | self.match(at, cell, pattern).groupdict(default=""))

    def terms(self, at: int, formula: str, pattern: str) -> list[re.Match]:
        """Return the terms of a sum, which leave nothing of it over."""
        terms = list(re.finditer(pattern, formula))
        if "".join(term[0] for term in terms) != formula:
            raise self.fault(at, f"{formula!r} instead of terms like {pattern!r}")
        return terms

    def levels(self, at: int, each: int) -> list[str]:
        """Return the levels of a header, one for each of its columns; the text may have cut their words in two."""
        joined = "".join(self.cells(at)[1:])
        for damaged, label in LABEL_REPAIRS.items():
            joined = joined.replace(damaged, label)
        if joined != "".join(LEVELS):
            raise self.fault(at, f"{self.cells(at)} instead of {LEVELS}")
        return [level for level in LEVELS for _ in range(each)]

    def scenario(self, at: int, cell: str) -> re.Match:
        """Return letter and notation of a deployment scenario, the TeX taken off and the faults left in."""
        bare = re.sub(r"[\s$\\_]", "", cell).replace(",", ", ")
        return self.match(at, bare, r"(?P<scenario>[a-d])[:)](?P<notation>[][(){}CR0-9, ]+)")


def reads(columns: str, *tables: str) -> Callable:
    """Enter a function that fills a sheet as the parser of these tables; a star marks the columns that name a row."""
    names = columns.replace("*", "").split()
    keys = [name.strip("*") for name in columns.split() if "*" in name]

    def frame(table: str, fill: Callable[[Sheet], None], text: str) -> pd.DataFrame:
        sheet = Sheet(table, text)
        fill(sheet)
        return pd.DataFrame([{name: row.get(name, "") for name in names} for row in sheet.rows.values()])

    def enter(fill: Callable[[Sheet], None]) -> Callable[[Sheet], None]:
        parsers.update({table: partial(frame, table, fill) for table in tables})
        KEYS.update(dict.fromkeys(tables, keys))
        return fill

    return enter


@reads(
    "threads* operation* level* latency_us latency_slowdown_percent cv_percent "
    "throughput_per_s throughput_slowdown_percent",
    *("g20_table1", "g20_table2"),
)
@reads(
    "operation* level* latency_slowdown_percent cv_percent throughput_slowdown_percent",
    *("g20_table1_averages", "g20_table2_averages"),
)
def _measured(sheet: Sheet) -> None:
    caption = sheet.find(rf"TABLE {'I' * int(sheet.table[9])}\. CASSANDRA (READ|WRITE) ")[0]
    (_, titles), (top, names), *body, (last, averages) = sheet.block(caption, 15)
    measures = {"latency": "latency_us", "variation": "cv_percent", "throughput": "throughput_per_s"}
    groups = [measures[word] for title in titles for word in measures if word in title]
    if names.count("ONE") != len(groups) or names[:2] != ["", "ONE"]:
        raise sheet.fault(top, f"columns {names} under {groups}")
    columns: list[Column] = []
    for name in names[1:]:
        if name == "ONE":  # begins a group; the titles themselves do not stand over their columns
            measure = groups.pop(0)
        level = sheet.match(top, name, rf"{LEVEL}|\(slowdown, % of ONE\)").groupdict()
        if level["level"]:
            columns.append((level, f"(?P<{measure}>{NUMBER})" + "%" * (measure == "cv_percent")))
        else:
            slowdown = f"{measure.split('_', maxsplit=1)[0]}_slowdown_percent"
            columns.append((columns[-1][0], rf"\(\+(?P<{slowdown}>{NUMBER})%\)"))
    label = THREADS
    if sheet.table.endswith("averages"):
        # The text moves the figures of this line to the right; their order is that of the columns.
        label, body = "Average:*", [(last, [cell for cell in averages if cell])]
        columns = [(level, pattern) for level, pattern in columns if "%" in pattern]
    sheet.grid(body, label, columns, operation=sheet.line(caption).split()[3])


@reads("operation* level* model* r_squared", "g20_table3")
def _goodness_of_fit(sheet: Sheet) -> None:
    (top, titles), (_, orders), *body = sheet.block(sheet.find(r"TABLE III\. ")[0], 8)
    models = [order.replace("=", "") for order in orders[2:]] + [title.split()[0].lower() for title in titles[5:]]
    sheet.width(top, models, 4)
    columns = [({"model": model}, f"(?P<r_squared>{NUMBER})") for model in models]
    operation = ""
    for at, (name, *cells) in body:
        # The operation stands in the first of its three rows only.
        operation = sheet.match(at, name, "(Read|Write) statistics")[1].upper() if name else operation
        sheet.grid([(at, cells)], LEVEL, columns, operation=operation)


@reads("threads* read_share* setting* deviation_percent underlined", "g20_table5")
@reads("threads* read_share* setting* latency_us", "g20_table4")
def _mixed(sheet: Sheet) -> None:
    caption = sheet.find(r"TABLE IV\. " if sheet.table == "g20_table4" else r"TABLE V\. ")[0]
    (top, titles), (at, settings), *body = sheet.block(caption, 14)
    percents = [sheet.match(top, title, r"Read/Write = (\d+)/\d+%")[1] for title in titles[1:] if title]
    settings = [sheet.match(at, cell, r"(?:<u>)?(\dR-\dW)(?:</u>)?")[1] for cell in settings[1:]]
    sheet.width(top, percents, 4)
    sheet.width(at, settings, 12)
    cell = rf"(?P<latency_us>{NUMBER})"
    if sheet.table == "g20_table5":
        cell = rf"(?P<underlined><u>)?(?P<deviation_percent>-?{NUMBER})%(?(underlined)</u>)"
    heads = [{"read_share": f"{int(percents[i // 3]) / 100:g}", "setting": name} for i, name in enumerate(settings)]
    sheet.grid(body, THREADS, [(head, cell) for head in heads])
    for row in sheet.rows.values():
        row["underlined"] = str(bool(row.get("underlined"))).lower()


@reads("equation* operation level power* coefficient", "g20_equations")
def _polynomials(sheet: Sheet) -> None:
    shape = rf"\$\$y_\{{{LEVEL}\}}\^\{{(?P<operation>Read|Write)\}}\(x\) = (.*) \\quad \((?P<equation>\d+)\)\$\$"
    for at in sheet.find(r"\$\$y_\{[A-Z]+\}", 6):
        match = sheet.match(at, sheet.line(at), shape)
        terms = sheet.terms(at, match[3].replace(" ", ""), rf"([+-]?)({NUMBER}(?:E-?\d+)?)(x?)(?:\^(\d))?")
        powers = [term[4] or str(len(term[3])) for term in terms]
        if powers != list("43210"):
            raise sheet.fault(at, f"powers {powers} in {match[3]!r}")
        names = match.groupdict() | {"operation": match["operation"].upper()}
        for power, term in zip(powers, terms, strict=True):
            sheet.add(at, names | {"power": power, "coefficient": term[1].strip("+") + term[2]})


@reads("from_region* to_region* latency_ms", "g21_table1")
def _regions(sheet: Sheet) -> None:
    (top, header), *body = sheet.block(sheet.find(r"Table 1 \W AWS")[0], 5)
    heads = [sheet.match(top, name, r"(?P<to_region>[a-z]+_[a-z]+_\d)").groupdict() for name in header[1:]]
    columns = [(head, r"(?P<latency_ms>\d+(?:[. ]\d+)?)") for head in heads]
    sheet.width(top, columns, 4)
    sheet.grid(body, r"(?P<from_region>[a-z]+_[a-z]+_\d)", columns)


def _throughput_grid(sheet: Sheet) -> tuple[Row, Row, list[Row]]:
    top, names, *body = sheet.block(sheet.find(r"Table 2 \W The highest")[0], 6)
    return top, names, [(at, [sheet.scenario(at, label)[0], *cells]) for at, (label, *cells) in body]


@reads("scenario* operation* level* throughput_per_s saturated", "g21_table2")
def _throughput(sheet: Sheet) -> None:
    (top, _), (at, names), body = _throughput_grid(sheet)
    operations = [sheet.match(at, name, "Read|Write")[0].upper() for name in names[1:]]
    sheet.width(at, operations, 6)
    heads = [{"operation": o, "level": level} for o, level in zip(operations, sheet.levels(top, 2), strict=True)]
    columns = [(head, rf"(?P<throughput_per_s>{NUMBER})(?P<saturated>\*?)") for head in heads]
    sheet.grid(body, "(?P<scenario>[a-d]):.*", columns)
    for row in sheet.rows.values():
        row["saturated"] = str(row["saturated"] != "*").lower()


def _latency_grid(sheet: Sheet, table: int) -> tuple[str, list[dict[str, str]], list[Row]]:
    """Return operation, heads of the columns (scenario, notation, level) and rows of Table 3 or 4."""
    # The text prints a garbled caption over Table 3 and the sound one below it; so the grids are told by their order.
    captions = sheet.find(r"Table [34] \W Cassandra (READ|WRITE) latency", 2)
    grids = sheet.find(r"Threads\ta:", 2)
    if not grids[0] < captions[0] < captions[1] < grids[1]:
        raise sheet.fault(captions[0], f"captions in lines {captions} beside tables in lines {grids}")
    top = grids[table - 3]
    (_, (_, *header)), *body = sheet.block(top - 1, 11)
    sheet.width(top, header, 12)
    scenarios = [sheet.scenario(top, cell).groupdict() for cell in header]
    heads = [head | {"level": level} for head, level in zip(scenarios, sheet.levels(top - 1, 4), strict=True)]
    return sheet.line(captions[table - 3]).split()[4], heads, body


@reads("threads* scenario* operation* level* latency_ms", "g21_table3", "g21_table4")
def _latency(sheet: Sheet) -> None:
    operation, heads, body = _latency_grid(sheet, int(sheet.table[-1]))
    sheet.grid(body, THREADS, [(head, f"(?P<latency_ms>{NUMBER})") for head in heads], operation=operation)


@reads("scenario* place* level* notation", "g21_scenarios")
def _scenarios(sheet: Sheet) -> None:
    listed = r"(?:- )?([a-d]\)\s+(?:\$[^$]+\$[ ,]*)+)"
    listings = [(at, re.match(listed, sheet.line(at))[1], "section 1.2") for at in sheet.find(listed, 4)]
    listings += [(at, cells[0], "Table 2") for at, cells in _throughput_grid(sheet)[2]]
    for at, cell, place in listings:
        sheet.add(at, sheet.scenario(at, cell).groupdict() | {"place": place, "level": ""})
    for place in (3, 4):
        _, heads, ((at, _), *_) = _latency_grid(sheet, place)
        for head in heads:
            sheet.add(at - 1, head | {"place": f"Table {place}"})


@reads("level* average_error_percent", "d16_table4", "d16_table5")
@reads("component* demand_ms", "d16_table3")
@reads("class* level* cpu_demand_ms", "d16_table2")
@reads("number* class description", "d16_table1")
def _bars(sheet: Sheet) -> None:
    error = (5, LEVEL, [({}, f"(?P<average_error_percent>{NUMBER}) %")])
    demand = f"(?P<cpu_demand_ms>{NUMBER})|n/a"
    height, label, columns = {
        1: (8, r"(?P<number>\d+)", [({}, r"(?P<class>\S+)"), ({}, r"(?P<description>\S.*)")]),
        2: (8, r"(?P<class>\S+)", [({"level": level}, demand) for level in LEVELS]),
        3: (6, r"(?P<component>\S.*)", [({}, f"(?P<demand_ms>{NUMBER})")]),
    }.get(int(sheet.table[-1]), error)
    (top, _), _, *body = sheet.block(sheet.find(f"Table {sheet.table[-1]}: ")[0], height, step=-1)
    if sheet.table == "d16_table2":
        sheet.levels(top, 1)
    sheet.grid(body, label, columns)


@reads("level* percent_of_replicas nodes", "thesis_table2_1", "thesis_table2_2")
def _consistency_levels(sheet: Sheet) -> None:
    caption = sheet.find(rf"Table 2\. {sheet.table[-1]}: ")[0]
    top = max((at for at in sheet.find("Level Description$", 2) if at < caption), default=caption)
    starts = [at for at in range(top + 1, caption) if re.match(f"{LEVEL} ", sheet.line(at))]
    if [sheet.line(at).split()[0] for at in starts] != list(LEVELS):
        raise sheet.fault(caption, f"above this caption rows begin in lines {starts}, expected {LEVELS}")
    for start, end in zip(starts, [*starts[1:], caption], strict=True):
        level, *words = " ".join(sheet.lines[start - 1 : end - 1]).split()
        percents = re.findall(r"(\S+) percent\b", " ".join(words))
        nodes = {word.lower() for word in re.findall(r"(?i)\b(one|all) replica nodes?\b", " ".join(words))}
        if len(percents) + len(nodes) != 1:
            raise sheet.fault(start, f"{percents} percent and {nodes} replica nodes in the row of {level}")
        percent = sheet.match(start, percents[0], NUMBER)[0] if percents else ""
        sheet.add(start, {"level": level, "percent_of_replicas": percent, "nodes": "".join(nodes)})


@reads("workload* read_percent update_percent insert_percent scan_percent", "thesis_table3_1")
def _workloads(sheet: Sheet) -> None:
    top, caption = sheet.find("Workload Read$")[0], sheet.find(r"Table 3\. 1: ")[0]
    lines = [at for at in range(top, caption) if sheet.line(at)]
    header, rows = lines[:-5], lines[-5:]  # the header runs over several lines
    for at in lines:
        if (at in rows) != bool(re.match("[A-Z]-", sheet.line(at))):
            raise sheet.fault(at, f"{sheet.line(at)!r} where the table has 5 rows")
    names = re.findall("Read|Update|Insert|Scan", " ".join(map(sheet.line, header)))
    columns = [({}, f"(?P<{name.lower()}_percent>{NUMBER})%") for name in names]
    sheet.grid([(at, re.split(r" (?=\S*\d)", sheet.line(at))) for at in rows], "(?P<workload>.+)", columns)


@reads("equation* term* coefficient", "thesis_equations")
def _regressions(sheet: Sheet) -> None:
    for at in sheet.find("Y=", 3):
        formula, equation = sheet.match(at, sheet.line(at), r"Y=(\S+)\s+\((\d)\)").groups()
        terms = sheet.terms(at, formula, rf"([+-]?)({NUMBER})(?:\*(X\d))?")
        names = [term[3] or "constant" for term in terms]
        if names != ["constant", "X1", "X2", "X3", "X4"][: len(names)] or len(names) < 4:
            raise sheet.fault(at, f"terms {names} in {formula!r}")
        for name, term in zip(names, terms, strict=True):
            sheet.add(at, {"equation": equation, "term": name, "coefficient": term[1].strip("+") + term[2]})


@reads("operation* worse* than* ratio", "pbs_ratios")
def _ratios(sheet: Sheet) -> None:
    setting = r"R=\d,\s*W=\d"
    read = sheet.sentence(rf"\(({setting})\) corresponds to a read-intensive setting")[1][1]
    write = sheet.sentence(rf"write-intensive configuration with \(({setting})\)")[1][1]
    start, end = "latency in the read-intensive configuration is", "than in the write-intensive configuration"
    high = rf"\((?P<worse>{setting})\) has still a relatively high write latency \((?P<ratio>\S+) times worse"
    for operation, sides, pattern in (
        ("WRITE", {"worse": read, "than": write}, rf"write {start} (?P<ratio>\S+) times worse {end}"),
        ("READ", {"worse": write, "than": read}, rf"read {start} only (?P<ratio>\S+) times better {end}"),
        ("WRITE", {}, rf"{high} than when (?P<than>W=\d)\)"),
        ("READ", {}, r"(?P<worse>R=\d) has a read latency (?P<ratio>\S+) times worse than (?P<than>R=\d)"),
    ):
        at, match = sheet.sentence(pattern)
        row = {name: re.sub(r"\s", "", value) for name, value in (sides | match.groupdict()).items()}
        sheet.match(at, row["ratio"], NUMBER)
        sheet.add(at, row | {"operation": operation})


def parse(name: str, text: str) -> pd.DataFrame:
    """Return the table `name` out of the full text of its paper, all cells strings."""
    return parsers[name](text)


def paper_of(name: str) -> str:
    """Return the key in PAPERS of the paper that prints the table."""
    return name.split("_", maxsplit=1)[0]


def folder() -> Path | None:
    """Return where the texts are at hand, None where they are not."""
    named = os.environ.get("CASSBOOK_PAPERS")
    beside = ROOT.parent / "shared" / "papers"
    return Path(named) if named else beside if beside.is_dir() else None


def text_of(name: str) -> str:
    """Return the text of the paper that prints the table."""
    return full_text(paper_of(name))


def full_text(paper: str) -> str:
    """Return the text of a paper."""
    paths = sorted(folder().glob(PAPERS[paper]))
    if len(paths) != 1:
        raise FileNotFoundError(f"{len(paths)} files {PAPERS[paper]} in {folder()} instead of 1")
    return paths[0].read_text(encoding="utf-8")


def main() -> None:
    """Write tests/data/parsed anew."""
    if folder() is None:
        raise SystemExit("no texts: name their folder in CASSBOOK_PAPERS")
    PARSED.mkdir(exist_ok=True)
    for name in parsers:
        frame = parse(name, text_of(name))
        frame.to_csv(PARSED / f"{name}.csv", index=False, lineterminator="\n")
        print(f"{name}: {len(frame)} rows")


if __name__ == "__main__":
    main()
