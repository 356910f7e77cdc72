"""Figures of message sequences: lanes for the client and the nodes, time downwards."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Names

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.chapters.scenes import NODES, PAUSE_MS, Scene
from cassbook.book.chapters.sequences import Sequence
from cassbook.book.figure_style import done, panels

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
