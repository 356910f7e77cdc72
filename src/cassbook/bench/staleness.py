"""Trials of WARS a second, and how many times as fast as the same in plain NumPy, in one run."""

from __future__ import annotations

import statistics
import time

import numba
import numpy as np

from cassbook.bench.library import PAIRS
from cassbook.staleness.monte_carlo import edges_ms
from cassbook.staleness.pbs import predict
from cassbook.staleness.wars import Wars, exponential, wars_of

_TRIALS = 20_000_000
_CHUNK = 100_000
_QUORUMS = ((3, 1, 1), (3, 2, 1), (5, 1, 2))


def plain(trials: int, n: int, r: int, w: int, seed: int = 0) -> np.ndarray:
    """One pass over trials with exponential legs of mean 1, in chunks: counts of needed, read and write times."""
    random = np.random.default_rng(seed)
    edges = edges_ms()
    counts = np.zeros((3, edges.size), np.int64)
    for _ in range(trials // _CHUNK):
        writes, acks, asks, answers = random.exponential(size=(4, _CHUNK, n))
        committed = np.partition(writes + acks, w - 1, axis=1)[:, w - 1]
        back = asks + answers
        first = np.argpartition(back, r - 1, axis=1)[:, :r]
        rows = np.arange(_CHUNK)[:, None]
        needed = np.maximum((writes - asks)[rows, first].min(axis=1) - committed, 0.0)
        for k, ms in enumerate((needed, back[rows, first].max(axis=1), committed)):
            counts[k] += np.bincount(np.searchsorted(edges, ms), minlength=edges.size)
    return counts


def _rate(wars: Wars, n: int, r: int, w: int) -> float:
    begun = time.perf_counter()
    predict(wars, n, r, w, trials=_TRIALS)
    return _TRIALS / (time.perf_counter() - begun) / 1e6


def main() -> None:
    """Print one row per model and quorum; the bar at (3, 1, 1) exponential is 10 million trials/s, the aim 20."""
    models = {"exponential": wars_of([exponential(1.0)] * 4), "LNKD-DISK": wars_of("LNKD-DISK")}
    predict(models["exponential"], 3, 1, 1, trials=1000)  # compiles
    print(
        f"{'model':14}{'N, R, W':10}{'million trials a second':>26}{'over NumPy':>14}"
        f"   ({numba.get_num_threads()} threads)"
    )
    for model, wars in models.items():
        for quorum in _QUORUMS:
            ours, ratios = [], []
            for _ in range(PAIRS if model == "exponential" else 3):
                ours.append(_rate(wars, *quorum))
                if model == "exponential":
                    begun = time.perf_counter()
                    plain(_TRIALS // 20, *quorum)
                    ratios.append(ours[-1] * (time.perf_counter() - begun) * 20 * 1e6 / _TRIALS)
            ratio = f"{statistics.median(ratios):14.0f}" if ratios else ""
            rate = f"{statistics.median(ours):.1f} ({min(ours):.1f} to {max(ours):.1f})"
            print(f"{model:14}{', '.join(map(str, quorum)):10}{rate:>26}{ratio}")


if __name__ == "__main__":
    main()
