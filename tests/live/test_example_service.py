"""The example of a service under the small adviser, on a real cluster whose node is killed while it runs."""

import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest

from cassbook.core.paths import project_root
from cassbook.lab.engine.cluster import CassandraCluster, Spec

pytestmark = pytest.mark.live
EXAMPLE = project_root() / "examples" / "orders_service.py"
MAP = {
    "schema": "cassbook-advisor", "version": 1, "run": "made", "measured": "2026-11-01", "replication": 3, "by": "mean",
    "load": "in flight", "loads": [1, 1000], "read_shares": [0, 1],
    "settings": [
        {"name": name, "read_cl": read, "write_cl": write, "latency_us": [[[us, us], [us, us]]] * 3}
        for name, read, write, us in (("1R-3W", "ONE", "ALL", 500), ("2R-2W", "QUORUM", "QUORUM", 1000))
    ],
}  # fmt: skip


def test_it_serves_on_while_a_node_is_killed(tmp_path):
    (tmp_path / "map.json").write_text(json.dumps(MAP))
    environment = {name: value for name, value in os.environ.items() if name != "CASSBOOK_HOME"}
    with CassandraCluster("5.0.9", Spec(heap_mb=512), name="test") as cluster:
        process = subprocess.Popen(
            [sys.executable, EXAMPLE, cluster.addresses[0], tmp_path / "map.json", "40"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=environment,
        )  # fmt: skip
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")))
        reader.start()
        deadline = time.monotonic() + 60
        while sum(" alive" in line for line in lines) < 5:
            assert time.monotonic() < deadline, lines
            time.sleep(0.2)
        cluster.end_node(cluster.spec.nodes)
        reader.join(90)
        assert process.wait(10) == 0, lines
    said = [line for line in lines if " alive" in line]
    alive = [int(re.search(r"(\d) alive", line)[1]) for line in said]
    answered = [int(re.search(r"'answered': (\d+)", line)[1]) for line in said]
    assert alive[3] == 3
    assert 2 in alive
    assert {line.split()[0] for line in said} == {"2R-2W"}  # ONE/ALL is faster, and survives nothing
    assert answered[-1] - answered[-10] > 10 * 20  # with a node dead it goes on
    assert any("run made" in line for line in lines)  # what the file is of is in the log
