"""No page says none or all as if it were known: a share that was counted has bounds, and a bound is printed as one."""

import json
import re

import pytest

from cassbook.book.chapters import answers, failures, failures_adviser, failures_availability, staleness_measured
from cassbook.book.notebooks import analyse_notebooks
from cassbook.book.provenance import recorded_sources
from cassbook.core.paths import project_root
from cassbook.ingest.folder import open_run
from cassbook.records import fault_costs, open_record
from cassbook.records.faults import AdvisedRun, FaultRun
from cassbook.shown import claim_evidence
from tests.helpers.command import cassbook

#: A figure with an interval: its two bounds, without signs of percent.
_INTERVAL = re.compile(r"(?<![\w.])[-+]?[\d.,]+ ?%? \[([-+]?[\d.,]+) ?%?, ([-+]?[\d.,]+) ?%?\](?! ?ms)")
#: A probability with so many digits that it should have been a bound.
_CERTAIN = re.compile(r"(?<![\w.])1\.0000+(?!\d)")


def faults_of(text):
    """What in a text claims that nothing, or all, is certain: intervals of no width at zero, and shares up to 100 %."""
    found = [match.group() for match in _CERTAIN.finditer(text)]
    for match in _INTERVAL.finditer(text):
        low, high = (float(bound.replace(",", "")) for bound in match.groups())
        whole = high == 100 and ("%" in text or "." in match[2])
        if low == high == 0 or whole:
            found.append(match.group())
    return found


def shown(notebook):
    """Prose and stored outputs of a notebook, a text each."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])
        for output in cell.get("outputs", ()):
            yield "".join(output.get("text", ""))
            for kind, data in output.get("data", {}).items():
                if kind.endswith(("text/plain", "text/html")):
                    yield "".join(data)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("reads 0.0 [0.0, 0.0] % of", ["0.0 [0.0, 0.0]"]),
        ("97.5 [95.1, 100.0] of writes", ["97.5 [95.1, 100.0]"]),
        ("fresh, %: 100% [94%, 100%]", ["100% [94%, 100%]"]),
        ("consistent with probability 1.0000 now", ["1.0000"]),
        ("+0.0 [+0.0, +0.0]", ["+0.0 [+0.0, +0.0]"]),
        ("98.2 [96.0, 100.0] ms; threads: [10, 100]; 1.0 [<0.1, 18.2]; 0 (at most 0.15); 11.0000; 99 [98, 101] %", []),
    ],
)
def test_the_scan_finds_what_it_is_for(text, found):
    assert faults_of(text) == found


@pytest.mark.parametrize("notebook", analyse_notebooks(), ids=lambda path: path.stem)
def test_no_stored_output_has_an_interval_without_width(notebook):
    assert [fault for text in shown(notebook) for fault in faults_of(text)] == []


def test_no_page_has_one():
    root = project_root()
    pages = [root / "README.md", *sorted((root / "book").glob("*.md"))]
    assert len(pages) >= 20
    assert {page.name: found for page in pages if (found := faults_of(page.read_text(encoding="utf-8")))} == {}


@pytest.fixture(scope="module")
def pair():
    return {"older": FaultRun(fault_costs.BEFORE_4), "newer": FaultRun(fault_costs.SINCE_4)}


#: What chapters show of a record of faults.
FROM_FAULTS = {
    "overview": failures.overview,
    "while dead": failures.unanswered_while_dead,
    "by dead": lambda run: failures.answered_by_dead(run, "faults-kill-two", 12.0),
    "availability": lambda run: failures_availability.availability_shown(
        failures_availability.availability(run, "faults-random")
    ),
    "trade-off": lambda run: failures.trade_off(run, "faults-kill"),
    **{f"by fault, {setup}": lambda run, setup=setup: failures.by_fault(run, setup)
       for setup in ("faults-kill", "faults-pause", "faults-cut-drivers", "faults-region")},
}  # fmt: skip


@pytest.mark.parametrize("table", FROM_FAULTS.values(), ids=FROM_FAULTS)
@pytest.mark.parametrize("version", ["older", "newer"])
def test_no_table_of_faults_is_certain(pair, version, table):
    texts = [str(cell) for cell in table(pair[version]).to_numpy().ravel()]
    assert [fault for text in texts for fault in faults_of(f"{text} %")] == []
    assert not {"0.0", "100.0", "0.00", "100.00"} & {text for text in texts if "[" in text}


def test_where_nothing_went_wrong_there_is_a_bound(pair):
    for name in ("overview", "while dead", "by dead", "by fault, faults-kill"):
        texts = [str(cell) for cell in FROM_FAULTS[name](pair["newer"]).to_numpy().ravel()]
        assert any(text.startswith("0 (at most ") for text in texts), name


def test_neither_quotations_nor_claims_are_certain(pair):
    places = {f"{setting} {sides}": (setting, sides) for setting in ("2R-2W", "1R-3W", "3R-1W")
              for sides in ("reads", "writes")}  # fmt: skip
    quoted = failures.quoted_while_dead(pair, places)
    assert re.fullmatch(r"0 of [\d,]+ reads \(at most 0\.\d+ %\)", quoted["2R-2W reads_newer"])
    claims = [said.measured for said in claim_evidence.by_records(["g20", "thesis", "pbs"]).values()]
    assert [fault for text in [*quoted.values(), *claims] for fault in faults_of(text)] == []


@pytest.mark.parametrize("name", ["adviser-failing-2.1.20", "adviser-failing-5.0.9"])
def test_no_table_of_the_adviser_is_certain(name):
    run = AdvisedRun(name)
    texts = [*map(str, failures_adviser.kept(run).to_numpy().ravel()), *failures_adviser.kept_values(run).values()]
    assert [fault for text in texts for fault in faults_of(f"{text} %")] == []


@pytest.mark.parametrize(("run", "version"), [("standard-2.1.20", "2.1.20"), ("standard-5.0.9", "5.0.9")])
def test_the_answers_are_not_certain(run, version):
    source, probed = recorded_sources([open_run(run)])[0], open_record(f"stale-three-{version}")
    records = source, probed, FaultRun(f"faults-{version}")
    steps = answers.ladder(*records)
    texts = [*answers.in_words(steps).to_numpy().ravel(), *staleness_measured.summary_shown(probed).to_numpy().ravel()]
    quoted = answers.values(steps, answers.choices(source), *records)
    texts += [quoted["safe_dead"], quoted["most_dead"]]
    assert [fault for text in texts for fault in faults_of(f"{text} %")] == []


@pytest.mark.parametrize(
    "command",
    [
        "advise --run standard-2.1.20 --threads 300 --reads 0.4",
        "show quick-2.1.20",
        "stale --run stale-three-5.0.9 --r 1 --w 1 --t 250 --concurrency 0",
        "stale --run stale-three-5.0.9 --setup far --r 1 --w 2 --t 200",
        "stale --run stale-five-2.1.20 --r 3 --w 3 --t 0",
        "stale --run quick-2.1.20 --r 1 --w 2 --t 5000",
    ],
)
def test_no_command_is_certain(command):
    done = cassbook(*command.split())
    assert done.exit_code == 0, done.output
    assert faults_of(done.output) == []
