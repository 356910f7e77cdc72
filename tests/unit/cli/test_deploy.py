"""What `cassbook deploy` says of replication by data centre, of refused reads, and of the machine of its baseline."""

import json

import pytest

from cassbook.cli.answers.machine import baseline
from cassbook.core.consistency import refuses_reads
from tests.helpers.command import cassbook

ISSUE = "{[C], ([R1..R6]}, {R7..R12})"
SHARED = "3 nodes and the client share the 2 cores of one machine"


def deploy(*arguments):
    return cassbook("deploy", *arguments)


def answer(*arguments):
    result = deploy(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_command_of_the_issue_answers():
    result = deploy(ISSUE, "--level", "LOCAL_QUORUM")
    assert result.exit_code == 0
    assert "replicas of a row: on every node" in result.stdout


def test_three_replicas_in_each_of_two_data_centres():
    arguments = (ISSUE, "--level", "LOCAL_QUORUM", "--replication", "eu=3,us=3")
    assert "3 of R1 to R6 in eu (us_west_2), 3 of R7 to R12 in us (ca_central_1)" in deploy(*arguments).stdout
    found = answer(*arguments)
    assert found["replication"] == {"eu": 3, "us": 3}
    assert found["strategy"] == "NetworkTopologyStrategy"
    assert found["survives"] == {"reads": 1, "writes": 1}
    assert "LOCAL_QUORUM survives 1 dead replica of a row in the coordinator's" in deploy(*arguments).stdout
    assert found["data_centres"]["us"] == [f"R{number}" for number in range(7, 13)]
    assert [way["name"] for way in found["coordinators"]] == found["data_centres"]["eu"]
    assert {one["operation"] for one in found["predicted"]} == {"READ", "WRITE"}


def test_which_rows_wait_for_another_zone_is_stated():
    arguments = ("{[C], ([R1..R4], [R5, R6]}, {R7..R12})", "--level", "LOCAL_QUORUM", "--replication", "dc1=3,dc2=3")
    assert "waits 0.4 ms for replicas: 0.0 for 83% of rows, 2.4 for 17% of rows" in deploy(*arguments).stdout
    (first, *_) = answer(*arguments)["coordinators"]
    assert [own["share"] for own in first["holds"]] == pytest.approx([5 / 6, 1 / 6])
    assert first["hold_ms"] == pytest.approx(first["holds"][1]["hold_ms"] / 6)


def test_a_number_means_what_it_meant():
    found = answer("{C}, ({R1}, {R2}, {R3})", "--level", "ONE", "--replication", "1", "--coordinator", "R1")
    assert (found["replication"], found["strategy"]) == (1, "SimpleStrategy")
    assert len(found["coordinators"][0]["holds"]) == 3


def test_reads_at_each_quorum_are_left_out_where_the_engine_refuses_them():
    arguments = (ISSUE, "--level", "EACH_QUORUM", "--replication", "eu=3,us=3")
    text = deploy(*arguments).stdout
    assert "EACH_QUORUM survives 1 dead replica of a row in each data centre" in text
    assert answer(*arguments)["survives"] == {"writes": 1}
    assert "  writes " in text
    assert "  reads  " not in text
    assert 'reads: Cassandra 2.1.20 refuses them at EACH_QUORUM ("only supported for writes")' in text
    found = answer(*arguments)
    assert [one["operation"] for one in found["predicted"]] == ["WRITE"]
    assert "Cassandra 2.1.20 refuses them" in found["notes"][0]
    newer = answer(*arguments, "--run", "standard-5.0.9")
    assert [one["operation"] for one in newer["predicted"]] == ["READ", "WRITE"]
    assert not any("refuses" in note for note in newer["notes"])


def test_an_unknown_version_is_taken_for_one_that_refuses():
    assert [refuses_reads("EACH_QUORUM", engine) for engine in ("", "unknown", "4.1.3", "10.0")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_whose_processors_a_throughput_is_of_is_said():
    assert f"standard-2.1.20: {SHARED}; " in deploy("{[C], ([R1]}, {R2}, {R3})").stdout.replace("\n", " ")
    found = answer(ISSUE, "--replication", "eu=3,us=3")
    assert found["cores"] == 2
    assert found["baseline"] == {
        "run": "standard-2.1.20", "engine": "2.1.20", "nodes": 3, "replication": 3, "cores": 2, "note": SHARED,
    }  # fmt: skip
    (note,) = found["notes"]
    assert note.startswith("writes go to 6 replicas, those of the baseline to 3")


def test_baselines_that_are_no_cluster_on_one_machine():
    existing = {
        "engine": "5.0.9", "profile": {"cluster": {"nodes": 6, "replication_factor": 3}}, "machine": {"cores": 4},
        "cluster_starts": [{"kind": "existing"}],
    }  # fmt: skip
    assert baseline("mine", existing)["cores"] is None
    assert baseline("mine", existing)["note"] == "6 nodes of an existing cluster"
    assert baseline("logs", {"engine": ""})["note"] == "how many nodes share how many cores is not said there"


def test_the_ring_that_knows_no_data_centres_is_warned_of():
    alternating = "{C, (R1, R3, R5}, {R2, R4, R6})"
    (note,) = answer(alternating, "--level", "LOCAL_QUORUM", "--replication", "3")["notes"]
    assert "LOCAL_QUORUM wants 2 of the 3 replicas in us_west_2, " in note
    assert "3 of 6 parts" in note
    found = answer(alternating, "--level", "EACH_QUORUM", "--replication", "3", "--run", "standard-5.0.9")
    assert "Cassandra takes EACH_QUORUM for QUORUM there" in found["notes"][0]


def test_regions_come_in_the_order_of_the_file(tmp_path):
    table = tmp_path / "rtt.csv"
    arguments = (ISSUE, "--replication", "eu=3,us=1", "--rtt", str(table))
    for lines, client in (("eu,us,60\neu,eu,1\nus,us,1", "eu"), ("us,us,1\neu,eu,1\neu,us,60", "us")):
        table.write_text(f"from,to,rtt_ms\n{lines}\n")
        other = {"eu": "us", "us": "eu"}[client]
        assert f"in {client} (the client's), {other}\n" in deploy(*arguments).stdout
        assert answer(*arguments)["client_region"] == client
    table.write_text("from,to,rtt_ms\neu,us,60\neu,eu,1\nus,us,1\n")
    assert "3 of R1 to R6 in eu, 1 of R7 to R12 in us" in deploy(*arguments).stdout


def test_the_loss_of_a_data_centre_is_answered_for_every_level():
    text = deploy(ISSUE, "--level", "QUORUM", "--replication", "eu=3,us=3").stdout
    assert "QUORUM stops with the loss of any one data centre" in text
    assert "(it waits for 4 replicas, and without eu 3 of 6 are left)" in text
    assert "of any one data centre: ONE, LOCAL_ONE, TWO, THREE, LOCAL_QUORUM; of none: QUORUM, EACH_QUORUM, ALL" in text
    uneven = deploy(ISSUE, "--level", "QUORUM", "--replication", "eu=3,us=1").stdout
    assert "survives the loss of us, and stops without eu" in uneven
    assert "(it waits for 3 replicas, and without eu 1 of 4 is left)" in uneven
    losses = answer(ISSUE, "--level", "EACH_QUORUM", "--replication", "eu=3,us=3")["data_centre_loss"]
    assert losses["EACH_QUORUM"] == {"survives_any": False, "survives_loss_of": {"eu": False, "us": False}}
    assert losses["LOCAL_QUORUM"]["survives_any"]
    assert set(losses) == {"ONE", "LOCAL_ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL"}
    alone = deploy("{[C], ([R1], [R2], [R3])}").stdout
    assert "all nodes are in one data centre: its loss stops every level" in alone


@pytest.mark.parametrize(
    ("deployment", "weakest"),
    [
        ("{[C], (R1, R2, R3}, {R4, R5, R6})", "ONE/ALL, QUORUM/THREE, LOCAL_QUORUM/EACH_QUORUM, ALL/ONE, THREE/QUORUM"),
        ("{[C], (R1, R2, R3}, {R4})", "ONE/ALL, QUORUM/TWO, LOCAL_QUORUM/EACH_QUORUM, ALL/ONE, TWO/QUORUM"),
        ("{[C], ([R1]}, {R2}, {R3})", "ONE/ALL, QUORUM/QUORUM, ALL/ONE"),
    ],
)
def test_the_weakest_levels_of_an_even_number_of_replicas_wait_for_half_on_one_side(deployment, weakest):
    assert f"acknowledged write of any data centre: {weakest}\n" in deploy(deployment, "--level", "QUORUM").stdout


def test_whether_a_read_sees_the_write_of_another_data_centre():
    arguments = (ISSUE, "--level", "LOCAL_QUORUM", "--replication", "eu=3,us=3", "--run", "standard-5.0.9")
    text = deploy(*arguments).stdout
    assert "LOCAL_QUORUM write of the same data centre, but may miss those of another" in text
    assert "(a write in eu waits for 2 of 3 replicas there, a read in us for 2 of 3 there" in text
    weakest = "ONE/ALL, QUORUM/THREE, LOCAL_QUORUM/EACH_QUORUM, EACH_QUORUM/LOCAL_QUORUM, ALL/ONE, THREE/QUORUM\n"
    assert weakest in text
    found = answer(*arguments)
    assert ["LOCAL_QUORUM", "EACH_QUORUM"] in found["weakest_strong_across"]
    strong = {(one["read"], one["write"]): one for one in found["strong"]}
    assert strong["LOCAL_QUORUM", "LOCAL_QUORUM"]["within_centre"]
    assert not strong["LOCAL_QUORUM", "LOCAL_QUORUM"]["across_centres"]
    older = answer(*arguments[:-1], "standard-2.1.20")
    assert not any(one["read"] == "EACH_QUORUM" for one in older["strong"])


def test_the_answer_is_first_and_round_trips_are_as_few_lines_as_say_them():
    text = deploy(ISSUE, "--level", "LOCAL_QUORUM", "--replication", "eu=3,us=3").stdout
    assert text.index("  reads ") < text.index("survives 1 dead replica") < text.index("round trips, ms")
    lines = text[text.index("round trips") :].splitlines()
    assert len(lines) == 5
    assert lines[3].split("  ")[0] == "R1 to R6"
    every_host = deploy(ISSUE, "--matrix").stdout
    assert len(every_host[every_host.index("round trips") :].splitlines()) == 1 + 1 + 13
    racks = "{[C], (" + ", ".join(f"[R{n}]" for n in range(1, 8)) + "}, {R8})"
    many = deploy(racks).stdout.splitlines()
    assert [line.split() for line in many[-2:]] == [["us_west_2", "2.4", "66.8"], ["ca_central_1", "66.8", "0.0"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--replication", "eu=7,us=3"], "replication: eu=7; eu has 6 nodes (R1 to R6)"),
        (["--replication", "three"], "'three' is neither a number (3) nor"),
        (["--replication", "0"], "0 replicas do not fit on 12 nodes"),
        (["--replication", "eu=3,us=3", "--measure"], "(--replication eu=6,us=6)"),
        (["--replication", "3", "--level", "LOCAL_QUORUM"], "give it by data centre, us_west_2=3,ca_central_1=3"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    result = deploy(ISSUE, *arguments)
    assert result.exit_code == 2
    assert message in result.output
