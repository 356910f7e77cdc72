"""What is measured: cells, and groups of them that are measured together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Cell:
    """One (threads, read CL, write CL, read share) in one block.

    Attributes
    ----------
    kind : str
        'pure' (reads only or writes only), 'mixed', or another kind named in `schema.CELLS`.
    repeat : int
        Equal to the block today: a repeat is a block of its own.
    order : int
        Place in the block's random order.
    workload : str
        YCSB's preset ('A' to 'F') or the name of one of the profile's own; empty for pure and mixed cells.
    condition : str
        What was done before or during the cell; empty if nothing was.
    rate_per_s : float
        Intended rate of a paced cell; NaN in a closed loop.
    deployment : str
        Name that the profile gives to where the hosts are; empty if all are side by side.
    cell_group : str
        Cells of one group alternate in slices under one load; empty for a cell of its own.
    """

    cell_id: str
    kind: str
    threads: int
    read_cl: str
    write_cl: str
    read_share: float
    block: int
    repeat: int
    order: int
    workload: str = ""
    condition: str = ""
    rate_per_s: float = float("nan")
    deployment: str = ""
    cell_group: str = ""


Group = Sequence[Cell]
"""Cells that are measured together: alike but for their levels; mostly in slices, or one alone."""


def groups(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return what is measured together, in order."""
    return [list(group) for _, group in groupby(cells, key=lambda cell: (cell.block, cell.cell_group or cell.cell_id))]
