"""A record of a schedule that five actors went through."""

import json

from tests.helpers.experiments import noted

ACTORS = {"adaptive": 10.0, "naive": 9.0, "1R-3W": 12.0, "2R-2W": 20.0, "3R-1W": 30.0}


def phase(number, mean_us):
    return {"phase": number, "n": 100, "errors": 0, "mean_us": mean_us, "p99_us": 3 * mean_us, "seconds": 60.0}


SCHEDULE = [
    {"seconds": 60, "threads": 100, "read_share": 0.9},
    {"seconds": 30, "threads": 300, "read_share": 0.1},
]


def write_schedule_record(folder):
    """A recording of before: JSON, one file per block and actor."""
    for block in (1, 2, 3):
        for actor, mean in ACTORS.items():
            actor_run = {
                "block": block,
                "actor": actor,
                "phases": [phase(0, mean * block), phase(1, mean * block), phase(2, 2 * mean)],
                "seconds": {"second": [0, 1], "mean_us": [mean, mean], "n": [50, 50]},
                "levels": [[0.0, 2, 2], [20.0, 1, 3]],
                "watch": {
                    "reads": 40, "writes": 30, "errors": 0, "violations": int(actor == "naive"),
                    "behind_ms": [12.5] if actor == "naive" else [], "versions_behind": [],
                },
            }  # fmt: skip
            if actor == "adaptive":
                actor_run["sweep_at_rest"] = {"seconds": 10.0, "rows": 1000}
                actor_run["sweeps"] = [{"seconds": 30.0, "slowdown": 1.4}]
            (folder / f"b{block}-{actor}.json").write_text(json.dumps(actor_run))
    noted(folder, "adviser-shift", schedule=SCHEDULE, blocks=3)
