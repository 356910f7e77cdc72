"""Cells at rising fixed rates, whose percentiles follow a power law."""

from tests.helpers.made_cells import cell_stats

RATES = (500.0, 1000.0, 2000.0, 4000.0)


def ladder(scales=(1.0, 1.1, 0.9), rates=RATES, pair=("QUORUM", "QUORUM"), power=1.0, **changes):
    """A block a scale: p99 in ms is scale * (rate / 100) ** power, so that 10 ms are crossed at 1000 / scale."""
    rows = [
        {"kind": "workload", "workload": "orders", "threads": 100, "read_cl": pair[0], "write_cl": pair[1],
         "read_share": 0.8, "block": block, "rate_per_s": rate, "n_ok": int(4 * rate), "n_errors": 0, "condition": "",
         "response_us": 500 * scale * (rate / 100) ** power, "response_p99_us": 1e3 * scale * (rate / 100) ** power}
        | {name: value(rate) if callable(value) else value for name, value in changes.items()}
        for block, scale in enumerate(scales) for rate in rates
    ]  # fmt: skip
    return cell_stats(*rows)
