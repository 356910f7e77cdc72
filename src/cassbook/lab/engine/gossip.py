"""What nodes' logs say of each other: when one takes another for dead or alive."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

#: How a node's log says it; 4.0 and later add the port to the address.
_SAID = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}).*"
    r"InetAddress \S*/(?P<address>[\d.]+)(?::\d+)? is now (?P<state>UP|DOWN)"
)
_AT = "%Y-%m-%d %H:%M:%S,%f"


def log_of(folder: Path) -> Path:
    """Return the log of a node, by its folder."""
    return folder / "logs" / "system.log"


def said(log: Path, from_byte: int = 0) -> list[tuple[str, str, float]]:
    """Return what a node's log says of others: address, 'up' or 'down', and when in Unix time (of milliseconds)."""
    if not log.is_file():
        return []
    found = []
    with log.open(encoding="utf-8", errors="replace") as lines:
        lines.seek(from_byte)
        for line in lines:
            if match := _SAID.search(line):
                at = datetime.strptime(match["at"], _AT)
                found.append((match["address"], match["state"].lower(), at.timestamp()))
    return found


class Following:
    """Follows the logs of nodes, by number, from now on, for what they say of one `address`."""

    def __init__(self, folders: Sequence[Path], nodes: Sequence[int], address: str) -> None:
        self._address = address
        self._logs = {node: log_of(folders[node - 1]) for node in nodes}
        self._from = {node: log.stat().st_size if log.is_file() else 0 for node, log in self._logs.items()}

    def since(self, state: str) -> dict[int, float]:
        """Return which nodes have said that it is 'up' or 'down', and when, on `time.perf_counter`."""
        wall_s = time.time() - time.perf_counter()
        found = {}
        for node, log in self._logs.items():
            heard = said(log, self._from[node])
            if moments := [at for address, seen, at in heard if (address, seen) == (self._address, state)]:
                found[node] = min(moments) - wall_s
        return found
