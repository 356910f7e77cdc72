"""What the queueing paper's network says of its sentences, by analysis: the model of Tables 2 and 3, as read first."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cassbook.queueing import paper
from cassbook.queueing.mva import Analysed, analyse
from cassbook.queueing.network import Law, Readings
from cassbook.queueing.paper import JOBS, LEVELS

#: Jobs of Figures 5 to 10.
_FEWEST, _MOST = 5, 100


@lru_cache
def _at(level: str, law: Law) -> Analysed:
    return analyse(paper.network(level, readings=Readings(law=law)), _MOST)


def reductions(law: Law) -> dict[str, float]:
    """Percent of the throughput at ONE that is lost at QUORUM and at ALL, with 45 jobs."""
    per_s = {level: float(_at(level, law).throughput_per_s[JOBS - 1]) for level in LEVELS}
    return {level: 100 * (1 - per_s[level] / per_s["ONE"]) for level in LEVELS[1:]}


def straightness() -> dict[str, float]:
    """R² of a line through response times over 5 to 100 jobs, by level."""
    r_squared = {}
    for level in LEVELS:
        network = _at(level, Law())
        r_squared[level] = float(
            np.corrcoef(network.jobs[_FEWEST - 1 :], network.response_ms[_FEWEST - 1 :])[0, 1] ** 2
        )
    return r_squared


def gain_alone(law: Law) -> float:
    """Percent that asking all three replicas at QUORUM, and waiting for two, gains of throughput with one job."""
    two, three = (
        analyse(paper.network("QUORUM", ask_all=ask_all, readings=Readings(law=law)), 1).throughput_per_s[0]
        for ask_all in (False, True)
    )
    return float(100 * (three / two - 1))
