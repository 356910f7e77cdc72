"""Several client processes for one load: each runs its share of the threads, over one steady window of all.

A process that is started for one cell alone is a client that has just been restarted.
"""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import nullcontext
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from cassbook.core.errors import LaboratoryError
from cassbook.lab.load.loop import Bound, Outcome, alone
from cassbook.lab.load.recorder import Window, write_samples
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.client import Client, During, Place
from cassbook.profile.profile import Profile

_FAREWELL_S = 5.0
_HERE = "here"


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
        context = multiprocessing.get_context("spawn")  # a forked driver would share its sockets
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        try:
            for number in range(count):
                ours, theirs = context.Pipe()
                # The owner's own client is the first of all; it has made the tables.
                arguments = (theirs, profile, place, [*seed, number], epoch, number + 1, count + 1)
                process = context.Process(target=_serve, args=arguments, name=f"client {number + 1}", daemon=True)
                process.start()
                theirs.close()
                self._pipes.append(ours)
                self._processes.append(process)
            for pipe in self._pipes:
                self._hear(pipe)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes: gently, then not."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(_FAREWELL_S)
            if process.is_alive():
                process.kill()
                process.join()

    def run(self, cell: Cell, bound: Bound, path: Path, during: During | None = None) -> tuple[Outcome, pa.Table]:
        """Run a cell, its threads shared out, and merge the samples; as `Client.run`.

        A bound by operations is not for several processes: their first thread to end would not be the first of all.
        """
        shares = [share for share in _shared_out(cell.threads, len(self._pipes)) if share]
        pipes, parts = self._pipes[: len(shares)], [path.with_suffix(f".{n}.parquet") for n in range(len(shares))]
        window = Window()
        for pipe, share, part in zip(pipes, shares, parts, strict=True):
            rate_per_s = cell.rate_per_s * share / cell.threads
            self._tell(pipe, _Order(replace(cell, threads=share, rate_per_s=rate_per_s), bound, part))
        with during(window) if during else nullcontext():
            window.steady_from = self._agree(pipes)
            if bound.steady_s is not None:
                window.steady_to = window.steady_from + bound.steady_s
                self._agree(pipes)
            outcomes: list[Outcome] = [self._hear(pipe) for pipe in pipes]
        window.steady_to = max(outcome.window.steady_to for outcome in outcomes)
        samples = pa.concat_tables(pq.read_table(part) for part in parts).unify_dictionaries()
        samples = samples.sort_by("started_s")
        write_samples(samples, path)
        for part in parts:
            part.unlink()
        return _merged(outcomes, window), samples

    def _agree(self, pipes: list[Connection]) -> float:
        """Wait until each has come as far, and tell all the moment of the last."""
        moment = max(self._hear(pipe) for pipe in pipes)
        for pipe in pipes:
            self._tell(pipe, moment)
        return float(moment)

    @staticmethod
    def _tell(pipe: Connection, what: Any) -> None:
        try:
            pipe.send(what)
        except BrokenPipeError:
            raise LaboratoryError("a client process died without a word") from None

    @staticmethod
    def _hear(pipe: Connection) -> Any:
        try:
            said = pipe.recv()
        except EOFError:
            raise LaboratoryError("a client process died without a word") from None
        if isinstance(said, Exception):
            raise LaboratoryError(f"a client process failed: {said}") from said
        return said


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
    pipe: Connection, profile: Profile, place: Place, seed: list[int], epoch: float, process: int, processes: int
) -> None:
    """Be a client process: connect, say so, then run what is ordered until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is for the owner

    def agree() -> float:
        pipe.send(alone())
        return float(pipe.recv())

    try:
        client = Client(profile, place, seed, epoch, process, processes)
        pipe.send(_HERE)
        while True:
            order: _Order = pipe.recv()
            outcome, _ = client.run(order.cell, order.bound, order.path, agree=agree)
            pipe.send(outcome)
    except (EOFError, BrokenPipeError):  # the owner has no more for us, or is gone
        return
    except Exception as error:
        pipe.send(LaboratoryError(str(error) or repr(error)))
