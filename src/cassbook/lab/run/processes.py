"""Several client processes for one load: each runs its share of the threads, over one steady window of all.

A process that is started for one cell alone is a client that has just been restarted.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from cassbook.lab.load.loop import Bound, Outcome, alone
from cassbook.lab.load.recorder import Window, write_samples
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.client import Client, During, Place
from cassbook.lab.wan.child import Child, Owner
from cassbook.profile.profile import Profile

_FAREWELL_S = 5.0


@dataclass(frozen=True, slots=True)
class _Order:
    """One process's share of a cell, and where its samples go."""

    cell: Cell
    bound: Bound
    path: Path


class ClientProcesses:
    """Client processes; as a context manager they end with the block.

    Parameters
    ----------
    count : int
    profile : Profile
    place : Place
    seed : list of int
        Each process draws from a seed of its own behind it.
    epoch : float
        Monotonic time at which the run began; the clock is the machine's, the same in all processes.

    Raises
    ------
    LaboratoryError
        If one cannot connect, with its reason.
    """

    def __init__(self, count: int, profile: Profile, place: Place, seed: list[int], epoch: float) -> None:
        # The owner's own client is the first of all; it has made the tables.
        self.children = [
            Child(
                f"client process {number}", _serve, profile, place, [*seed, number - 1], epoch, number, count + 1,
                patience_s=_FAREWELL_S,
            )
            for number in range(1, count + 1)
        ]  # fmt: skip
        try:
            for child in self.children:
                child.launch()
            for child in self.children:
                child.hear(None, "cannot start")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes: gently, then not."""
        for child in self.children:
            child.hang_up()
        for child in self.children:
            child.stop()

    def run(self, cell: Cell, bound: Bound, path: Path, during: During | None = None) -> tuple[Outcome, pa.Table]:
        """Run a cell, its threads shared out, and merge the samples; as `Client.run`.

        A bound by operations is not for several processes: their first thread to end would not be the first of all.
        """
        shares = [share for share in _shared_out(cell.threads, len(self.children)) if share]
        children, parts = self.children[: len(shares)], [path.with_suffix(f".{n}.parquet") for n in range(len(shares))]
        window = Window()
        for child, share, part in zip(children, shares, parts, strict=True):
            rate_per_s = cell.rate_per_s * share / cell.threads
            child.tell(_Order(replace(cell, threads=share, rate_per_s=rate_per_s), bound, part))
        with during(window) if during else nullcontext():
            window.steady_from = self._agree(children)
            if bound.steady_s is not None:
                window.steady_to = window.steady_from + bound.steady_s
                self._agree(children)
            outcomes: list[Outcome] = [child.hear() for child in children]
        window.steady_to = max(outcome.window.steady_to for outcome in outcomes)
        samples = pa.concat_tables(pq.read_table(part) for part in parts).unify_dictionaries()
        samples = samples.sort_by("started_s")
        write_samples(samples, path)
        for part in parts:
            part.unlink()
        return _merged(outcomes, window), samples

    @staticmethod
    def _agree(children: list[Child]) -> float:
        """Wait until each has come as far, and tell all the moment of the last."""
        moment = max(child.hear() for child in children)
        for child in children:
            child.tell(moment)
        return float(moment)


def _shared_out(threads: int, count: int) -> list[int]:
    return [threads // count + (number < threads % count) for number in range(count)]


def _merged(outcomes: list[Outcome], window: Window) -> Outcome:
    """CPU and operations of all; the lag of the one that was worst."""
    return Outcome(
        window,
        sum(outcome.client_cpu_s for outcome in outcomes),
        sum(outcome.operations for outcome in outcomes),
        max(outcome.loop_lag_us for outcome in outcomes),
    )


def _serve(
    owner: Owner, profile: Profile, place: Place, seed: list[int], epoch: float, process: int, processes: int
) -> None:
    """Be a client process: connect and report it, then run what is ordered until the owner is gone."""

    def agree() -> float:
        owner.tell(alone())
        return float(owner.hear())

    client = Client(profile, place, seed, epoch, process, processes)
    owner.tell(None)
    while True:
        order: _Order = owner.hear()
        outcome, _ = client.run(order.cell, order.bound, order.path, agree=agree)
        owner.tell(outcome)
