"""Cells that begin cold, on samples made for them."""

import numpy as np
import pandas as pd
import pytest

from cassbook.latency import cold_cells
from tests.helpers.cold_cells import SampledRun, cold, noise, samples_of
from tests.helpers.made_cells import make_cells


def test_the_drain_tells_nothing_of_the_beginning():
    drain = samples_of(np.linspace(1000, 100, 55)).assign(phase="drain")
    drain["started_s"] += 3.0
    steady = samples_of(noise(60)).assign(phase="steady")
    run = SampledRun(make_cells(cold("warm", "warm")), {"warm": pd.concat([steady, drain], ignore_index=True)})
    assert len(cold_cells.series_of(run, run.cells, 50)["warm"]) == 60


def test_a_cold_cell_is_held_against_the_warm_one_of_its_block():
    cells = make_cells(cold("warm", "warm"), cold("slow", "restarted_server"), cold("other", "cold_pages", block=1))
    times = {"warm": 1, "slow": 5, "other": 7}
    run = SampledRun(cells, {name: samples_of(noise(60) * factor) for name, factor in times.items()})
    times_warm = cold_cells.against_warm(run).set_index("cell_id")["times_warm"]
    assert times_warm["slow"] == pytest.approx(5, rel=0.02)
    assert times_warm[["warm", "other"]].isna().all()


def test_the_first_and_the_last_second_of_a_warm_up():
    cells = make_cells({"cell_id": "up", "kind": "warmup"})
    slow_first = samples_of(np.r_[np.full(20, 6000.0), np.full(60, 1000.0)])
    (series,) = cold_cells.warm_ups(SampledRun(cells, {"up": slow_first}))
    assert cold_cells.first_and_last_us(series) == pytest.approx((6000, 1000))
