"""A record of Cassandra 1.2's predictor and measured reads: its answers, our predictions, and what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.core.types import Floats
from cassbook.records import kinds
from cassbook.records.experiment import Results
from cassbook.records.staleness import PART
from cassbook.staleness import cassandra12, curves, pbs
from cassbook.staleness.ccm_study import MOST_VERSIONS, VERSIONS_AT_MS, WEAK
from cassbook.staleness.from_traces import as_wars, of_row
from cassbook.staleness.message_delays import MessageDelays

#: P(consistent) at times, ms by the client's clock.
Said = Callable[[Floats], Floats]

#: Who says how probable a consistent read is.
ORACLE, SAMPLED, WARS, WHOLE = "Cassandra 1.2", "its sampling, on traces", "four distributions", "whole requests"
SAYING = (ORACLE, SAMPLED, WARS, WHOLE)
_TRIALS = 400_000


class OracleRun:
    """A record of `cassbook experiment staleness-oracle`.

    Raises InputError if no such record exists, or it is not complete.
    """

    def __init__(self, name_or_path: str | Path) -> None:
        self.results = Results(name_or_path, kinds.ORACLE)
        self.panels = self.results.rows
        self._answers = self.results.table("answers")
        self._counted = self.results.table("counted")
        self._legs = self.results.table("legs")

    @property
    def settings(self) -> list[tuple[int, int]]:
        """R and W that were measured, in the study's order."""
        measured_too = set(self.panels[["r", "w"]].dropna().itertuples(index=False, name=None))
        return [pair for pair in WEAK if pair in measured_too]

    def panel(self, setup: str, r: int, w: int, versions: int = 1, load: str = "beside") -> pd.DataFrame:
        """Return the rows of a panel, one per cluster start."""
        panels = self.panels[(self.panels["setup"] == setup) & (self.panels["load"] == load)]
        return panels[(panels["r"] == r) & (panels["w"] == w) & (panels["versions"] == versions)]

    def counted(self, setup: str, r: int, w: int, versions: int = 1) -> pd.DataFrame:
        """Return the reads of a panel, of all cluster starts together (see `curves`)."""
        return _within(self._counted, self.panel(setup, r, w, versions))

    def answers(self, setup: str, r: int, w: int, load: str = "beside") -> pd.DataFrame:
        """Return the answers of the nodes' predictors for a setting, under the load 'beside' the probe or the 'study'.

        One row per question: t_ms, k, p (mean over nodes and starts).
        """
        answers = self._answers
        answers = answers[
            (answers["setup"] == setup) & (answers["r"] == r) & (answers["w"] == w) & (answers["load"] == load)
        ]
        return answers.groupby(["t_ms", "k"])["p"].mean().reset_index()

    def said_ms(self, setup: str, load: str = "beside") -> dict[str, float]:
        """Mean latency of read and write of one replica by its own trials, ms; zero where clocks saw none."""
        answers = self._answers
        answers = answers[
            (answers["setup"] == setup) & (answers["load"] == load) & (answers["r"] == 1) & (answers["w"] == 1)
        ]
        return {name: float(answers[f"{name}_ms"].mean()) for name in ("read", "write")}

    def tracing_ms(self, setup: str) -> Estimate:
        """What tracing adds to a read of one replica, over cluster starts; 0 where it seems to save some."""
        means = [
            pd.concat([self.panel(setup, 1, w, load=load) for w in (1, 2)]).groupby("start")["read_ms"].mean()
            for load in ("traced", "beside")
        ]
        excess = Estimate.mean((means[0] - means[1]).dropna())
        value = max(0.0, excess.value)
        return Estimate(value, 0.0, max(0.0, excess.high), excess.n)

    def traces(self) -> int:
        """How many traced requests there are."""
        return int((self._legs["replica"] == 0).sum())

    def legs(self, setup: str, r: int, w: int) -> list[tuple[MessageDelays, MessageDelays]]:
        """Traced writes and reads, row by row."""
        traces = _within(self._legs, self.panel(setup, r, w, load="traced"))
        delays = []
        for _, own in traces.groupby(["start", "key"]):
            kinds = [own[own["kind"] == kind] for kind in ("UPDATE", "READ")]
            if all(len(kind) for kind in kinds):
                writes, reads = (MessageDelays.of_table(kind) for kind in kinds)
                delays.append((writes, reads))
        return delays


def _within(table: pd.DataFrame, panel: pd.DataFrame) -> pd.DataFrame:
    return table.merge(panel[["start", "setup", "panel"]], on=["start", "setup", "panel"])


@cache
def over_t(run: OracleRun, setup: str, r: int, w: int) -> pd.DataFrame:
    """Measured P(consistent) over t (`curves.over_t`), and a column for each who says something of it."""
    seen = curves.over_t(run.counted(setup, r, w))
    predictors = predictions(run, setup, r, w)
    return seen.assign(**{name: predict(seen["t_ms"].to_numpy(float)) for name, predict in predictors.items()})


@cache
def over_k(run: OracleRun, setup: str, r: int, w: int) -> pd.DataFrame:
    """Measured P(one of the last k versions) 100 ms after the last, and a column for each who says something of it."""
    seen = curves.over_k(run.counted(setup, r, w, MOST_VERSIONS), VERSIONS_AT_MS, MOST_VERSIONS)
    between_ms = float(run.panel(setup, r, w, MOST_VERSIONS)["write_ms"].mean())
    predictors = predictions(run, setup, r, w)
    answers = run.answers(setup, r, w).set_index(["k", "t_ms"])["p"]
    columns = {ORACLE: [float(answers[k, VERSIONS_AT_MS]) for k in seen["k"]]}
    for name, predict in predictors.items():
        if name != ORACLE:
            older_ms = np.arange(MOST_VERSIONS) * (0.0 if name == SAMPLED else between_ms)
            missed = 1 - predict(np.asarray(VERSIONS_AT_MS + older_ms, dtype=np.float64))
            columns[name] = (1 - np.cumprod(missed)).tolist()
    return seen.assign(**columns)


@cache
def predictions(run: OracleRun, setup: str, r: int, w: int) -> dict[str, Said]:
    """Who says what: `ORACLE`, `SAMPLED`, `WARS` and `WHOLE`.

    The first three count t from commit to start at the coordinators; a client's t is shorter by half of what it waits
    beyond them at either end.
    """
    rows = run.legs(setup, r, w)
    writes, reads = (_together([row[side] for row in rows]) for side in (0, 1))
    cost = run.tracing_ms(setup)
    ways_ms = float(np.mean(writes.outside_ms) + np.mean(reads.outside_ms)) / 2
    n = writes.there_ms.shape[1]
    answers = run.answers(setup, r, w)
    answers = answers[answers["k"] == 1]
    logged = cassandra12.Logged(*_messages(writes), *_messages(reads)).in_whole_ms(np.random.default_rng(0))
    wars = pbs.predict(as_wars(writes, [reads]), n, r, w, _TRIALS, ask="r")
    whole = [of_row(*row, r, w, Estimate(PART * cost.value, 0.0, cost.value, cost.n)) for row in rows]
    return {
        ORACLE: lambda t_ms: np.interp(t_ms + ways_ms, answers["t_ms"], answers["p"]),
        SAMPLED: lambda t_ms: cassandra12.p_consistent(logged, n, r, w, t_ms + ways_ms, trials=_TRIALS),
        WARS: lambda t_ms: pbs.p_consistent_over(wars, t_ms + ways_ms + PART * cost.value),
        WHOLE: lambda t_ms: np.mean([[traced.p_consistent(float(t)) for t in t_ms] for traced in whole], axis=0),
    }


def _together(parts: list[MessageDelays]) -> MessageDelays:
    return MessageDelays(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(MessageDelays))
    )


def _messages(legs: MessageDelays) -> tuple[Floats, Floats]:
    """There and back, one row per message: those that went to another node than the coordinator."""
    n = legs.there_ms.shape[1]
    sent = np.isfinite(legs.back_ms) & (legs.coordinator[:, None] != np.arange(n))
    there = np.maximum(legs.there_ms[sent], 0.0)
    return there[:, None], np.maximum(legs.back_ms[sent] - there, 0.0)[:, None]


def by_panel(run: OracleRun) -> pd.DataFrame:
    """How far each is from what was measured.

    Index (setup, r, w): p0, low, high (measured at t = 0), t_999_ms (NaN if not reached), noise (what the
    RMSE of a perfect prediction would be), and the RMSE of each over t.
    """
    rows = {}
    for setup in run.results.manifest["setups"]:
        for r, w in run.settings:
            seen = over_t(run, setup, r, w)
            rows[setup, r, w] = {
                "p0": seen["p"].iloc[0], "low": seen["low"].iloc[0], "high": seen["high"].iloc[0],
                "t_999_ms": curves.reached_ms(seen), "noise": curves.noise(seen),
                **{name: curves.rmse(seen.assign(predicted=seen[name])) for name in SAYING},
            }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["setup", "r", "w"])
