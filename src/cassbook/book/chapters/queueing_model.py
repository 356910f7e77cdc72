"""Tables of the chapter on the queueing model, and the model as pictures, in the manner of the 2016 paper's."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Polygon, Rectangle

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.core.consistency import LEVELS
from cassbook.queueing import paper
from cassbook.queueing.loads import Loads
from cassbook.queueing.network import CPU_CLASSES

#: What is at a class of the paper's Table 1.
_CLASSES = {
    "read-local": "coordinator has the row: parse and look up",
    "read-remote": "coordinator does not have it: parse",
    "read-remote-ID": "at a replica, asked by another node",
    "read-local-end": "after the join, where the coordinator has the row",
    "read-remote-end": "after the join, where it does not",
    "read-remote-return": "an answer returning to the join",
}


def demands() -> pd.DataFrame:
    """Return CPU demands of each class at each level, ms, and what they are for: the paper's Tables 1 and 2."""
    rows = {
        name: {"what": _CLASSES[name]}
        | {level: paper.demands(level).cpu_ms.get(name, float("nan")) for level in LEVELS}
        for name in CPU_CLASSES
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("class")


def loads() -> pd.DataFrame:
    """Return the work for one read at each kind of station, ms over its servers, and the most reads a second that
    leaves room for.

    Returns
    -------
    DataFrame
        Index level; columns stations (one node's for all), most_per_s, and full first.
    """
    rows = {}
    for level in LEVELS:
        work = Loads(paper.network(level))
        each = {name: ms for name, ms in work.per_server_ms.items() if not name.startswith("node") or "node1 " in name}
        rows[level] = {name.replace("node1", "a node's"): ms for name, ms in each.items()} | {
            "most reads/s": work.most_per_s, "full first": work.bottleneck.replace("node1", "the nodes'")
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("level")


def nodes_work_times_one(level: str) -> float:
    """Return what a read at a level takes of a node's processor, on average over nodes, divided by that at ONE."""
    of, one = (Loads(paper.network(name)).ms["node1 CPU"] for name in (level, "ONE"))
    return float(of / one)


_STATION, _SWITCH, _FORK, _REGION = palette.SKY, palette.YELLOW, palette.GREEN, "#D9D9D9"
_WIDE, _HIGH = 1.3, 0.55
#: Half the width of each part of a node: where arrows leave it and reach it.
_REACH = {"network": 0.62, "class": 0.4, "CPU": 0.62, "fork": 0.3, "disk": 0.62, "out": 0.75, "join": 0.3}

Point = tuple[float, float]

#: Figure 2: what a request of each kind passes, from top to bottom; what is in brackets is at another node.
WORKFLOWS = {
    "local": ("network", "CPU: read-local", "fork", "disk, and [other replicas]", "join", "CPU: read-local-end",
              "network"),
    "remote": ("network", "CPU: read-remote", "fork", "[replicas]", "join", "CPU: read-remote-end", "network"),
    "remote incoming": ("[coordinator's network]", "CPU: read-remote-ID", "disk", "network", "[coordinator's join]"),
}  # fmt: skip


def workflows() -> Figure:
    """Draw what requests of each kind pass, in their order."""
    figure, axes = panels(1, len(WORKFLOWS), width=2.9, height=4.4)
    for panel, (kind, steps) in zip(axes[0], WORKFLOWS.items(), strict=True):
        for place, step in enumerate(steps):
            y = -place
            colour = _FORK if step in ("fork", "join") else "white" if "[" in step else _STATION
            _box(panel, (0, y), step, colour, wide=2.5, dashed=step.startswith("["))
            if place:
                _arrow(panel, (0, y + 1 - _HIGH / 2), (0, y + _HIGH / 2))
        _frame(panel, kind, (-1.5, 1.5), (-6.6, 0.6))
    return done(figure)


def node() -> Figure:
    """Draw a node: network, CPU with its capacity region, disk, fork and join."""
    figure, axes = panels(1, 1, width=8.6, height=3.4)
    panel = axes[0, 0]
    panel.add_patch(Rectangle((2.35, -0.62), 2.3, 1.3, color=_REGION, zorder=0))
    panel.text(3.5, 0.8, "capacity region: concurrent_reads", ha="center", fontsize=8)
    places = {"network": (0.0, 0.0), "class": (1.6, 0.0), "CPU": (3.5, 0.0), "fork": (5.35, 0.0), "disk": (6.8, 0.7),
              "join": (8.25, 0.0), "out": (6.8, -0.7)}  # fmt: skip
    _station(panel, places["network"], "network, FCFS")
    _box(panel, places["class"], "class", _SWITCH, wide=0.8)
    _station(panel, places["CPU"], "CPU, shared")
    _triangle(panel, places["fork"], "fork")
    _station(panel, places["disk"], "disk, FCFS")
    _box(panel, places["out"], "to other nodes", "white", wide=1.5, dashed=True)
    _triangle(panel, places["join"], "join", back=True)
    for a, b in (("network", "class"), ("class", "CPU"), ("CPU", "fork"), ("fork", "disk"), ("fork", "out"),
                 ("disk", "join"), ("out", "join")):  # fmt: skip
        _arrow(panel, _edge(places[a], _REACH[a]), _edge(places[b], -_REACH[b]))
    panel.plot([8.55, 8.85, 8.85, 3.5], [0.0, 0.0, -1.35, -1.35], color="black", linewidth=1.0, zorder=1)
    _arrow(panel, (3.5, -1.38), (3.5, -0.25))
    panel.text(6.2, -1.65, "joined: read-local-end or read-remote-end, then the network and the client", ha="center",
               fontsize=8)  # fmt: skip
    _frame(panel, "", (-1.0, 9.1), (-2.1, 1.4))
    return done(figure)


def overview(nodes: int = 4) -> Figure:
    """Draw the client's CPU and network, a router, and nodes that ask each other."""
    figure, axes = panels(1, 1, width=6.8, height=3.0)
    panel = axes[0, 0]
    _station(panel, (0.0, 0.0), "client CPU")
    _station(panel, (1.9, 0.0), "client network")
    _box(panel, (3.6, 0.0), "router", _SWITCH, wide=0.9)
    _arrow(panel, (0.65, 0.0), (1.25, 0.0))
    _arrow(panel, (2.55, 0.0), (3.15, 0.0))
    heights = [1.2 - 0.8 * place for place in range(nodes)]
    for place, y in enumerate(heights):
        _box(panel, (5.6, y), f"c{place + 1}", _STATION, wide=1.0)
        _arrow(panel, (4.05, 0.0), (5.1, y))
        if place:
            _arrow(panel, (6.1, heights[place - 1]), (6.1, y), bend=-0.6, both=True)
    _arrow(panel, (5.6, heights[-1] - 0.3), (1.9, -0.35), bend=-0.3)
    panel.text(3.4, -1.75, "answers", ha="center", fontsize=8)
    _frame(panel, "", (-0.9, 7.0), (-2.1, 1.7))
    return done(figure)


def _frame(panel: Axes, title: str, x: Point, y: Point) -> None:
    panel.set(xlim=x, ylim=y, title=title)
    panel.axis("off")


def _box(panel: Axes, at: Point, text: str, colour: str, wide: float = _WIDE, dashed: bool = False) -> None:
    style = "--" if dashed else "-"
    corner = (at[0] - wide / 2, at[1] - _HIGH / 2)
    panel.add_patch(Rectangle(corner, wide, _HIGH, facecolor=colour, edgecolor="black", linestyle=style, zorder=2))
    panel.text(*at, text, ha="center", va="center", fontsize=8, zorder=3)


def _station(panel: Axes, at: Point, text: str) -> None:
    """A queue and a server."""
    x, y = at
    panel.add_patch(Rectangle((x - 0.6, y - 0.25), 0.75, 0.5, facecolor=_STATION, edgecolor="black", zorder=2))
    for line in (0.0, -0.15, -0.3):
        panel.plot([x + line, x + line], [y - 0.25, y + 0.25], color="black", linewidth=0.8, zorder=3)
    panel.add_patch(Circle((x + 0.4, y), 0.25, facecolor=_STATION, edgecolor="black", zorder=2))
    panel.text(x, y + 0.42, text, ha="center", va="center", fontsize=8)


def _triangle(panel: Axes, at: Point, text: str, back: bool = False) -> None:
    x, y = at
    tip, base = (x + 0.3, x - 0.3) if back else (x - 0.3, x + 0.3)
    corners: Sequence[Point] = [(tip, y), (base, y + 0.45), (base, y - 0.45)]
    panel.add_patch(Polygon(corners, facecolor=_FORK, edgecolor="black", zorder=2))
    panel.text(x, y + 0.62, text, ha="center", va="center", fontsize=8)


def _edge(at: Point, reach: float) -> Point:
    return at[0] + reach, at[1]


def _arrow(panel: Axes, a: Point, b: Point, bend: float = 0.0, both: bool = False) -> None:
    panel.add_patch(FancyArrowPatch(
        a, b, arrowstyle="<->" if both else "->", mutation_scale=11, connectionstyle=f"arc3,rad={bend}", zorder=1,
        color="black",
    ))  # fmt: skip
