"""`cassbook stale`: answers from a record of the probe, and from any run."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor.freshness import FromLatencies, of_run, stronger
from cassbook.core.errors import InputError
from cassbook.core.paths import records_dir
from cassbook.ingest.folder import open_run
from cassbook.lab.experiments.writer import write_rows
from cassbook.latency.summaries import pure_cells
from tests.helpers.command import cassbook
from tests.helpers.experiments import noted


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
    return str(noted(tmp_path, "staleness-three", setups={"near": {}}))


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
    assert known.load.threads == max(known.load.recorded) == 1000
    assert known.at(2, 2, 0.0).p_consistent.value == 1.0
    assert "latencies at ALL alone" in known.basis


def test_the_command(record):
    text = cassbook("stale", "--run", record, "--r", "1", "--w", "1", "--t", "0")
    assert text.exit_code == 0, text.output
    assert "stale 150 of 300 reads after 0 ms: 0.5000 [" in text.output
    assert "2 read, 1 written: stale 60 of 300 reads after 0 ms: 0.2000 [" in text.output
    assert "at most 1e-4 stale: no, at least 0.44" in text.output
    assert "reads +2.00 ms (times 2.00), writes +0.00 ms" in text.output
    done = cassbook("stale", "--run", record, "--r", "2", "--w", "2", "--t", "0", "--format", "json")
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
    done = cassbook("stale", "--run", record, *options)
    assert done.exit_code != 0
    assert re.search(message, done.output), done.output


def test_other_mistakes(record, tmp_path):
    with pytest.raises(InputError, match="recorded here: "):
        of_run("no-such-run")
    with pytest.raises(InputError, match="is no record of the probe"):
        of_run("quick-2.1.20", setup="near")
    (tmp_path / "start-1-near-counted.parquet").write_bytes(b"PAR1 cut off")
    with pytest.raises(InputError, match=r"start-1-near-counted.parquet: is not what was recorded"):
        of_run(record).at(1, 1, 0.0)
    assert (records_dir() / "quick-2.1.20").is_dir()


def run_json(record, *options):
    done = cassbook("stale", "--run", record, *options, "--format", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_none_is_said_with_its_bound_and_with_what_a_target_takes(record):
    options = ["--r", "1", "--w", "1", "--t", "20"]
    text = cassbook("stale", "--run", record, *options).output
    assert "stale 0 of 300 reads after 20 ms: at most 0.0122 (95 %)" in text
    assert "at most 1e-4 stale: not known; 36,589 more reads" in text
    assert "none of 600 pairings" in text
    assert "at most 0.1157" in text
    assert "1.0000" not in text
    answer = run_json(record, *options)
    assert answer["stale"] == {"value": 0.0, "low": 0.0, "high": pytest.approx(1 - 0.025 ** (1 / 300))}
    (counted,) = answer["counted"]
    assert (counted["stale"], counted["total"], counted["wait_ms"]) == (0, 300, 20.0)
    assert answer["target"] == {"share": 1e-4, "verdict": "not known", "more_reads": 36589}
    assert answer["predicted"]["low"] == pytest.approx(1 - answer["predicted_stale"]["high"])


@pytest.mark.parametrize(
    ("t", "target", "verdict", "said"),
    [
        ("20", "0.02", "shown", "at most 0.0200 stale: shown"),
        ("0", "1e-3", "exceeded", "at most 1e-3 stale: no, at least"),
        ("0", "0.49", "not known", "not known, and more than that were stale"),
        ("20", "1e-3", "not known", "at most 1e-3 stale: not known; 3,389 more reads"),
    ],
)
def test_a_target_is_shown_exceeded_or_not_known(record, t, target, verdict, said):
    options = ["--r", "1", "--w", "1", "--t", t, "--target", target]
    assert run_json(record, *options)["target"]["verdict"] == verdict
    assert said in cassbook("stale", "--run", record, *options).output


def test_between_two_waits_both_counts_are_said(record):
    text = cassbook("stale", "--run", record, "--r", "1", "--w", "1", "--t", "10").output
    assert "stale 150 of 300 reads after 0 ms and 0 of 300 reads after 20 ms" in text
    assert "at 10 ms: 0.2500 [" in text


def test_quorums_that_meet_are_not_stale_while_all_is_well_and_have_no_target(record):
    answer = run_json(record, "--r", "2", "--w", "2", "--t", "0")
    assert (answer["quorums_meet"], answer["target"], answer["stale"]["high"]) == (True, None, 0.0)
    text = cassbook("stale", "--run", record, "--r", "2", "--w", "2", "--t", "0").output
    assert "(probed: 0 of 300 reads after 0 ms; at most 0.0122)" in text


def test_latencies_of_few_starts_are_medians_with_their_range():
    options = [
        "--run",
        "stale-three-5.0.9",
        "--setup",
        "far",
        "--concurrency",
        "0",
        "--r",
        "1",
        "--w",
        "1",
        "--t",
        "10",
    ]
    text = cassbook("stale", *options).output
    answer = run_json(*options[1:2], *options[2:])
    reads = answer["read_ms_by_start"]
    assert len(reads) == 3
    low, middle, high = sorted(reads)
    assert f"reads that follow their write take {middle:.2f} [{low:.2f}, {high:.2f}] ms" in text
    assert "(median of 3 cluster starts, with their range)" in text
    assert "may wait for a blocking read repair" in text
    change = sorted(answer["stronger"][0]["read_ms_by_start"])[1] - middle
    assert f"reads {change:+.2f} ms" in text


def test_a_record_without_traces_says_so():
    text = cassbook("stale", "--run", "stale-five-2.1.20", "--r", "1", "--w", "1", "--t", "10").output
    assert "its requests were not traced" in text
    assert "next stronger" in text.partition("not traced")[2]


def test_the_default_load_is_the_heaviest_and_the_others_are_named():
    answer = run_json("stale-three-5.0.9", "--r", "1", "--w", "1", "--t", "100")
    assert answer["load"] == {"threads": 100, "recorded": [0, 100], "asked": False}
    assert "100 threads of load (recorded: 0, 100" in answer["basis"]
    (counted,) = answer["counted"]
    assert answer["stale"]["value"] == pytest.approx(counted["stale"] / counted["total"], rel=0.05)
    idle = run_json("stale-three-5.0.9", "--r", "1", "--w", "1", "--t", "100", "--concurrency", "0")
    assert idle["load"]["asked"]
    assert 0 == idle["stale"]["value"] < idle["stale"]["high"] < 0.004
    assert idle["predicted_stale"]["high"] > 1e-3, "576 traces cannot show less"


def without(run, cells):
    """The same run with other statistics."""
    run.statistics = cells
    return run


@pytest.fixture
def quick():
    return open_run("quick-2.1.20")


def test_a_refusal_says_what_to_add(quick):
    cells = quick.statistics
    weak = without(quick, cells[(cells["read_cl"] != "ALL") & (cells["write_cl"] != "ALL")])
    with pytest.raises(InputError, match=r"reads and writes at ALL.*add `pure: \{threads: \[100\], lev"):
        FromLatencies(weak, None)
    quick.manifest = {}
    with pytest.raises(InputError, match=r"logs of reads at ALL.*writes at ALL.*same number of threads"):
        FromLatencies(weak, None)


def test_reads_and_writes_under_unknown_loads_are_refused(quick):
    with pytest.raises(InputError, match="reads and writes at ALL"):
        FromLatencies(without(quick, quick.statistics.assign(threads=np.nan)), None)


def as_workload(cells, name, rate=np.nan):
    """Reads and writes at ALL of one load, as the cells of a workload at ALL/ALL."""
    at_all = pure_cells(cells).query("level == 'ALL' and threads == 100")
    rows = at_all.assign(kind="workload", workload=name, read_cl="ALL", write_cl="ALL", rate_per_s=rate, read_share=0.5)
    return rows.drop(columns=["operation", "level"])


def test_a_workload_at_all_can_be_used(quick):
    cells = quick.statistics
    both = pd.concat([as_workload(cells, "svc"), as_workload(cells, "other")])
    one = FromLatencies(without(quick, as_workload(cells, "svc")), None)
    assert (one.workload, one.load.threads) == ("svc", 100)
    assert 0 < one.at(1, 1, 0.0).stale.value < 1
    assert np.isnan(one.at(1, 1, 0.0).read_ms.value), "its reads at ONE were not measured"
    with pytest.raises(InputError, match=r"svc, other; .*--workload"):
        FromLatencies(without(quick, both), None)
    assert FromLatencies(without(quick, both), None, "other").workload == "other"
    with pytest.raises(InputError, match="none of 'mine'; it has other, svc"):
        FromLatencies(without(quick, both), None, "mine")
    with pytest.raises(InputError, match=r"ALL/ALL .*fixed rates"):
        FromLatencies(without(quick, as_workload(cells, "svc", 500.0)), None)


def test_a_record_of_the_probe_has_no_workload(record):
    with pytest.raises(InputError, match="has none; leave --workload out"):
        of_run(record, workload="svc")
