"""The report of a run under open arrivals: what the commands answer, and response time over rate by setting."""

import json
import re

import pytest

from tests.helpers import open_runs
from tests.helpers.command import cassbook


def changed(row):
    """ONE/ALL does not carry the highest share in one block; the client is a part of ONE/ONE's highest rate."""
    levels = f"{row['read_cl']}/{row['write_cl']}"
    if levels == "ONE/ALL" and row["load_share"] == 0.8 and row["block"] == 1:
        return {"marks": "not_carried", "mean_us": float("nan")}
    return {"marks": "client"} if levels == "ONE/ONE" and row["own_share"] == 0.8 else {}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rows = open_runs.open_cells(changes=changed) + open_runs.trials()
    return open_runs.write_run(tmp_path_factory.mktemp("runs") / "mine", rows)


@pytest.fixture(scope="module")
def page(run):
    done = cassbook("report", run, "--output", run.parent / "mine.html")
    assert done.exit_code == 0, done.output
    return (run.parent / "mine.html").read_text(encoding="utf-8")


def cells_of(row):
    return [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]


def test_it_begins_with_what_advise_and_capacity_say(run, page):
    in_short = page[page.index("In short") : page.index("Response time over rate")]
    rows = [cells_of(row) for row in re.findall(r"<tr>(.*?)</tr>", in_short, re.DOTALL)]
    (at_share,) = (row for row in rows if row[:2] == ["50% reads", "0.4"])
    answer = cassbook("advise", "--run", run, "--of-capacity", 0.4, "--reads", 0.5, "--by", "p99", "--format", "json")
    setting = json.loads(answer.stdout)["setting"]
    assert at_share[3] == f"{setting['read_cl']}/{setting['write_cl']}"
    assert at_share[4].startswith(f"{setting['response_us'] / 1e3:.2f} [")
    answer = cassbook("capacity", run, "--bound-ms", 10, "--format", "json")
    carried = {
        f"50% reads, {one['read_cl']}/{one['write_cl']}, open": one for one in json.loads(answer.stdout)["capacities"]
    }
    bounded = {row[0]: row[1] for row in rows if row and row[0] in carried}
    assert set(bounded) == set(carried)
    for what, shown in bounded.items():
        assert f"{carried[what]['capacity_per_s']:.0f}" in shown


def test_response_time_is_drawn_over_rate_with_a_question_over_each_panel(page):
    drawn = page[page.index("Response time over rate") : page.index("What survives a dead replica")]
    assert drawn.count("<svg") == 2
    assert "How long does a request usually take, as more arrive?" in drawn
    assert "share of what the weakest carries" in drawn
    assert "ONE/ALL does not carry" in drawn
    assert "the client is a part of what ONE/ONE shows" in drawn
    assert not re.search(r"#000(?:000)?\b|\bblack\b", drawn), "a colour of its own is not seen in the dark"
