"""The 2016 paper's own system: what its demands allow, its sentences, its pictures."""

import numpy as np
import pandas as pd
import pytest

from cassbook.book.chapters import (
    queueing_model,
    queueing_reproduced,
)
from cassbook.queueing import paper, reproduction
from cassbook.queueing.network import Readings


def test_at_one_the_clients_network_is_full_first_and_at_the_higher_levels_the_nodes():
    loads = queueing_model.loads()
    assert loads.loc["ONE", "full first"] == "client network"
    assert loads.loc["ONE", "most reads/s"] == pytest.approx(1000 / (0.01333 + 0.1333))
    assert loads.loc["QUORUM", "full first"] == loads.loc["ALL", "full first"] == "the nodes' CPU"
    # By hand, from Table 2: local 3 of 4, and 1 + 1 / 4 asked elsewhere.
    node_ms = (0.75 * (0.4078 + 0.4968) + 0.25 * (0.5712 + 0.8917) + 1.25 * 0.6423) / 4 / 2
    assert loads.loc["QUORUM", "a node's CPU"] == pytest.approx(node_ms)


def test_the_first_reading_gives_the_sentences():
    rates = reproduction.sentences(Readings(), 40_000)
    assert rates["at_one_per_s"].value == pytest.approx(6800, rel=0.04)
    assert rates["less_at_quorum"].value == pytest.approx(0.40, abs=0.03)
    assert 0.5 < rates["less_at_all"].value < 0.6


def test_all_readings_are_put_to_the_sentences():
    table = reproduction.factorial()
    sizes = [len(choices) for name, choices in reproduction.OPEN.items() if name != "region"]
    assert len(table) == np.prod(sizes)
    quoted = queueing_reproduced.factorial_values(table)
    assert quoted["combinations"] == len(table)
    assert 0 <= quoted["two_queues_fitting"] <= quoted["fitting"] < len(table)
    effects = queueing_reproduced.effects(table)
    assert effects.loc["node_cores", "ONE, %"] < -20, "one core a node cannot serve what two can"
    assert set(effects.index) == set(reproduction.OPEN) - {"region"}
    assert queueing_reproduced.nearest(table)["off, %"].is_monotonic_increasing


def test_a_distance_from_the_sentences_is_a_sum_of_parts():
    rows = {
        "at_one_per_s": [6800.0, 3400.0, 6800.0],
        "less_at_quorum": [0.45, 0.45, 0.3],
        "less_at_all": [0.55, 0.55, 0.7],
    }
    assert reproduction.distance(pd.DataFrame(rows)) == pytest.approx([0.0, 0.5, 0.2])


def test_what_scylla_would_need():
    needs = reproduction.scylla_needs()
    network_ms = 0.01333 + 0.1333
    assert needs["most_per_s"] == pytest.approx(1000 / network_ms)
    assert needs["cpu"] == pytest.approx(network_ms / queueing_model.loads().loc["QUORUM", "a node's CPU"])
    assert needs["amplified"] > 1
    with_less = queueing_reproduced.lines({"": reproduction.scylla(needs["cpu"] * 0.9)}, 200)[""]
    assert with_less.throughput_per_s[-1] == pytest.approx(1000 / network_ms, rel=0.02)


def test_asking_all_gains_little_and_loses_more():
    quorums = {name: reproduction.quorums(name) for name in (reproduction.QUORUM, reproduction.REAL_QUORUM)}
    table = reproduction.curves(quorums, (1, 60), 40_000, quorums.__getitem__)
    quoted = queueing_reproduced.quorums_values(table)
    assert -1 < quoted["light_gain"] < 15
    assert quoted["heavy_loss"] > 15
    assert quoted["turns_at"] == 60
    figure = queueing_reproduced.over_jobs(table, queueing_reproduced.lines(quorums, 60))
    assert len(figure.axes) == 3


@pytest.mark.parametrize("draw", [queueing_model.overview, queueing_model.workflows, queueing_model.node])
def test_pictures_name_what_they_show(draw):
    figure = draw()
    words = {text.get_text() for panel in figure.axes for text in panel.texts}
    assert words & {"client network", "network", "network, FCFS"}


def test_the_first_readings_are_the_defaults():
    for name, choices in reproduction.OPEN.items():
        assert getattr(Readings(), name) == choices[0]
    assert list(queueing_reproduced.readings().index) == list(reproduction.OPEN)
    assert paper.network("ONE").readings == Readings()
