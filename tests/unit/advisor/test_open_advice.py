"""Advice by rate of a run's folder."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor.open_advice import open_advice, open_loads, open_map
from cassbook.core.errors import InputError
from cassbook.latency.histograms import histogram
from cassbook.records.run import RecordedRun
from tests.helpers import open_runs
from tests.helpers.open_curves import curves


def run(statistics, replicas=3, histograms=()):
    profile = {"cluster": {"replication_factor": replicas}}
    nothing = pd.DataFrame({"cell_id": []}, dtype=str)
    return SimpleNamespace(name="mine", manifest={"profile": profile}, statistics=statistics,
                           histograms=dict(histograms), slices=nothing)  # fmt: skip


def test_a_run_folder_is_answered_from_its_samples(tmp_path):
    rows = open_runs.open_cells() + open_runs.closed_cells() + open_runs.trials()
    recorded = RecordedRun(open_runs.write_run(tmp_path / "mine", rows))
    advice = open_advice(recorded, read_share=0.5, of_capacity=0.4, by="p99", bound_ms=5.5)
    quorum = advice.recommended
    assert (quorum.setting.name, advice.name, advice.cluster_starts) == ("2R-2W", "mine", 3)
    expected = [open_runs.mean_us("QUORUM/QUORUM", 800 * scale, scale) * np.log(100) for scale in open_runs.SCALES]
    assert quorum.by_block_us == pytest.approx(expected, rel=0.03)
    assert [one.of_capacity for one in open_map(recorded, by="p99")] == [0.2, 0.4, 0.6, 0.8]


def test_p999_is_taken_from_histograms():
    statistics = curves(shares=(0.4,), own=())
    histograms = {f"{cell}.READ.response": histogram(np.full(20_000, 900.0)) for cell in statistics["cell_id"]}
    advice = open_advice(run(statistics, histograms=histograms), read_share=0.5, of_capacity=0.4, by="p99.9")
    assert advice.choices[0].response_us.value == pytest.approx(900, rel=0.01)


def test_the_replication_factor_is_the_runs():
    names = [choice.setting.name for choice in open_advice(run(curves(), 5), read_share=0.5, of_capacity=0.4).weak]
    assert names == ["ONE/ONE"]
    five = open_advice(run(curves(), 5), read_share=0.5, of_capacity=0.4)
    assert [choice.setting.name for choice in five.choices] == ["3R-3W", "1R-5W"]
    assert five.recommended.survives == (2, 2)
    with pytest.raises(InputError, match="mine was measured with replication 3, not 5"):
        open_loads(run(curves()), replicas=5)


def test_a_map_has_all_mixes_or_the_one_that_is_asked_for():
    both = run(pd.concat([curves(shares=(0.4, 0.8)), curves(shares=(), own=(), rates=(500.0, 900.0), workload="orders",
                          read_share=0.8)], ignore_index=True))  # fmt: skip
    found = [(one.mix.name, one.of_capacity, one.rate_per_s) for one in open_map(both)]
    assert found == [
        ("50% reads", 0.4, None), ("50% reads", 0.8, None), ("workload orders", None, 500.0),
        ("workload orders", None, 900.0),
    ]  # fmt: skip
    assert len(open_map(both, workload="orders")) == len(open_map(both, read_share=0.5)) == 2
    differing = curves(shares=(), own=(), rates=(500.0,), changes=lambda row: {"rate_per_s": 500.0 + row["block"]})
    with pytest.raises(InputError, match="mine: no rate was measured in every block"):
        open_map(run(differing))
