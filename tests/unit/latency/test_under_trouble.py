"""Response times with a replica dead: near the load that is asked for, and as times what they are all well."""

import numpy as np
import pytest

from cassbook.latency.open_choices import Mix
from cassbook.latency.under_trouble import dead_replica, times_all_well
from tests.helpers.made_cells import cell_stats

FIGURES = {"": 10.0, "kill_unnoticed": 40.0, "kill_noticed": 12.0, "pause_unnoticed": 55.0}


def strikes(figures=FIGURES, shares=(0.4, 0.6), read_share=0.5, workload="", level="QUORUM"):
    """Cells of two blocks, the second twice as slow, at rates of 1000 a second times the share."""
    return cell_stats(*(
        {"kind": "open", "condition": condition, "workload": workload, "read_share": read_share, "block": block,
         "rate_per_s": 1000 * share, "load_share": share, "read_cl": level, "write_cl": level,
         "response_p99_us": figure_ms * 1e3 * block}
        for block in (1, 2) for share in shares for condition, figure_ms in figures.items()
    ))  # fmt: skip


def test_figures_are_of_loads_near_the_one_that_is_asked_for():
    found = dead_replica(strikes(), Mix(0.5), [410.0, 390.0])
    assert set(found) == {"QUORUM/QUORUM"}
    values = {when: figure.value for when, figure in found["QUORUM/QUORUM"].items()}
    assert values == pytest.approx({"unnoticed": 40 * np.sqrt(2), "noticed": 12 * np.sqrt(2), "hangs": 55 * np.sqrt(2)})
    assert found["QUORUM/QUORUM"]["hangs"].n == 2
    assert dead_replica(strikes(), Mix(0.5), [800.0]) == {}
    assert dead_replica(strikes(), Mix(1.0), [400.0]) == {}
    assert dead_replica(strikes(workload="orders"), Mix(0.5, "orders"), [400.0])
    assert dead_replica(strikes().drop(columns="condition"), Mix(0.5), [400.0]) == {}


def test_what_is_in_turn_while_a_node_is_dead_goes_before_what_follows_a_kill():
    figures = FIGURES | {"dead_node": 20.0}
    found = dead_replica(strikes(figures), Mix(0.5), [400.0])["QUORUM/QUORUM"]
    assert found["noticed"].value == pytest.approx(20 * np.sqrt(2))


@pytest.mark.parametrize("asked", [0.5, 0.7])
def test_times_are_taken_within_blocks_of_the_mix_that_is_nearest(asked):
    found = times_all_well(strikes(), asked)["QUORUM/QUORUM"]
    assert {when: times.value for when, times in found.items()} == pytest.approx(
        {"unnoticed": 4.0, "noticed": 1.2, "hangs": 5.5}
    )
    assert times_all_well(strikes(workload="orders"), asked) == {}
    assert times_all_well(strikes({"": 10.0}), asked) == {}
