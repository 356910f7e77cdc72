"""The experiments at a distance, short, on one cluster: each shows what it is there to show."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cassbook.book.chapters.scenes import Scene, scene
from cassbook.deployment.distances import Distances, from_table, placed
from cassbook.deployment.link import Link
from cassbook.deployment.notation import parse
from cassbook.lab.engine.cluster import Spec
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.experiments.distance.load import Condition, LoadExperiment, Pauses
from cassbook.lab.experiments.distance.page_reads import PageExperiment
from cassbook.lab.experiments.distance.retries import Fixed, Observed
from cassbook.lab.experiments.distance.timeouts import Phase, TimeoutExperiment
from cassbook.lab.experiments.experiment import Setup
from cassbook.lab.experiments.staleness.panels import StalenessExperiment
from cassbook.lab.experiments.staleness.scenes import ScenesExperiment
from cassbook.records import prediction_errors, staleness_results
from cassbook.records.staleness import StalenessRun
from cassbook.staleness import curves
from tests.helpers.made_staleness import probed
from tests.helpers.nodes import check_gone, press_ctrl_c

pytestmark = pytest.mark.live

PLAIN = {"read_repair_chance": 0.0, "dclocal_read_repair_chance": 0.0}


def where(client_ms=20.0):
    """A client, R1 near it, R2 40 ms and R3 100 ms from R1."""
    rows = [("here", "east", client_ms), ("here", "south", 60), ("here", "west", 120), ("east", "south", 40)]
    rows += [("east", "west", 100), ("south", "west", 140)]
    table = from_table(
        pd.DataFrame(rows, columns=["from", "to", "rtt_ms"], dtype=object), f"client at {client_ms:g} ms"
    )
    return placed(parse("{C}, ({R1}, {R2}, {R3})"), ("here", "east", "south", "west"), table)


def beside():
    """The same nodes, the client as near to each as if it were beside it: ways between them are 20, 50 and 70 ms."""
    links = dict(where().distances.links)
    links |= {pair: Link() for region in ("east", "south", "west") for pair in (("here", region), (region, "here"))}
    return replace(where(), distances=Distances("client beside every node", links))


def rows_of(experiment, cluster):
    table = pd.DataFrame(experiment.measure(cluster, np.random.default_rng(1)))
    assert len(table) == experiment.rows()
    return table


@pytest.fixture(scope="module")
def cluster():
    """A cluster that ends by Ctrl-C, as an experiment may: nothing is left of its nodes, nor of the relay."""
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012, SIM117 - it passes through the block of the cluster
        with DistantCluster("2.1.20", where(), Spec(heap_mb=512), log=lambda _: None) as distant:
            yield distant
            press_ctrl_c()
    check_gone(distant)
    assert not distant.relay.alive


def test_conditions_under_load(cluster):
    conditions = {
        "one": Condition("ONE", threads=10, operations=("READ",)),
        "all": Condition("ALL", threads=10, operations=("READ",)),
        "farther": Condition("ONE", threads=10, distances=where(80.0).distances, operations=("UPDATE",)),
        "each": Condition("EACH_QUORUM", "round_robin", threads=10),
        "late": Condition(
            threads=10, table=PLAIN | {"speculative_retry": "NONE"}, operations=("READ",), pauses=Pauses(2, 1.0, 0.4)
        ),
    }  # fmt: skip
    experiment = LoadExperiment({"only": Setup(where())}, {"only": conditions}, 1, 0.3, 1.2, 100, warm_up_s=2.0)
    table = rows_of(experiment, cluster)
    by = table.set_index(["condition", "operation"])
    usual_ms = by["p50_ms"]
    # Never sooner than the way there and back. A busy machine adds to it, and R1's snitch may then ask R2, 40 ms more.
    for asked, way_ms in {("one", "READ"): 20, ("all", "READ"): 120, ("farther", "UPDATE"): 80}.items():
        assert 0.8 * way_ms < usual_ms[asked] < way_ms + 90
    assert ("each", "READ") not in by.index  # reads have no such level
    assert by.loc[("late", "READ"), "p99_ms"] > usual_ms["late", "READ"] + 100
    assert (table["n_ok"] > 0).all()
    assert table["distance_off_ms"].notna().all()
    # The hosts are back where they were.
    assert cluster.placement.distances.name == "client at 20 ms"


def test_scenes_of_single_requests_show_what_they_are_to_show(cluster):
    """Each three times: on a busy machine a read can come after the late write, or a message after its trace's end."""
    experiment = ScenesExperiment(repeats=3)
    found: dict[str, list[Scene]] = {"repair": [], "naive": [], "safe": [], "hint": []}
    for row in experiment.measure(cluster, np.random.default_rng(1)):
        found[row["scene"]].append(scene(row["requests"], row["events"], experiment.notes()))
    assert all(one.version for one in [*found["repair"], *found["safe"], *found["hint"]])
    assert found["hint"][0].pauses, "the hint comes when the node is back"
    assert not all(one.version for one in found["naive"]), "a read misses the write"
    repairs = [(sent.lane, sent.to, sent.writes) for one in found["repair"] for sent in one.messages]
    assert (2, 3, True) in repairs, "the read writes to the node that lacked the row"
    unseen = [(sent.lane, sent.to) for one in found["naive"] for sent in one.messages if not sent.seen]
    assert (1, 3) in unseen, "the write is still on its way"
    assert cluster.placement.distances.name == "client at 20 ms"


def test_far_apart_reads_are_stale_until_the_way_has_passed(cluster, tmp_path):
    waits_ms = (0.0, 35.0, 58.0, 110.0)
    experiment = StalenessExperiment(
        {"far": Setup(beside())}, {"far": waits_ms}, (0,), 2.5, cycles_per_s=100.0, versions=4, warm_up_s=2.0,
        settings=((1, 1), (2, 2)),
    )  # fmt: skip
    cluster.move(beside())
    try:
        run = StalenessRun(str(probed(tmp_path, "staleness-three", experiment, cluster)))
    finally:
        cluster.move(where())
    reads, stale = staleness_results.strong_checked(run)
    assert reads > 20
    assert stale == 0
    curve = prediction_errors.curve(run, "far", 0, 1, 1)
    assert curve["t_ms"].to_list() == pytest.approx(list(waits_ms), abs=8)
    assert curve["p"].to_list() == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0], abs=0.25)
    # Whole requests know which replica is whose; four distributions do not.
    assert curves.rmse(curve.assign(predicted=curve[prediction_errors.WHOLE])) < 0.2
    assert curves.rmse(curve.assign(predicted=curve[prediction_errors.FIRST])) > 0.2
    # Four versions, one behind the other, cross together.
    versions = run.counted("far", 0, 1, 1, versions=4)
    assert curves.over_k(versions, 0.0, 4)["p"].iloc[0] < 0.2
    assert curves.over_k(versions, 110.0, 4)["p"].iloc[0] > 0.8
    ways = staleness_results.ways(run, "far")
    assert len(ways) == 6
    ways_ms = {frozenset(("R1", "R2")): 40, frozenset(("R1", "R3")): 100, frozenset(("R2", "R3")): 140}
    for pair, row in ways.iterrows():
        assert ways_ms[frozenset(pair)] <= row["least_ms"] + 1
        assert row["least_ms"] < ways_ms[frozenset(pair)] + 40  # a busy machine makes the others late
    assert (run.panels["hints"] == 0).all()


def test_time_outs(cluster):
    schedule = (Phase("calm", 1.5), Phase("stalled", 2.0), Phase("farther", 1.5, 3.0))
    timeouts = {"12 s": lambda: Fixed(12.0), "run time": Observed}
    table = rows_of(TimeoutExperiment({"only": Setup(where())}, 5, schedule, timeouts), cluster)
    calm_ms = table.pivot_table("p50_ms", "timeout", "phase")["calm"]
    assert calm_ms.min() >= 20
    assert calm_ms.max() < 60  # of the distances the longest way is 120
    latency_ms = table.pivot_table("latency_ms", "timeout", "phase")
    expired = table.pivot_table("expired", "timeout", "phase")
    # Whoever asks as it begins waits for the whole stall; all of them may have asked just before it.
    waited_ms = table[table["timeout"] == "12 s"]["longest_ms"].max()
    assert waited_ms > 1500
    assert latency_ms.loc["run time", "stalled"] < waited_ms
    assert expired.loc["run time", "stalled"] > 0
    assert expired.loc["12 s"].sum() == 0
    assert table["unanswered"].sum() == 0


def test_pages_by_a_proxy(cluster):
    experiment = PageExperiment(
        {"only": Setup(where())}, {"only": Link(0.5)}, (1, 5), clients=3, seconds=1.5, records=100
    )
    latency_ms = rows_of(experiment, cluster).set_index(["way", "rows_a_page"])["p50_ms"]
    # The proxy is as far away as the first node; from there all nodes are 1 ms away, and QUORUM takes what it takes.
    # Four more rows are four more ways, of 50 ms and more each; what a busy machine adds to the first is no measure.
    assert latency_ms["direct", 5] > latency_ms["direct", 1] + 4 * 50
    assert latency_ms["proxy", 5] < latency_ms["direct", 5]
