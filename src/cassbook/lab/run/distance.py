"""The distances that a cell was really measured at: an echo runs next to the load, and the relay counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from cassbook.core.errors import LaboratoryError
from cassbook.core.schema import Mark
from cassbook.lab.engine.any_cluster import AnyCluster


@dataclass(frozen=True, slots=True)
class Seen:
    """Columns of a cell, and marks it has earned."""

    columns: dict[str, float] = field(default_factory=dict)
    marks: list[str] = field(default_factory=list)


class Watch:
    """Looks at the distances of a cluster before and after each cell; at nothing where all hosts are side by side."""

    def __init__(self, cluster: AnyCluster) -> None:
        self._apart = cluster.apart

    def begin(self) -> None:
        """Forget what was before the cell."""
        if self._apart:
            self._apart.echoes()
            self._apart.relay.report()

    def end(self) -> Seen:
        """Return how far hosts were apart during the cell, and how much went between them.

        LaboratoryError if the relay or the echo has died: what was measured since is worth nothing.
        """
        if self._apart is None:
            return Seen()
        distances = self._apart.distances(self._apart.echoes())
        moved = self._apart.relay.report()
        if moved.strangers:
            raise LaboratoryError(
                f"the relay passed on {moved.strangers} chunks of callers that it does not know, or mistakes"
            )
        farthest = max(distances["off_ms"].to_list(), key=abs, default=float("nan"))
        columns = {
            "distance_off_ms": round(float(farthest), 3), "relay_chunks_per_s": round(moved.chunks_per_s, 1),
        }  # fmt: skip
        kept = len(distances) == self._apart.pairs and bool(distances["kept"].all())
        marks = {Mark.DISTANCE: not kept, Mark.RELAY: moved.beyond_ceiling}
        return Seen(columns, [mark for mark, earned in marks.items() if earned])
