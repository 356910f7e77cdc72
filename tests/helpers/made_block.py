"""A block without a cluster: cells go to a client that is handed in, and nothing is drained or looked up."""

import math

from cassbook.lab.run import block as blocks
from cassbook.lab.run.block import Block
from cassbook.lab.run.distance import Seen


def made_block(profile, store, monkeypatch, runner, log, others):
    """Make the first block of a run, on a machine whose others take what the list `others` says, attempt by attempt."""
    made = object.__new__(Block)
    made._profile, made._store, made._client, made._loaded = profile, store, runner, set()
    made._number, made._start, made._again_left, made._clock_resolution_ns = 1, 2, 2, 1.0
    made._log, made._notes = log, {}
    made._runner = lambda *_: (runner, 1)
    made._watch = type("Watch", (), {"begin": lambda _: None, "end": lambda _: Seen()})()
    made._cpu = type("Cpu", (), {"look": lambda _: None})()
    made._cluster, made._cluster_start, made._previous = type("Cluster", (), {"deployment": ""})(), 1, []
    made._drained = list
    monkeypatch.setattr(blocks, "circumstances", lambda *_: {
        "steal_share": others.pop(0) if others else 0.0, "other_cpu_share": 0.0, "load_1m": 1.0, "cpu_mhz": math.nan,
    })  # fmt: skip
    return made
