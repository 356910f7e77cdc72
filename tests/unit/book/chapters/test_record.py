"""What the pages on the record quote accounts for every claim, and a verdict by our records has words of its own."""

from dataclasses import replace

from cassbook.book.chapters import record
from cassbook.claims.registry import ledger


def test_the_findings_that_the_prose_counts_are_all_of_them():
    findings = ledger()
    quoted = record.matters_values(findings)
    assert sum(quoted.values()) == record.matters(findings).loc["all", "all"]
    assert quoted["wording"] == sum(f.finding == "wording" and f.kind != "forensic" for f in findings) > 0


def test_what_one_machine_measured_agrees_or_differs_here_and_is_no_verdict_on_the_text():
    one, other, third = (
        replace(f, measured="1.2 times", measured_by="2.1.20, made") for f in ledger(papers=["g20"])[:3]
    )
    made = [
        replace(one, verdict="not_reproduced", measured_verdict="not_reproduced", measured_price="capacity"),
        replace(other, verdict="reproduced", measured_verdict="reproduced"),
        replace(third, measured_verdict="untestable"),
    ]
    html = record.table(made).data
    assert "<td>differs here, in capacity</td>" in html
    assert "<td>same here</td>" in html
    assert "<td>untestable</td>" in html
    assert "not reproduced" not in html.replace(str(made[0].note), "")
