"""Recorded demonstrations, read back: switches of setting, and rides through the shifting load."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core import paths
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.latency import uncertainty


def _folder() -> Path:
    return paths.project_root() / "data" / "rides"


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); `cassbook demonstrate` makes one") from None
    except ValueError as error:
        raise InputError(f"{path}: is damaged ({error})") from None


def recorded_switches(name: str) -> pd.DataFrame:
    """Recorded switches of setting.

    Parameters
    ----------
    name : str
        Of a file in `data/rides`, without its ending, or the path of one.

    Returns
    -------
    DataFrame
        One row a switch: engine, how ('naive' or 'safe'), now, then, repeat and what `switches.watched` keeps.

    Raises
    ------
    InputError
        If it is missing or damaged.
    """
    path = Path(name) if name.endswith(".json") else _folder() / f"{name}.json"
    return pd.DataFrame(_read(path))


def by_switch(found: pd.DataFrame) -> pd.DataFrame:
    """Sum the repeats of each switch.

    Returns
    -------
    DataFrame
        Index (how, now, then): reads, violations, worst_ms (how long the first missed write had been acknowledged, at
        most), switched_s (mean; 0 for naive ones), errors, repeats.
    """
    worst = found["behind_ms"].map(lambda values: max(values, default=0.0))
    groups = found.assign(worst_ms=worst).groupby(["how", "now", "then"], sort=False)
    sums = groups[["reads", "violations", "errors"]].sum()
    return sums.assign(worst_ms=groups["worst_ms"].max(), switched_s=groups["switched_s"].mean(), repeats=groups.size())


class Rides:
    """A recorded run of the shifting load.

    Parameters
    ----------
    name : str or Path
        Of a folder in `data/rides`, or its path.

    Raises
    ------
    InputError
        If it is missing, damaged or not complete.
    """

    def __init__(self, name: str | Path) -> None:
        own = Path(name)
        self.folder = own if own.is_dir() else _folder() / own
        self.manifest: dict[str, Any] = _read(self.folder / "manifest.json")
        if not self.manifest.get("complete"):
            raise InputError(f"{self.folder}: is not complete; `cassbook demonstrate shift` goes on with it")
        self.rides: list[dict[str, Any]] = [_read(path) for path in sorted(self.folder.glob("b*-*.json"))]

    @cached_property
    def phases(self) -> pd.DataFrame:
        """One row a (block, actor, phase): figures as `record.summary` has them; phase 0 is the whole."""
        parts = [pd.DataFrame(r["phases"]).assign(block=r["block"], actor=r["actor"]) for r in self.rides]
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def watch(self) -> pd.DataFrame:
        """One row a (block, actor): reads, writes, errors, violations, worst_ms."""
        rows = [
            {"block": r["block"], "actor": r["actor"], "worst_ms": max(r["watch"]["behind_ms"], default=0.0)}
            | {key: r["watch"][key] for key in ("reads", "writes", "errors", "violations")}
            for r in self.rides
        ]
        return pd.DataFrame(rows)

    def seconds(self, block: int) -> dict[str, pd.DataFrame]:
        """Mean latency and requests by second of each actor's ride in a block."""
        return {r["actor"]: pd.DataFrame(r["seconds"]) for r in self.rides if r["block"] == block}

    def levels(self, block: int) -> dict[str, pd.DataFrame]:
        """When which levels came into force: at_s, reads, writes."""
        return {
            r["actor"]: pd.DataFrame(r["levels"], columns=["at_s", "reads", "writes"])
            for r in self.rides
            if r["block"] == block
        }

    @property
    def sweeps(self) -> pd.DataFrame:
        """Every sweep of the adviser, a row each: block, loaded, seconds, slowdown (NaN at rest: nothing was asked)."""
        rows = []
        for r in self.rides:
            if r["actor"] == "adaptive":
                rows.append((r["block"], False, r["sweep_at_rest"]["seconds"], np.nan))
                rows += [(r["block"], True, cost["seconds"], cost["slowdown"]) for cost in r["sweeps"]]
        return pd.DataFrame(rows, columns=["block", "loaded", "seconds", "slowdown"])

    def stitched(self, actors: Sequence[str]) -> pd.Series:
        """Mean latency, in us, of a ride put together from phases of others; index block.

        Over the whole it is the time spent waiting by the number of answers, as it is for the rides themselves.

        Parameters
        ----------
        actors : sequence of str
            Whose ride each phase is taken from, in the order of phases.
        """
        table = self.phases.pivot_table("mean_us", "block", ["actor", "phase"])
        means = table[[(actor, phase) for phase, actor in enumerate(actors, 1)]]
        spent = np.array([phase["threads"] * phase["seconds"] for phase in self.manifest["schedule"]])
        return spent.sum() / (spent / means).sum(axis=1)

    def figures(self, figure: str, phase: int = 0) -> pd.DataFrame:
        """A figure of each actor with its interval over blocks, and against the adaptive one.

        Parameters
        ----------
        figure : str
            'mean_us', 'p99_us' or another column of `phases`.
        phase : int
            0 for the whole.

        Returns
        -------
        DataFrame
            Index actor; estimate (`Estimate`), ratio (`Estimate`: to the adaptive one of the same block, geometric
            mean), p (paired t of the logarithms; NaN for the adaptive one, and with one block).
        """
        own = self.phases[self.phases["phase"] == phase]
        table = own.pivot_table(figure, "block", "actor")
        rows = {}
        for actor in table.columns:
            ratios = (table[actor] / table["adaptive"]).dropna()
            p = np.nan if actor == "adaptive" else uncertainty.paired_p(np.log(ratios.to_numpy()))
            rows[actor] = (Estimate.mean(table[actor].dropna()), Estimate.ratio(ratios), p)
        return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "ratio", "p"]).rename_axis("actor")
