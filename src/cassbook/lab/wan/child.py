"""A child process that does one thing next to the client and answers questions: one line of JSON each.

It ends when its standard input does, so that it cannot outlive whoever started it.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from cassbook.core.errors import LaboratoryError
from cassbook.lab.wan.precise import Loop

_TIMEOUT_S = 15.0


class Child:
    """The side that asks.

    Parameters
    ----------
    module : str
        That it runs; its `main` uses `Control`.
    what : str
        What messages call it.
    """

    def __init__(self, module: str, what: str) -> None:
        self._module, self._what = module, what
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._rest = b""

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of its process; 0 before it is started."""
        return 0 if self._process is None else self._process.pid

    def start(self, config: dict[str, Any]) -> dict[str, Any]:
        """Start it, and return its first answer.

        Raises
        ------
        LaboratoryError
            With its own reason, if its answer is one ('error').
        """
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C in the terminal is for the owner
        )
        try:
            answer = self._ask(config)
            if "error" in answer:
                raise LaboratoryError(f"{self._what} cannot start: {answer['error']}")
        except BaseException:
            self.stop()
            raise
        return answer

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Put a question.

        Raises
        ------
        LaboratoryError
            If it has died, or does not answer; with its own reason, if its answer is one ('error').
        """
        answer = self._ask(question)
        if "error" in answer:
            raise LaboratoryError(f"{self._what}: {answer['error']}")
        return answer

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        if process is None:
            raise LaboratoryError(f"{self._what} is not started")
        assert process.stdin and process.stdout  # noqa: S101, PT018 - they are pipes
        with self._lock:
            try:
                process.stdin.write(json.dumps(question).encode() + b"\n")
                process.stdin.flush()
            except (BrokenPipeError, ValueError):
                raise self._died(process) from None
            return dict(json.loads(self._line(process, process.stdout.fileno())))

    def stop(self) -> None:
        """End it; harmless to repeat."""
        process = self._process
        if process is None:
            return
        assert process.stdin and process.stdout  # noqa: S101, PT018 - they are pipes
        try:
            process.stdin.close()
            process.wait(_TIMEOUT_S)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        process.stdout.close()

    def _line(self, process: subprocess.Popen[bytes], fd: int) -> bytes:
        deadline = time.monotonic() + _TIMEOUT_S
        while b"\n" not in self._rest:
            ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise LaboratoryError(f"{self._what} (process {process.pid}) has not answered for {_TIMEOUT_S:g} s")
            got = os.read(fd, 1 << 16)
            if not got:
                raise self._died(process)
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _died(self, process: subprocess.Popen[bytes]) -> LaboratoryError:
        return LaboratoryError(f"{self._what} (process {process.pid}) has died, exit status {process.wait()}")


class Control:
    """The side that answers, within the child."""

    fd = 0  # standard input

    def __init__(self) -> None:
        self._rest = b""

    def first(self) -> dict[str, Any] | None:
        """Wait for the first line; None if whoever started us is gone."""
        while (lines := self.lines()) == []:
            pass
        return lines[0] if lines else None

    def lines(self) -> list[dict[str, Any]] | None:
        """Lines that came, at least a part of one; None when whoever asks is gone."""
        got = os.read(self.fd, 1 << 16)
        if not got:
            return None
        *whole, self._rest = (self._rest + got).split(b"\n")
        return [json.loads(line) for line in whole]

    def serve(self, loop: Loop, reply: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Run a loop that answers each line with `reply`, until whoever asks is gone."""

        def readable(_: int) -> None:
            lines = self.lines()
            if lines is None:
                loop.stop()
                return
            for line in lines:
                self.answer(reply(line))

        loop.watch(self.fd, readable)
        loop.run()

    @staticmethod
    def answer(what: dict[str, Any]) -> None:
        """Write a line."""
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()
