"""What YCSB comes with, which three of the texts speak of."""

from __future__ import annotations

#: The core workloads as its own documentation lists them ('Core Workloads', and the folder `workloads` of a release).
YCSB_WORKLOADS = {
    "A": "update heavy",
    "B": "read mostly",
    "C": "read only",
    "D": "read latest",
    "E": "short ranges",
    "F": "read-modify-write",
}
#: Reads and writes of its first two, percent.
UPDATE_HEAVY, READ_MOSTLY = (50, 50), (95, 5)
