"""What nodes' logs say of each other, in the words of old and new releases."""

from datetime import datetime
from types import SimpleNamespace

import pytest

from cassbook.lab.engine.gossip import said
from cassbook.lab.experiments.faults.detection import NOTICES, Notices

OLD = """\
INFO  [GossipStage:1] 2026-11-24 21:32:27,130 Gossiper.java:987 - Node /127.0.0.2 has restarted, now UP
INFO  [SharedPool-Worker-1] 2026-11-24 21:32:27,978 Gossiper.java:954 - InetAddress /127.0.0.3 is now UP
INFO  [GossipTasks:1] 2026-11-24 21:33:01,004 Gossiper.java:968 - InetAddress /127.0.0.2 is now DOWN
"""
NEW = """\
INFO  [GossipStage:1] 2026-11-24 21:32:27,130 Gossiper.java:1492 - InetAddress /127.0.0.2:7000 is now UP
DEBUG something else that is now DOWN
INFO  [GossipTasks:1] 2026-11-24 21:33:01,004 Gossiper.java:1510 - InetAddress node3/127.0.0.3:7000 is now DOWN
"""


def unix_s(text):
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S,%f").timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OLD, [("127.0.0.3", "up", "2026-11-24 21:32:27,978"), ("127.0.0.2", "down", "2026-11-24 21:33:01,004")]),
        (NEW, [("127.0.0.2", "up", "2026-11-24 21:32:27,130"), ("127.0.0.3", "down", "2026-11-24 21:33:01,004")]),
    ],
)
def test_a_log_tells_who_was_taken_for_what_and_when(tmp_path, text, expected):
    (tmp_path / "system.log").write_text(text)
    assert said(tmp_path / "system.log") == [(address, state, unix_s(at)) for address, state, at in expected]
    assert said(tmp_path / "none.log") == []


def test_driver_and_nodes_are_listed_in_the_order_of_time(tmp_path, monkeypatch):
    monkeypatch.setattr("cassbook.lab.experiments.faults.detection._clock", lambda: 50.0)
    monkeypatch.setattr("time.time", lambda: unix_s("2026-11-24 21:33:10,000"))
    folders = [tmp_path / name for name in ("node1", "node2", "node3")]
    for folder, text in zip(folders, (OLD, "", NEW), strict=True):
        (folder / "logs").mkdir(parents=True)
        (folder / "logs" / "system.log").write_text(text)
    addresses = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    cluster = SimpleNamespace(addresses=addresses, broadcast_addresses=addresses, node_folders=lambda: folders)
    listeners = []
    notices = Notices(cluster, SimpleNamespace(register_listener=listeners.append))
    for _ in range(2):  # told twice, noticed once
        listeners[0].on_down(SimpleNamespace(address="127.0.0.2"))
    table = notices.since(30.0)  # 20 s ago: 21:32:50
    assert tuple(table.columns) == NOTICES
    assert table.to_numpy().tolist() == [
        ["1", 2, "down", pytest.approx(11.004)], ["3", 3, "down", pytest.approx(11.004)], ["driver", 2, "down", 20.0],
    ]  # fmt: skip
