"""Sliders that work in a rendered page: every combination is computed before, and the page only chooses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import product
from typing import Any

import plotly.graph_objects as go
from IPython.display import HTML
from jinja2 import Template

from cassbook.book import palette
from cassbook.book.kernel_environment import PLOTLY_VARIABLE
from cassbook.core.consistency import LEVELS
from cassbook.queueing.calibration import Question
from cassbook.records.calibration import CalibrationRun

_JOBS = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_DIGITS = 4


def sliders(
    runs: Mapping[str, CalibrationRun],
    nodes: Sequence[int] = (3, 4, 5, 6, 8),
    replication: Sequence[int] = (1, 2, 3),
    cores: Sequence[int] = (2, 4, 8),
    operations: Sequence[str] = ("READ", "UPDATE"),
) -> HTML:
    """Draw the throughput and response time over jobs at each level, with bands of 95 %, for all that can be chosen.

    Parameters
    ----------
    runs : mapping of str to CalibrationRun
        By version; the first is shown first.
    nodes, replication, cores : sequence of int
        Where each slider can stand.
    operations : sequence of str
    """
    curves: dict[str, dict[str, Any]] = {}
    for (version, run), operation, n, rf, processors in product(runs.items(), operations, nodes, replication, cores):
        if rf <= n:
            curves[f"{version} {operation} {n} {rf} {processors}"] = {
                level: _curve(run, Question(operation, level, n, rf), processors) for level in LEVELS
            }
    ranges = {"nodes": list(nodes), "replication": list(replication), "cores": list(cores)}
    template = resources.files("cassbook.book.chapters").joinpath("templates/whatif.html").read_text()
    return HTML(
        Template(template).render(
            name="whatif", choices={"Cassandra": list(runs), "operation": list(operations)}, ranges=ranges,
            jobs=list(_JOBS), found=curves,
            start={"nodes": ranges["nodes"].index(4), "replication": len(replication) - 1, "cores": 0},
            colours=palette.LEVELS, figure=_empty(),
            measured={version: _measured(run) for version, run in runs.items()},
        )
    )  # fmt: skip


def _measured(run: CalibrationRun) -> dict[str, list[int]]:
    """Least and most of what each slider may stand at."""
    ends = {name: [int(run.cells[name].min()), int(run.cells[name].max())] for name in ("nodes", "replication")}
    return ends | {"cores": [run.cores, run.cores]}


def _curve(run: CalibrationRun, question: Question, cores: int) -> dict[str, list[float]]:
    predicted = run.predict(question, _JOBS, cores=cores)
    return {
        short + part: [round(max(0.0, getattr(estimate, name)), _DIGITS) for estimate in estimates]
        for short, estimates in (("x", predicted.throughput_per_s), ("r", predicted.response_ms))
        for part, name in (("", "value"), ("l", "low"), ("h", "high"))
    }


def _empty() -> str:
    """Axes for the page to draw on."""
    title = {"text": "jobs"}
    layout = go.Layout(
        xaxis={"domain": [0, 0.45], "title": title}, yaxis={"title": {"text": "requests/s"}, "rangemode": "tozero"},
        xaxis2={"domain": [0.57, 1], "title": title, "anchor": "y2"},
        yaxis2={"title": {"text": "mean response time, ms"}, "anchor": "x2", "rangemode": "tozero"},
        height=380, margin={"l": 60, "r": 10, "t": 10, "b": 50}, template="plotly_white",
    )  # fmt: skip
    script = os.environ.get(PLOTLY_VARIABLE)
    return str(
        go.Figure(layout=layout).to_html(full_html=False, include_plotlyjs=script or True, div_id="whatif-figure")
    )
