"""A deployment as a small picture, in the manner of the 2021 paper's Fig. 1: regions, zones in them, hosts in those."""

from __future__ import annotations

from itertools import combinations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.deployment.distances import Placement
from cassbook.deployment.notation import CLIENT, Deployment, Host

_ZONE_WIDE, _HOST_HIGH, _GAP = 1.0, 0.9, 0.45
_REGION, _ZONE, _NODE, _OWN = "#D9D9D9", "#8C8C8C", palette.BLUE, palette.VERMILION


def draw(*deployments: Deployment | Placement, titles: tuple[str, ...] = ()) -> Figure:
    """Draw deployments two in a row: regions solid, zones dashed, replicas as discs, the client as a square.

    Of a `Placement` regions are named, and the lines between replicas say how long a round trip is, in ms.
    """
    columns = min(2, len(deployments))
    figure, axes = panels(-(-len(deployments) // columns), columns, width=4.3, height=3.1)
    reaches = [_one(panel, deployment) for panel, deployment in zip(axes.flat, deployments, strict=False)]
    right, top = (max(reach[of] for reach in reaches) for of in (0, 1))
    for panel in axes.flat:
        panel.axis("off")
    for k, (panel, (own_right, own_top)) in enumerate(zip(axes.flat, reaches, strict=False)):
        aside = (right - own_right) / 2  # all at one scale, in the middle and at the top
        panel.set(xlim=(-aside - 0.2, own_right + aside + 0.2), ylim=(own_top - top - 0.75, own_top + 0.35))
        panel.set(aspect="equal")
        panel.set_title(titles[k] if k < len(titles) else str(_of(deployments[k])), fontsize=11)
    return done(figure)


def _of(what: Deployment | Placement) -> Deployment:
    return what.deployment if isinstance(what, Placement) else what


def _one(panel: Axes, what: Deployment | Placement) -> tuple[float, float]:
    """Draw one deployment; return how far it reaches."""
    deployment = _of(what)
    places, right, top = _region_boxes(panel, what)
    if isinstance(what, Placement):
        rtt = what.rtt_ms()
        for a, b in combinations([host.name for host in deployment.replicas], 2):
            _line(
                panel,
                places[a],
                places[b],
                f"{float(rtt.to_numpy()[rtt.index.get_loc(a), rtt.columns.get_loc(b)]):.0f}",
            )
    for host in deployment.hosts:
        x, y = places[host.name]
        if host.name == CLIENT:
            panel.add_patch(Rectangle((x - 0.25, y - 0.25), 0.5, 0.5, color=_OWN, zorder=3))
        else:
            panel.add_patch(Circle((x, y), 0.28, color=_NODE, zorder=3))
        panel.text(x, y, host.name, ha="center", va="center", color="white", fontsize=8, zorder=4)
    return right, top


def _region_boxes(panel: Axes, what: Deployment | Placement) -> tuple[dict[str, tuple[float, float]], float, float]:
    """Draw regions and zones; centre of each host, and how far the picture reaches."""
    deployment = _of(what)
    columns: dict[int, dict[int, list[Host]]] = {}
    for host in deployment.hosts:
        columns.setdefault(host.region, {}).setdefault(host.zone, []).append(host)
    highest = max(sum(len(zone) for zone in zones.values()) for zones in columns.values())
    top = highest * _HOST_HIGH + 0.2
    places, left = {}, 0.0
    for region, zones in sorted(columns.items()):
        panel.add_patch(_box(left, 0.0, _ZONE_WIDE + 0.3, top, _REGION, "-"))
        y = top - 0.1
        for _, hosts in sorted(zones.items()):
            high = len(hosts) * _HOST_HIGH - 0.1
            if len(zones) > 1:
                panel.add_patch(_box(left + 0.15, y - high, _ZONE_WIDE, high, _ZONE, "--"))
            for k, host in enumerate(hosts):
                places[host.name] = (left + 0.15 + _ZONE_WIDE / 2, y - (k + 0.5) * high / len(hosts))
            y -= len(hosts) * _HOST_HIGH
        if isinstance(what, Placement):
            panel.text(left + 0.65, -0.25, what.regions[region], ha="center", va="top", fontsize=7)
        left += _ZONE_WIDE + 0.3 + _GAP
    return places, left - _GAP, top


def _box(x: float, y: float, wide: float, high: float, colour: str, style: str) -> FancyBboxPatch:
    look = "round,pad=0,rounding_size=0.12"
    return FancyBboxPatch((x, y), wide, high, look, edgecolor=colour, facecolor="none", linestyle=style, linewidth=1.1)


def _line(panel: Axes, a: tuple[float, float], b: tuple[float, float], text: str) -> None:
    panel.plot([a[0], b[0]], [a[1], b[1]], color=_NODE, linewidth=0.7, alpha=0.6, zorder=1)
    panel.text(
        (a[0] + b[0]) / 2, (a[1] + b[1]) / 2, text, fontsize=6.5, ha="center", va="center", zorder=2,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip
