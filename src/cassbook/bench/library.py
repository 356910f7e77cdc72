"""How fast the library is, as ratios to what bounds it, measured side by side in one run (`make bench`).

Needs no cluster: what a cluster has to say about the load generator is measured where there is one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from cassandra import ConsistencyLevel
from cassandra.protocol import ExecuteMessage, ProtocolHandler

from cassbook.core.schema import CELLS, OUTCOMES, PHASES
from cassbook.lab.load import keys, wire
from cassbook.latency import summaries

PAIRS = 7
_ROWS = 2_000_000
_CELLS = 200


def ratio(ours: Callable[[], object], bound: Callable[[], object]) -> tuple[float, float, float]:
    """Time of `ours` over that of `bound`, pair by pair after one warm-up: median, least and most."""
    ours()
    bound()
    ratios = []
    for _ in range(PAIRS):
        times = []
        for function in (ours, bound):
            begun = time.perf_counter()
            function()
            times.append(time.perf_counter() - begun)
        ratios.append(times[0] / times[1])
    return statistics.median(ratios), min(ratios), max(ratios)


def _frames() -> tuple[Callable[[], object], Callable[[], object]]:
    """Encode 10,000 reads on the light path, and through the driver's message objects."""
    query, key = bytes(16), b"user6284781860667377211"
    prefix, tail = wire.execute_prefix(query, "QUORUM", 1), wire.value(key)

    def light() -> None:
        for stream in range(10_000):
            wire.encode(prefix + tail, stream, 4)

    def driver() -> None:
        for stream in range(10_000):
            message = ExecuteMessage(query, [key], ConsistencyLevel.QUORUM)
            ProtocolHandler.encode_message(message, stream, 4, None, False)

    return light, driver


def _summaries() -> tuple[Callable[[], object], Callable[[], object]]:
    """Statistics of 200 cells with 2 million samples, and one bare group mean of the same."""
    rng = np.random.default_rng(1)
    names = [f"c{i:03d}" for i in range(_CELLS)]
    samples = pd.DataFrame(
        {
            "cell_id": pd.Categorical.from_codes(np.sort(rng.integers(0, _CELLS, _ROWS)), names),
            "started_s": np.sort(rng.random(_ROWS)) * 400,
            "operation": pd.Categorical.from_codes(rng.integers(0, 2, _ROWS), ["READ", "UPDATE"]),
            "latency_us": rng.lognormal(9, 1, _ROWS),
            "outcome": pd.Categorical.from_codes(np.zeros(_ROWS, int), list(OUTCOMES)),
            "phase": pd.Categorical.from_codes(np.ones(_ROWS, int), list(PHASES)),
        }
    )
    blank = {name: np.zeros(_CELLS) if kind != "str" else [""] * _CELLS for name, kind in CELLS.items()}
    steady = {"steady_from_s": np.arange(_CELLS) * 2.0, "steady_to_s": np.arange(_CELLS) * 2.0 + 2}
    cells = pd.DataFrame({**blank, "cell_id": names, "kind": "pure", "threads": 10, **steady})
    return (
        partial(summaries.cell_statistics, samples, cells),
        samples.groupby("cell_id", observed=True)["latency_us"].mean,
    )


def _draws() -> tuple[Callable[[], object], Callable[[], object]]:
    """A million scrambled zipfian rows, and a million uniform ones."""
    rng = np.random.default_rng(1)
    return (
        lambda: keys.draw("zipfian", 100_000, 1_000_000, rng),
        lambda: keys.draw("uniform", 100_000, 1_000_000, rng),
    )


def main() -> None:
    """Print one row per comparison."""
    print(f"{'what':34}{'bound':34}{'median':>8}{'least':>8}{'most':>8}   (time over bound, {PAIRS} pairs)")
    for what, bound, pair in (
        ("frame of the light path", "the driver's message objects", _frames()),
        ("statistics of 2 million samples", "one group mean", _summaries()),
        ("a million scrambled zipfian rows", "a million uniform rows", _draws()),
    ):
        median, least, most = ratio(*pair)
        print(f"{what:34}{bound:34}{median:8.2f}{least:8.2f}{most:8.2f}")


if __name__ == "__main__":
    main()
