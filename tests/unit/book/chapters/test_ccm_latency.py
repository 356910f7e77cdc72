"""The study's ratios from a record whose latencies are known."""

import pandas as pd
import pytest

from cassbook.book.chapters import ccm_latency
from cassbook.lab.experiments.staleness.study import SETTINGS
from cassbook.records.experiment import Results
from tests.helpers.experiments import noted


@pytest.fixture
def results(tmp_path):
    """Three starts in which a request takes as many ms as it waits for replicas, and more with the start."""
    setups = ("none", "1-ms", "regions")
    for start in (1, 2, 3):
        for setup in setups:
            rows = [
                {"start": start, "setup": setup, "r": r, "w": w}
                | {
                    f"{tool}_{kind}_ms": n * start
                    for tool in ccm_latency.TOOLS
                    for kind, n in (("read", r), ("write", w))
                }
                for r, w in SETTINGS
            ]
            pd.DataFrame(rows).to_csv(tmp_path / f"start-{start}-{setup}.csv", index=False)
    numbers = {"threads": 50, "operations": 10_000}
    own = {setup: {"nodes": 8, "replication": 3} for setup in setups}
    return Results(noted(tmp_path, "staleness-study", starts=3, setups=own, numbers=numbers))


def test_the_four_ratios_are_of_the_settings_they_name(results):
    table = ccm_latency.ratios(results)
    ours = table["no distance", "our generator"]
    assert table["the study", "printed"].to_list() == [9.4, 2.4, 3.5, 1.7]
    assert [ratio.value for ratio in ours] == pytest.approx([3, 3, 2, 2])
    assert (ours.iloc[0].low, ours.iloc[0].high) == pytest.approx((3, 3))
    shown = ccm_latency.ratios_shown(results).iloc[0]
    assert (shown["the study", "printed"], shown["no distance", "our generator"]) == ("9.4", "3.00 [3.00, 3.00]")


def test_latencies_are_means_over_starts(results):
    table = ccm_latency.latencies(results, "ours")
    assert table.loc[("none", "write"), "1R-3W"].value == pytest.approx(3 * 6 ** (1 / 3))
    assert table.loc[("regions", "read"), "3R-1W"].n == 3


def test_what_the_prose_says_counts_intervals_that_hold_what_is_printed(results):
    quoted = ccm_latency.values(results)
    assert (quoted["writes_inside"], quoted["reads_inside"], quoted["each"]) == (0, 0, 12)
    assert (quoted["write_none"], quoted["read_regions"]) == pytest.approx((3.0, 3.0))
    assert (quoted["nodes"], quoted["without"]) == (8, 5)


def test_each_panel_says_where_the_nodes_were_and_who_measured(results):
    titles = [panel.get_title() for panel in ccm_latency.study(results).axes]
    assert titles[0] == "no distance\ncassandra-stress"
    assert titles[-1] == "two nodes in each of four regions\nour generator"
