"""Settings switched while nodes fail: what goes wrong under load is not silent."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.errors import LaboratoryError
from cassbook.lab.experiments.adviser.failures import _Acting
from tests.helpers import made_runs


def test_a_member_that_cannot_be_started_ends_the_recording():
    cannot_be_sent = LatencyMap(made_runs.run(noise=0.0), recorded=lambda: {})
    cluster = SimpleNamespace(addresses=["127.0.0.1"], release=SimpleNamespace(protocol=4), keyspace="k")
    acting = _Acting(cannot_be_sent, None, cluster, np.random.default_rng(1))
    over = threading.Event()
    threading.Timer(0.3, over.set).start()
    with pytest.raises(LaboratoryError, match=r"could not live: Can't pickle"):
        acting.switch(0.0, over)
