"""A service measured to the end, whose truth is known: response times are exponential."""

import numpy as np

from cassbook.advisor import replay
from cassbook.latency.in_segments import InSegments
from cassbook.latency.open_choices import Mix
from cassbook.latency.open_loads import OpenLoads
from tests.helpers.open_curves import curves

SETTINGS = {"QUORUM/QUORUM": 4.0, "ONE/ALL": 3.0, "ONE/ONE": 1.0}
P99 = np.log(100)  # of an exponential, as times its mean


def service(means_ms=None, stale=0, seed=1):
    advice = OpenLoads(curves(scales=(1.0,)), "mine", 3, "p99").advise(Mix(0.5), of_capacity=0.4)
    rng = np.random.default_rng(seed)
    segments = {
        levels: InSegments(tuple(rng.exponential(mean_ms, 2000) for _ in range(12)))
        for levels, mean_ms in (means_ms or SETTINGS).items()
    }
    counts = {"ONE/ONE": [(stale, 500)] * 12}
    closed = {"ONE/ALL": 900.0, "QUORUM/QUORUM": 950.0}
    return replay.Service("mine", seed, advice, segments, counts, 20.0, closed, 7)
