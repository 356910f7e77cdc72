"""Tables of Cassandra 1.2's predictor next to measured reads, and what the prose says of them."""

from __future__ import annotations

import pandas as pd

from cassbook.core.consistency import setting_waiting_for
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import share_text
from cassbook.core.units import PERCENT
from cassbook.records import predictor
from cassbook.records.prediction_errors import STALE_BELOW
from cassbook.records.predictor import ORACLE, SAYING, WARS, WHOLE, OracleRun

SETUPS = {"none": "no distance", "regions": "four regions"}


def summary(run: OracleRun) -> pd.DataFrame:
    """Return measured P(0) and time to 99.9 %, and by how much each who says something is off.

    Returns
    -------
    DataFrame of str
        Index (setup, setting).
    """
    table = predictor.by_panel(run)
    shown = pd.DataFrame({
        ("measured", "at once, %"): [
            share_text(Estimate(p0, low, high, 0))
            for p0, low, high in table[["p0", "low", "high"]].to_numpy()
        ],
        ("measured", "99.9 % after, ms"): [f"{ms:.0f}" if ms == ms else "not seen" for ms in table["t_999_ms"]],  # noqa: PLR0124 - NaN
        **{("off, %", name): [f"{PERCENT * off:.1f}" for off in table[name]] for name in SAYING},
        ("off, %", "chance alone"): [f"{PERCENT * off:.1f}" for off in table["noise"]],
    }, index=table.index)  # fmt: skip
    shown.index = pd.MultiIndex.from_tuples(
        [(SETUPS.get(setup, setup), setting_waiting_for(r, w)) for setup, r, w in table.index],
        names=["setup", "setting"],
    )
    return shown


def values(run: OracleRun) -> dict[str, object]:
    """Return what the prose quotes of a record."""
    notes, rows = run.results.manifest, run.panels
    table = predictor.by_panel(run)
    stale = table[table["p0"] < STALE_BELOW]
    quoted: dict[str, object] = {
        "oracle_starts": notes["starts"], "oracle_reads": int(rows["reads"].sum()),
        "oracle_lost": int(rows["lost"].sum()),
        "logged": notes["numbers"]["logged"], "oracle_operations": notes["numbers"]["operations"],
        "oracle_settings": len(run.settings), "oracle_panels": len(table),
        "probed_rows": notes["setups"]["none"]["nodes"] ** 2 * notes["numbers"]["rows_each"],
        "traces_used": run.traces(), "off_oracle": PERCENT * float(table[ORACLE].mean()),
        "off_oracle_stale": PERCENT * float(stale[ORACLE].mean()),
    }  # fmt: skip
    for setup in notes["setups"]:
        seen = predictor.over_t(run, setup, 1, 1).iloc[0]
        quoted |= {f"{setup}_p0": PERCENT * seen["p"], f"{setup}_said": PERCENT * seen[ORACLE]}
    off = table.xs(("regions", 1, 1))
    for key, name in (("off_oracle", ORACLE), ("off_wars", WARS), ("off_whole", WHOLE), ("noise", "noise")):
        quoted[f"regions_{key}"] = PERCENT * off[name]
    quoted |= {f"none_said_{kind}_ms": ms for kind, ms in run.said_ms("none").items()}
    five = predictor.over_k(run, "none", 1, 1).set_index("k").loc[5]
    return quoted | {"five_said": PERCENT * five[ORACLE], "five_seen": PERCENT * five["p"]}
