"""Real traced requests as sequences of messages, and drawn: a write, and a read sent at once through another node."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Names
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cassbook.book import palette
from cassbook.book.chapters.scenes import NODES, PAUSE_MS, Scene
from cassbook.book.figure_style import done, panels
from cassbook.core.types import Floats
from cassbook.records.staleness import StalenessRun
from cassbook.staleness.from_traces import Traced


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """A traced write and a traced read, put one after the other; times in ms since the write reached its coordinator.

    Attributes
    ----------
    writer, reader : int
        Index of the node that coordinates each.
    applied_ms, acknowledged_ms : ndarray, shape (n,)
        When each replica had the write, and when its acknowledgement was at the coordinator.
    committed_ms, known_ms : float
        When as many acknowledgements were there as the write waits for, and when the client knew.
    asked_ms : float
        When the read was at its coordinator.
    looked_ms, answered_ms : ndarray, shape (n,)
        When each replica looked, and when its answer was at the coordinator; infinite where it was not asked.
    used : tuple of int
        The replicas whose answers the read took.
    """

    writer: int
    reader: int
    applied_ms: Floats
    acknowledged_ms: Floats
    committed_ms: float
    known_ms: float
    asked_ms: float
    looked_ms: Floats
    answered_ms: Floats
    used: tuple[int, ...]

    @property
    def sees(self) -> bool:
        """Whether one of the answers had the write."""
        return bool((self.applied_ms[list(self.used)] <= self.looked_ms[list(self.used)]).any())


def typical(run: StalenessRun, setup: str, r: int, w: int, writer: int, reader: int) -> Sequence:
    """Put a typical read behind a typical write, without other load: of each the one whose time is the median.

    Parameters
    ----------
    run : StalenessRun
        With traces.
    setup : str
    r, w : int
    writer, reader : int
        Coordinators, by index.
    """
    traced = run.traced(setup, 0, r, 1)  # a write goes to all replicas, however many it waits for
    writes, reads = traced.writes, traced.reads
    a, b = _median(writes.coordinator, writes.back_ms, writer, w), _median(reads.coordinator, reads.back_ms, reader, r)
    committed_ms = float(np.sort(writes.back_ms[a])[w - 1])
    own = int(np.argsort(writes.back_ms[a], kind="stable")[w - 1]) == writer
    known_ms = committed_ms + (0.0 if own else float(writes.after_ms[a])) + float(writes.outside_ms[a]) / 2
    asked_ms = known_ms + float(reads.outside_ms[b]) / 2
    used = tuple(int(replica) for replica in np.argsort(reads.back_ms[b], kind="stable")[:r])
    return Sequence(
        writer, reader, writes.there_ms[a], writes.back_ms[a], committed_ms, known_ms, asked_ms,
        asked_ms + reads.there_ms[b], asked_ms + reads.back_ms[b], used,
    )  # fmt: skip


def _median(coordinators: NDArray[np.int64], back_ms: Floats, coordinator: int, waits: int) -> int:
    """Place of the request through a coordinator that took the median time until enough answers were there."""
    own = np.flatnonzero(coordinators == coordinator)
    took = np.sort(back_ms[own], axis=1)[:, waits - 1]
    return int(own[np.argsort(took, kind="stable")[len(own) // 2]])


def values(weak: Sequence, strong: Sequence) -> dict[str, float]:
    """Return what prose quotes of a weak and a strong sequence.

    Returns
    -------
    dict
        weak_known_ms, strong_known_ms (when the client knew of the write), late_ms (how long after the strong write was
        committed its last acknowledgement came).
    """
    late_ms = float(strong.acknowledged_ms.max()) - strong.committed_ms
    return {"weak_known_ms": weak.known_ms, "strong_known_ms": strong.known_ms, "late_ms": late_ms}


def stalest_pair(traced: Traced) -> tuple[int, int]:
    """Return the coordinators between which a read at once misses the write most often."""
    return max(traced.pairs, key=lambda pair: float((traced.needed_ms[pair] > 0).mean()))


_WRITE, _READ = palette.OPERATIONS["WRITE"], palette.OPERATIONS["READ"]
_CLIENT = 0


def side_by_side(sequences: Mapping[str, Sequence], nodes: Names[str]) -> Figure:
    """Draw sequences next to each other: arrows are messages, dots where a read looked, hollow if the write was late.

    Parameters
    ----------
    sequences : mapping of str to Sequence
        By title.
    nodes : sequence of str
        Names of the nodes' lanes.
    """
    figure, axes = panels(1, len(sequences), width=4.8, height=4.6, sharey=True)
    for panel, (title, sequence) in zip(axes[0], sequences.items(), strict=True):
        _draw(panel, sequence)
        _lanes(panel, ["client", *nodes])
        panel.set_title(f"{title}: the read {'sees the write' if sequence.sees else 'misses the write'}", fontsize=10)
    last = max(np.max(s.answered_ms[list(s.used)]) for s in sequences.values())
    late = max(s.acknowledged_ms.max() for s in sequences.values())
    axes[0, 0].set(ylabel="ms", ylim=(1.06 * max(last, late), -0.04 * max(last, late)))
    return done(figure)


def _draw(panel: Axes, sequence: Sequence) -> None:
    lane = lambda node: node + 1  # noqa: E731
    writer, reader = lane(sequence.writer), lane(sequence.reader)
    _arrow(panel, _CLIENT, 0.0, writer, 0.0, _WRITE)
    for node, (applied, acknowledged) in enumerate(zip(sequence.applied_ms, sequence.acknowledged_ms, strict=True)):
        late = acknowledged > sequence.committed_ms
        if node != sequence.writer:
            _arrow(panel, writer, 0.0, lane(node), applied, _WRITE)
            _arrow(panel, lane(node), applied, writer, acknowledged, _WRITE, dashed=late)
        panel.plot(lane(node), applied, "s", color=_WRITE, markersize=5)
    _arrow(panel, writer, sequence.committed_ms, _CLIENT, sequence.known_ms, _WRITE)
    _arrow(panel, _CLIENT, sequence.known_ms, reader, sequence.asked_ms, _READ)
    for node in sequence.used:
        looked, answered = sequence.looked_ms[node], sequence.answered_ms[node]
        if node != sequence.reader:
            _arrow(panel, reader, sequence.asked_ms, lane(node), looked, _READ)
            _arrow(panel, lane(node), looked, reader, answered, _READ)
        had = sequence.applied_ms[node] <= looked
        panel.plot(lane(node), looked, "o", color=_READ, markerfacecolor=_READ if had else "white", markersize=6)
    answered = float(np.max(sequence.answered_ms[list(sequence.used)]))
    _arrow(panel, reader, answered, _CLIENT, answered + (sequence.asked_ms - sequence.known_ms), _READ)


def _arrow(panel: Axes, lane: int, ms: float, to: float, at_ms: float, colour: str, dashed: bool = False) -> None:
    line = {"arrowstyle": "->", "color": colour, "linewidth": 1.1, "linestyle": "--" if dashed else "-"}
    panel.annotate("", xy=(to, at_ms), xytext=(lane, ms), arrowprops=line)


def scenes(by_title: Mapping[str, Scene]) -> Figure:
    """Draw recorded scenes next to each other: arrows are messages of traced requests, time runs downwards.

    Dashed is a message that nobody waits for; a dotted line across stands for a long pause.
    """
    figure, axes = panels(1, len(by_title), width=3.9, height=5.0)
    for panel, (title, scene) in zip(axes[0], by_title.items(), strict=True):
        end_ms = 1.08 * max(message.until_ms for message in scene.messages if message.seen)
        for message in scene.messages:
            colour = _WRITE if message.writes else _READ
            part = min(1.0, (end_ms - message.at_ms) / max(message.until_ms - message.at_ms, 1e-9))  # within the panel
            to, until_ms = (a + part * (b - a) for a, b in
                            ((message.lane, message.to), (message.at_ms, message.until_ms)))  # fmt: skip
            _arrow(panel, message.lane, message.at_ms, to, until_ms, colour, dashed=not message.seen)
            if message.applies and part == 1:
                panel.plot(message.to, message.until_ms, "s", color=colour, markersize=4)
        for at_ms, seconds in scene.pauses:
            panel.axhline(at_ms + PAUSE_MS / 2, color=palette.GREY, linestyle=":", linewidth=1.2)
            panel.text(0.5, at_ms + PAUSE_MS / 2, f"{seconds:.1f} s later", fontsize=8, ha="center", va="bottom")
        _lanes(panel, ["client", *(f"node {node}" for node in range(1, NODES + 1))])
        panel.set_title(f"{title}: the read {'sees the write' if scene.version else 'misses the write'}", fontsize=10)
        panel.set_ylim(end_ms, -0.04 * end_ms)
    axes[0, 0].set_ylabel("ms")
    return done(figure)


def _lanes(panel: Axes, lanes: Names[str]) -> None:
    panel.set_xticks(range(len(lanes)), lanes, fontsize=8)
    panel.set_xlim(-0.1, len(lanes) - 0.9)
    panel.xaxis.tick_top()
    panel.grid(visible=False, axis="x")
    for lane in range(len(lanes)):
        panel.axvline(lane, color=palette.GREY, linewidth=0.8, zorder=0)
