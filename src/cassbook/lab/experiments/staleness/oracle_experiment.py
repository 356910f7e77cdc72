"""The ccm study's second half on its own version: Cassandra 1.2.0's predictor asked, and its reads measured.

Eight nodes, three replicas. First the study's own procedure: 10,000 writes, then 10,000 reads, and the predictor is
asked its questions. Then, next to a load of both, rows are probed in each weak setting; the predictor, which has logged
the very messages that the probed ones went among, is asked again. Only at last rows are traced: what writes traces
would be in its log too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from cassbook.core.consistency import level_waiting_for
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.releases import STUDY
from cassbook.lab.engine.thrift import DistantStudyCluster, StudyCluster
from cassbook.lab.experiments.experiment import Experiment, Row, Setup, SideBySide, in_random_order
from cassbook.lab.experiments.staleness import thrift_traces
from cassbook.lab.experiments.staleness.oracle import Oracle, Question
from cassbook.lab.experiments.staleness.thrift_probe import ThriftProbe
from cassbook.lab.load import stress_thrift
from cassbook.lab.load.staleness_probe import History, Panel
from cassbook.staleness import curves
from cassbook.staleness.ccm_study import MOST_VERSIONS, VERSIONS_AT_MS, WEAK
from cassbook.staleness.checker import judge
from cassbook.staleness.message_delays import delays_of

#: Of the study's Figure 2: up to 1.5 s.
_STUDY_T_MS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0, 700.0, 1000.0, 1500.0)
_KEYSPACE, _TABLE = "study", "versions"
_NOTHING = pd.DataFrame()
_ANSWERS = ["load", "node", "r", "w", "t_ms", "k", "p", "read_ms", "write_ms"]


def _check(engine: str) -> None:
    if engine != STUDY.version:
        raise InputError(f"engine: {engine} has no predictor of its own; ask Cassandra {STUDY.version}")


class StudySideBySide(SideBySide):
    """Nodes of 1.2.0 side by side."""

    def cluster(self, engine: str, log: Callable[[str], None]) -> StudyCluster:
        """Return the cluster, not yet started."""
        _check(engine)
        return StudyCluster(STUDY, self.spec, "experiment", log)


class StudySetup(Setup):
    """Nodes of 1.2.0 at a distance."""

    def cluster(self, engine: str, log: Callable[[str], None]) -> DistantStudyCluster:
        """Return the cluster, not yet started."""
        _check(engine)
        return DistantStudyCluster(STUDY, self.placement, self.spec, name="experiment", log=log)


@dataclass(frozen=True)
class OracleExperiment(Experiment):
    """The predictor's answers after the study's own load, and next to probed rows."""

    BY_SETUP = ("setups", "t_ms")

    setups: Mapping[str, StudySideBySide | StudySetup]
    t_ms: Mapping[str, tuple[float, ...]]  # waits, by setup
    settings: tuple[tuple[int, int], ...] = WEAK  # R and W
    operations: int = 10_000  # of each kind, of the study's load; and rows of its table
    threads: int = 50  # cassandra-stress's default
    seconds: float = 30.0  # that a panel over t takes
    versions_seconds: float = 12.0  # that a panel over k takes
    traced_seconds: float = 10.0  # that the tracing after a panel over t takes
    rows_each: int = 1  # probed rows for each pair of a writer's coordinator and a first replica
    pause_ms: float = 150.0  # of a row, from its read to its next write
    traced_pause_ms: float = 1500.0
    #: The predictor's messages of each kind that a node keeps, 10,000 unless set otherwise. Fewer are kept here, so
    #: that in each setting it knows only those next to that setting's probes.
    logged: int = 1000
    trials: int = 10_000  # of the predictor, its default

    def rows(self) -> int:
        """Return how many rows a cluster start gives: the study's load, and three per setting."""
        return 1 + 3 * len(self.settings)

    def measure(self, cluster: StudyCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Load as the study did and ask; probe each setting next to a load, and ask; trace each setting.

        A row has panel, load ('study', 'beside' the probe, or 'traced', with that load too), r, w, versions, reads,
        lost, unknown, read_ms, write_ms, traces_left_out, load_writes_per_s, load_reads_per_s; and tables: answers (of
        the predictor: load, node, r, w, t_ms, k, p, read_ms, write_ms), counted (`curves.COUNTED`), legs
        (`MessageDelays.table`, and kind and key).
        """
        (t_ms,) = self.t_ms.values()
        bench = _Bench(cluster, self, t_ms, rng)
        try:
            panels = [(r, w, versions) for r, w in self.settings for versions in (1, MOST_VERSIONS)]
            steps: list[Callable[[], Row]] = [bench.as_the_study_did]
            steps += [partial(bench.probed, *panel) for panel in in_random_order(panels, rng)]
            steps += [partial(bench.traced, *setting) for setting in in_random_order(self.settings, rng)]
            for number, step in enumerate(steps):
                yield {"panel": number} | step()
        finally:
            bench.close()


class _Bench:
    """A cluster with both tables, its predictors logging, and a probe."""

    def __init__(
        self, cluster: StudyCluster, experiment: OracleExperiment, t_ms: tuple[float, ...], rng: np.random.Generator
    ) -> None:  # fmt: skip
        self._cluster, self._experiment, self._t_ms = cluster, experiment, t_ms
        self._n = cluster.spec.replication_factor
        cluster.create(_KEYSPACE, _TABLE)
        self._load("ONE")  # nodes are just started; it makes the load's table too
        assert cluster.java is not None  # noqa: S101 - it is ready
        assert cluster.installation is not None  # noqa: S101 - it is ready
        self._probe = ThriftProbe(cluster, _KEYSPACE, _TABLE, rng)
        self._oracle = Oracle(cluster.java.home, cluster.installation.home / "lib", cluster.open_jmx())
        self._oracle.enable(experiment.logged, experiment.trials)

    def close(self) -> None:
        """End the predictor's process, and close all connections."""
        self._oracle.close()
        self._probe.close()

    def as_the_study_did(self) -> Row:
        """10,000 writes and then 10,000 reads at ONE, and all of its questions."""
        rates = self._load("ONE")
        answers = pd.concat([self._answers("study", r, w) for r, w in self._experiment.settings], ignore_index=True)
        return _point("study") | _rates(rates) | {"answers": answers, "counted": _NOTHING, "legs": _NOTHING}

    def probed(self, r: int, w: int, versions: int) -> Row:
        """One panel."""
        experiment, over_k = self._experiment, versions > 1
        panel = self._panel(r, w, (VERSIONS_AT_MS,) if over_k else self._t_ms, versions)
        with self._next_to_load() as load:
            history, _ = self._probe.run(panel, experiment.versions_seconds if over_k else experiment.seconds)
        answers = _NOTHING if over_k else self._answers("beside", r, w)  # what it has logged stays
        judged = judge(history.writes, history.reads)
        return _point("beside", r, w, versions) | _rates(load.per_s) | _summed(history, judged) | {
            "answers": answers, "counted": curves.slim(curves.counted(judged)), "legs": _NOTHING,
        }  # fmt: skip

    def traced(self, r: int, w: int) -> Row:
        """Trace requests of a setting."""
        panel = replace(self._panel(r, w, self._t_ms), traced=1, pause_ms=self._experiment.traced_pause_ms)
        with self._next_to_load() as load:
            history, replicas = self._probe.run(panel, self._experiment.traced_seconds)
        latency_ms = history.traced.groupby("kind")["latency_ms"].mean()
        own_legs, left_out = self._legs(history, replicas, r)
        return _point("traced", r, w) | _rates(load.per_s) | {
            "read_ms": latency_ms["READ"], "write_ms": latency_ms["UPDATE"], "traces_left_out": left_out,
            "answers": _NOTHING, "counted": _NOTHING, "legs": own_legs,
        }  # fmt: skip

    def _panel(self, r: int, w: int, t_ms: tuple[float, ...], versions: int = 1) -> Panel:
        read_cl, write_cl = (level_waiting_for(replicas, self._n) for replicas in (r, w))
        return Panel(read_cl, write_cl, t_ms, versions, self._experiment.rows_each, self._experiment.pause_ms)

    def _next_to_load(self) -> AbstractContextManager[stress_thrift.Rates]:
        experiment = self._experiment
        return stress_thrift.kept_up(self._cluster, experiment.operations, "ONE", experiment.threads)

    def _load(self, level: str) -> dict[str, float]:
        experiment = self._experiment
        return {
            operation: stress_thrift.once(self._cluster, operation, experiment.operations, level, experiment.threads)
            for operation in ("write", "read")
        }

    def _answers(self, load: str, r: int, w: int) -> pd.DataFrame:
        """What the predictor of each node that knows anything says over t, for the last version, and over k."""
        points = [(t, 1) for t in sorted({*_STUDY_T_MS, *self._t_ms})]
        points += [(VERSIONS_AT_MS, k) for k in range(2, MOST_VERSIONS + 1)]
        questions = [Question(self._n, r, w, t, k) for t, k in points]
        rows = [
            (load, node, r, w, question.t_ms, question.k, answer.p, answer.read_ms, answer.write_ms)
            for node, answers in self._oracle.ask_every_node(questions).items()
            for question, answer in zip(questions, answers, strict=True)
        ]
        return pd.DataFrame(rows, columns=_ANSWERS)

    def _legs(
        self, history: History, replicas: Mapping[str, tuple[str, ...]], r: int
    ) -> tuple[pd.DataFrame, int]:  # fmt: skip
        """The message delays of the traced requests, row by row."""
        with self._cluster.together():
            requests, events = thrift_traces.fetch(self._cluster, history.traced, replicas)
        keys = dict(zip(history.traced["session_id"], history.traced["key"], strict=True))
        by_key = dict(iter(events.groupby(events["session_id"].map(keys))))
        parts = []
        for key, own_events in by_key.items():
            for kind, answers in (("UPDATE", self._n), ("READ", r)):
                of_row = [request for request in requests if request.kind == kind and keys[request.session_id] == key]
                with suppress(InputError):  # none is whole
                    delays, _ = delays_of(of_row, own_events, answers)
                    parts.append(delays.table().assign(kind=kind, key=key))
        if not parts:
            raise LaboratoryError(f"traces: none of {len(history.traced)} is whole")
        table = pd.concat(parts, ignore_index=True)
        return table, len(history.traced) - int((table["replica"] == 0).sum())


def _point(load: str, r: int | None = None, w: int | None = None, versions: int = 1) -> Row:
    return {"load": load, "r": r, "w": w, "versions": versions}


def _rates(per_s: Mapping[str, float]) -> Row:
    return {f"load_{operation}s_per_s": round(rate, 1) for operation, rate in per_s.items()}


def _summed(history: History, judged: pd.DataFrame) -> Row:
    """Counts and mean latencies of a panel, ms."""
    write_ms = 1000 * (history.writes["acked_s"] - history.writes["sent_s"]).dropna()
    return {
        "reads": len(judged), "lost": history.lost, "unknown": int(history.writes["acked_s"].isna().sum()),
        "read_ms": 1000 * (judged["returned_s"] - judged["sent_s"]).mean(), "write_ms": write_ms.mean(),
    }  # fmt: skip
