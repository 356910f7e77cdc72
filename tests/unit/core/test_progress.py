"""The time left is about right from the first cell on, whatever forecasts were wrong by."""

import io
import re

import numpy as np
import pytest

from cassbook.core import progress
from cassbook.core.progress import START, Part, TimeLeft, WeighedBar
from cassbook.lab.run.cell import groups
from cassbook.lab.run.plan import forecast_s, parts, plan
from cassbook.profile.profile import load_profile


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def run(forecast, taken):
    """Estimates and truths after each part that is no start, on a clock of the test's own."""
    clock = Clock()
    time_left = TimeLeft(forecast, clock)
    seen = []
    for place, (part, seconds) in enumerate(zip(forecast, taken, strict=True)):
        clock.now += seconds
        time_left.done()
        if part.kind != START:
            seen.append((time_left.left_s, sum(taken[place + 1 :])))
    assert time_left.gone_s == pytest.approx(sum(taken))
    return seen


@pytest.mark.parametrize("start", [0.2, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("cells", [0.7, 1.0, 1.8, 3.0])
def test_the_estimate_is_within_half_of_the_truth_from_the_first_cell_on(start, cells):
    """One block of two minutes: neither a start nor cells that take longer than forecast lead it astray."""
    rng = np.random.default_rng(5)
    forecast = [
        Part(START, 46.0),
        *(Part("pure ", 2.65) for _ in range(20)),
        *(Part("mixed ", 2.65) for _ in range(24)),
    ]
    taken = [46.0 * start, *(2.65 * cells * rng.uniform(0.9, 1.1, 44))]
    for estimate, truth in run(forecast, taken)[:-1]:
        assert truth / 1.5 < estimate < truth * 1.5


def test_several_blocks_of_unequal_parts_are_foreseen_too():
    """Starts take a third of their forecast, cold cells twice theirs: cells before that say nothing of them."""
    rng = np.random.default_rng(7)
    block = [Part(START, 50.0), *[Part("pure ", 2.65)] * 30, *[Part("workload  and its table", 8.0)] * 2,
             *[Part("workload ", 2.65)] * 10, *[Part("cold restarted_server", 30.0)] * 2]  # fmt: skip
    forecast = block * 3
    true = {START: 0.35, "cold restarted_server": 1.6}
    taken = [part.seconds * true.get(part.kind, 1.05) * rng.uniform(0.95, 1.05) for part in forecast]
    for estimate, truth in run(forecast, taken)[:-1]:
        assert truth / 1.5 < estimate < truth * 1.5


def test_what_has_been_spent_on_the_part_in_hand_is_not_left():
    clock = Clock()
    time_left = TimeLeft([Part("pure ", 10.0), Part("pure ", 10.0)], clock)
    assert time_left.left_s == 20.0
    clock.now += 4
    assert time_left.left_s == 16.0
    clock.now += 16
    assert time_left.left_s == 10.0
    time_left.done()
    assert time_left.left_s == pytest.approx(10 * 21 / 11)
    time_left.done()
    assert time_left.left_s == 0.0


@pytest.mark.parametrize("name", ["quick", "standard", "workloads", "distance"])
def test_the_parts_of_a_profile_are_its_groups_and_its_starts_in_order(name):
    profile = load_profile(name)
    cells = [cell for block in plan(profile) for cell in block]
    forecast = parts(profile, cells)
    assert [part.kind.split()[0] for part in forecast if part.kind != START] == [
        group[0].kind for group in groups(cells)
    ]
    starts = len({(cell.block, cell.deployment) for cell in cells})
    assert sum(part.kind == START for part in forecast) == starts
    assert forecast[0].kind == START
    assert forecast_s(profile, cells) - forecast_s(profile, cells, starts=False) == pytest.approx(25 * starts)


def test_a_log_is_told_finished_cells_and_the_time_left(monkeypatch):
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr(progress.sys, "stderr", stream)
    forecast = [Part(START, 40.0), *[Part("pure ", 10.0)] * 8]
    with WeighedBar(TimeLeft(forecast, clock), 10, 2, "cell") as bar:
        clock.now += 20
        bar.part_done()
        clock.now += 10
        bar.part_done(1)
        bar.refresh()
    lines = stream.getvalue().splitlines()
    assert re.match(r"2/10 cells done, 0 %, 00:00 gone, 02:00 left", lines[0])
    assert re.match(r"3/10 cells done, 30 %, 00:00 gone, 01:10 left", lines[-1])
