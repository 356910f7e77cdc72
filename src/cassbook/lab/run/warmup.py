"""When a block's warm-up is over: by a rule, not by a guess."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from cassbook.profile.profile import WarmUpSection


def settled(throughput: Sequence[float], windows: int, tolerance: float) -> bool:
    """Whether throughput, in operations per window, has stopped rising.

    True when the mean of the last `windows` windows is at most `tolerance` above the mean of the `windows` before them.
    A fall counts as settled too: what warms up gets faster.
    """
    if len(throughput) < 2 * windows:
        return False
    last = float(np.mean(throughput[-windows:]))
    before = float(np.mean(throughput[-2 * windows : -windows]))
    return last <= before * (1 + tolerance)


class WarmUp:
    """The rule as something the load loop can ask: call it with the operations done so far.

    `throughput` has the operations in each window; `reason` is 'settled' or 'cap', once it is over.
    """

    def __init__(self, rule: WarmUpSection) -> None:
        self._rule = rule
        self._begun: float | None = None  # when the loop asked for the first time
        self._window_begun = 0.0
        self._counted = 0
        self.throughput: list[float] = []
        self.reason = ""

    def __call__(self, operations: int) -> bool:
        """Note the count; True when the warm-up is over."""
        now = time.perf_counter()
        if self._begun is None:
            self._begun = self._window_begun = now
        if now - self._window_begun >= self._rule.window_s:
            self.throughput.append((operations - self._counted) / (now - self._window_begun))
            self._window_begun, self._counted = now, operations
            if settled(self.throughput, self._rule.windows, self._rule.tolerance):
                self.reason = "settled"
        if now - self._begun >= self._rule.cap_s:
            self.reason = self.reason or "cap"
        return bool(self.reason)
