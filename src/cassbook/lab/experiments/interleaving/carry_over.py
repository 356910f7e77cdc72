"""What a slice finds when another level was before it: latency by the time since the change, and by predecessor."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cassbook.lab.experiments.experiment import Row
from cassbook.lab.experiments.interleaving.loader import SHARES, GroupExperiment, Loader, Seen, compared
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.slices import Alternation


@dataclass(frozen=True)
class CarryOverExperiment(GroupExperiment):
    """Slices so long that what was before is forgotten at their end; their beginning is looked at in bins."""

    threads: tuple[int, ...] = (10, 100, 500, 1000)
    slice_s: float = 3.0
    bin_s: float = 0.05
    rounds: int = 6  # each level follows each other one half as often
    ramp_s: float = 0.4

    def points(self) -> list[tuple[str, int]]:
        """Return the operation and threads of each group."""
        return list(itertools.product(SHARES, self.threads))

    def group(self, loader: Loader, point: tuple[str, int], rng: np.random.Generator) -> Row:
        """Measure a group.

        The row has operation (READ, UPDATE, MIX), threads, n, errors, guard_ms and counted_ms (what the rule gives for
        the slowest level's latency here); and a table, bins: level, after (the level before), bin_ms (since the
        change), n, latency_ms (mean of those sent in it).
        """
        operation, threads = point
        levels = compared(operation)
        alternation = Alternation(
            len(levels), self.slice_s * self.rounds, (int(rng.integers(1 << 31)),), (0.0, self.slice_s)
        )
        loader.settle()
        seen = loader.run(operation, list(levels.values()), threads, Bound(self.ramp_s, alternation=alternation))
        failed = int((~seen.operations["ok"]).sum())
        row: Row = {"operation": operation, "threads": threads, "n": len(seen.operations), "errors": failed}
        return row | self._rule(seen, len(levels)) | {"bins": self._bins(seen, list(levels))}

    @staticmethod
    def _rule(seen: Seen, variants: int) -> Row:
        slices = seen.window.slices
        assert slices is not None  # noqa: S101 - it was measured in slices
        done = seen.operations[seen.operations["ok"] & (seen.operations["slice"] >= 0)]
        variant = np.array(slices.order)[done["slice"]]
        p95_ms = done.groupby(variant)["latency_ms"].quantile(0.95).max()
        ruled = Alternation(variants, 1.0, (0,)).slices(p95_ms / 1000)
        return {"guard_ms": round(1000 * ruled.guard_s, 1), "counted_ms": round(1000 * ruled.counted_s, 1)}

    def _bins(self, seen: Seen, levels: list[str]) -> pd.DataFrame:
        slices = seen.window.slices
        assert slices is not None  # noqa: S101 - it was measured in slices
        done = seen.operations[seen.operations["ok"] & (seen.operations["slice"] > 0)]
        number = done["slice"].to_numpy()
        order = np.array(slices.order)
        since_s = done["started_s"].to_numpy() - number * slices.length_s
        table = pd.DataFrame(
            {
                "level": np.array(levels)[order[number]],
                "after": np.array(levels)[order[number - 1]],
                "bin_ms": np.round(np.floor(np.maximum(since_s, 0.0) / self.bin_s) * self.bin_s * 1000, 3),
                "latency_ms": done["latency_ms"].to_numpy(),
            }
        )
        by = table.groupby(["level", "after", "bin_ms"], sort=True)["latency_ms"]
        return by.agg(n="size", latency_ms="mean").round(4).reset_index()
