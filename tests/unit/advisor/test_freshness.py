"""`cassbook stale`: answers from a record of the probe, and from any run."""

import json
import re

import pandas as pd
import pytest
from click.testing import CliRunner

from cassbook.advisor.freshness import of_run, stronger
from cassbook.cli.main import main
from cassbook.core.errors import InputError
from cassbook.core.files import sums
from cassbook.core.paths import runs_dir
from cassbook.lab.experiments.recording import write_rows


def panel(number, r, w, p_of):
    """Two waits, three pairs of coordinators, 100 reads each; legs of a cluster in which ways take 10 ms."""
    counted = [
        (t, t, writer, reader, behind, reads)
        for t in (0.0, 20.0)
        for writer, reader in ((0, 1), (1, 2), (2, 0))
        for behind, reads in ((0, round(100 * p_of(t))), (1, 100 - round(100 * p_of(t))))
    ]
    legs = [
        (
            kind,
            request,
            node,
            replica,
            0.1 if node == replica else 10.0,
            0.2 if node == replica else 20.0,
            0.0,
            20.5,
            21.0,
        )
        for kind in ("UPDATE", "READ")
        for node in range(3)
        for request in range(node, 30, 3)
        for replica in range(3)
    ]
    names = ["asked_t_ms", "t_ms", "writer", "reader", "versions_behind", "reads"]
    kinds = ["kind", "request", "coordinator", "replica", "there_ms", "back_ms", "uncertain_ms", "duration_ms"]
    return {
        "start": 1, "setup": "near", "panel": number, "n": 3, "threads": 0, "r": r, "w": w, "versions": 1, "reads": 600,
        "read_ms": 2.0 * r, "write_ms": 3.0 * w, "traced_read_ms": 2.0 * r,
        "counted": pd.DataFrame(counted, columns=names), "legs": pd.DataFrame(legs, columns=[*kinds, "latency_ms"]),
    }  # fmt: skip


@pytest.fixture
def record(tmp_path):
    rows = [
        panel(0, 1, 1, lambda t: 0.5 if t == 0 else 1.0),
        panel(1, 1, 2, lambda t: 0.9 if t == 0 else 1.0),
        panel(2, 2, 1, lambda t: 0.8 if t == 0 else 1.0),
        panel(3, 2, 2, lambda t: 1.0),
    ]
    write_rows(tmp_path / "start-1-near.csv", rows)
    notes = {"trial": "x", "engine": "2.1.20", "setups": {"near": {}}, "complete": True,
             "artefacts": sums(tmp_path.glob("start-*"))}  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(notes))
    return str(tmp_path)


def test_a_record_answers_between_its_waits(record):
    known = of_run(record)
    assert known.n == 3
    assert known.at(1, 1, 0.0).p_consistent.value == 0.5
    half_way = known.at(1, 1, 10.0).p_consistent
    assert half_way.value == pytest.approx(0.75)
    assert half_way.low < 0.75 < half_way.high
    assert known.at(1, 1, 500.0).p_consistent.value == 1.0
    strong = known.at(2, 2, 0.0)
    assert (strong.p_consistent.low, strong.predicted) == (1.0, None)
    # All that a read of the own replica needs is the way of 10 ms, less what is outside the coordinators.
    assert known.at(1, 1, 5.0).predicted.value == 0.0
    assert known.at(1, 1, 15.0).predicted.value == 1.0


def test_the_next_stronger_wait_for_one_replica_more(record):
    next_stronger = stronger(of_run(record), 1, 1, 0.0)
    assert [(fresh.r, fresh.w) for fresh in next_stronger] == [(2, 1), (1, 2)]
    assert [fresh.p_consistent.value for fresh in next_stronger] == pytest.approx([0.8, 0.9])
    assert [fresh.read_ms.value for fresh in next_stronger] == [4.0, 2.0]


def test_any_run_answers_roughly():
    known = of_run("quick-2.1.20")
    at_once, later = (known.at(1, 1, t).p_consistent.value for t in (0.0, 10_000.0))
    assert 0 < at_once < 1
    assert later == 1.0
    assert known.at(2, 2, 0.0).p_consistent.value == 1.0
    assert "latencies at ALL alone" in known.basis


def test_the_command(record):
    text = CliRunner().invoke(main, ["stale", "--run", record, "--r", "1", "--w", "1", "--t", "0"])
    assert text.exit_code == 0, text.output
    assert "consistent with probability 0.5000" in text.output
    assert "2 read, 1 written: consistent with probability 0.8000" in text.output
    assert "reads +2.00 ms (times 2.00), writes +0.00 ms" in text.output
    done = CliRunner().invoke(main, ["stale", "--run", record, "--r", "2", "--w", "2", "--t", "0", "--format", "json"])
    assert json.loads(done.output)["p_consistent"]["value"] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--r", "4", "--w", "1", "--t", "0"], "r: 4 of 3 replicas; use 1 to 3"),
        (["--r", "1", "--w", "1", "--t", "0", "--setup", "moon"], "setup: .* has none of 'moon'; it has near"),
        (["--r", "1", "--w", "1", "--t", "0", "--threads", "7"], "threads: .* has none of 7; it has 0"),
        (["--r", "3", "--w", "3", "--t", "0"], r"did not probe \(3, 3\)"),
    ],
)
def test_what_a_record_cannot_answer_is_said(record, options, message):
    done = CliRunner().invoke(main, ["stale", "--run", record, *options])
    assert done.exit_code != 0
    assert re.search(message, done.output), done.output


def test_other_mistakes(record, tmp_path):
    with pytest.raises(InputError, match="recorded runs here: "):
        of_run("no-such-run")
    with pytest.raises(InputError, match="is no record of the probe"):
        of_run("quick-2.1.20", setup="near")
    (tmp_path / "start-1-near-counted.parquet").write_bytes(b"PAR1 cut off")
    with pytest.raises(InputError, match=r"start-1-near-counted.parquet: is not what was recorded"):
        of_run(record).at(1, 1, 0.0)
    assert (runs_dir() / "quick-2.1.20").is_dir()
