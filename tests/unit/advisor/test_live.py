"""What a run of `decide --profile` says of the service's own tables: turns, cluster starts, what traces predict."""

from types import SimpleNamespace

import pandas as pd
import pytest

from cassbook.advisor.decision import Predicted
from cassbook.advisor.live import live_of
from cassbook.latency.open_choices import Mix

CELLS = pd.DataFrame({
    "cell_id": ["b1-one", "b2-one"], "kind": "open", "workload": "orders", "condition": "probed", "rate_per_s": 300.0,
    "slices": 2, "read_cl": "ONE", "write_cl": "ONE",
})  # fmt: skip


def turn(stale, reads, predicted=None):
    return {"other": [stale, reads], "same": [0, reads], "lost": 0} | ({"predicted": predicted} if predicted else {})


def run(existing, **turns):
    noted = [{"cell_id": name, "after_ms": 20.0, "turns": own} for name, own in turns.items()]
    manifest = {"staleness": noted, "existing_cluster": {"run": "1"} if existing else None,
                "profile": {"open": [{"workloads": ["orders"], "until_known": None}]}}  # fmt: skip
    return SimpleNamespace(cells=CELLS, manifest=manifest, samples=lambda *_: pd.DataFrame())


def live(existing, **turns):
    return live_of(run(existing, **turns), Mix(0.5, "orders"), None, 20.0)


def test_turns_count_by_themselves_on_a_running_cluster_and_by_start_on_clusters_of_our_own():
    turns = {"b1-one": {"0": turn(1, 10), "1": turn(2, 10)}, "b2-one": {"0": turn(0, 5)}}
    assert live(True, **turns).stale == {"ONE/ONE": [(1, 10), (2, 10), (0, 5)]}
    assert live(False, **turns).stale == {"ONE/ONE": [(3, 20), (0, 5)]}


def test_reads_through_the_only_coordinator_count_where_there_is_no_other():
    alone = {"other": [0, 0], "same": [1, 7], "lost": 0}
    found = live(True, **{"b1-one": {"0": alone}})
    assert found.stale == {"ONE/ONE": [(1, 7)]}
    assert found.alone
    assert not live(True, **{"b1-one": {"0": alone, "1": turn(1, 10)}}).alone


def test_what_traces_predict_is_weighed_by_their_pairings():
    one, two = ({"stale": stale, "pairings": pairings, "requests": 8} for stale, pairings in ((0.5, 10), (0.0, 30)))
    found = live(True, **{"b1-one": {"0": turn(0, 5, one)}, "b2-one": {"0": turn(0, 5, two), "1": turn(0, 5)}})
    assert found.predicted == {"ONE/ONE": Predicted(0.125, 40, 16)}
    assert str(found.predicted["ONE/ONE"]) == "message delays of 16 traced requests predict 0.12"
    assert str(Predicted(0.0, 40, 16)).endswith("predict none of 40 pairings")


@pytest.mark.parametrize("after_ms", [None, 30.0])
def test_what_was_probed_at_another_age_does_not_count(after_ms):
    assert live_of(run(True, **{"b1-one": {"0": turn(1, 10)}}), Mix(0.5, "orders"), None, after_ms) is None
