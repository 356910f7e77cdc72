"""The record of Cassandra 1.2's predictor: read back, and what is said of it."""

import numpy as np
import pytest

from cassbook.book.chapters import ccm_predictor
from cassbook.lab.experiments.staleness.oracle import Answer, NothingLogged, Oracle, Question
from cassbook.records import predictor
from cassbook.records.predictor import ORACLE, SAYING, WHOLE, OracleRun
from cassbook.staleness import curves
from cassbook.staleness.cassandra12 import Logged, p_consistent


@pytest.fixture(scope="module")
def run():
    return OracleRun("oracle-1.2.0")


def test_every_setting_has_answers_reads_and_traces(run):
    assert run.settings == [(1, 2), (2, 1), (1, 1)]
    for setup in run.results.manifest["setups"]:
        for r, w in run.settings:
            answers = run.answers(setup, r, w)
            assert answers["p"].between(0, 1).all()
            assert answers.set_index(["t_ms", "k"])["p"].loc[(1500.0, 1)] > 0.99, "the study: reaches 1 at 1.5 s"
            assert len(run.legs(setup, r, w)) > 100
            assert (run.answers(setup, r, w, "study")["p"] <= 1).all()


def test_a_panel_is_of_its_own_reads(run):
    counts = (
        run.panels[(run.panels["setup"] == "none") & (run.panels["versions"] == 1)].groupby(["r", "w"])["reads"].sum()
    )
    for r, w in run.settings:
        assert run.counted("none", r, w)["reads"].sum() == counts.loc[r, w]
    assert set(run.counted("none", 1, 1, 10)["asked_t_ms"]) == {100.0}


def test_whole_requests_are_asked_row_by_row(run):
    """By hand: each write of a row with each of its reads, rows alike."""
    seen = predictor.over_t(run, "regions", 1, 1)
    t_ms, cost = float(seen["t_ms"].iloc[5]), predictor.PART * run.tracing_ms("regions").value
    rows = []
    for writes, reads in run.legs("regions", 1, 1):
        first = np.argmin(reads.back_ms, axis=1)
        needed = writes.there_ms[:, first] - reads.there_ms[np.arange(len(reads)), first]
        last = np.argmin(writes.back_ms, axis=1)
        at_coordinator = last == writes.coordinator
        acked = (
            writes.back_ms[np.arange(len(writes)), last]
            + np.where(at_coordinator, 0, writes.after_ms)
            + writes.outside_ms / 2
        )
        rows.append(np.mean(needed - acked[:, None] - reads.outside_ms / 2 - cost <= t_ms))
    assert seen[WHOLE].iloc[5] == pytest.approx(np.mean(rows), abs=1e-3)


def test_errors_are_those_of_the_curves(run):
    table = predictor.by_panel(run)
    seen = predictor.over_t(run, "none", 1, 1)
    assert table.loc[("none", 1, 1), ORACLE] == pytest.approx(curves.rmse(seen.assign(predicted=seen[ORACLE])))
    shown = ccm_predictor.summary_shown(run)
    assert shown.shape == (6, 3 + len(SAYING))
    assert shown.loc[("no distance", "1R-1W"), ("off, %", ORACLE)] == f"{100 * table.loc[('none', 1, 1), ORACLE]:.1f}"


def test_a_message_with_a_number_of_its_own_leaves_nothing_of_ranks():
    """Slow and quick answers of one request, each logged by itself: reads draw both alike."""
    quick, slow = np.zeros(500), np.full(500, 10.0)
    together = Logged(np.c_[quick, slow], np.c_[quick, quick], np.c_[quick, quick], np.c_[quick, quick])
    apart = Logged(*(times.reshape(-1, 1) for times in (together.w_ms, together.a_ms, together.r_ms, together.s_ms)))
    # Of one distribution of 0 and 10: a read meets 0 at once, and 10 if both replicas that could commit took it too.
    assert p_consistent(apart, 2, 1, 1, 0.0) == pytest.approx(0.5 + 0.25, abs=0.02)
    assert p_consistent(together, 2, 1, 1, 0.0) != pytest.approx(0.75, abs=0.02)


class Silent(Oracle):
    """An oracle of nodes 1 to 3, of which some have logged nothing; no Java is started before one is asked."""

    def __init__(self, *silent):
        self._ports, self._silent = [7100, 7200, 7300], silent

    def ask(self, node, questions):
        if node in self._silent:
            raise NothingLogged(f"the predictor of node {node} does not answer")
        return [Answer(1.0, 2.0, node) for _ in questions]


def test_nodes_that_no_thread_came_to_are_left_out():
    questions = [Question(3, 1, 1, 0.0), Question(3, 1, 1, 5.0)]
    assert {node: len(said) for node, said in Silent(2).ask_every_node(questions).items()} == {1: 2, 3: 2}
    with pytest.raises(NothingLogged, match=r"all 3 nodes .*no requests"):
        Silent(1, 2, 3).ask_every_node(questions)
