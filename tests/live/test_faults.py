"""Faults on a live cluster, short: a node stands still, a link is cut, a node is killed."""

import pytest

from cassbook.lab.experiments.faults.experiment import of_profiles
from cassbook.profile.profile import load_profile
from cassbook.records.faults import FaultRun
from tests.helpers.made_staleness import probed
from tests.helpers.nodes import check_gone

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left")]

PROFILE = """
name: faults-short
title: A pause, a cut and a kill
seed: 7
cluster: {heap_mb: 512}
table: {record_count: 10}
load: {steady_s: 30, request_timeout_s: 4}
faults:
  settings: [ONE/ONE, 1R-3W, 2R-2W]
  rate_per_s: 150
  keys: 100
  before_s: 3
  events:
    - {at_s: 3, do: pause, nodes: [3], for_s: 3}
    - {at_s: 9, do: cut, nodes: [1], to: [2], for_s: 3}
    - {at_s: 16, do: kill, nodes: [2], for_s: 8}
"""


def test_each_setting_makes_its_own_of_a_pause_a_cut_and_a_kill(tmp_path):
    path = tmp_path / "short.yaml"
    path.write_text(PROFILE)
    experiment = of_profiles([load_profile(str(path))])
    (setup,) = experiment.setups.values()
    with setup.cluster("2.1.20", lambda _: None) as cluster:
        (tmp_path / "record").mkdir()
        run = FaultRun(str(probed(tmp_path / "record", "faults", experiment, cluster)))
    check_gone(cluster)
    assert not cluster.relay.alive
    name = "faults-short"
    faults = run.faults(name)
    assert faults["fault"].tolist() == ["pause", "cut", "kill"]
    assert faults["begins_s"].tolist() == pytest.approx([3, 9, 16], abs=1.0)
    assert faults["ends_s"].iloc[:2].tolist() == pytest.approx([6, 12], abs=1.0)
    made = run.by_fault(name).set_index(["fault", "setting", "operation"])
    assert (made["n"] > 20).all()
    # All three replicas have to answer: for as long as one is dead none does.
    assert made.loc[("kill", "1R-3W", "UPDATE"), "failing_s"] > 6
    # Two of three are left: at most the time until the driver and the nodes have noticed is lost.
    for setting, operation in (("2R-2W", "READ"), ("2R-2W", "UPDATE"), ("ONE/ONE", "READ")):
        assert made.loc[("kill", setting, operation), "failed"] < made.loc[("kill", "1R-3W", "UPDATE"), "failed"] / 2
    rows = run.results.rows.set_index(["setting", "operation"])
    # Nothing of the kind holds for 1R-3W: the killed node forgets what it had not synced, and is asked alone.
    assert rows.loc[("2R-2W", "READ"), ["stale", "back"]].tolist() == [0, 0]
    assert rows.loc[("2R-2W", "UPDATE"), "lost"] == rows.loc[("1R-3W", "UPDATE"), "lost"] == 0
    assert rows["held_up"].max() == 0
    driver = run.noticed(name).query("observer == 'driver' and fault == 'kill'")
    assert driver["down_s"].item() < 5
