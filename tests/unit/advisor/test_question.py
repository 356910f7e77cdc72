"""A run's manifest says what it was measured to answer, and from that it is answered again."""

import pytest

from cassbook.advisor.decision import Limits
from cassbook.advisor.question import Question
from cassbook.core.errors import InputError
from cassbook.records.run import RecordedRun
from tests.helpers import open_runs


@pytest.fixture
def folder(tmp_path):
    return open_runs.write_run(tmp_path / "mine", open_runs.open_cells(shares=(), own=(), rates=(800.0,)))


@pytest.mark.parametrize("fresh", [{}, {"stale": 1e-3, "after_ms": 20.0}], ids=["none stale", "some stale"])
def test_a_run_says_what_it_was_asked_and_answers_it_again(folder, fresh):
    question = Question(limits=Limits(bound_ms=200.0, **fresh), by="p99", rate_per_s=800.0, reads=0.5)
    before = RecordedRun(folder)
    question.note(folder)
    noted = RecordedRun(folder)
    assert Question.of(noted) == question
    assert (noted.data_hash, noted.manifest.keys() - before.manifest.keys()) == (before.data_hash, {"asked"})
    assert question.answered(folder).decision.winner.choice.setting.levels == "QUORUM/QUORUM"


def test_a_run_of_no_question_says_who_asks(folder):
    with pytest.raises(InputError, match="mine: was not measured by `cassbook decide --profile`"):
        Question.of(RecordedRun(folder))
