"""How ratios of response times differ between starts, from rounds whose ratios are known."""

import numpy as np
import pandas as pd
import pytest

from cassbook.latency.open_noise import FIGURES, between_starts, ratios

LEVELS = {"ONE": 1.0, "QUORUM": 2.0, "ALL": 3.0}


def recorded(starts=3, rounds=6):
    """Six rounds of 20 s at one share; QUORUM takes e to the power of (start + round / 10) times as long as ONE."""
    cells, slices = [], []
    for start in range(1, starts + 1):
        for level, times in LEVELS.items():
            cell_id = f"b{start}-{level}"
            cells.append({"cell_id": cell_id, "kind": "open", "workload": "", "read_share": 1.0, "load_share": 0.4,
                          "block": start, "read_cl": level, "write_cl": level})  # fmt: skip
            for number in range(rounds):
                factor = np.exp(start + number / 10) if level == "QUORUM" else times
                slices.append({"cell_id": cell_id, "round": number, "counted_s": 20.0}
                              | {column: 1000.0 * factor for column in FIGURES.values()})  # fmt: skip
    cells.append(cells[0] | {"cell_id": "alone", "load_share": np.nan})
    slices.append(slices[0] | {"cell_id": "alone"})
    return pd.DataFrame(cells), pd.DataFrame(slices)


def test_ratios_are_within_the_rounds_of_a_start_and_leave_cells_alone_out():
    table = ratios(*recorded())
    assert len(table) == 2 * 3 * 6 * len(FIGURES)
    quorum = table[(table["read_cl"] == "QUORUM") & (table["figure"] == "p99")]
    assert quorum["log_ratio"].to_numpy() == pytest.approx((quorum["block"] + quorum["round"] / 10).to_numpy())


def test_shorter_measurements_take_the_first_rounds():
    found = between_starts(ratios(*recorded()))
    quorum = found[(found["read_cl"] == "QUORUM") & (found["figure"] == "mean")].set_index("measured_s")
    assert quorum["log_ratio"].to_dict() == pytest.approx({20.0: 2.0, 60.0: 2.1, 120.0: 2.25})
    assert (quorum["starts"] == 3).all()
    assert quorum["sd"].to_numpy() == pytest.approx(1.0)  # over 1, 2 and 3, whatever the round
    assert found.loc[found["read_cl"] == "ALL", "sd"].to_numpy() == pytest.approx(0.0)
