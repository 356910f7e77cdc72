"""Statistics of cells under open arrivals, whose percentiles are powers of the share of what a setting carries."""

import numpy as np

from tests.helpers.made_cells import cell_stats

CARRIED = {"ONE/ONE": 4000.0, "QUORUM/QUORUM": 2500.0, "ONE/ALL": 2000.0}
#: By block: all that it carries is so many times as much.
SCALES = (1.0, 1.1, 0.9)
SHARES, OWN = (0.2, 0.4, 0.6, 0.8), (0.8,)


def p99_us(setting, rate_per_s, scale=1.0, carried=None):
    """10 ms at what the setting carries."""
    return 1e4 * (rate_per_s / ((carried or CARRIED)[setting] * scale)) ** 1.5


def curves(shares=SHARES, own=OWN, rates=(), carried=None, scales=SCALES, changes=None, read_share=0.5,
           workload=""):  # fmt: skip
    """Cells in turn at `shares` of the weakest setting or at `rates`, and alone at `own`, as `cell_statistics` has.

    `changes`: takes a cell's row and returns what is different.
    """
    carried, rows = carried or CARRIED, []
    for block, scale in enumerate(scales):
        weakest = min(carried.values()) * scale
        for setting, per_s in carried.items():
            loads = [(round(share * weakest, 1), share, np.nan) for share in shares]
            loads += [(rate, np.nan, np.nan) for rate in rates]
            loads += [(round(share * per_s * scale, 1), np.nan, share) for share in own if per_s * scale > weakest]
            for rate, share, alone in loads:
                row = {
                    "kind": "open", "workload": workload, "condition": "", "threads": 4096, "arrivals": "poisson",
                    "read_cl": setting.split("/")[0], "write_cl": setting.split("/")[1], "read_share": read_share,
                    "block": block, "rate_per_s": rate, "load_share": share, "carried_per_s": per_s * scale,
                    "own_share": round(rate / (per_s * scale), 4) if np.isnan(alone) else alone,
                    "n_ok": 20_000, "n_errors": 0, "n_due": 20_000.0, "marks": "",
                    "response_p99_us": p99_us(setting, rate, scale, carried),
                    "response_us": p99_us(setting, rate, scale, carried) / 5,
                }  # fmt: skip
                rows.append(row | (changes(row) if changes else {}))
    return cell_stats(*rows)


def not_carried(setting, above_per_s):
    """Change the cells of a setting above a rate to those that a trial showed not to be carried."""

    def changes(row):
        if f"{row['read_cl']}/{row['write_cl']}" != setting:
            return {}
        if row["rate_per_s"] <= above_per_s:
            return {"carried_per_s": above_per_s}
        nothing = {"n_ok": 0, "n_due": 0.0, "response_p99_us": np.nan, "response_us": np.nan}
        return nothing | {"marks": "not_carried", "carried_per_s": above_per_s}

    return changes
