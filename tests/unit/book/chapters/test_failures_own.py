"""A record of schedules of one's own in the report and in the chapter on failures, made up."""

import pandas as pd
import pytest

from cassbook.book import report
from cassbook.book.chapters import failures, failures_figures, failures_own
from cassbook.core.errors import InputError, LackingError
from cassbook.records import open_record
from cassbook.records.faults import FaultRun
from tests.helpers.command import cassbook
from tests.helpers.fault_records import fault_record


@pytest.fixture
def run(tmp_path):
    return fault_record(tmp_path / "mine")


def test_report_takes_it_with_its_figures(run, tmp_path):
    page = tmp_path / "page.html"
    result = cassbook("report", tmp_path / "mine", "--output", page)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert text.count("<svg") == 2
    for said in (
        "reads answered, %",
        "kill node 2 at 10 s, for 10 s",
        "120 unavailable, 120 at the client",
        "ONE/ONE 3 of",
    ):
        assert said in text
    assert report.page([run]).count('id="run-1"') == 1


def test_the_chapter_opens_it_and_shows_its_schedules(run, tmp_path, monkeypatch):
    assert isinstance(open_record(str(tmp_path / "mine")), FaultRun)
    shown = []
    monkeypatch.setattr(failures_own, "display", shown.append)
    shipped = fault_record(tmp_path / "shipped", "faults-kill", experiment="faults-all")
    failures_own.show("", {"older": shipped, "newer": shipped})
    assert shown == []
    failures_own.show(str(tmp_path / "mine"), {"older": shipped, "newer": shipped})
    assert sum(isinstance(one, pd.DataFrame) for one in shown) == 2
    shown.clear()
    failures_own.show("", {"older": shipped, "newer": run})
    assert shown[0].data.startswith("`newer` is mine (Cassandra 5.0.9), which lacks 1 of the schedules")
    assert "(faults-kill)" in shown[0].data
    assert sum(isinstance(one, pd.DataFrame) for one in shown) == 2
    with pytest.raises(InputError, match=r"own: quick-2\.1\.20 .*faults"):
        failures_own.show("quick-2.1.20", {"older": shipped})


def test_a_section_shows_the_records_that_have_its_schedule(run, tmp_path):
    shipped = fault_record(tmp_path / "shipped", "faults-kill", experiment="faults-all")
    runs, pair = [shipped, run], {"older": shipped, "newer": run}
    labels = ["5.0.9 (shipped)", "5.0.9 (mine)"]
    assert failures.labels(runs) == labels
    table = failures.by_version(runs, lambda one: failures.by_fault(one, "faults-kill"))
    assert table.index.get_level_values("version").unique().tolist() == labels[:1]
    wanted = {"reads": ("reads", "3R-1W", "not answered, %"), "other": ("reads", "2R-2W", "not answered, %")}
    assert failures.quoted(pair, "faults-kill", wanted) == {
        "reads_older": "40.0", "other_older": failures.NOT_RECORDED, "reads_newer": failures.NOT_RECORDED,
        "other_newer": failures.NOT_RECORDED,
    }  # fmt: skip
    noticed = failures.noticed_values(pair, "faults-kill", "kill")
    assert (noticed["driver_down_older"], noticed["driver_down_newer"]) == ("0.2 s", failures.NOT_RECORDED)
    assert failures.counted(pair, {"old": ("faults-kill", "ONE/ONE", "stale")})["old_newer"] == failures.NOT_RECORDED
    assert list(failures.trade_offs(runs, {"faults-kill": "a kill"})) == ["5.0.9 (shipped), a kill"]
    assert failures.quoted_while_dead(pair, {"all": ("3R-1W", "reads")})["all_newer"] == failures.NOT_RECORDED
    assert failures_figures.answered(runs, "faults-kill").axes[0].get_ylabel() == "5.0.9 (shipped)\nreads, %"
    with pytest.raises(LackingError, match=r"shipped and mine: .*faults-disk"):
        failures_figures.answered(runs, "faults-disk")
    with pytest.raises(LackingError, match="there is no schedule 'faults-disk'"):
        failures.by_version(runs, lambda one: failures.by_fault(one, "faults-disk"))
