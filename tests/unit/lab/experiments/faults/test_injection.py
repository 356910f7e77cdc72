"""What is done to nodes and links, in which order, on a cluster that only notes it."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from cassbook.core.errors import InputError
from cassbook.deployment.distances import Distances, Placement
from cassbook.deployment.link import NONE, Link
from cassbook.deployment.notation import parse
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.experiments.faults import injection
from cassbook.lab.experiments.faults.injection import INJECTIONS, Injector
from cassbook.profile.fault_schedule import KINDS, Fault, Kind, sequence, together
from cassbook.profile.faults import FaultsSection


class Noted(DistantCluster):
    """Nodes of which only is noted what was done to them; each answers when it was asked for the second time."""

    def __init__(self):  # starts nothing
        hosts = parse("{[C, (R1..R3)]}")
        self.placement = Placement(hosts, ("datacenter1",), Distances("side by side", {}))
        self._names = [host.name for host in hosts.replicas]
        self.did, self.links, self.asked = [], [], 0
        self.relay = SimpleNamespace(set_links=self.links.append)

    def end_node(self, node, kill=True):
        self.did.append(("kill" if kill else "stop", node))

    def launch_node(self, node, replace=False):
        self.did.append(("replace" if replace else "launch", node))

    def node_answers(self, node):
        self.asked += 1
        return self.asked % 2 == 0

    def node_process(self, node):
        return SimpleNamespace(
            suspend=lambda: self.did.append(("suspend", node)), resume=lambda: self.did.append(("resume", node))
        )

    def set_clock(self, node, by_ms):
        self.did.append(("clock", node, by_ms))

    def fill_disk(self, node):
        self.did.append(("fill", node))

    def free_disk(self, node):
        self.did.append(("free", node))

    def wait_until_whole(self):
        self.did.append("whole")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(injection, "_POLL_S", 0.001)


def orders(*events, nodes=3):
    section = FaultsSection(settings=["ONE/ONE"], rate_per_s=1, events=[{"at_s": 0.0, **event} for event in events])
    return section.orders(100.0, nodes, np.random.default_rng(1))


def carried_out(made, cluster=None, ready=True):
    cluster = cluster or Noted()
    injector, over = Injector(cluster, made), threading.Event()
    if not ready:
        over.set()
    injector.run(time.perf_counter() - 100.0, over)
    return cluster, injector


def test_a_kill_is_noted_when_the_process_is_gone_and_its_end_when_the_node_answers():
    cluster, injector = carried_out(orders({"do": "kill", "nodes": [2], "for_s": 1.0}))
    assert cluster.did == [("kill", 2), ("launch", 2)]
    rows = injector.rows()
    assert [row[:5] for row in rows] == [(1, "kill", True, 2, 0.0), (1, "kill", False, 2, 1.0)]
    assert all(at_s <= ordered_s <= done_s for *_, at_s, ordered_s, done_s in rows)


def test_a_restart_takes_the_nodes_one_after_the_other():
    cluster, injector = carried_out(orders({"do": "restart", "nodes": [3, 1]}))
    assert cluster.did == [("stop", 3), ("launch", 3), ("stop", 1), ("launch", 1)]
    assert [(row[2], row[3]) for row in injector.rows()] == [(True, 3), (False, 3), (True, 1), (False, 1)]


def test_a_replaced_node_comes_back_with_empty_disks():
    assert carried_out(orders({"do": "replace", "nodes": [3]}))[0].did == [("kill", 3), ("replace", 3)]


def test_a_replaced_node_may_be_away_first():
    cluster, injector = carried_out(orders({"do": "replace", "nodes": [3], "for_s": 2.0}))
    assert cluster.did == [("kill", 3), ("replace", 3)]
    assert [(row[2], row[4]) for row in injector.rows()] == [(True, 0.0), (False, 2.0)]


def test_a_clock_is_set_and_set_back():
    cluster, injector = carried_out(orders({"do": "clock", "nodes": [2], "by_ms": 300, "for_s": 1.0}))
    assert cluster.did == [("clock", 2, 300), ("clock", 2, 0)]
    assert [row[1:3] for row in injector.rows()] == [("clock", True), ("clock", False)]


def test_a_node_that_closed_its_ports_over_a_full_disk_is_started_again():
    cluster, _ = carried_out(orders({"do": "fill", "nodes": [1], "for_s": 1.0}))
    assert cluster.did == [("fill", 1), ("free", 1), ("kill", 1), ("launch", 1)]  # it does not answer at first


def test_a_node_that_is_added_is_started_and_only_then_there():
    cluster, injector = carried_out(orders({"do": "add", "nodes": [4]}))
    assert cluster.did == [("launch", 4)]
    assert [(row[1], row[2]) for row in injector.rows()] == [("add", True), ("add", False)]


def test_a_cut_is_of_the_links_that_are_named_and_is_healed():
    cluster, _ = carried_out(orders({"do": "cut", "nodes": [1], "to": [2, "client"], "way": "in", "for_s": 1.0}))
    during, after = cluster.links
    assert {pair for pair, link in during.items() if link.cut} == {("R2", "R1"), ("C", "R1")}
    assert set(after.values()) == {NONE}


def test_faults_of_links_add_up():
    made = orders(
        {"do": "cut", "nodes": [1], "to": [2]}, {"at_s": 0.1, "do": "slow", "nodes": [3], "to": [1], "delay_ms": 50}
    )
    links = carried_out(made)[0].links[-1]
    assert links["R1", "R2"].cut
    assert links["R2", "R1"].cut
    assert links["R3", "R1"] == links["R1", "R3"] == Link(50.0)
    assert links["R2", "R3"] == NONE


def test_what_is_still_in_force_is_undone_at_the_end():
    made = orders(
        {"do": "pause", "nodes": [1]}, {"do": "replace", "nodes": [2], "for_s": 200.0}, {"do": "cut", "nodes": [3]},
        {"do": "clock", "nodes": [3], "by_ms": 5},
    )  # fmt: skip
    cluster, injector = carried_out([order for order in made if order.at_s < 100])
    cluster.did.clear()
    injector.heal()
    assert cluster.did == [("resume", 1), ("clock", 3, 0), ("replace", 2), "whole"]
    assert set(cluster.links[-1].values()) == {NONE}


def test_nothing_is_done_once_the_load_is_over():
    assert carried_out(orders({"do": "kill", "nodes": [2]}), ready=False)[0].did == []


def test_links_cannot_be_cut_where_there_is_no_relay():
    with pytest.raises(InputError, match="cut and slow need a relay"):
        Injector(SimpleNamespace(apart=None), orders({"do": "cut", "nodes": [1]}))


def test_every_kind_that_a_profile_names_is_injected():
    assert set(INJECTIONS) == set(KINDS)


def test_a_kind_more_is_one_function_and_one_line(monkeypatch):
    def throttle(site, fault):
        site.cluster.did.append(("throttle", fault.node, fault.delay_ms))
        yield
        site.cluster.did.append(("unthrottle", fault.node))

    monkeypatch.setitem(KINDS, "throttle", Kind(size="delay_ms"))
    monkeypatch.setitem(INJECTIONS, "throttle", throttle)
    said = {"do": "throttle", "nodes": [2, 3], "delay_ms": 7}
    cluster, injector = carried_out(orders(said | {"for_s": 1.0}))
    assert cluster.did == [("throttle", 2, 7), ("throttle", 3, 7), ("unthrottle", 2), ("unthrottle", 3)]
    assert [row[1:4] for row in injector.rows()] == [
        ("throttle", True, 2), ("throttle", True, 3), ("throttle", False, 2), ("throttle", False, 3),
    ]  # fmt: skip
    cluster, injector = carried_out(orders(said))
    injector.heal()
    assert cluster.did[2:] == [("unthrottle", 2), ("unthrottle", 3), "whole"]


def test_what_python_combines_is_carried_out_as_yaml_says_it():
    kill, pause = Fault("kill", (2,), for_s=2.0), Fault("pause", (2,), for_s=1.0)
    made = sequence(kill, together(pause, Fault("pause", (3,), at_s=0.5, for_s=3.0)))
    cluster, _ = carried_out(made.orders(3))
    assert cluster.did == [
        ("kill", 2), ("launch", 2), ("suspend", 2), ("suspend", 3), ("resume", 2), ("resume", 3)
    ]  # fmt: skip
    steps = [
        {"do": "kill", "nodes": [2], "for_s": 2},
        {
            "together": [
                {"do": "pause", "nodes": [2], "for_s": 1},
                {"at_s": 0.5, "do": "pause", "nodes": [3], "for_s": 3},
            ]
        },
    ]
    assert orders({"sequence": steps}) == orders({"together": [{"sequence": steps}]}) == made.orders(3)
