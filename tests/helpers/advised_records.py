"""A record of advisers under faults, and what its half seconds hold."""

import numpy as np
import pandas as pd

from cassbook.latency.under_faults import ENDS
from cassbook.records.faults import KILLED, AdvisedRun
from tests.helpers.experiments import written

LENGTH_S, BIN_S = 30.0, 0.5


def bins(panel, failing_from_s, failing_to_s, stale=0):
    """Ten requests in each half second; in some all fail."""
    starts = np.arange(0, LENGTH_S, BIN_S)
    failing = (starts >= failing_from_s) & (starts < failing_to_s)
    table = pd.DataFrame({"bin_s": starts, "n": 10, **dict.fromkeys(ENDS, 0)})
    return table.assign(
        ok=np.where(failing, 0, 10), unavailable=np.where(failing, 10, 0), p50_ms=2.0, p95_ms=3.0,
        p99_ms=np.where(starts == 10.0, 900.0, 5.0), max_ms=950.0, stale=np.where(starts == 12.0, stale, 0), back=0,
        panel=panel, start=1, setup="faults-kill",
    )  # fmt: skip


def advised_record(folder, died_s=15.0):
    """Two faults; the setting is left at the first, where one of the advisers' own requests failed. One member dies."""
    setup = "faults-advised"
    rows = [
        {"start": 1, "setup": setup, "panel": panel, "setting": "2R-2W", "driver": "default", "table": table,
         "operation": operation, "n": 600, "errors": "", "stale": stale, "back": 0, "lost": 0}
        for panel, (table, operation, stale) in enumerate(
            (("safe", "READ", 0), ("safe", "UPDATE", 0), ("naive", "READ", 4), ("naive", "UPDATE", 0)), 1
        )
    ]  # fmt: skip
    place = {"start": 1, "setup": setup, "panel": 1}
    struck = pd.DataFrame(
        [(1, "kill", True, 2, 10.0, 10.0, 10.0), (1, "kill", False, 2, 18.0, 18.0, 20.0),
         (2, "pause", True, 3, 24.0, 24.0, 24.0)],
        columns=["number", "fault", "begins", "node", "at_s", "ordered_s", "done_s"],
    )  # fmt: skip
    steps = pd.DataFrame(
        [(12.5, "a", "escape", "1R-3W", "1R-3W", "to 2R-2W: 2 of 3 replicas are alive"),
         (12.6, "a", "epoch", "2R-3W", "2R-2W", "on the way"), (13.0, "a", "epoch", "2R-2W", "2R-2W", "in force"),
         (13.4, "b", "epoch", "2R-2W", "2R-2W", "in force"), (died_s, "c1", KILLED, "", "", "")],
        columns=["at_s", "member", "kind", "setting", "wanted", "reason"],
    )  # fmt: skip
    replies = pd.DataFrame(
        [("naive", "UPDATE", 11.0), ("safe", "UPDATE", 12.0), ("safe", "UPDATE", 12.8)],
        columns=["table", "operation", "ended_s"],
    )
    tables = {
        "bins": pd.concat([bins(1, 0, 0), bins(2, 10, 13), bins(3, 0, 0), bins(4, 10, 20)]).assign(setup=setup),
        **{name: table.assign(**place) for name, table in
           (("struck", struck), ("steps", steps), ("replies", replies))},
    }  # fmt: skip
    profile = {"title": "At random", "load": {"steady_s": LENGTH_S}, "cluster": {"replication_factor": 3}}
    numbers = {"profiles": {setup: profile}, "lease_s": 5.0}
    written(folder, rows, tables, numbers=numbers, setups={setup: {}}, starts=1, experiment="adviser-failing")
    return AdvisedRun(str(folder))
