"""The probe of staleness beside a load: on the workload's own tables, in each turn of a setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from cassandra.cluster import Session

from cassbook.core.errors import LaboratoryError
from cassbook.core.threads import meanwhile
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.own_rows import OwnRows, targets
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.staleness_probe import History, Panel, Probe
from cassbook.lab.run.cell import Cell
from cassbook.profile.open import OpenSection
from cassbook.staleness import checker

#: What a prober's requests take besides its wait, about, in ms.
_REQUESTS_MS = 20.0


class SideProbe:
    """Probers with connections of their own, on the tables of one workload.

    `note` takes all that a cell has shown so far, after each of its turns. LaboratoryError where none of its tables can
    be probed, with the reason of each.
    """

    def __init__(
        self, session: Session, addresses: list[str], keyspace: str, tables: list[str], rng: np.random.Generator,
        timeout_s: float, note: Callable[[dict[str, Any]], None], log: Callable[[str], None],
    ) -> None:  # fmt: skip
        found, refused = targets(session, keyspace, tables)
        reasons = "; ".join(f"{table}: {why}" for table, why in refused.items())
        if not found:
            raise LaboratoryError(f"no table's staleness can be probed: {reasons or 'the workload makes none'}")
        if reasons:
            log(f"not probed for staleness: {reasons}")
        self._note = note
        self._turns: dict[str, dict[str, dict[str, Any]]] = {}  # what was counted, by cell and turn
        self._nodes = Nodes(session, addresses)
        self._probe = Probe(OwnRows(found), self._nodes, rng, timeout_s)

    def close(self) -> None:
        """Close its connections."""
        self._nodes.close()

    def beside(self, cell: Cell, turn: int, part: OpenSection) -> Callable[[Window], Any]:
        """Return what goes on beside a turn of a cell."""
        after_ms = part.probe_after_ms or 0.0
        probers = max(2, math.ceil(part.probes_per_s * (after_ms + _REQUESTS_MS) / 1e3))
        pause_ms = max(0.0, 1e3 * probers / part.probes_per_s - after_ms)
        panel = Panel(cell.read_cl, cell.write_cl, (after_ms,), probers=probers, pause_ms=pause_ms, same=True)
        seconds = part.lead_in_s + part.segment_s

        @contextmanager
        def during(window: Window) -> Iterator[None]:
            found: list[History] = []
            with meanwhile(lambda over: found.extend(self._probe.run([panel], seconds)), "the probe of staleness"):
                yield
            turns = self._turns.setdefault(cell.cell_id, {})
            turns[str(turn)] = counts(found[0])
            self._note({"cell_id": cell.cell_id, "after_ms": after_ms, "turns": turns})

        return during


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
