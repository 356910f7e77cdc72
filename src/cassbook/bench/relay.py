"""What the relay costs and how much it carries: an echo straight and through it, apart from Cassandra.

Everything here shares the machine with the relay, as the nodes and the client of a run do: the ceiling is that of this
machine with an echo on it, not of a processor to itself.
"""

from __future__ import annotations

import itertools
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd

from cassbook.core.paths import project_root
from cassbook.deployment.link import Link
from cassbook.lab.wan.echo import TOLERANCE, TOLERANCE_MS, Call, Echo
from cassbook.lab.wan.relay import Relay, Route, free_address

#: The most that the relay may add to a round trip with one message in flight and no delay.
BAR_MS = 0.3
_ROUNDS, _ROUND_S, _PING_S = 7, 2.0, 0.004
_ASKED_RTT_MS = (0.0, 1.0, 2.5, 5.0, 10.0, 50.0, 100.0, 200.0, 400.0)
_CONNECTIONS = 60
_RATES_PER_S = (1000, 2000, 4000, 6000, 8000, 10_000, 12_000, 15_000, 20_000, 25_000, 30_000)
_SIZES = (64, 16_384)
_CEILING_RTT_MS, _CEILING_S = 20.0, 3.0
#: Of each rate: what else goes on in the machine can spoil one.
_GOES = 3
#: Rates in a row at which no go went well, until no higher one is tried.
_TOO_MUCH = 2


def added() -> pd.DataFrame:
    """Round trips of one message in flight, straight and through a relay without delay, in turns.

    One row per round: round, straight_ms, relayed_ms (medians), added_ms.
    """
    listening, relayed = free_address(), free_address()
    rows = []
    with (
        Relay([Route(relayed, listening, "s", "c")], {}),
        Echo(
            [listening],
            [Call("c", "straight", "127.0.0.1", listening), Call("c", "relayed", "127.0.0.1", relayed)],
            _PING_S,
        ) as echo,
    ):
        for number in range(1, _ROUNDS + 1):
            echo.report()
            time.sleep(_ROUND_S)
            medians = echo.report().groupby("to")["rtt_ms"].median()
            rows.append((number, medians["straight"], medians["relayed"], medians["relayed"] - medians["straight"]))
    return pd.DataFrame(rows, columns=["round", "straight_ms", "relayed_ms", "added_ms"])


def accuracy() -> pd.DataFrame:
    """Round trips asked for and found, one message in flight.

    Columns: asked_ms, median_ms, p95_ms, p99_ms, off_ms, kept (whether the median is within the tolerance).
    """
    listening, relayed = free_address(), free_address()
    rows = []
    with (
        Relay([Route(relayed, listening, "s", "c")], {}) as relay,
        Echo([listening], [Call("c", "s", "127.0.0.1", relayed)], interval_s=0.01) as echo,
    ):
        for asked_ms in _ASKED_RTT_MS:
            relay.set_links({("c", "s"): Link(asked_ms / 2), ("s", "c"): Link(asked_ms / 2)})
            time.sleep(0.1 + asked_ms / 1000)
            echo.report()
            time.sleep(_ROUND_S + asked_ms / 1000)
            rtt_ms = echo.report()["rtt_ms"]
            p50, p95, p99 = rtt_ms.quantile([0.5, 0.95, 0.99])
            rows.append((asked_ms, p50, p95, p99, p50 - asked_ms, abs(p50 - asked_ms) <= allowed_ms(asked_ms)))
    return pd.DataFrame(rows, columns=["asked_ms", "median_ms", "p95_ms", "p99_ms", "off_ms", "kept"])


def allowed_ms(asked_ms: float) -> float:
    """How far a round trip may be from what was asked."""
    return max(TOLERANCE_MS, TOLERANCE * asked_ms)


def ceiling(size: int) -> pd.DataFrame:
    """Offer more and more messages on many connections, until round trips are no longer as asked.

    `size`: of a message, bytes.

    One row per attempt at a rate: size, offered_per_s (round trips), chunks_per_s and bytes_per_s (that the relay
    passed on, both directions), asked_ms, median_ms, p95_ms, kept.
    """
    rows: list[tuple[Any, ...]] = []
    for rate in _RATES_PER_S:
        rows += [_offered(size, rate) for _ in range(_GOES)]
        if not any(kept for *_, kept in rows[-_TOO_MUCH * _GOES :]):
            break
    columns = ["size", "offered_per_s", "chunks_per_s", "bytes_per_s", "asked_ms", "median_ms", "p95_ms", "kept"]
    return pd.DataFrame(rows, columns=columns)


def _offered(size: int, rate: int) -> tuple[Any, ...]:
    listening, relayed = free_address(), free_address()
    link = Link(_CEILING_RTT_MS / 2)
    calls = [Call("c", f"s{k}", "127.0.0.1", relayed) for k in range(_CONNECTIONS)]
    with ExitStack() as stack:
        routes = [Route(relayed, listening, "s", "c")]
        relay = stack.enter_context(Relay(routes, {("c", "s"): link, ("s", "c"): link}))
        stack.enter_context(Echo([listening], [], size=size))
        calling = stack.enter_context(Echo([], calls, _CONNECTIONS / rate, size))
        time.sleep(0.5)
        calling.report()
        relay.report()
        time.sleep(_CEILING_S)
        rtt_ms, moved = calling.report()["rtt_ms"], relay.report()
    p50, p95 = rtt_ms.quantile([0.5, 0.95])
    kept = bool(abs(p50 - _CEILING_RTT_MS) <= allowed_ms(_CEILING_RTT_MS))
    return (size, rate, moved.chunks_per_s, moved.bytes_per_s, _CEILING_RTT_MS, p50, p95, kept)


def main(folder: Path | None = None) -> None:
    """Measure, print and store; says whether the bar is met."""
    folder = folder or project_root() / "_build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    tables = {"relay-added": added(), "relay-accuracy": accuracy(), "relay-ceiling": pd.concat(map(ceiling, _SIZES))}
    median_ms = tables["relay-added"]["added_ms"].median()
    verdict = "met" if median_ms <= BAR_MS else "NOT met"
    print(f"the relay adds {median_ms:.3f} ms to a round trip (bar: {BAR_MS}), {verdict}")
    for name, table in itertools.islice(tables.items(), 1, None):
        print(f"{name}\n{table.to_string(index=False, float_format='{:.2f}'.format)}")
    for name, table in tables.items():
        table.round(4).to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
