"""Recorded experiments of the adviser: switches of setting, and runs of a shifting schedule.

New ones are records like those of all experiments (`records.experiment`). The first ones are JSON: a file per cluster
start and actor, or a list of switches; they are read as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.files import check_recorded
from cassbook.latency import uncertainty
from cassbook.records import manifest
from cassbook.records.experiment import Results
from cassbook.records.kinds import SCHEDULE, SWITCHES

#: How late the third replica of the recorded switches learns of everything.
LATE_S = 0.4
#: Longer than a write at ALL takes with that replica, so that one at the new level ends before.
LATE_CLIENT_S = 1.0
_ADAPTIVE = "adaptive"
_WATCH = ("reads", "writes", "errors", "violations")
_MISSED = ["at_s", "behind_ms", "versions_behind"]


def _read_json(folder: Path, notes: dict[str, Any]) -> list[Any]:
    """Return what the files of one of the first records hold, in order; none of a record of today."""
    listed = notes.get("sums", {})  # an experiment under way has none
    check_recorded(folder, listed)
    return [json.loads((folder / name).read_text(encoding="utf-8")) for name in listed if name.endswith(".json")]


def recorded_switches(name_or_path: str | Path) -> pd.DataFrame:
    """Read recorded switches of setting.

    `name_or_path`: in `data/records`, or a folder.

    One row per switch: engine, how ('naive' or 'safe'), now, then, repeat, reads, writes (acknowledged),
    errors, switched_s, violations; and of these, as lists, at_s, behind_ms and versions_behind.

    Raises InputError if it is missing, damaged or of another kind.
    """
    folder = manifest.located(name_or_path, SWITCHES)
    if listed := _read_json(folder, manifest.read(folder, SWITCHES)):
        return pd.DataFrame(listed[0])
    results = Results(folder, SWITCHES)
    rows = _counted(results).rename(columns={"start": "repeat"}).assign(engine=results.manifest["engine"])
    missed = results.table_or_empty("missed", ["start", "panel", *_MISSED])
    lists = missed.groupby(["start", "panel"])[_MISSED].agg(list).reset_index().rename(columns={"start": "repeat"})
    rows = rows.merge(lists, "left", ["repeat", "panel"])
    return rows.assign(
        **{name: rows[name].map(lambda value: value if isinstance(value, list) else []) for name in _MISSED}
    )


def _counted(results: Results) -> pd.DataFrame:
    """Return the rows of a record; their errors are counts, where other experiments have text by kind."""
    return results.rows.astype({"errors": int})


def by_switch(switches: pd.DataFrame) -> pd.DataFrame:
    """Sum the repeats of each switch.

    Index (how, now, then): reads, violations, worst_ms (how long the first missed write had been
    acknowledged, at most), switched_s (mean; 0 for naive ones), errors, repeats.
    """
    worst = switches["behind_ms"].map(lambda values: max(values, default=0.0))
    groups = switches.assign(worst_ms=worst).groupby(["how", "now", "then"], sort=False)
    sums = groups[["reads", "violations", "errors"]].sum()
    return sums.assign(worst_ms=groups["worst_ms"].max(), switched_s=groups["switched_s"].mean(), repeats=groups.size())


class ScheduleRuns:
    """Recorded runs of the shifting schedule, by block (cluster start) and actor.

    `name_or_path`: in `data/records`, or a folder.

    `manifest`: engine, map, blocks, records, start (setting), terms, schedule, window_s, interval_s, and more.
    `phases`: one row per (block, actor, phase): n, errors, mean_us, p50_us, p95_us, p99_us, read_mean_us,
    write_mean_us, seconds; phase 0 is the whole. `watch`: one row per (block, actor): worst_ms, reads, writes, errors,
    violations. `sweeps`: one row per sweep of the adviser: block, loaded, seconds, slowdown (NaN at rest: nothing was
    asked).

    Raises InputError if it is missing, damaged, of another kind or not complete.
    """

    def __init__(self, name_or_path: str | Path) -> None:
        self.folder = manifest.located(name_or_path, SCHEDULE)
        self.manifest = manifest.read(self.folder, SCHEDULE)
        if not self.manifest["complete"]:
            raise InputError(f"{self.folder}: is not complete; `cassbook experiment adviser-shift --resume` resumes")
        if runs := _read_json(self.folder, self.manifest):
            self._take_files(runs)
        else:
            self._take_record(Results(self.folder, SCHEDULE))

    def _take_record(self, results: Results) -> None:
        """Take a record of today."""
        self.manifest = self.manifest | self.manifest["numbers"] | {"blocks": self.manifest["starts"]}
        rows = _counted(results).rename(columns={"start": "block"})
        watched = [f"watch_{name}" for name in _WATCH]
        self.phases = rows.drop(columns=["setup", "panel", *watched])
        whole = rows[rows["phase"] == 0]
        actors = whole[["block", "panel", "actor"]]

        def table(name: str, columns: list[str]) -> pd.DataFrame:
            by_block = results.table_or_empty(name, ["start", "panel", *columns]).rename(columns={"start": "block"})
            return actors.merge(by_block, "inner", ["block", "panel"])[["block", "actor", *columns]]

        worst_ms = table("missed", ["behind_ms"]).groupby(["block", "actor"])["behind_ms"].max().rename("worst_ms")
        watch = whole[["block", "actor", *watched]].rename(columns=dict(zip(watched, _WATCH, strict=True)))
        watch = watch.merge(worst_ms.reset_index(), "left", ["block", "actor"]).fillna({"worst_ms": 0.0})
        self.watch = watch.astype(dict.fromkeys(_WATCH, int)).reset_index(drop=True)
        self._seconds = table("by_second", ["second", "mean_us", "n"])
        self._levels = table("levels", ["at_s", "reads", "writes"])
        self.sweeps = table("sweeps", ["loaded", "seconds", "slowdown"]).drop(columns="actor")

    def _take_files(self, runs: list[dict[str, Any]]) -> None:
        """Take the files of a recording of before: JSON, one per block and actor."""

        def table(of: Any) -> pd.DataFrame:
            parts = [of(run).assign(block=run["block"], actor=run["actor"]) for run in runs]
            return pd.concat(parts, ignore_index=True)

        self.phases = table(lambda run: pd.DataFrame(run["phases"]))
        self.watch = table(
            lambda run: pd.DataFrame(
                [{"worst_ms": max(run["watch"]["behind_ms"], default=0.0)} | {key: run["watch"][key] for key in _WATCH}]
            )
        )
        self._seconds = table(lambda run: pd.DataFrame(run["seconds"]))
        self._levels = table(lambda run: pd.DataFrame(run["levels"], columns=["at_s", "reads", "writes"]))
        sweeps = []
        for run in runs:
            if run["actor"] == _ADAPTIVE:
                sweeps.append((run["block"], False, run["sweep_at_rest"]["seconds"], np.nan))
                sweeps += [(run["block"], True, cost["seconds"], cost["slowdown"]) for cost in run["sweeps"]]
        self.sweeps = pd.DataFrame(sweeps, columns=["block", "loaded", "seconds", "slowdown"])

    def seconds(self, block: int) -> dict[str, pd.DataFrame]:
        """Return mean latency and requests by second of each actor's run in a block: second, mean_us, n."""
        return _by_actor(self._seconds, block)

    def levels(self, block: int) -> dict[str, pd.DataFrame]:
        """Return when which levels came into force: at_s, reads, writes."""
        return _by_actor(self._levels, block)

    def stitched(self, actors: Sequence[str]) -> pd.Series:
        """Return the mean latency, in us, of a run put together from phases of others; index block.

        Over the whole it is the time spent waiting by the number of answers, as it is for the runs themselves.

        `actors`: whose run each phase is taken from, in the order of phases.
        """
        table = self.phases.pivot_table("mean_us", "block", ["actor", "phase"])
        means = table[[(actor, phase) for phase, actor in enumerate(actors, 1)]]
        spent = np.array([phase["threads"] * phase["seconds"] for phase in self.manifest["schedule"]])
        return spent.sum() / (spent / means).sum(axis=1)

    def figures(self, figure: str, phase: int = 0) -> pd.DataFrame:
        """Return a figure of each actor with its interval over blocks, and compared with the adaptive one.

        `figure`: 'mean_us', 'p99_us' or another column of `phases`. `phase`: 0 for the whole.

        Index actor; estimate (`Estimate`), ratio (`Estimate`: to the adaptive one of the same block,
        geometric mean), p (paired t of the logarithms; NaN for the adaptive one, and with one block).
        """
        phases = self.phases[self.phases["phase"] == phase]
        table = phases.pivot_table(figure, "block", "actor")
        rows = {}
        for actor in table.columns:
            ratios = (table[actor] / table[_ADAPTIVE]).dropna()
            p = np.nan if actor == _ADAPTIVE else uncertainty.paired_p(np.log(ratios.to_numpy()))
            rows[actor] = (Estimate.positive(table[actor].dropna()), Estimate.ratio(ratios), p)
        return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "ratio", "p"]).rename_axis("actor")


def _by_actor(table: pd.DataFrame, block: int) -> dict[str, pd.DataFrame]:
    of_block = table[table["block"] == block]
    return {
        str(actor): rows.drop(columns=["block", "actor"]).reset_index(drop=True)
        for actor, rows in of_block.groupby("actor", sort=False)
    }
