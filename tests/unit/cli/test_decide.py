"""`cassbook decide` of a run: the answer in the first line, a row per setting, and what a program gets."""

import json
from importlib import resources
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
from bs4 import BeautifulSoup

from cassbook.advisor.decision import RESPONSE, STALE, SURVIVE, Held, Limits, Option
from cassbook.cli.answers.decide import lines_for, table
from cassbook.core.consistency import Setting
from cassbook.core.estimate import Estimate
from cassbook.latency.verdicts import PASS
from cassbook_advisor import InputError, Latencies
from tests.helpers import open_runs
from tests.helpers.command import cassbook

LOAD = ("--of-capacity", 0.4, "--reads", 0.5)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    rows = open_runs.open_cells(scales=(1.0, 1.1, 0.9, 1.05, 0.95))
    return open_runs.write_run(tmp_path_factory.mktemp("runs") / "mine", rows)


def decided(recorded, *arguments, code=0):
    done = cassbook("decide", "--run", recorded, *arguments)
    assert done.exit_code == code, done.output
    return done.stdout


def test_the_winner_stands_first_and_lines_for_the_service_last(recorded):
    text = decided(recorded, *LOAD, "--bound-ms", 20)
    assert text.startswith("QUORUM/QUORUM (2R-2W) meets all limits: p99 ")
    first = " ".join(text.partition("\n\n")[0].split())
    assert first.endswith("(at most 20 ms), survives 1 dead replica, no read stale while all is well; no other does")
    both = " ".join(decided(recorded, *LOAD, "--bound-ms", 20, "--survive", 0).partition("\n\n")[0].split())
    assert both.endswith("; so does 1 other with a higher p99")
    rows = {line.split()[0]: line for line in text.splitlines() if "/" in line.split(" ")[0]}
    assert rows["QUORUM/QUORUM"].split()[-3:] == ["PASS", "PASS", "PASS"]
    assert rows["ONE/ALL"].split()[-3:] == ["PASS", "FAIL", "PASS"]
    assert rows["ONE/ONE"].split()[-3:] == ["PASS", "PASS", "FAIL"]
    assert "with a replica dead: not measured in this run" in text
    assert "What would change the answer:" in text
    assert "  CONSISTENCY QUORUM\n" in text
    assert "datastax-java-driver.profiles.writes.basic.request.consistency = QUORUM" in text
    assert max(map(len, text.splitlines())) < 140


def test_none_names_what_hurts_and_has_an_exit_code_of_its_own(recorded):
    text = decided(recorded, *LOAD, "--bound-ms", 0.5, code=3)
    assert text.startswith("no setting meets the limits: the bound on the response time hurts; ")
    assert "In cqlsh" not in text


def test_what_is_not_known_names_what_is_lacking(recorded, tmp_path):
    few = open_runs.write_run(tmp_path / "few", open_runs.open_cells(scales=(1.0, 1.1)))
    text = decided(few, *LOAD, "--bound-ms", 20, code=4)
    assert text.startswith("not known: 1 setting may meet the limits, and none is known to")
    assert "3 cluster starts at least, of 2" in text


def test_staleness_comes_from_our_record_of_the_release(recorded):
    found = json.loads(decided(recorded, *LOAD, "--bound-ms", 20, "--stale", 1e-4, "--after-ms", 0, "--format", "json"))
    assert (found["schema"], found["version"], found["outcome"]) == ("cassbook-decision", 1, "found")
    assert found["setting"] == {"name": "2R-2W", "read_cl": "QUORUM", "write_cl": "QUORUM"}
    assert found["staleness_from"].startswith("measured by the probe, Cassandra 5.0.9, near, with 100 threads")
    (weak,) = [row for row in found["settings"] if row["name"] == "ONE/ONE"]
    assert weak["limits"]["stale"]["verdict"] == "FAIL"
    assert weak["limits"]["stale"]["figure"]["low"] > 1e-4


def test_a_share_of_reads_between_two_that_were_measured_is_answered_and_said_to_be_between(tmp_path):
    scales = (1.0, 1.1, 0.9, 1.05, 0.95)
    rows = [open_runs.open_cells(read_share=share, own=(), scales=scales) for share in (0.5, 0.9)]
    both = open_runs.write_run(tmp_path / "both", [*rows[0], *rows[1]])
    found = json.loads(decided(both, "--of-capacity", 0.4, "--reads", 0.7, "--bound-ms", 20, "--format", "json"))
    assert (found["read_share"], found["setting"]["name"]) == (0.7, "2R-2W")
    response = found["settings"][0]["limits"]["response"]
    assert response["source"] == "between two measured mixes, both"
    assert "70% reads (between 50% and 90%)" in decided(both, "--of-capacity", 0.4, "--reads", 0.7, "--bound-ms", 20)


def test_the_small_adviser_takes_the_decision(recorded, tmp_path):
    path = tmp_path / "decision.json"
    path.write_text(decided(recorded, *LOAD, "--bound-ms", 20, "--format", "json"))
    latencies = Latencies.of_file(path)
    assert (latencies.name, latencies.load, latencies.by) == ("mine", "rate", "p99")
    assert {setting.name for setting in latencies.settings} >= {"2R-2W", "1R-3W"}
    assert latencies.limits["2R-2W"].keeps
    path.write_text(json.dumps(json.loads(path.read_text()) | {"adviser": None}))
    with pytest.raises(InputError, match="is not of schema"):
        Latencies.of_file(path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*LOAD, "--bound-ms", 20, "--stale", 0.1), "--stale and --after-ms: go together"),
        ((*LOAD, "--bound-ms", -1), "--bound-ms: -1 is not above 0"),
        ((*LOAD, "--bound-ms", "nan"), "Invalid value for '--bound-ms': 'nan' is not a finite number"),
        ((*LOAD, "--bound-ms", 20, "--fresh-run", "quick-2.1.20"), "--fresh-run: goes with --stale"),
        (("--reads", 0.5, "--bound-ms", 20), "give --rate or --of-capacity"),
        ((*LOAD, "--workload", "svc", "--bound-ms", 20), "--reads: the mix is a part of the workload"),
        (("--of-capacity", 3, "--reads", 0.5, "--bound-ms", 20), "3 is outside what mine measured"),
    ],
)
def test_what_cannot_be_answered_is_refused(recorded, arguments, said):
    done = cassbook("decide", "--run", recorded, *arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_what_programs_get_is_of_the_schema_that_is_published(recorded):
    schema = json.loads(resources.files("cassbook.advisor").joinpath("decision.schema.json").read_text("utf-8"))
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    for limits, code in ((("--bound-ms", 20), 0), (("--bound-ms", 0.5), 3)):
        found = json.loads(decided(recorded, *LOAD, *limits, "--format", "json", code=code))
        check.validate(found)
        for required in schema["required"]:
            assert not check.is_valid({name: value for name, value in found.items() if name != required}), required
        assert not check.is_valid(found | {"version": 2})


def test_a_page_begins_with_the_answer_and_is_not_overwritten_unasked(recorded, tmp_path):
    page = tmp_path / "answer.html"
    text = decided(recorded, *LOAD, "--bound-ms", 20, "--output", page)
    shown = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    assert [head.get_text() for head in shown.find_all(["h1", "h2"])][:2] == [
        "Which setting? mine", " ".join(text.partition("\n\n")[0].split()),
    ]  # fmt: skip
    assert "CONSISTENCY QUORUM" in shown.find("pre").get_text()
    assert not shown.find(["script", "link"], src=True)
    said = refused("--run", recorded, *LOAD, "--bound-ms", 20, "--output", page)
    assert said.endswith("exists; --force overwrites it\n")
    decided(recorded, *LOAD, "--bound-ms", 20, "--output", page, "--force")


def refused(*arguments):
    done = cassbook("decide", *arguments)
    assert done.exit_code == 2, done.output
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give --run, a recorded run, or --profile"),
        (("--run", "standard-5.0.9", "--profile", "quick"), "not both"),
        (("--run", "standard-5.0.9", "--hosts", "10.0.0.11"), "go with --profile"),
        (("--profile", "quick"), "give --rate, the service's requests per second"),
        (("--profile", "quick", "--rate", -1), "--rate: -1 is not above 0"),
        (("--profile", "quick", "--rate", 100, "--faults", "by-hand"), "needs --hosts, and a terminal"),
        (("--profile", "quick", "--rate", 100, "--reads", 0.5), "its workload has the mix"),
        (("--profile", "quick", "--rate", 100, "--traces"), "--traces: goes with --hosts, --stale and --after-ms"),
        (("--profile", "quick", "--rate", 100), "name one of the profile's own workloads (workloads.own); it has none"),
    ],
)
def test_a_wrong_question_names_what_would_work(arguments, words):
    assert words in refused(*arguments, "--bound-ms", 20)


@pytest.mark.parametrize(("dead_ms", "helped", "held"), [(40.2, True, False), (12.0, False, False), (400, True, True)])
def test_a_replica_that_is_away_and_breaks_the_bound_comes_with_what_a_driver_can_do(dead_ms, helped, held):
    response = {RESPONSE: Held(PASS, Estimate(12.4, 11.0, 14.0, 24), "measured")}
    dead = {"unnoticed": Estimate(dead_ms, np.nan, np.nan, 1)}
    option = Option(SimpleNamespace(setting=Setting("2R-2W", "QUORUM", "QUORUM")), response, dead)
    text = "\n".join(lines_for(option, Limits(bound_ms=20.0)))
    assert (f"{dead_ms:g} ms while one is dead and unnoticed" in text) == helped
    assert ("native_transport_max_threads: 1024" in text) == held
    assert ("delay = 12 milliseconds" in text) == helped
    assert ("speculative_retry" in text) == helped


@pytest.mark.parametrize(
    ("dead", "times", "said"),
    [
        (Estimate(40.2, np.nan, np.nan, 1), None, "40.2"),
        (Estimate(40.2, 33.1, 48.8, 5), None, "40.2 [33.1, 48.8]"),
        (None, Estimate(4.0, 2.5, 6.4, 5), "x4.00 [2.50, 6.40] r"),
        (None, None, "?"),
    ],
    ids=["one fault", "cluster starts", "recorded", "unknown"],
)
def test_a_dead_replica_comes_with_its_interval(dead, times, said):
    choice = SimpleNamespace(
        setting=Setting("2R-2W", "QUORUM", "QUORUM"), strong=True, survives=(1, 1), not_carried=0, capacity=None,
        headroom=Estimate(np.nan, np.nan, np.nan),
    )  # fmt: skip
    held = dict.fromkeys((RESPONSE, SURVIVE, STALE), Held(PASS, Estimate(12.4, 11.0, 14.0, 24), "measured"))
    option = Option(choice, held, *({"noticed": one} if one else {} for one in (dead, times)))
    decision = SimpleNamespace(advice=SimpleNamespace(by="p99"), limits=Limits(bound_ms=20.0), options=[option])
    assert table(decision).loc["QUORUM/QUORUM", "noticed"] == said
