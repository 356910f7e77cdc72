"""Quantiles by level over blocks, from histograms of known operations."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import InputError
from cassbook.latency import distributions
from cassbook.latency.histograms import histogram


def measured(blocks=3, n=2000):
    """Reads and writes of half reads, exponential, twice as slow in each block as in the one before."""
    rng = np.random.default_rng(5)
    cells, recorded, latencies = [], {}, {}
    for block in range(blocks):
        reads, writes = (rng.exponential(1000 * 2**block, n) + 50 for _ in range(2))
        recorded |= {f"b{block}.READ": histogram(reads), f"b{block}.UPDATE": histogram(writes)}
        latencies[block] = np.concatenate([reads, writes])
        cells.append({"cell_id": f"b{block}", "kind": "mixed", "workload": "", "block": block, "threads": 100,
                      "read_share": 0.5, "read_cl": "ONE", "write_cl": "ALL", "latency_us": 1.0,
                      "rate_per_s": np.nan})  # fmt: skip
    return pd.DataFrame(cells), recorded, latencies


def test_quantiles_are_geometric_means_over_blocks_and_of_reads_and_writes_together():
    cells, recorded, latencies = measured()
    table = distributions.curves(cells, recorded, "reads 50 %", 100).set_index("share")
    assert set(table["level"]) == {"ONE/ALL"}
    for share in (distributions.SHARES[10], distributions.SHARES[40]):
        by_block = [np.quantile(latency, share) for latency in latencies.values()]
        assert table.loc[share, "latency_us"] == pytest.approx(np.exp(np.mean(np.log(by_block))), rel=0.01)
    assert (table["low"] > 0).all()
    assert (table["blocks"] == 3).all()


def test_a_quantile_with_fewer_than_ten_operations_beyond_it_is_left_out():
    cells, recorded, _ = measured(n=500)
    assert distributions.curves(cells, recorded, "reads 50 %", 100)["share"].max() == pytest.approx(0.99, abs=0.002)


def test_what_was_not_measured_is_named():
    cells, recorded, _ = measured()
    with pytest.raises(InputError, match="READ at 100 threads"):
        distributions.curves(cells, recorded, "READ", 100)
