"""Tables and figures of Cassandra 1.2's predictor next to measured reads, and what the prose says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.core.consistency import setting_waiting_for
from cassbook.core.proportion import share_text
from cassbook.core.units import PERCENT
from cassbook.records import predictor
from cassbook.records.prediction_errors import STALE_BELOW
from cassbook.records.predictor import ORACLE, SAYING, WARS, WHOLE, OracleRun
from cassbook.shown.tables import intervals

SETUPS = {"none": "no distance", "regions": "four regions"}


def summary_shown(run: OracleRun) -> pd.DataFrame:
    """Return `predictor.by_panel` in words: measured P(0) and time to 99.9 %, and by how much each who says
    something is off.

    Returns
    -------
    DataFrame of str
        Index (setup, setting).
    """
    table = predictor.by_panel(run)
    shown = pd.DataFrame({
        ("measured", "at once, %"): intervals(table, share_text, "p0"),
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


#: Lines of those who say something of P(consistent).
_SAYING = tuple(
    {"color": colour, "linestyle": style}
    for colour, style in zip(palette.SERIES[1:5], ("-", ":", "--", "-."), strict=True)
)
_LEAST_CHANCE = 1e-4
_LEAST_MS = 0.3  # where a logarithmic axis of t begins; t = 0 is drawn there


def against_predictor(run: OracleRun, setups: Mapping[str, str]) -> Figure:
    """Draw measured P(consistent) over t with intervals, and who says what of it: one row per setup, one column per
    setting.
    """
    figure, axes = panels(len(setups), len(run.settings), width=4.2, height=3.2, sharex="row", sharey=True)
    for panel, seen in _panels_of(run, setups, axes, predictor.over_t):
        at = seen["t_ms"].clip(lower=_LEAST_MS)
        for line, name in zip(_SAYING, SAYING, strict=True):
            panel.plot(at, seen[name], **line, label=name)
        half = [seen["p"] - seen["low"], seen["high"] - seen["p"]]
        panel.errorbar(at, seen["p"], half, fmt="o", color=palette.SERIES[0], markersize=4, capsize=2, label="measured")
        panel.set(xscale="log", xlabel="t by the client's clock, ms")
    axes[0, 0].set_ylim(top=1.01)
    return _finished(figure, axes, "P(consistent)")


def against_predictor_k(run: OracleRun, setups: Mapping[str, str]) -> Figure:
    """Draw P(older than the last k versions), 100 ms after the last was acknowledged; never is drawn at 1 / 10,000."""
    figure, axes = panels(len(setups), len(run.settings), width=4.2, height=3.2, sharex=True, sharey=True)
    for panel, seen in _panels_of(run, setups, axes, predictor.over_k):
        for line, name in zip(_SAYING, SAYING, strict=True):
            panel.plot(seen["k"], (1 - seen[name]).clip(lower=_LEAST_CHANCE), **line, label=name)
        missed, low, high = ((1 - seen[name]).clip(lower=_LEAST_CHANCE) for name in ("p", "high", "low"))
        panel.errorbar(
            seen["k"], missed, [missed - low, high - missed], fmt="o", color=palette.SERIES[0], markersize=4, capsize=2,
            label="measured",
        )  # fmt: skip
        panel.set(yscale="log", xlabel="k, versions")
    return _finished(figure, axes, "P(older than the last k)")


def _panels_of(
    run: OracleRun, setups: Mapping[str, str], axes: np.ndarray, table: Callable[..., pd.DataFrame]
) -> Iterator[tuple[Axes, pd.DataFrame]]:
    """Panels with their titles, and what belongs there."""
    for row, (setup, title) in zip(axes, setups.items(), strict=True):
        for panel, (r, w) in zip(row, run.settings, strict=True):
            panel.set_title(f"{setting_waiting_for(r, w)}, {title}")
            yield panel, table(run, setup, r, w)


def _finished(figure: Figure, axes: np.ndarray, what: str) -> Figure:
    for row in axes:
        row[0].set_ylabel(what)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return done(figure)
