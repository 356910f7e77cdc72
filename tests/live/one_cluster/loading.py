"""A small table on the cluster, and a way to run the loop on it."""

from collections import Counter

import numpy as np

from cassbook.core import schema
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import INSERT, READ, UPDATE, Usertable
from cassbook.lab.run.client import mix
from cassbook.profile.profile import TableSection

ROWS = TableSection(record_count=500)
SHORT = Bound(0.05, 0.3)


class Bench:
    """A cluster with a small table, and a way to run the loop on it."""

    def __init__(self, cluster, session, nodes):
        self.cluster, self.session, self.nodes = cluster, session, nodes

    def table(self, policy="token_aware", shape=ROWS):
        return Usertable(self.session, shape, self.cluster.addresses, policy, 0, np.random.default_rng(3))

    def run(
        self,
        operation,
        levels=("ALL", "ALL"),
        threads=8,
        bound=SHORT,
        policy="token_aware",
        share=None,
        timeout_s=12,
        shape=ROWS,
    ):
        rows = []
        table = self.table(policy, shape)
        kinds = (
            mix(share, np.random.default_rng(1)) if share is not None else mix(1.0 if operation == READ else 0.0, None)
        )
        requests = [table.requests(READ), table.requests(UPDATE)]
        if operation == INSERT:
            kinds, requests = iter(lambda: INSERT, None), [iter(()), iter(()), table.inserts()]
        loop = ClosedLoop(
            self.nodes, threads, kinds, requests, table.prefixes(*levels), lambda *row: rows.append(row), timeout_s
        )
        outcome = loop.run(bound, Window())
        return rows, outcome


def outcomes(rows):
    return Counter(schema.OUTCOMES[row[3]] for row in rows)
