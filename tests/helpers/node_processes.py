"""Processes in the place of a cluster's nodes."""

import json
import os
import subprocess
import sys

from cassbook.lab.engine.cluster import clusters_dir

#: What a node of ours is known by is the last word of its command line. It listens where a real one would.
NODE = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
time.sleep(600)
"""


class Nodes:
    """Three processes in the place of nodes, in a cluster's folder."""

    def __init__(self, by_hand):
        self.folder = clusters_dir() / "byhand-1"
        self.processes, self.ports = [], []
        note = {"keep": by_hand, "owner_pid": os.getpid(), "owner_created_s": 0, "engine": "2.1.20", "spec": {}}
        for number in (1, 2, 3):
            node = self.folder / "ccm" / f"node{number}"
            node.mkdir(parents=True)
            own = [sys.executable, "-c", NODE, f"-Dcassandra.storagedir={node}"]
            process = subprocess.Popen(own, stdout=subprocess.PIPE, text=True)
            self.ports.append(int(process.stdout.readline()))
            (node / "cassandra.pid").write_text(str(process.pid))
            self.processes.append(process)
        note["addresses"] = [f"127.0.0.{number}" for number in (1, 2, 3)]
        (self.folder / "cluster.json").write_text(json.dumps(note))

    def end(self, number):
        process = self.processes[number - 1]
        process.kill()
        process.wait()

    def close(self):
        for number, process in enumerate(self.processes, start=1):
            self.end(number)
            process.stdout.close()
