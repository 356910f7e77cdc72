"""Distance by the kernel: the rules that are asked for, and a clear word where there are none to be had."""

import shutil
import subprocess
import time

import pytest

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.deployment.distances import placed
from cassbook.deployment.link import Link
from cassbook.deployment.notation import parse
from cassbook.lab.engine.cluster import Spec
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.wan.echo import Call, Echo
from cassbook.lab.wan.netem import Netem, changing, setting_up

LINKS = {
    ("C", "R1"): Link(10.0), ("R1", "C"): Link(12.5, 2.0),
    ("R1", "R2"): Link(40.0, mbit_per_s=20), ("R2", "R1"): Link(40.0),
}  # fmt: skip
ADDRESSES = {"R1": "127.0.0.1", "R2": "127.0.0.2"}


def lines(commands):
    return [" ".join(command) for command in commands]


def test_every_pair_has_a_class_a_delay_and_filters():
    rules = lines(setting_up(LINKS, ADDRESSES, "C", 9042))
    assert rules[0] == "qdisc add dev lo root handle 1: htb default 1"
    assert sum(" netem " in line for line in rules) == len(LINKS)
    assert "qdisc add dev lo parent 1:3 handle 3: netem delay 12.500ms 2.000ms limit 100000" in rules
    assert "qdisc add dev lo parent 1:4 handle 4: netem delay 40.000ms rate 20000kbit limit 100000" in rules
    assert {line.split("flowid ")[1] for line in rules if "flowid" in line} == {"1:2", "1:3", "1:4", "1:5"}


def test_a_client_is_told_from_the_node_whose_address_it_has():
    rules = lines(setting_up(LINKS, ADDRESSES, "C", 9042))
    to_node = [line for line in rules if line.endswith("1:2")]
    between = [line for line in rules if line.endswith("1:4") and "filter" in line]
    assert any("prio 1 u32 match ip dst 127.0.0.1/32 match ip dport 9042 0xffff" in line for line in to_node)
    assert between == [
        "filter add dev lo parent 1: protocol ip prio 2 u32 "
        "match ip src 127.0.0.1/32 match ip dst 127.0.0.2/32 flowid 1:4"
    ]


def test_handles_are_counted_in_hexadecimal():
    many = {(f"R{i}", "R0"): Link(1.0) for i in range(1, 20)}
    rules = lines(setting_up(many, {f"R{i}": f"127.0.0.{i + 1}" for i in range(20)}, "C", 9042))
    assert any("handle 10: netem" in line for line in rules)
    assert any("handle a: netem" in line for line in rules)


def test_other_distances_change_what_is_there():
    rules = lines(changing({pair: Link(1.0) for pair in LINKS}))
    assert rules[0] == "qdisc change dev lo parent 1:2 handle 2: netem delay 1.000ms limit 100000"
    assert len(rules) == len(LINKS)


def test_a_link_that_is_cut_loses_all():
    assert lines(changing({("R1", "R2"): Link(1.0, cut=True)}))[0].endswith(
        "netem delay 1.000ms loss 100% limit 100000"
    )


def test_it_delays_or_says_why_it_cannot():
    pair = {("C", "R1"): Link(15.0), ("R1", "C"): Link(15.0)}
    netem, refused = Netem(pair, {"R1": "127.0.0.1"}, "C", 9042), ""
    try:
        netem.start()
    except LaboratoryError as error:
        refused = str(error)
    if refused:  # the kernel has none, or we may not: that must be what it says
        assert refused.startswith("netem cannot start: ")
        assert "tc" in refused
        assert not netem.alive
        return
    try:
        listening = ("127.0.0.1", 7997)
        with Echo([listening], [Call("C", "R1", "127.0.0.254", listening)]) as echo:
            time.sleep(1.0)
            assert echo.report()["rtt_ms"].min() >= 30 - 0.2  # timers may be early
    finally:
        netem.stop()


@pytest.mark.skipif(shutil.which("tc") is None, reason="there is no tc here")
def test_it_leaves_no_rule_behind():
    before = subprocess.run(["tc", "qdisc", "show", "dev", "lo"], capture_output=True, text=True, check=True).stdout
    test_it_delays_or_says_why_it_cannot()
    after = subprocess.run(["tc", "qdisc", "show", "dev", "lo"], capture_output=True, text=True, check=True).stdout
    assert after == before


def test_nodes_that_all_call_from_one_address_are_refused():
    placement = placed(parse("{C}, ({R1}, {R2}, {R3})"))
    for engine in ("2.2.4", "3.11.4", "5.0.9"):
        with pytest.raises(InputError, match=r"127\.0\.0\.1; .*relay.*before 2\.2"):
            DistantCluster(engine, placement, Spec(), means="netem")
    DistantCluster("2.1.20", placement, Spec(), means="netem")
