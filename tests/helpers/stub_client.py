"""A client of a stub, in the place of one of a database: the same loops, without a session."""

import itertools

import numpy as np

from cassbook.bench import stub
from cassbook.bench.own_error import StubNodes
from cassbook.lab.load import wire
from cassbook.lab.load.ycsb import READ, Request
from cassbook.lab.run.client import Client, Place
from cassbook.lab.run.workloads import Ready


class Rows:
    """Reads of one row, in the place of a workload's prepared statements."""

    def operations(self, rng):
        return itertools.repeat(READ)

    def requests(self, operation):
        key = wire.value(b"user1")
        return itertools.repeat(Request(0, 0, key, key))

    def prefixes(self, read_cl, write_cl):
        return [[wire.execute_prefix(stub.READS, read_cl, 1)]]


def stub_client(profile, port, epoch):
    """A client whose connections lead to the service, without the driver's session that only a database answers."""
    made = object.__new__(Client)
    made._profile, made._rng, made.epoch = profile, np.random.default_rng(1), epoch
    made._place, made._nodes = Place(None, [], ["node1"], ""), StubNodes(port)
    made._drawn = (), []
    made.session, made.workloads = None, {"rows": Ready(Rows(), None)}
    return made
