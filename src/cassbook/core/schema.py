"""The columns that every part of the laboratory relies on: samples, cells, and the tables made of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from cassbook.core.errors import InputError

#: Raised whenever a column changes its meaning; readers refuse versions they do not know. 2 has slices, 3 the operation
#: UNKNOWN: of a log that does not say whether it reads or writes.
SCHEMA_VERSION = 3
READ_VERSIONS = (1, 2, 3)

#: DELETE and BATCH are of statements of one's own; a batch is one request, however many statements it has.
OPERATIONS = ("READ", "UPDATE", "INSERT", "SCAN", "RMW", "UNKNOWN", "DELETE", "BATCH")
#: Where levels alternate, what is sent right after a change is the guard's and does not count.
PHASES = ("warmup", "steady", "drain", "guard")

_LABEL = pa.dictionary(pa.int8(), pa.string())

#: One row per operation. `latency_us` is service time seen by the client; `intended_s` is null in a closed loop.
SAMPLES = pa.schema(
    [
        pa.field("cell_id", pa.dictionary(pa.int16(), pa.string())),
        pa.field("started_s", pa.float64()),
        pa.field("intended_s", pa.float64()),
        pa.field("operation", _LABEL),
        pa.field("latency_us", pa.float64()),
        pa.field("outcome", _LABEL),
        pa.field("phase", _LABEL),
        pa.field("coordinator", _LABEL),
        pa.field("slice", pa.int16()),  # number of its slice; null where cells do not alternate, and outside of slices
    ],
    metadata={b"cassbook_schema_version": str(SCHEMA_VERSION).encode()},
)

#: One row per cell, in `cells.csv`; the row is the cell's completion mark.
CELLS: dict[str, str] = {
    "schema_version": "int64",
    "cell_id": "str",
    "kind": "str",  # pure, mixed, workload, open, cold, paced; or one of `ASIDE`
    "workload": "str",  # YCSB's A to F or a name of the profile's; empty for pure and mixed cells
    "condition": "str",  # what was done before or during the cell: restarted_client, cold_pages, paused_node, ...
    "engine": "str",
    "deployment": "str",
    "cell_group": "str",  # cells of one group alternate in slices under one load; empty for a cell of its own
    "threads": "int64",
    "read_cl": "str",
    "write_cl": "str",
    "read_share": "float64",
    "rate_per_s": "float64",  # intended rate under arrivals; NaN in a closed loop
    "arrivals": "str",  # poisson or even; empty in a closed loop
    "load_share": "float64",  # the rate as a share of what the group's weakest setting carries; NaN where not asked so
    "own_share": "float64",  # the rate as a share of what this setting carries; NaN where that is not known
    "carried_per_s": "float64",  # what this setting carried in this block before the group; NaN where not looked for
    "carried_after_per_s": "float64",  # and what it carried after it
    "block": "int64",
    "repeat": "int64",
    "order": "int64",  # place in the block's random order
    "cluster_start": "int64",  # counts cluster starts; a resumed block has more than one
    "started_s": "float64",  # seconds since the run began
    "steady_from_s": "float64",
    "steady_to_s": "float64",
    "ended_s": "float64",
    "measured_s": "float64",  # of the steady window what counts: all of it, or this cell's slices without guards
    "slices": "int64",  # how many slices it had; 0 for a cell of its own
    "operations": "int64",  # all that were started, in every phase
    "errors": "str",  # "read_timeout:3;unavailable:1", empty if none
    "n_due": "float64",  # requests due in what counts: ok + failed + in flight at the end + never sent; NaN if closed
    "n_in_flight": "float64",  # of them, not answered when the cell ended
    "n_unsent": "float64",  # of them, never sent
    "n_waited": "float64",  # of them, due while all slots were taken
    "late_p50_us": "float64",  # sent minus due, of requests that found a slot free; NaN if closed
    "late_p99_us": "float64",
    "client_processes": "int64",
    "client_hosts": "float64",  # machines that they ran on; NaN where logs do not say
    "clock_bound_us": "float64",  # how well their clocks were known at the worst; NaN where there is one clock
    "client_cpu_us_per_op": "float64",
    "node_cpu_us_per_op": "float64",  # of all nodes while it counted; NaN in slices, and of nodes elsewhere
    "busy_share": "float64",  # of all cores, what was not idle meanwhile; NaN as that
    "disk_busy_share": "float64",  # of the time, in which the busiest disk had requests; NaN as that
    "wire_mb_per_s": "float64",  # over the loopback; NaN as that
    "client_cpu_share": "float64",  # of all cores, over the steady window
    "loop_lag_us": "float64",  # mean delay of the client's event loop over the steady window, 0 where it kept up
    "clock_resolution_ns": "float64",
    "steal_share": "float64",  # of all cores, what the hypervisor gave to other guests while the cell's group ran
    "other_cpu_share": "float64",  # of all cores, what neither nodes nor client took
    "load_1m": "float64",  # load average when it ended
    "cpu_mhz": "float64",  # clock of the processors when it ended; NaN where it cannot be read
    "distance_off_ms": "float64",  # of the echo between two hosts whose round trip was farthest from what was asked
    "relay_chunks_per_s": "float64",  # that the relay passed on, over the whole cell
    "little_ratio": "float64",  # throughput x mean latency / threads over the steady window
    "marks": "str",  # what a reader must know, e.g. "little;errors", empty if nothing
}

#: Kinds of cells that no table averages: a block's warm-up, kept as a series of its own; what was measured a second
#: time, for other processes or guests of the hypervisor had taken a part of the machine; trials of what a setting
#: carries.
ASIDE = WARM_UP, DISTURBED, TRIAL = ("warmup", "disturbed", "trial")
#: The kind of cells under open arrivals at shares of capacity, or at the rates of a profile's `open`.
OPEN = "open"

#: Threads of a cell whose log does not say how many, and which no `logs.csv` describes.
UNKNOWN_THREADS = 0

#: What the nodes, and all together, took while a cell counted; of cells that have a window of their own.
OF_NODES = ("node_cpu_us_per_op", "busy_share", "disk_busy_share", "wire_mb_per_s")

#: What a run recorded before these columns were there says of them.
_BEFORE: dict[str, Any] = {
    "workload": "",
    "condition": "",
    "cell_group": "",
    "slices": 0,
    "rate_per_s": float("nan"),
    "load_share": float("nan"),
    "own_share": float("nan"),
    "carried_per_s": float("nan"),
    "carried_after_per_s": float("nan"),
    "n_due": float("nan"),
    "n_in_flight": float("nan"),
    "n_unsent": float("nan"),
    "n_waited": float("nan"),
    "late_p50_us": float("nan"),
    "late_p99_us": float("nan"),
    **dict.fromkeys(OF_NODES, float("nan")),
    "client_processes": 1,
    "client_hosts": 1.0,
    "clock_bound_us": float("nan"),
    "loop_lag_us": float("nan"),
    "clock_resolution_ns": float("nan"),
    "steal_share": float("nan"),
    "other_cpu_share": float("nan"),
    "load_1m": float("nan"),
    "cpu_mhz": float("nan"),
    "distance_off_ms": float("nan"),
    "relay_chunks_per_s": float("nan"),
}

#: What can become of an operation; samples hold the word, the hot path the number. 0 is success.
OUTCOMES = (
    "ok",
    "missing_row",
    "client_timeout",
    "connection_lost",
    "unavailable",
    "overloaded",
    "bootstrapping",
    "write_timeout",
    "read_timeout",
    "read_failure",
    "write_failure",
    "server_error",
)
OK, MISSING_ROW, CLIENT_TIMEOUT, CONNECTION_LOST = range(4)

#: Outcomes of a write that leave it open whether it took effect: unknown, never failed.
UNKNOWN_OUTCOMES = frozenset({"write_timeout", "client_timeout", "connection_lost", "write_failure", "server_error"})


class Mark(StrEnum):
    """What a reader must know of a cell; the page on methods explains each."""

    ERRORS = "errors"  #: operations failed
    LITTLE = "little"  #: the client lost more than 5 % between requests (Little's law)
    CLIENT = "client"  #: the client took a third of the machine
    LAG = "lag"  #: the client's event loop lagged
    EMPTY = "empty"  #: nothing was measured in its window
    HINTS = "hints"  #: hints were still waiting when it began
    PAGES = "pages"  #: too many pages stayed in memory
    DISTANCE = "distance"  #: a round trip was not what was asked
    RATE = "rate"  #: fewer requests were sent than the rate asked for
    CLOCK = "clock"  #: the clocks of its clients were known too badly for its window
    AGAIN = "again"  #: it was measured again, for the first time a client was lost, or the machine was not its own
    MACHINE = "machine"  #: others took a part of the machine meanwhile
    RELAY = "relay"  #: more went through the relay than it is stated to carry
    LATE = "late"  #: requests left late by more than 5 % of its median
    SLOTS = "slots"  #: requests were due while all slots were taken
    NOT_CARRIED = "not_carried"  #: a trial showed that its setting does not carry the rate
    STOPPED = "stopped"  #: its ladder had ended at a lower rate
    BEHIND = "behind"  #: replicas that no request waited for were behind when it ended
    DRIFT = "drift"  #: what its setting carries changed while its group was measured
    ELSEWHERE = "elsewhere"  #: its block was measured on other processors than the first: it counts in ratios alone


#: Marks of a cell in which the client is a part of what it measured.
CLIENT_MARKS = frozenset({Mark.CLIENT, Mark.LAG, Mark.LATE})

#: What each mark tells a reader, as a clause.
EXPLAINED: dict[str, str] = {
    Mark.ERRORS: "operations failed; latencies are those of the others",
    Mark.LITTLE: "throughput times latency is more than 5 % off the number of threads (Little's law)",
    Mark.CLIENT: "the client took more than a third of the machine that it shares with what it measures",
    Mark.LAG: "the client's event loop was late by more than 5 % of the latency",
    Mark.EMPTY: "nothing was measured in its window",
    Mark.HINTS: "hints of an earlier cell were still waiting when it began",
    Mark.PAGES: "too many pages stayed in memory for a cold start",
    Mark.DISTANCE: "a round trip was not what was asked",
    Mark.RATE: "fewer requests were sent than the rate asks for, so that its latencies are of a lower rate",
    Mark.CLOCK: "the clocks of its client machines were known too badly for its steady window",
    Mark.AGAIN: "it was measured again: the first time a client was lost, or others took a part of the machine",
    Mark.MACHINE: "other processes or guests of the hypervisor took more than 5 % of the machine meanwhile",
    Mark.RELAY: "more went through the relay than it is stated to carry",
    Mark.LATE: "requests left late by more than 5 % of its median",
    Mark.SLOTS: "more than 1 % of the requests were due while all slots were taken, so that the client held them back",
    Mark.NOT_CARRIED: "its setting does not carry the rate, as a trial showed; nothing was measured",
    Mark.STOPPED: "its ladder had ended at a lower rate, for failures or far too long responses; nothing was measured",
    Mark.BEHIND: "replicas that no request waited for were more than half a second behind when it ended",
    Mark.DRIFT: "what its setting carries changed by more than 10 % while its group was measured",
    Mark.ELSEWHERE: "blocks of other processors than the first block's count in ratios, and not in other figures",
}


def explained(mark: str) -> str:
    """Return what a mark of a cell tells a reader; one of a later cassbook is said to be unknown.

    >>> explained("hints")
    'hints of an earlier cell were still waiting when it began'
    """
    return EXPLAINED.get(mark, "a mark that this cassbook does not know")


#: Statistics of pure workloads, one row per (operation, level, threads): Tables I and II, printed or measured.
LEVEL_STATS = (
    "operation",  # READ or WRITE
    "level",  # ONE, QUORUM or ALL
    "threads",
    "latency_us",
    "latency_low_us",  # 95 % over blocks; NaN where there is one block or a printed table
    "latency_high_us",
    "blocks",
    "cv_percent",
    "throughput_per_s",
    "marks",  # of any of the blocks' cells, as in `cells.csv`; empty for a printed table
)

#: Statistics of mixed workloads, one row per (setting, read_share, threads): Tables IV and V, printed or measured.
MIXED_STATS = (
    "setting",
    "read_share",
    "threads",
    "latency_us",
    "latency_low_us",
    "latency_high_us",
    "blocks",
    "marks",
)


def without_aside(cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells without those of the kinds `ASIDE`."""
    return cells[~cells["kind"].isin(ASIDE)]


def without_open(cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells without those of kind `OPEN`, which only tables of their own show: their rates differ by block."""
    return cells[cells["kind"] != OPEN] if "kind" in cells.columns else cells


def marked(cells: pd.DataFrame, *marks: str) -> pd.Series:
    """Return where cells, or rows of them, carry any of some marks."""
    return cells["marks"].map(lambda own: not set(marks).isdisjoint(str(own).split(";"))).astype(bool)


def of_one_machine(cells: pd.DataFrame, keys: Sequence[str] = ()) -> pd.DataFrame:
    """Return cells without those marked `elsewhere`, but where nothing else is there, of each value of `keys`.

    Times and rates are averaged over these; a ratio within a block is one of its own machine.
    """
    if "marks" not in cells:
        return cells
    elsewhere = marked(cells, Mark.ELSEWHERE)
    if not elsewhere.any():
        return cells
    groups = [cells[key] for key in keys] or [pd.Series(0, cells.index)]
    alone = elsewhere.groupby(groups, dropna=False).transform("all")
    return cells[~elsewhere | alone]


def read_cells(path: Path) -> pd.DataFrame:
    """Read a `cells.csv`: empty numbers are NaN, empty texts stay empty.

    Raises InputError if it is damaged, or lacks a column.
    """
    numbers = {name: [""] for name, kind in CELLS.items() if kind == "float64"}
    try:
        cells = pd.read_csv(path, dtype=CELLS, keep_default_na=False, na_values=numbers)
    except (OSError, ValueError) as error:  # pandas' own errors are kinds of ValueError
        raise InputError(f"{path}: is damaged ({error})") from None
    missing = [name for name in CELLS if name not in cells.columns and name not in {*_BEFORE, "measured_s", "arrivals"}]
    if missing:
        raise InputError(f"{path}: is damaged (no column {', '.join(missing)})")
    before = {name: value for name, value in _BEFORE.items() if name not in cells.columns}
    if "arrivals" not in cells.columns:
        before["arrivals"] = cells["rate_per_s"].notna().map({True: "even", False: ""}) if "rate_per_s" in cells else ""
    if "measured_s" not in cells.columns:
        before["measured_s"] = cells["steady_to_s"] - cells["steady_from_s"]
    return cells.assign(**before)[list(CELLS)]
