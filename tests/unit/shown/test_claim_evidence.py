"""What the project's own records say of claims: each of a claim that there is, and by the interval of its number."""

import re

import pytest

from cassbook.claims.registry import ledger
from cassbook.claims.statement import VERDICTS
from cassbook.core.errors import InputError
from cassbook.records.experiment import Results
from cassbook.records.faults import FaultRun
from cassbook.shown import claim_evidence
from cassbook.shown.claim_evidence import by_records


@pytest.fixture(scope="module")
def evidence():
    return by_records()


@pytest.fixture(scope="module")
def findings():
    return {finding.id: finding for finding in ledger()}


def test_there_is_evidence_of_all_papers_that_measured_and_of_no_other_claims(evidence, findings):
    assert set(evidence) <= set(findings)
    assert {findings[identity].paper for identity in evidence} == {"g20", "pbs", "g21", "thesis"}
    assert len(evidence) >= 25
    for seen in evidence.values():
        assert seen.verdict in VERDICTS
        assert re.fullmatch(r"\d+\.\d+\.\d+", seen.engine)
        assert seen.run.endswith(seen.engine)
        assert seen.measured


def test_only_the_records_of_the_papers_asked_for_are_read(evidence, monkeypatch):
    of_pbs = by_records(["pbs"])
    assert of_pbs == {identity: seen for identity, seen in evidence.items() if identity.startswith("pbs-")}
    monkeypatch.setattr(claim_evidence, "_OF_RECORDS", [("nothing-2.1.20", "pbs", claim_evidence._study)])
    assert by_records(["g21"]) == {}
    with pytest.raises(InputError, match=r"nothing-2\.1\.20: there is no record"):
        by_records(["pbs"])


def test_a_ratio_of_the_study_agrees_if_its_interval_holds_the_print(evidence):
    results = Results("study-2.1.20")
    over, under = {"setup": "none", "r": 1, "w": 3}, {"setup": "none", "r": 3, "w": 1}
    ratio = results.ratio("stress_write_ms", over, under)
    seen = evidence["pbs-write-9.4"]
    assert seen.measured.startswith(f"{ratio:.2f} times")
    assert seen.verdict == ("reproduced" if ratio.low <= 9.4 <= ratio.high else "not_reproduced")


def test_best_settings_are_counted_in_three_ways(evidence):
    counts = re.findall(r"(\d+) of (\d+)", evidence["thesis-best-more-reads"].measured)
    assert len(counts) == 3
    assert len({total for _, total in counts}) == 1
    right, total = map(int, counts[0])
    assert (evidence["thesis-best-more-reads"].verdict == "reproduced") == (right == total)


def test_the_ledger_keeps_its_own_verdict_beside(evidence):
    row = next(finding for finding in ledger(evidence, ["pbs"]) if finding.id == "pbs-t-visibility-1.5")
    assert row.verdict == "untestable"
    assert row.measured_verdict == evidence[row.id].verdict
    assert row.measured_by == "1.2.0, oracle-1.2.0"


def test_claims_on_failing_nodes_are_put_to_the_faults(evidence):
    run = FaultRun("faults-2.1.20")
    rows = run.results.rows
    strong = rows[rows["setting"].isin(["1R-3W", "2R-2W", "3R-1W"]) & (rows["operation"] == "READ")]
    always = evidence["g20-always-strong"]
    assert always.measured.startswith(f"{strong['stale'].sum():,} of {strong['n'].sum():,} reads")
    assert (always.verdict == "reproduced") == (strong["stale"].sum() == 0)
    assert evidence["thesis-write-all-fails"].verdict == "reproduced"
    assert evidence["pbs-local"].measured.endswith("cluster starts")
