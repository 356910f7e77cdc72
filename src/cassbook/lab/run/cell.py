"""What is measured: cells, and groups of them that are measured together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from cassbook.core.schema import OPEN


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of threads, read level, write level and read share, in one block."""

    cell_id: str
    kind: str  # 'pure' (reads only or writes only), 'mixed', or another kind named in `schema.CELLS`
    threads: int
    read_cl: str
    write_cl: str
    read_share: float
    block: int
    repeat: int  # equal to the block: a repeat is a block of its own
    order: int  # place in the block's random order
    #: YCSB's preset ('A' to 'F') or the name of one of the profile's own; empty for pure and mixed cells.
    workload: str = ""
    condition: str = ""  # what was done before or during the cell; empty if nothing was
    rate_per_s: float = float("nan")  # intended rate; NaN in a closed loop, and at a share until capacity is known
    deployment: str = ""  # the profile's name for where the hosts are; empty if all are side by side
    cell_group: str = ""  # cells of one group are measured in turn; empty for a cell of its own
    arrivals: str = ""  # poisson or even; empty in a closed loop
    load_share: float = float("nan")  # of what the weakest setting of its mix carries, for cells of kind `open`
    own_share: float = float("nan")  # of what its own setting carries; planned for those of kind `open` that are alone
    carried_per_s: float = float("nan")  # what its own setting carries in this block, once that is known

    @property
    def leaves_writes(self) -> bool:
        """Whether it may end while replicas still work at writes that it does not wait for."""
        return self.read_share < 1.0 and self.write_cl != "ALL"


Group = Sequence[Cell]
"""Cells that are measured together: alike but for their levels; mostly in slices, or one alone."""


def ladders(of: Iterable[Group]) -> list[list[Group]]:
    """Return what belongs together, in order: the groups of an open mix (with the same trouble), each other alone."""
    return [
        list(together)
        for _, together in groupby(of, key=lambda group: (group[0].workload, group[0].read_share, group[0].condition)
                                   if group[0].kind == OPEN else group[0].cell_id)
    ]  # fmt: skip


def groups(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return what is measured together, in order."""
    return [list(group) for _, group in groupby(cells, key=lambda cell: (cell.block, cell.cell_group or cell.cell_id))]
