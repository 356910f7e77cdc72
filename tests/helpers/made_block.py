"""A block without a cluster: its parts are small fakes, and its cells go to a client that is handed in."""

import math
from contextlib import nullcontext

from cassbook.lab.run.block import Block, Start
from cassbook.lab.run.client import Place
from cassbook.lab.run.distance import Watch
from cassbook.lab.run.runners import Runners


class IdleCluster:
    """A cluster that takes everything and keeps nothing."""

    keyspace, deployment, apart, nodes_here = "ycsb", "", None, 0

    def __init__(self, started_here=True):
        self.started_here = started_here

    def notes(self):
        return {"cassandra": "none"}

    def hints(self, session):
        return 0

    def barrier(self, session):
        return []


class SharedMachine:
    """A machine whose other processes take what the list `others` says, attempt by attempt, and then nothing."""

    def __init__(self, others=()):
        self.others = others

    def watched(self):
        return nullcontext()

    def look(self):
        pass

    def columns(self, from_s, to_s):
        steal_share = self.others.pop(0) if self.others else 0.0
        return {"steal_share": steal_share, "other_cpu_share": 0.0, "load_1m": 1.0, "cpu_mhz": math.nan}


def made_block(profile, store, client, log, others=(), cluster=None, again=2):
    """Make the first block of a run, of the run's second start; see `SharedMachine` for `others`."""
    store.notes["cluster_starts"].append({"block": 1})  # an earlier attempt, which was killed
    cluster = cluster or IdleCluster()
    start = Start.noted(store, 1, cluster)
    runners = Runners(profile, client, Place(None, [], [], ""), [], store.epoch)
    return Block(profile, store, start, cluster, runners, SharedMachine(others), Watch(cluster), log, again=again)
