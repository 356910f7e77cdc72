"""What the lightest load that was measured says of heavier ones, and how far that is off.

From one share of capacity alone are known the response time there and how busy the processors are. The utilisation law
(utilisation = rate x service demand) gives the rate at which they would always be busy, and three ways lead from there
to a heavier load: the response grows as 1/(1 - u), a straight line through the origin; it grows by the wait of a queue
with as many servers as there are processors (M/M/k); or as a calibrated network says, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammainc, gammaln

from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.core.types import Floats
from cassbook.latency.open_results import MIX, SHARE, open_cells

LINE, QUEUE, NETWORK = "1/(1 - u)", "M/M/k", "network"
#: Mean response time in ms of a setting ('ONE/ALL') at a share of reads and of its own capacity; NaN from 1 on.
AskNetwork = Callable[[str, float, float], float]
_KEYS = [*MIX, "setting", "block"]


def erlang_c(servers: int, offered: float) -> float:
    """Return the probability that an arrival finds all servers busy; `offered` is rate / service rate of one server.

    Erlang's C by his B, which is a ratio of Poisson's tail: stable for hundreds of servers.

    >>> round(erlang_c(1, 0.6), 6), round(erlang_c(2, 1.2), 6)
    (0.6, 0.45)
    """
    log_last = servers * np.log(offered) - offered - gammaln(servers + 1)
    blocked = float(np.exp(log_last) / (1 - gammainc(servers + 1, offered)))  # B: Poisson's P(k) / P(<= k)
    busy = offered / servers
    return blocked / (1 - busy * (1 - blocked))


def wait_s(rate_per_s: float, capacity_per_s: float, servers: int) -> float:
    """Mean wait of M/M/k, in seconds; infinite from its capacity on."""
    if rate_per_s >= capacity_per_s:
        return float("inf")
    return erlang_c(servers, servers * rate_per_s / capacity_per_s) / (capacity_per_s - rate_per_s)


def predictions(
    statistics: pd.DataFrame, processors: int, network: AskNetwork | None = None, lightest: float | None = None
) -> pd.DataFrame:
    """Predict the mean response at each heavier share from the lightest, setting by setting, within blocks.

    Parameters
    ----------
    statistics : DataFrame
        From `cells.cell_statistics`.
    processors : int
        Of the machine that all nodes share.
    network : callable, optional
        Of a calibrated network: its response at the lightest load is shifted to what was measured there.
    lightest : float, optional
        Share of capacity that is known; by default the lowest of each mix.

    Returns
    -------
    DataFrame
        One row per mix, setting, block, share (`at`) and method: `MIX`, setting, block, at, rate_per_s, lightest,
        capacity_per_s (by the utilisation law), method, predicted_us (infinite where the rate is above that),
        measured_us, ratio (predicted to measured).

    Raises
    ------
    LackingError
        If no cell was measured at a share with its processor time.
    """
    cells = open_cells(statistics)
    cells = cells[(cells["measured"] == SHARE) & cells["response_us"].notna()]
    if cells.empty or not (cells.get("busy_share", pd.Series(np.nan, cells.index)) > 0).any():
        raise LackingError(
            "no cell at a share of capacity says how busy the processors were; measure `open` with load_shares on "
            "nodes that the laboratory starts"
        )
    rows = []
    for key, group in cells.groupby(_KEYS, sort=False):
        cells_of = {float(cell["at"]): cell for cell in group.sort_values("at").to_dict("records")}
        first = min(cells_of) if lightest is None else lightest
        if first not in cells_of or not cells_of[first]["busy_share"] > 0:
            continue
        known = cells_of[first]
        capacity_per_s = known["rate_per_s"] / known["busy_share"]
        for at, cell in cells_of.items():
            if at <= first:
                continue
            rate_per_s = cell["rate_per_s"]
            for method, predicted_us in _each(known, rate_per_s, capacity_per_s, processors, key, network).items():
                rows.append(
                    dict(zip(_KEYS, key, strict=True)) | {
                        "at": at, "rate_per_s": rate_per_s, "lightest": first, "capacity_per_s": capacity_per_s,
                        "method": method, "predicted_us": predicted_us, "measured_us": cell["response_us"],
                        "ratio": predicted_us / cell["response_us"],
                    }
                )  # fmt: skip
    figures = ["at", "rate_per_s", "lightest", "capacity_per_s", "method", "predicted_us", "measured_us", "ratio"]
    return pd.DataFrame(rows, columns=[*_KEYS, *figures])


def _each(
    known: Mapping[Any, Any], rate_per_s: float, capacity_per_s: float, processors: int, key: tuple[object, ...],
    network: AskNetwork | None,
) -> dict[str, float]:  # fmt: skip
    first_per_s, first_us = float(known["rate_per_s"]), float(known["response_us"])
    idle, first_idle = 1 - rate_per_s / capacity_per_s, 1 - first_per_s / capacity_per_s
    waits = [wait_s(rate, capacity_per_s, processors) * 1e6 for rate in (rate_per_s, first_per_s)]
    found = {
        LINE: first_us * first_idle / idle if idle > 0 else float("inf"),
        QUEUE: first_us + waits[0] - waits[1],
    }
    if network is not None:
        of = dict(zip(_KEYS, key, strict=True))
        setting, read_share = str(of["setting"]), float(str(of["read_share"]))
        asked = [network(setting, read_share, rate / capacity_per_s) * 1e3 for rate in (rate_per_s, first_per_s)]
        found[NETWORK] = first_us + asked[0] - asked[1]
    return found


def errors(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise predictions over blocks: by mix, setting, share and method.

    `table`: from `predictions`. Columns: `MIX`, setting, at, method, blocks, beyond (blocks in which the method has the
    rate above what is carried), ratio (predicted to measured: geometric mean over the other blocks), low, high.
    """
    rows = []
    keys = [*MIX, "setting", "at", "method"]
    for key, group in table.groupby(keys, sort=False):
        finite = np.isfinite(group["ratio"]) & (group["ratio"] > 0)
        ratio = Estimate.ratio(group.loc[finite, "ratio"]) if finite.any() else Estimate(*(float("nan"),) * 3)
        rows.append(
            dict(zip(keys, key, strict=True))
            | {"blocks": group["block"].nunique(), "beyond": int((~finite).sum())}
            | {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
        )
    return pd.DataFrame(rows, columns=[*keys, "blocks", "beyond", "ratio", "low", "high"])


def off(table: pd.DataFrame) -> pd.Series:
    """Return by how much each method is off at each share, as a factor: exp of the mean absolute log ratio.

    `table`: from `predictions`. Indexed by at and method; infinite predictions make it infinite.
    """
    logs: Floats = np.abs(np.log(table["ratio"].to_numpy(dtype=float)))
    mean = pd.Series(logs, table.index).groupby([table["at"], table["method"]]).mean()
    return pd.Series(np.exp(mean.to_numpy()), mean.index)
