"""What `cassbook predict` prints: throughput and response time of a cluster that was not measured."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from cassbook.cli.answers.machine import sharing
from cassbook.core.errors import InputError
from cassbook.core.proportion import share_text
from cassbook.core.words import counted
from cassbook.queueing.calibration import Question
from cassbook.records.calibration import CalibrationRun, Outside, Predicted, PredictedOpen
from cassbook.shown.calibration import beyond
from cassbook.shown.dead_replicas import dead_replicas

_MOST_JOBS = 2000
_MOST_LINES = 12
#: Stations that are less busy are left out of the text.
_LEAST_BUSY = 0.005


def jobs_of(text: str) -> list[int]:
    """Numbers of jobs of '45', '1,8,32' or '1..200'.

    Raises InputError for anything else.
    """
    wrong = InputError(f"jobs: {text!r}; give a number, some with commas, or a range such as 1..{_MOST_JOBS}")
    if ends := re.fullmatch(r"(\d+)\.\.(\d+)", text):
        low, high = map(int, ends.groups())
        jobs = list(range(low, high + 1))
    elif re.fullmatch(r"\d+(,\d+)*", text):
        jobs = sorted({int(part) for part in text.split(",")})
    else:
        raise wrong
    if not jobs or jobs[0] < 1 or jobs[-1] > _MOST_JOBS:
        raise wrong
    return jobs


def check(run: CalibrationRun, question: Question, predicted: Predicted) -> None:
    """Refuse an answer in which response falls as load grows, which shows that the calibration does not reach so far.

    Raises InputError, saying where it falls, what lies outside the calibration, and what would work.
    """
    if predicted.falls is None:
        return
    falls, jobs, nodes = predicted.falls, int(run.cells["jobs"].max()), run.cells["nodes"]
    within = {
        "nodes": f"--nodes {nodes.min()} to {nodes.max()}", "jobs": f"--concurrency up to {jobs}",
        "cores": f"--cores {run.cores}", "disk_ms": "--disk-ms 0",
    }  # fmt: skip
    outside = [each for each in predicted.outside if each.name in within]
    reasons = "; ".join(map(beyond, outside))
    ways = [", ".join(within[each.name] for each in outside)]
    if falls.rises_from is not None:
        ways.append(f"--concurrency {falls.rises_from} and more, where it rises (a guess)")
    ways.append("calibrate a cluster on such a machine: `cassbook experiment calibration`")
    raise InputError(
        f"{run.name}: response would fall from {falls.before_ms:.2f} ms with {counted(falls.fewer, 'job')} to "
        f"{falls.after_ms:.2f} ms with {falls.more}. A fall was measured only up to as many jobs as cores "
        f"({run.cores}), and beyond that more load makes no cluster answer faster; so nothing is predicted. "
        f"Outside the calibration: {reasons}. On its {counted(run.cores, 'core')} a request cost less CPU "
        "the more of them waited for a core; what it costs where they do not wait was not measured. "
        f"Use {'; or '.join(ways)}"
    )


def _heading(question: Question, cores: int) -> list[str]:
    """Say what is asked, and of what cluster."""
    return [
        f"{question.operation} at {question.level}, {counted(question.nodes, 'node')}, "
        f"replication {question.replication}: {question.asked} asked, {question.waits} waited for; survives "
        f"{dead_replicas(question.replication - question.waits)}",
        f"{sharing(question.nodes, cores)}; nodes on machines of their own do more",
    ]


def _guess(outside: Sequence[Outside]) -> list[str]:
    """Say what lies outside the calibration."""
    if not outside:
        return []
    return ["outside what was measured, so take it as a guess:", *(f"  {beyond(each)}" for each in outside)]


def text(question: Question, predicted: Predicted) -> str:
    """Return throughput and response for some of the numbers of jobs, if there are many."""
    lines = [
        *_heading(question, predicted.cores),
        f"{'jobs':>6}{'requests/s':>24}{'response, ms':>26}   busiest",
    ]
    for place in _some(len(predicted.jobs)):
        name = predicted.bottleneck(place)
        busy = predicted.utilisation(place)[name].value
        lines.append(
            f"{predicted.jobs[place]:>6}{format(predicted.throughput_per_s[place], '.0f'):>24}"
            f"{format(predicted.response_ms[place], '.2f'):>26}   {name} {100 * busy:.0f} %"
        )
    return "\n".join([*lines, *_guess(predicted.outside)])


def open_text(question: Question, predicted: PredictedOpen) -> str:
    """Return response times at a rate, how busy stations are, and what is carried."""
    carried = f"up to {predicted.capacity_per_s:.0f} are carried"
    busy = sorted(predicted.utilisation.items(), key=lambda item: -item[1].value)
    lines = [
        *_heading(question, predicted.cores),
        f"{predicted.rate_per_s:g} requests a second, Poisson arrivals; {carried}",
        f"response, mean  {predicted.response_ms:.2f} ms",
        f"response, p99   {predicted.p99_ms:.2f} ms",
        *(f"{name:15} {share_text(part, digits=0)} % busy" for name, part in busy if part.value >= _LEAST_BUSY),
    ]
    return "\n".join([*lines, *_guess(predicted.outside)])


def open_as_json(question: Question, predicted: PredictedOpen) -> str:
    """Return the same as JSON."""
    answer = _asked(question, predicted.cores, predicted.outside) | {
        "rate_per_s": predicted.rate_per_s, "arrivals": "poisson", "method": predicted.method,
        "capacity_per_s": predicted.capacity_per_s.as_dict(5), "response_ms": predicted.response_ms.as_dict(5),
        "p99_ms": predicted.p99_ms.as_dict(5), "bottleneck": predicted.bottleneck,
        "utilisation": {name: busy.as_dict(5) for name, busy in predicted.utilisation.items()},
    }  # fmt: skip
    return json.dumps(answer, indent=2)


def _some(count: int) -> Sequence[int]:
    if count <= _MOST_LINES:
        return range(count)
    places = np.unique(np.round(np.geomspace(1, count, _MOST_LINES)).astype(int)) - 1
    return [int(place) for place in places]


def as_json(question: Question, predicted: Predicted) -> str:
    """Return them for all numbers of jobs."""
    rows = [
        {
            "jobs": int(jobs), "throughput_per_s": predicted.throughput_per_s[place].as_dict(5),
            "response_ms": predicted.response_ms[place].as_dict(5), "bottleneck": predicted.bottleneck(place),
            "utilisation": {name: busy.as_dict(5) for name, busy in predicted.utilisation(place).items()},
        }
        for place, jobs in enumerate(predicted.jobs)
    ]  # fmt: skip
    return json.dumps(_asked(question, predicted.cores, predicted.outside) | {"rows": rows}, indent=2)


def _asked(question: Question, cores: int, outside: Sequence[Outside]) -> dict[str, Any]:
    """Say what is asked, for programs."""
    return {
        "operation": question.operation, "level": question.level, "nodes": question.nodes,
        "replication": question.replication, "asked": question.asked, "waits": question.waits,
        "cores": cores, "shared": sharing(question.nodes, cores), "survives": question.replication - question.waits,
        "outside": [beyond(each) for each in outside],
    }  # fmt: skip
