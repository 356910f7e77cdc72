"""Distances as they are: an echo between every two hosts, on the relay's way, apart from Cassandra.

Module `echo_process` does the work, in a process of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from cassbook.lab.wan import echo_process
from cassbook.lab.wan.child import Child

#: The relay has another route to each host, which leads to the echo.
PORT = 7997
_SIZE = 64
#: How far a round trip may be from what was asked, and the distance still be called as asked.
TOLERANCE_MS, TOLERANCE = 1.0, 0.02


@dataclass(frozen=True, slots=True)
class Call:
    """Whom to call, from where.

    Attributes
    ----------
    sender, receiver : str
        Names of hosts.
    source : str
        Address of the sender.
    address : tuple of str and int
        Where the relay listens for the receiver's echo.
    """

    sender: str
    receiver: str
    source: str
    address: tuple[str, int]


class Echo:
    """Calls between hosts, until stopped.

    Parameters
    ----------
    listen : sequence of (address, port)
        Where the relay passes calls on to.
    calls : sequence of Call
    interval_s : float
        Between two messages of a call.
    size : int
        Of a message, bytes.

    Raises
    ------
    LaboratoryError
        From `start`, if an address cannot be listened on or called.
    """

    def __init__(
        self, listen: Sequence[tuple[str, int]], calls: Sequence[Call], interval_s: float = 0.1, size: int = _SIZE
    ) -> None:
        flat = [(call.sender, call.receiver, call.source, call.address) for call in calls]
        self._child = Child("the echo", echo_process.serve, list(listen), size, interval_s, flat)

    def __enter__(self) -> Echo:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, and call."""
        self._child.start()

    def stop(self) -> None:
        """End it; harmless to repeat."""
        self._child.stop()

    def report(self) -> pd.DataFrame:
        """What came back since the last report.

        Returns
        -------
        DataFrame
            One row an echo: from, to, there_ms, back_ms, rtt_ms.

        Raises
        ------
        LaboratoryError
            If its process has died.
        """
        parts = []
        for call in self._child.ask(None):
            part = pd.DataFrame({"there_ms": call["there_s"], "back_ms": call["back_s"]}, dtype=float) * 1000
            parts.append(part.assign(**{"from": call["from"], "to": call["to"]}))
        table = pd.concat(parts, ignore_index=True)
        return table.assign(rtt_ms=table["there_ms"] + table["back_ms"])[
            ["from", "to", "there_ms", "back_ms", "rtt_ms"]
        ]


def matrix(echoes: pd.DataFrame) -> pd.DataFrame:
    """Median one way in ms between hosts, as the echo found it: index from, columns to; NaN where nobody called."""
    there = echoes[["from", "to", "there_ms"]].rename(columns={"there_ms": "ms"})
    back = echoes.rename(columns={"from": "to", "to": "from", "back_ms": "ms"})[["from", "to", "ms"]]
    return pd.concat([there, back]).pivot_table("ms", "from", "to", aggfunc="median")


def held_against(echoes: pd.DataFrame, asked_rtt_ms: pd.DataFrame) -> pd.DataFrame:
    """Round trips as found and as asked.

    Parameters
    ----------
    echoes : DataFrame
        From `Echo.report`.
    asked_rtt_ms : DataFrame
        Round trips between hosts: index from, columns to.

    Returns
    -------
    DataFrame
        One row a pair: from, to, echoes (how many), asked_ms, median_ms, p95_ms, off_ms (median less asked), kept
        (whether that is within the tolerance).
    """
    rtt_ms = echoes.groupby(["from", "to"], sort=False)["rtt_ms"]
    table = pd.DataFrame({"echoes": rtt_ms.size(), "median_ms": rtt_ms.median(), "p95_ms": rtt_ms.quantile(0.95)})
    table = table.reset_index()
    asked_ms = [float(asked_rtt_ms.loc[a, b]) for a, b in zip(table["from"], table["to"], strict=True)]
    table.insert(3, "asked_ms", asked_ms)
    off_ms = table["median_ms"] - table["asked_ms"]
    most_ms = (table["asked_ms"] * TOLERANCE).clip(lower=TOLERANCE_MS)
    return table.assign(off_ms=off_ms, kept=off_ms.abs() <= most_ms)
