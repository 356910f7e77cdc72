"""A record of two settings under three faults, on one or more cluster starts."""

import numpy as np
import pandas as pd

from cassbook.latency.under_faults import ENDS
from cassbook.records.faults import FaultRun
from tests.helpers.experiments import written

LENGTH_S = 60.0
EVENTS = [
    {"at_s": 10.0, "do": "kill", "nodes": [2], "for_s": 10.0},
    {"at_s": 40.0, "do": "pause", "nodes": [3], "for_s": 1.0, "times": 2, "every_s": 5.0},
    {"at_s": 59.0, "do": "stop", "nodes": [1]},
]
STRUCK = ((1, "kill", 2, 10, 22), (2, "pause", 3, 40, 41), (3, "pause", 3, 45, 46))


def bins(place, needs, due=10):
    """Node 2 is dead from 10 to 22 s: then what needs three replicas times out for 6 s, and is refused."""
    starts = np.arange(0, LENGTH_S, 0.5)
    dead = (starts >= 10) & (starts < 22)
    lost = dead & (needs == 3)
    known = starts >= 16
    p99_ms = np.select([starts < 10, starts < 16, starts < 22], [5.0, 50.0, 20.0], 8.0)
    table = pd.DataFrame({"bin_s": starts, "n": due, **dict.fromkeys(ENDS, 0)})
    return table.assign(
        ok=np.where(lost, 0, due), unavailable=np.where(lost & known, due, 0), stale=0, back=0,
        client_timeout=np.where(lost & ~known, due, 0), p50_ms=2.0, p95_ms=3.0, max_ms=99.0,
        p99_ms=np.where(lost, np.nan, p99_ms), **place,
    )  # fmt: skip


def fault_record(folder, setup="mine", events=EVENTS, starts=1, experiment="faults", **faults):
    rows, parts, struck, notices = [], [], [], []
    for start in range(1, starts + 1):
        place = {"start": start, "setup": setup}
        for name, needs in {"ONE/ONE": (1, 1), "3R-1W": (3, 1)}.items():
            for operation, needed in zip(("READ", "UPDATE"), needs, strict=True):
                here = place | {"panel": 1 + len(rows) % 4}
                rows.append(
                    here | {"setting": name, "driver": "default", "table": "plain", "operation": operation, "n": 1200,
                            "errors": "", "stale": 3 * (name == "ONE/ONE"), "back": 0, "lost": 0, "held_up": 0}
                )  # fmt: skip
                parts.append(bins(here, needed))
        for number, fault, node, from_s, to_s in STRUCK:
            for begins, at_s in ((True, float(from_s)), (False, float(to_s))):
                struck.append(
                    place | {"panel": 1, "number": number, "fault": fault, "begins": begins, "node": node,
                             "at_s": at_s, "ordered_s": at_s, "done_s": at_s}
                )  # fmt: skip
        for observer, at_s in (("driver", 10.2), ("1", 15.0), ("3", 16.0), ("2", 22.5)):
            notices.append(place | {"panel": 1, "observer": observer, "node": 2, "state": "down", "at_s": at_s})
    folder.mkdir(exist_ok=True)
    load = {"settings": ["ONE/ONE", "3R-1W"], "rate_per_s": 80.0, "events": events} | faults
    profile = {"name": setup, "title": "One dies, one flaps", "load": {"steady_s": LENGTH_S}, "faults": load}
    tables = {"bins": pd.concat(parts), "struck": pd.DataFrame(struck), "notices": pd.DataFrame(notices)}
    written(
        folder, rows, tables, numbers={"profiles": {setup: profile}}, setups={setup: {}}, engine="5.0.9", starts=starts,
        experiment=experiment,
    )  # fmt: skip
    return FaultRun(str(folder))
