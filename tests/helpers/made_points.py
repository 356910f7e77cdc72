"""Points of the 2021 paper's scenarios whose answer is known."""

import pandas as pd

from cassbook.deployment import scenarios
from cassbook.deployment.inferred_regions import LEVELS, SCENARIOS


def explained():
    """Points that the model explains: scenario a takes 2 ms a request and does 5000 a second at most."""
    rows = []
    for name in SCENARIOS:
        for level in LEVELS:
            model = scenarios.model_of(name, level, service_ms=2.0, most_per_s=5000.0)
            for threads in (10, 100, 1000):
                for block, factor in ((1, 0.98), (2, 1.0), (3, 1.02)):
                    for operation in ("READ", "WRITE"):
                        ms = model.latency_ms(threads) * factor
                        rows.append((name, operation, level, threads, block, ms, threads / ms * 1000, ""))
    return pd.DataFrame(rows, columns=list(scenarios.POINTS))
