"""The probe of staleness beside a load: on the workload's own tables, in each turn of a setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from cassandra import DriverException
from cassandra.cluster import NoHostAvailable, Session
from cassandra.pool import Host

from cassbook.core.consistency import replicas_waited_for
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.estimate import Estimate
from cassbook.core.threads import meanwhile
from cassbook.core.types import Log
from cassbook.lab.load import traces
from cassbook.lab.load.coordinators import in_turn
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.own_rows import OwnRows, targets
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.staleness_probe import History, Panel, Probe
from cassbook.lab.run.cell import Cell
from cassbook.profile.open import OpenSection
from cassbook.records.staleness import PART
from cassbook.staleness import checker
from cassbook.staleness.from_traces import Traced, of_row
from cassbook.staleness.message_delays import Asked, delays_of

#: What a prober's requests take besides its wait, about, in ms.
_REQUESTS_MS = 20.0
#: How long traces of a turn are waited for: the next setting's turn comes behind them.
_PATIENCE_S = 3.0


class SideProbe:
    """Probers with connections of their own, on the tables of one workload.

    `coordinator` is the policy of the load: probers ask the nodes that it asks. `note` takes all that a cell has shown
    so far, after each of its turns. LaboratoryError where none of its tables can be probed, with the reason of each.
    """

    def __init__(
        self, session: Session, addresses: list[str], coordinator: str, keyspace: str, tables: list[str],
        rng: np.random.Generator, timeout_s: float, note: Callable[[dict[str, Any]], None], log: Log,
    ) -> None:  # fmt: skip
        found, refused = targets(session, keyspace, tables)
        reasons = "; ".join(f"{table}: {why}" for table, why in refused.items())
        if not found:
            raise LaboratoryError(f"no table's staleness can be probed: {reasons or 'the workload makes none'}")
        if reasons:
            log(f"not probed for staleness: {reasons}")
        self._note, self._log = note, log
        self._turns: dict[str, dict[str, dict[str, Any]]] = {}  # what was counted, by cell and turn
        self._nodes = _asked(session, addresses, coordinator)
        rows = OwnRows(found)
        self._probe = Probe(rows, self._nodes, rng, timeout_s)
        self._predictor: Predictor | None = Predictor(session, addresses, keyspace, rows)

    def close(self) -> None:
        """Close its connections."""
        self._nodes.close()

    def beside(self, cell: Cell, turn: int, part: OpenSection) -> Callable[[Window], Any]:
        """Return what goes on beside a turn of a cell."""
        after_ms = part.probe_after_ms or 0.0
        probers = max(2, math.ceil(part.probes_per_s * (after_ms + _REQUESTS_MS) / 1e3))
        pause_ms = max(0.0, 1e3 * probers / part.probes_per_s - after_ms)
        traced = part.probe_traces if self._predictor and meet_in_one_centre(cell) else 0
        panel = Panel(cell.read_cl, cell.write_cl, (after_ms,), 1, probers, pause_ms, traced, same=True)
        seconds = part.lead_in_s + part.segment_s

        @contextmanager
        def during(window: Window) -> Iterator[None]:
            found: list[History] = []
            with meanwhile(lambda over: found.extend(self._probe.run([panel], seconds)), "the probe of staleness"):
                yield
            turns = self._turns.setdefault(cell.cell_id, {})
            turns[str(turn)] = counts(found[0]) | self._predicted(cell, found[0], after_ms)
            self._note({"cell_id": cell.cell_id, "after_ms": after_ms, "turns": turns})

        return during

    def _predicted(self, cell: Cell, history: History, after_ms: float) -> dict[str, Any]:
        """Return what traces of a turn predict; from the first that cannot be read on, none are made."""
        if self._predictor is None or history.traced.empty:
            return {}
        try:
            return {"predicted": self._predictor.of(cell, history, after_ms)}
        except (LaboratoryError, InputError, DriverException, NoHostAvailable) as error:
            self._log(f"traces cannot be read ({error}); no more requests are traced")
            self._predictor = None
            return {}


def _asked(session: Session, addresses: list[str], coordinator: str) -> Nodes:
    """Return connections to the nodes that a load asks: all, or those of the nearest data centre."""
    nodes = Nodes(session, addresses)
    asked = in_turn(session, addresses, coordinator, nodes.nearest() if coordinator == "nearest_dc" else 0)
    if len(asked) == len(addresses):
        return nodes
    nodes.close()
    return Nodes(session, [addresses[place] for place in asked])


def meet_in_one_centre(cell: Cell) -> bool:
    """Whether levels count replicas wherever they are, as predictions do."""
    return not any(level.startswith(("LOCAL_", "EACH_")) for level in (cell.read_cl, cell.write_cl))


class Predictor:
    """What message delays of traced requests say of staleness, row by row."""

    def __init__(self, session: Session, addresses: list[str], keyspace: str, rows: OwnRows) -> None:
        hosts = {host.address: host for host in session.hosts}
        self._session, self._keyspace, self._rows = session, keyspace, rows
        self._nodes = [_called(hosts[address]) for address in addresses]

    def of(self, cell: Cell, history: History, after_ms: float) -> dict[str, float]:
        """Fetch the traces of a turn, and say which share of reads would miss a write of that age.

        `pairings`: of how many pairs of a write and a read of one row; `requests`: of how many traces, `left_out` of
        which had holes. LaboratoryError where none come.
        """
        traced = history.traced
        replicas = {str(key): self._replicas(str(key)) for key in traced["key"].unique()}
        requests, events = traces.fetch(self._session, traced, self._nodes, replicas, _PATIENCE_S)
        key_of = dict(zip(traced["session_id"].astype(str), traced["key"].astype(str), strict=True))
        cost, used, stale, pairings = tracing_ms(history), 0, 0.0, 0
        for key, n in ((key, len(holders)) for key, holders in replicas.items()):
            own = [one for one in requests if key_of[one.session_id] == key]
            r, w = (replicas_waited_for(level, n) for level in (cell.read_cl, cell.write_cl))
            if (row := _row(own, events, n, (r, w), cost)) is not None:
                stale += row.pairings * (1 - row.p_consistent(after_ms))
                pairings, used = pairings + row.pairings, used + len(row.writes) + len(row.reads)
        share = round(stale / pairings, 8) if pairings else 0.0
        return {"stale": share, "pairings": pairings, "requests": used, "left_out": len(traced) - used}

    def _replicas(self, row: str) -> tuple[str, ...]:
        key = self._rows.routing_key(row)
        return tuple(map(_called, self._session.cluster.metadata.get_replicas(self._keyspace, key)))


def _called(host: Host) -> str:
    """Return what nodes call each other."""
    return str(host.broadcast_address or host.address)


def _row(
    asked: list[Asked], events: pd.DataFrame, n: int, waited_for: tuple[int, int], cost: Estimate
) -> Traced | None:
    """Return what the traces of one row predict; None where too few are whole.

    Reads through the coordinator of the writes are left out, where others are.
    """
    writes = [one for one in asked if one.kind == "UPDATE"]
    through = {one.coordinator for one in writes}
    reads = [one for one in asked if one.kind == "READ" and one.coordinator not in through]
    if not writes or not reads:
        return None
    try:
        (applied, _), (looked, _) = delays_of(writes, events, n), delays_of(reads, events, waited_for[0])
    except InputError:  # none is whole
        return None
    return of_row(applied, looked, *waited_for, cost)


def tracing_ms(history: History) -> Estimate:
    """Return what tracing adds to a request, by what it adds to this probe's reads."""
    plain_ms = 1e3 * (history.reads["returned_s"] - history.reads["sent_s"])
    traced_ms = history.traced.loc[history.traced["kind"] == "READ", "latency_ms"]
    added_ms = max(0.0, float(np.nan_to_num(traced_ms.mean() - plain_ms.mean())))
    return Estimate(PART * added_ms, 0.0, added_ms)


def counts(history: History) -> dict[str, Any]:
    """Count the reads of a turn: of how many, how many missed an acknowledged write.

    By whether the read went through the coordinator of its write (`same`) or another (`other`).
    """
    judged = checker.judge(history.writes, history.reads)
    same = (judged["writer"] == judged["reader"]).to_numpy()
    stale = ~judged["consistent"].to_numpy(dtype=bool)
    known = (judged["newest"] > 0).to_numpy()
    of = {
        name: [int((stale & own & known).sum()), int((own & known).sum())]
        for name, own in (("other", ~same), ("same", same))
    }
    return {**of, "lost": history.lost}
