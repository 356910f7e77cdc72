"""What nodes say of each other is followed from a moment on."""

import time
from datetime import datetime

from cassbook.lab.engine.gossip import Following, log_of


def line(state, address="127.0.0.3", ago_s=0.0):
    at = datetime.fromtimestamp(time.time() - ago_s).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    return f"INFO  [GossipStage:1] {at} Gossiper.java:1 - InetAddress /{address}:7000 is now {state}\n"


def test_only_what_is_said_of_the_node_from_then_on_counts(tmp_path):
    folders = [tmp_path / f"node{number}" for number in (1, 2, 3)]
    for folder in folders[:2]:
        log_of(folder).parent.mkdir(parents=True)
        log_of(folder).write_text(line("DOWN", ago_s=60))
    following = Following(folders, [1, 2], "127.0.0.3")
    assert following.since("down") == {}
    with log_of(folders[1]).open("a") as log:
        log.write(line("DOWN", "127.0.0.1") + line("DOWN", ago_s=1) + line("UP") + line("DOWN"))
    assert set(following.since("down")) == {2}
    assert abs(following.since("down")[2] - (time.perf_counter() - 1)) < 0.5
    assert following.since("up")[2] > following.since("down")[2]
