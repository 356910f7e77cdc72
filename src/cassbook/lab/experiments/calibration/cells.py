"""What is measured to calibrate the queueing network, and to judge it: four nodes as the paper had, and six."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from cassbook.core.consistency import LEVELS
from cassbook.lab.engine.cluster import Spec
from cassbook.lab.experiments.calibration.measuring import CalibrationTrial, Cell
from cassbook.lab.experiments.experiment import SideBySide
from cassbook.queueing.paper import FIELD_LENGTH

OPERATIONS = ("READ", "UPDATE")
#: Jobs of the paper's figures reach 100; these are spaced evenly on a logarithmic scale.
JOBS, FEW_JOBS = (1, 4, 16, 64), (4, 64)
#: A second size of rows: ten fields of 400 bytes.
LONGER = 4 * FIELD_LENGTH


def _cells(
    levels: Iterable[str], jobs: Iterable[int], field_length: int = FIELD_LENGTH, replication: int = 3
) -> list[Cell]:
    return [
        Cell(*point, field_length=field_length, replication=replication)
        for point in itertools.product(OPERATIONS, levels, jobs)
    ]


def calibration() -> CalibrationTrial:
    """Measure four nodes with every kind of cell, six with the plain ones."""
    four = [
        *_cells(LEVELS, JOBS),
        *_cells(("ONE",), FEW_JOBS, replication=1),  # tells what it costs to look from what it costs to coordinate
        *_cells(("ONE", "ALL"), FEW_JOBS, replication=2),
        *_cells(LEVELS, FEW_JOBS, field_length=LONGER),
        *_cells(("ONE",), FEW_JOBS, field_length=LONGER, replication=1),
        *(Cell("READ", "QUORUM", jobs, ask_all=True) for jobs in JOBS),
    ]
    return CalibrationTrial(
        {"four": SideBySide(Spec(4, 3, 512)), "six": SideBySide(Spec(6, 3, 512))},
        {"four": tuple(four), "six": tuple(_cells(LEVELS, JOBS))},
        traced_in=("four",),
    )
