"""Cassandra 1.2.0 runs, its own predictor answers, and its reads are measured beside it."""

import dataclasses

import psutil
import pytest

pytest.importorskip("thriftpy2", reason="optional: the extra `oracle` brings what speaks to Cassandra 1.2")
pytest.importorskip("jpype", reason="optional: the extra `oracle` brings what speaks to Cassandra 1.2")

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine import jmx, teardown
from cassbook.lab.engine.cluster import Spec
from cassbook.lab.experiments.staleness.oracle import Oracle, Question
from cassbook.lab.experiments.staleness.oracle_experiment import StudySideBySide
from cassbook.lab.experiments.staleness.setups import oracle as oracle_experiment
from cassbook.lab.load import stress_thrift
from cassbook.records import predictor
from cassbook.records.predictor import SAYING, OracleRun
from tests.helpers.made_staleness import probed

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left")]
#: By how much a share of some tens of reads, or of a thousand trials, may be off by chance.
_CHANCE = 0.1


def listening(cluster):
    """Addresses that the nodes listen on."""
    nodes = [p for p in teardown.processes(cluster.folder) if p.cmdline()[-1].endswith("CassandraDaemon")]
    return {c.laddr.ip for p in nodes for c in p.net_connections("tcp") if c.status == psutil.CONN_LISTEN}


def test_the_predictor_of_the_studys_version_answers_and_is_held_against_reads(tmp_path):
    setup = StudySideBySide(Spec(4, 3, 512))
    experiment = dataclasses.replace(
        oracle_experiment(), setups={"none": setup}, t_ms={"none": (0.0, 2.0, 100.0)}, settings=((1, 1),),
        operations=1000, threads=10,
        seconds=3.0, versions_seconds=3.0, traced_seconds=3.0, pause_ms=100.0, trials=1000,
    )  # fmt: skip
    with setup.cluster("1.2.0", lambda _: None) as cluster:
        run = OracleRun(str(probed(tmp_path, "staleness-oracle", experiment, cluster)))
        assert listening(cluster) == {f"127.0.0.{node}" for node in range(1, 5)}
        ports = [jmx.standard_port(1)]
        with (
            Oracle(cluster.java.home, cluster.installation.home / "lib", ports) as oracle,
            pytest.raises(LaboratoryError, match="r must be less than n"),
        ):
            oracle.ask(1, [Question(3, 4, 1, 0.0)])
        with pytest.raises(LaboratoryError, match="cassandra-stress write at THREE_QUARTERS"):
            stress_thrift.once(cluster, "write", 10, "THREE_QUARTERS", 2)
    assert run.panels["lost"].sum() == run.panels["unknown"].sum() == 0
    for r, w in run.settings:
        seen = predictor.over_t(run, "none", r, w)
        assert seen["reads"].sum() > 20
        assert seen[list(SAYING)].stack().between(0, 1).all()
        # How soon depends on the machine: 0.99 where nothing else runs, 0.91 was seen under load.
        right_after, later = (seen.iloc[place][["p", *SAYING]] for place in (0, -1))
        assert (later > right_after - _CHANCE).all()
        assert later.min() > 0.5, "100 ms after a write, side by side"
        by_k = predictor.over_k(run, "none", r, w)
        assert by_k[predictor.ORACLE].diff().min() > -_CHANCE
    table = predictor.by_panel(run)
    assert len(table) == len(run.settings)
    assert (table[list(SAYING)] < 0.5).all(axis=None)
