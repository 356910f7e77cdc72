"""The predictor that Cassandra 1.2 had inside (`PBSPredictor`), asked by JMX.

JMX speaks Java's own wire format, so a Java runtime is started inside a process of its own (JPype) to ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from cassbook.core.errors import LaboratoryError
from cassbook.lab.wan.child import Child, Owner

MBEAN = "org.apache.cassandra.service:type=PBSPredictor"
_HOST = "127.0.0.1"
_PERCENTILE = 0.999  # of latencies, which it is asked for too
_START_S, _FAREWELL_S = 60.0, 5.0
_NOTHING_LOGGED = "java.lang.IllegalStateException"  # what it throws then


class NothingLogged(LaboratoryError):
    """A node has no latencies to predict from: it sent no reads, or no writes, to another."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question: P(one of the last k versions) t after a write, of n replicas, r read and w written."""

    n: int
    r: int
    w: int
    t_ms: float
    k: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: the probability, and the mean latency of its trials until r and w replicas had answered, ms."""

    p: float
    read_ms: float
    write_ms: float


class Oracle:
    """A client of the nodes' predictors.

    It needs a Java, and the release's jars (`lib`): answers are objects of its classes. `ports` are those of the nodes'
    MBeans, on loopback.
    """

    def __init__(self, java_home: Path, lib: Path, ports: Sequence[int]) -> None:
        self._ports = list(ports)
        self._child = Child("the JMX client", _serve, java_home, lib, patience_s=_FAREWELL_S)
        self._child.start(_START_S)

    def enable(self, latencies: int, trials: int) -> None:
        """Let every node log latencies of its requests, at most so many, and predict by so many trials."""
        for port in self._ports:
            self._child.ask((port, latencies, trials), None)

    def ask(self, node: int, questions: Sequence[Question]) -> list[Answer]:
        """Ask node `node`, from 1. Raise NothingLogged if it has nothing to answer from, LaboratoryError with what it
        says otherwise.
        """
        answers: list[Answer] = self._child.ask((self._ports[node - 1], list(questions)), None)
        return answers

    def ask_every_node(self, questions: Sequence[Question]) -> dict[int, list[Answer]]:
        """Ask every node, by its number; nodes that have nothing to answer from are left out.

        A thread of the study's load keeps to one node, chosen at random, so that few threads may leave some nodes out.
        Raise NothingLogged if no node has anything to answer from.
        """
        answers: dict[int, list[Answer]] = {}
        for node in range(1, len(self._ports) + 1):
            with suppress(NothingLogged):
                answers[node] = self.ask(node, questions)
        if not answers:
            raise NothingLogged(f"the predictors of all {len(self._ports)} nodes have logged no requests yet")
        return answers

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._child.stop()


def _serve(owner: Owner, java_home: Path, lib: Path) -> None:
    """Start the runtime and report it, then enable or ask predictors until the owner is gone."""
    import jpype  # noqa: PLC0415 - in a process of its own only

    library = next(java_home.rglob("libjvm.*"))
    jars = [str(path) for path in sorted(lib.glob("*.jar"))]
    jpype.startJVM(str(library), "-Xmx128M", "-Xrs", classpath=jars, convertStrings=True)
    owner.tell(None)
    owner.answer(_reply)


def _reply(question: tuple[Any, ...]) -> list[Answer] | None:
    if len(question) == 2:  # noqa: PLR2004 - port and questions
        return _ask(*question)
    _enable(*question)
    return None


def _connected(port: int) -> Any:
    """An MBean server connection; the registry is asked directly, for small runtimes have no naming of RMI."""
    import jpype  # noqa: PLC0415

    registry = jpype.JClass("java.rmi.registry.LocateRegistry").getRegistry(_HOST, port)
    connector = jpype.JClass("javax.management.remote.rmi.RMIConnector")(registry.lookup("jmxrmi"), None)
    connector.connect()
    return connector


def _bean(connector: Any) -> Any:
    import jpype  # noqa: PLC0415

    bean = jpype.JClass("org.apache.cassandra.service.PBSPredictorMBean").class_
    name = jpype.JClass("javax.management.ObjectName")(MBEAN)
    make = jpype.JClass("javax.management.JMX").newMBeanProxy
    return make(connector.getMBeanServerConnection(), name, bean)


def _enable(port: int, latencies: int, trials: int) -> None:
    connector = _connected(port)
    try:
        bean = _bean(connector)
        bean.setMaxLoggedLatenciesForConsistencyPrediction(latencies)
        bean.setNumberTrialsForConsistencyPrediction(trials)
        bean.enableConsistencyPredictionLogging()
    finally:
        connector.close()


def _ask(port: int, questions: list[Question]) -> list[Answer]:
    import jpype  # noqa: PLC0415

    connector = _connected(port)
    answers = []
    try:
        bean = _bean(connector)
        for question in questions:
            result = bean.doPrediction(
                question.n, question.r, question.w, float(question.t_ms), question.k, _PERCENTILE
            )
            latencies = float(result.getAverageReadLatency()), float(result.getAverageWriteLatency())
            answers.append(Answer(float(result.getConsistencyProbability()), *latencies))
    except jpype.JException as error:  # an object of that Java, which only this process can hold
        kind = NothingLogged if error.getClass().getName() == _NOTHING_LOGGED else LaboratoryError
        raise kind(f"the predictor at port {port} does not answer: {error}") from None
    finally:
        connector.close()
    return answers
