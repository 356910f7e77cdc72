"""A calibrated network under open load, asked of settings and mixes: what each costs, how long requests take."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from cassbook.core.estimate import Estimate
from cassbook.queueing.calibration import Calibrated, Question
from cassbook.queueing.mva import analyse
from cassbook.queueing.network import Network
from cassbook.queueing.open_load import capacity_per_s, open_load

#: Simulated requests: enough for a mean to some percent at nine tenths of what the network carries.
_REQUESTS = 60_000
#: Shares are asked to so many digits, so that the answers can be kept.
_DIGITS = 2


class NetworkLoad:
    """The networks of a cluster, one for each start of the calibration.

    Parameters
    ----------
    fits : sequence of Calibrated
    nodes, replicas : int
        Of the cluster that is asked about.
    """

    def __init__(self, fits: Sequence[Calibrated], nodes: int, replicas: int) -> None:
        self._fits, self._cluster = fits, (nodes, replicas)
        self._known_ms = cache(self._simulated_ms)

    def price(self, read_share: float, setting: str, base: str, jobs: int = 0) -> Estimate:
        """Return what the base carries over what a setting ('ONE/ALL') does, over starts.

        `jobs`: with some, what each gets done in a closed loop of as many; otherwise by the station that is busy first.
        """
        of_base, of_setting = (self._carried_per_s(read_share, each, jobs) for each in (base, setting))
        return Estimate.ratio(np.array(of_base) / np.array(of_setting))

    def response_ms(self, setting: str, read_share: float, share: float) -> float:
        """Mean response time at a share of what the network carries, to two digits; NaN from 1 on, and at 0.

        This is `lightest.AskNetwork`.
        """
        return self._known_ms(setting, round(read_share, _DIGITS), round(share, _DIGITS))

    def _networks(self, read_share: float, setting: str) -> list[Network]:
        read, _, write = setting.partition("/")
        parts = {Question("READ", read, *self._cluster): read_share,
                 Question("UPDATE", write, *self._cluster): 1 - read_share}  # fmt: skip
        shares = {question: share for question, share in parts.items() if share > 0}
        return [fit.mixed(shares) for fit in self._fits]

    def _carried_per_s(self, read_share: float, setting: str, jobs: int) -> list[float]:
        networks = self._networks(read_share, setting)
        if jobs:
            return [float(analyse(network, jobs).throughput_per_s[-1]) for network in networks]
        return [capacity_per_s(network) for network in networks]

    def _simulated_ms(self, setting: str, read_share: float, share: float) -> float:
        if not 0 < share < 1:
            return float("nan")
        found = [
            open_load(network, share * capacity_per_s(network), _REQUESTS).response_ms
            for network in self._networks(read_share, setting)
        ]
        return float(np.exp(np.log(found).mean()))
