"""What a notebook's first call gives: sources named for their versions, further records, and errors that name."""

import json
import warnings

import pandas as pd
import pytest

from cassbook.book import chapter
from cassbook.book.chapter import open_chapter
from cassbook.book.evidence import describe, machine_of
from cassbook.book.provenance import PUBLISHED, Source
from cassbook.core.errors import CassbookWarning, InputError, LackingError
from cassbook.records.calibration import CalibrationRun
from cassbook.records.experiment import Results
from cassbook.records.faults import FaultRun
from cassbook.records.predictor import OracleRun
from cassbook.records.run import RecordedRun
from cassbook.records.schedule_runs import ScheduleRuns

RUNS = {"recorded": "quick-2.1.20", "today": "standard-5.0.9", "fresh": ""}


def labels(sources):
    return [source.label for source in sources]


def test_sources_are_named_for_their_versions():
    opened = open_chapter("latency", **RUNS)
    assert labels(opened.sources) == ["published", "recorded 2.1.20", "recorded 5.0.9"]
    assert labels(opened.runs) == labels(opened.pair.values()) == ["recorded 2.1.20", "recorded 5.0.9"]
    assert opened.published.run is None
    again = open_chapter("latency", **RUNS | {"today": "quick-2.1.20"})
    assert labels(again.runs) == ["recorded 2.1.20", "recorded 2.1.20 (2)"]


def test_a_fresh_run_is_shown_where_the_chapter_asks_for_it():
    opened = open_chapter("latency", **RUNS | {"fresh": "data/records/quick-2.1.20"})
    assert labels(opened.runs) == ["recorded 2.1.20", "recorded 5.0.9", "measured now"]
    assert opened.fresh.run.name == "quick-2.1.20"
    assert open_chapter("latency", **RUNS).fresh is None


def test_a_chapter_has_the_runs_that_it_asked_for_and_no_others():
    opened = open_chapter("distance", recorded="quick-2.1.20")
    assert labels(opened.runs) == ["recorded 2.1.20"]
    with pytest.raises(InputError, match=r"distance .*parameter today; .*recorded"):
        _ = opened.today


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("oracle-1.2.0", OracleRun), ("calibration-5.0.9", CalibrationRun), ("shift-2.1.20", ScheduleRuns),
        ("strong-2.1.20", Source),
    ],
)  # fmt: skip
def test_a_further_record_is_opened_as_what_it_is(name, kind):
    opened = open_chapter("any", more=name)
    assert isinstance(opened.more, kind)
    assert opened.more is opened.more


def test_recorded_switches_are_a_table():
    assert {"how", "now", "then"} <= set(open_chapter("any", switches="switches-2.1.20").switches.columns)


def test_a_record_that_does_not_exist_is_an_error_that_names_those_that_do():
    with pytest.raises(InputError, match=r"nowhere.*recorded here.*standard-2\.1\.20"):
        _ = open_chapter("any", six="nowhere").six


def test_a_record_of_another_kind_is_lacking_with_what_would_be_right():
    opened = open_chapter("failures", older="quick-2.1.20", newer="faults-5.0.9", older_tables="fault-tables-2.1.20")
    expected = r"older: quick-2\.1\.20 is a run of a profile, not a record of faults-all like faults-2\.1\.20"
    with pytest.raises(LackingError, match=expected):
        _ = opened.older
    assert isinstance(open_chapter("failures", older="fault-tables-2.1.20").older, FaultRun)
    assert open_chapter("choosing", six="quick-2.1.20").six.run.name == "quick-2.1.20"


def test_data_that_changed_since_the_build_are_refused():
    with pytest.raises(InputError, match="changed since the build"):
        open_chapter("latency", **RUNS, data_hash="0123456789abcdef")


class Shell:
    """Jupyter, after cells with these texts have run."""

    custom_exceptions = (LackingError,)

    def __init__(self, *cells):
        self.user_ns = {"In": ["", *cells]}


def test_what_papermill_injected_is_held_against_the_parameters(monkeypatch):
    injected = '# Parameters\nrecordde = "mine"\n'
    monkeypatch.setattr(chapter, "get_ipython", lambda: Shell('recorded = "x"', injected, "other = 1"))
    with pytest.raises(InputError, match=r"recordde; .*recorded, today, fresh"):
        open_chapter("latency", **RUNS)


def test_what_a_reader_defines_in_other_cells_is_no_parameter(monkeypatch):
    """A notebook's first call may run again when the cells below it have run."""
    monkeypatch.setattr(chapter, "get_ipython", lambda: Shell('# Parameters\nfresh = ""\n', "ratios = 1"))
    assert open_chapter("latency", **RUNS).slug == "latency"


def test_a_run_is_described_by_all_that_its_manifest_tells():
    run = RecordedRun("standard-2.1.20")
    run.manifest |= {"begun": "2026-11-24T17:02:31+00:00", "ended": "2026-11-25T01:10:00+00:00"}
    run.manifest["machine"] = {"cpu": "AMD EPYC", "hypervisor": "KVM", "cores": 2}
    run.manifest["cluster_starts"] = [{"machine": {"steal_share": s, "other_cpu_share": 0.001}} for s in (0.002, 0.03)]
    run.slices = pd.DataFrame({"guard_s": [0.1, 0.2], "counted_s": [0.4, 0.9]})
    described = describe([Source(PUBLISHED), Source("ours", run)])
    assert list(described.columns) == [PUBLISHED, "ours"]
    ours = described["ours"]
    assert ours["measured, UTC"] == "2026-11-24 17:02 to 2026-11-25 01:10"
    assert ours["processor"] == "AMD EPYC, under KVM"
    assert ours["seconds a cell"] == "3.5, in slices of 0.5 to 1.1"
    assert ours["others took in a block, %"] == "3.1 at most"
    assert ours["data hash"] == run.data_hash[:12]
    assert ours["record"] == "standard-2.1.20"
    assert described.loc["cells", PUBLISHED] == "36 + 36"
    assert (described[PUBLISHED] == "").sum() > 3


def test_a_recorded_experiment_is_described_as_a_run_is():
    described = describe([Results("designs-2.1.20"), CalibrationRun("calibration-2.2.4")])
    assert list(described.columns) == ["interleaving-designs, 2.1.20", "calibration, 2.2.4"]
    designs = described["interleaving-designs, 2.1.20"]
    assert designs["machine"] == "2 cores for 3 nodes and the client"
    assert (designs["blocks"], designs["cells"], designs["seconds a cell"]) == ("4", "192", "3.5")
    assert described.loc["machine", "calibration, 2.2.4"] == "2 cores for 4 or 6 nodes and the client"
    assert set(described.loc["data hash"].str.len()) == {12}
    assert described.loc["record"].tolist() == ["designs-2.1.20", "calibration-2.2.4"]


def test_a_record_that_is_only_named_is_described_by_its_manifest():
    described = describe(["designs-2.1.20", "switches-2.1.20"])
    assert described.loc["record"].tolist() == ["designs-2.1.20", "switches-2.1.20"]
    assert described.loc["Cassandra", "designs-2.1.20"] == "2.1.20"


def test_what_is_said_of_a_machine_is_what_the_manifest_says():
    notes = RecordedRun("quick-2.1.20").manifest
    assert machine_of(notes) == "2 cores for 3 nodes and the client"
    four = json.loads(json.dumps(notes))
    four["profile"]["cluster"]["nodes"], four["machine"]["cores"] = 4, 16
    assert machine_of(four) == "16 cores for 4 nodes and the client"
    assert machine_of(notes | {"existing_cluster": {"nodes_in_all": 9}}) == "2 cores for the client, 9 nodes apart"
    assert machine_of({}) == "logs do not tell"


def test_tables_are_whole_and_warnings_have_no_path_where_a_page_is_made(monkeypatch):
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    with pd.option_context("display.max_rows", 10, "display.max_colwidth", 10):
        chapter.show_whole_and_plain()
        table = pd.DataFrame(
            {"what happens": ["a sentence that is longer than fifty characters, to its very end"] * 200}
        )
        html = table.to_html()
        assert "..." not in html
        assert html.count("to its very end") == 200
        assert repr(pd.Series(range(100_000))).count("\n") < 20, "pandas writes out what a frame is grouped by"
    said = warnings.formatwarning("order 4 fitted on 5 thread counts", CassbookWarning, "/somewhere/regression.py", 7)
    assert said == "CassbookWarning: order 4 fitted on 5 thread counts\n"


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([], ""),
        ([{"cores": 2, "system": "Linux 7"}], "; some blocks under another build of the kernel"),
        ([{"cores": 4, "system": "Linux 6"}], "; some blocks on another machine"),
        ([{"cores": 4, "system": "Linux 6"}, {"cores": 8, "system": "Linux 7"}], "; some blocks on 2 other machines"),
    ],
)  # fmt: skip
def test_another_kernel_is_not_another_machine(others, said):
    notes = {"machine": {"cores": 2, "system": "Linux 6"}, "other_machines": others}
    assert machine_of(notes) == f"2 cores for 3 nodes and the client{said}"
