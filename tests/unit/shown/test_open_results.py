"""Open arrivals as `cassbook show` prints them, and in every format and export."""

import json
import re

import pandas as pd
import pytest

from cassbook.advisor.open_advice import open_map
from cassbook.book import export, report
from cassbook.latency.capacity import capacities
from cassbook.latency.comparison import compare
from cassbook.records.results import of_run, prices_of
from cassbook.records.run import RecordedRun
from cassbook.shown import open_results as shown
from cassbook.shown import results as shown_results
from tests.helpers import open_runs
from tests.helpers.command import cassbook


def client_limits(row):
    """The client is a part of what ONE/ONE shows at its highest rates."""
    return {"marks": "late"} if row["read_cl"] == row["write_cl"] == "ONE" and row["own_share"] > 0.7 else {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rows = open_runs.open_cells(changes=client_limits) + open_runs.closed_cells() + open_runs.trials()
    rows += open_runs.open_cells(shares=(), own=(), rates=(1000.0, 3000.0), read_share=1.0)
    return open_runs.write_run(tmp_path_factory.mktemp("runs") / "opened", rows)


@pytest.fixture(scope="module")
def run(folder):
    return RecordedRun(folder)


@pytest.fixture(scope="module")
def only(tmp_path_factory):
    """A run that has nothing else."""
    rows = open_runs.open_cells(scales=(1.0,))
    return RecordedRun(open_runs.write_run(tmp_path_factory.mktemp("runs") / "only", rows))


def test_each_mix_has_a_table_and_so_has_what_was_carried(run):
    of = of_run(run)
    tables = dict(shown.sections(of.under_open, of.carried))
    assert list(tables) == [
        "Open arrivals, reads, poisson", "Open arrivals, reads 50 %, poisson",
        "Carried without a growing backlog, requests a second",
    ]  # fmt: skip
    mixed = tables["Open arrivals, reads 50 %, poisson"]
    assert list(mixed["load"].unique()) == ["0.2", "0.4", "0.6", "0.8", "own 0.5", "own 0.8"]
    first = mixed.iloc[2].to_dict()
    assert (first["setting"], first["rate/s"], first["own share"]) == ("QUORUM/QUORUM", "360 to 440", "0.16")
    assert first["p50/ONE/ONE"].startswith("1.50 [1.")
    lost = tables["Open arrivals, reads, poisson"].query("marks == 'not_carried'")
    assert list(lost["setting"]) == ["ONE/ALL", "QUORUM/QUORUM"]
    assert "load" not in tables["Open arrivals, reads, poisson"]
    assert set(lost["p99"]) == {"-"}


def test_show_says_how_to_read_them_in_every_format(folder, run):
    text = cassbook("show", folder).stdout
    for said in (
        "Open arrivals, reads 50 %, poisson", "share of what the weakest setting", "at the same arrivals",
        "Not carried: 6 cells (kind open)", "Marked late (", "Mixes of reads and writes", "ALL/ONE",
    ):  # fmt: skip
        assert said in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 120
    content = json.loads(cassbook("show", folder, "--format", "json").stdout)
    assert {cell["kind"] for cell in content["cells"]} == {"mixed"}
    assert {cell["kind"] for cell in content["open"]} == {"open"}
    assert {row["setting"] for row in content["carried"]} == set(open_runs.CARRIED)
    assert "## Open arrivals, reads 50 %" in cassbook("show", folder, "--format", "md").stdout
    of = of_run(run)
    assert len(cassbook("show", folder, "--format", "csv").stdout.splitlines()) == 1 + len(of.table) + len(
        of.under_open
    )
    assert shown_results.heading(run, of).startswith(
        f"opened: Cassandra 5.0.9, {len(of.table) + len(of.under_open)} cells"
    )


def test_closed_tables_are_as_without_open_cells(run, tmp_path):
    alone = RecordedRun(open_runs.write_run(tmp_path / "closed", open_runs.closed_cells()))
    pd.testing.assert_frame_equal(of_run(run).table, of_run(alone).table)
    assert prices_of(run).empty
    comparison = compare(run, alone)
    assert set(comparison.figures["kind"]) == {"mixed"}
    assert comparison.only_first == comparison.only_second == []
    assert comparison.notes == [
        "Cells under open arrivals (opened) are not compared: their rates are shares of what each run carried. "
        "`cassbook show` has them."
    ]


def test_an_export_has_them_by_themselves(run, tmp_path):
    written = {path.name: path for path in export.export(run, tmp_path / "out", "csv")}
    opened = pd.read_csv(written["open_results.csv"])
    assert len(opened) == len(of_run(run).under_open)
    assert set(pd.read_csv(written["carried.csv"])["setting"]) == set(open_runs.CARRIED)
    assert set(pd.read_csv(written["results.csv"])["kind"]) == {"mixed"}
    assert set(pd.read_csv(written["settings.csv"])["threads"]) == {16, 64}


def test_a_report_draws_response_over_rate_and_says_where_curves_end(run):
    text = report.page([run])
    assert "Response time over rate" in text
    assert text.index("In short") < text.index("Response time over rate") < text.index("Settings compared")
    section = text[text.index("Response time over rate") : text.index("What survives a dead replica")]
    assert section.count("<figure>") == 4
    assert section.count("<figcaption>How long does") == 4
    assert "share of what the weakest carries" in section
    assert "reads, poisson: ONE/ALL does not carry 3000 requests a second." in section
    assert "reads 50 %, poisson: the client is a part of what ONE/ONE shows from 3189 requests a second on" in section


def test_a_report_begins_with_what_advise_says_of_open_arrivals(run):
    text = report.page([run])
    table = text[text.index("In short") : text.index("Highest rate at which")]
    (advice,) = (one for one in open_map(run, read_share=0.5, by="p99") if one.of_capacity == 0.4)
    assert advice.recommended.setting.read_cl == "QUORUM"
    assert re.search(r"<td[^>]*>0\.4</td><td[^>]*>720 to 880</td>", table)
    assert "none that survives carries it in every cluster start" in table
    assert f"{advice.recommended.response_us.value / 1e3:.2f} [" in table
    carried = text[text.index("Highest rate at which") : text.index("Response time over rate")]
    (found,) = (
        one for one in capacities(run.statistics, 10.0, "p99") if (one.read_cl, one.read_share) == ("QUORUM", 0.5)
    )
    assert f"<td>50% reads, QUORUM/QUORUM, open</td><td>{found.per_s:.0f}</td>" in carried


def test_a_report_of_open_cells_alone_is_whole(only):
    text = report.page([only])
    assert "Response time over rate" in text
    assert "cassbook advise: only" not in text
    assert "<td>QUORUM/QUORUM</td>" in text
    assert "Replication factor or levels are not known" not in text
    assert shown_results.as_text(only).startswith("only: Cassandra 5.0.9, 16 cells in 1 block")


def test_a_line_ends_before_the_client_becomes_a_part(run):
    drawn = report._open(run.statistics, of_run(run))
    assert [one["title"] for one in drawn] == ["reads, poisson", "reads 50 %, poisson"]
    assert [panel.title[:8] for one in drawn for panel in one["panels"]] == ["How long"] * 4
