"""`cassbook advise --of-capacity` and `--rate`, and `cassbook capacity` of the same run."""

import json

import pytest

from tests.helpers import open_runs
from tests.helpers.command import cassbook


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    rows = [
        *open_runs.open_cells(settings=("ONE/ONE", "QUORUM/QUORUM"), shares=(0.2, 0.4, 0.6)),
        *open_runs.open_cells(settings=("ONE/ONE", "QUORUM/QUORUM"), shares=(), own=(), rates=(500, 900),
                              workload="svc", read_share=0.8),
    ]  # fmt: skip
    return open_runs.write_run(tmp_path_factory.mktemp("runs") / "mine", rows)


def answered(*arguments):
    done = cassbook(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_answer_and_capacity_agree_to_the_digit(recorded):
    bound = ("--by", "p99", "--bound-ms", 6)
    for load in (("--of-capacity", 0.4), ("--rate", 700)):
        found = json.loads(
            answered("advise", "--run", recorded, *load, "--reads", 0.5, *bound, "--weak", "--format", "json")
        )
        said = json.loads(answered("capacity", recorded, *bound, "--format", "json"))["capacities"]
        of_mix = {(one["read_cl"], one["write_cl"]): one for one in said if one["workload"] == ""}
        for row in found["settings"]:
            same = of_mix[row["read_cl"], row["write_cl"]]
            assert same["verdict"] == row["capacity_verdict"]
            for figure in ("capacity_per_s", "capacity_low_per_s", "capacity_high_per_s", "capacity_share"):
                assert row[figure] == same[figure]
            assert same["load_shares"] == [0.2, 0.4, 0.6]
            assert same["rates_per_s"] == []
        assert found["setting"]["setting"] == "2R-2W"
    text = answered("capacity", recorded, *bound)
    assert "50% reads, QUORUM/QUORUM, open" in text
    assert "of what the weakest setting" in text
    assert "workload svc, QUORUM/QUORUM, open" in text


def test_a_workload_is_answered_at_its_rates(recorded):
    text = answered("advise", "--run", recorded, "--workload", "svc", "--rate", 700, "--bound-ms", 5)
    assert text.startswith(
        "mine, workload svc, 700 a second (0.25 to 0.31 of what the weakest setting carries), by mean"
    )
    assert "1 weak setting was measured: --weak" in text
    rows = answered("advise", "--run", recorded, "--workload", "svc", "--rate", 700, "--weak", "--format", "csv")
    assert [row.split(",")[0] for row in rows.splitlines()] == ["setting", "2R-2W", "ONE/ONE"]


def test_a_map_is_over_shares(recorded):
    text = answered("advise", "--run", recorded, "--map", "--open", "--reads", 0.5, "--by", "p99")
    assert text.split()[:3] == ["0.2", "0.4", "0.6"]
    assert text == answered("advise", "--run", recorded, "--map", "--reads", 0.5, "--by", "p99")  # it has no threads
    rows = json.loads(answered("advise", "--run", recorded, "--map", "--open", "--format", "json"))["points"]
    assert {(row["mix"], row["of_capacity"] or row["rate_per_s"]) for row in rows} == {
        ("50% reads", 0.2), ("50% reads", 0.4), ("50% reads", 0.6), ("workload svc", 500), ("workload svc", 900)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rate", 700, "--of-capacity", 0.4, "--reads", 0.5), "--rate: not with --of-capacity"),
        (("--rate", 0, "--reads", 0.5), "--rate: 0 is not above 0"),
        (("--of-capacity", -1, "--reads", 0.5), "--of-capacity: -1 is not above 0"),
        (("--rate", 700, "--reads", 0.5, "--threads", 4), "--threads: not with a load by rate"),
        (("--rate", 700, "--reads", 0.5, "--nodes", 6), "--nodes: not with a load by rate; cassbook predict --rate"),
        (("--rate", 700, "--map"), "leave --of-capacity and --rate out"),
        (("--rate", 700, "--map", "--open"), "leave --of-capacity and --rate out"),
        (("--reads", 0.5, "--open"), "--open: goes with --map alone"),
        (("--rate", 700, "--workload", "svc", "--reads", 0.8), "--reads: the mix is a part of the workload"),
        (("--rate", 700, "--workload", "svc", "--workload", "A"), "--workload: one by rate"),
        (
            ("--rate", 700, "--workload", "A"),
            "workload: 'A' was not measured at rates; mine has: --reads 0.5, --workload",
        ),
        (("--rate", 700), "give --reads or --workload; mine was measured at rates for: --reads 0.5, --workload svc"),
        (("--rate", 9000, "--reads", 0.5), "9000 a second is outside what every block of mine measured, 550 to 2880"),
        (("--rate", 700, "--reads", 0.5, "--bound-ms", 0), "--bound-ms: 0 is not above 0"),
        (("--of-capacity", 0.7, "--reads", 0.5), "0.7 is outside what mine measured, 0.2 to 0.6 of what the weakest"),
        (("--of-capacity", 0.4, "--workload", "svc"), "was measured at rates, 500 to 900 a second, and not at shares"),
        (("--threads", 4, "--reads", 0.5, "--weak"), "--weak: is for a load by --of-capacity or --rate"),
        (("--rate", 700, "--reads", 0.5, "--by", "p99.9"), "p99.9 needs 10,000 operations per cell"),
    ],
)
def test_what_has_no_answer_is_refused_before_anything_is_said(recorded, arguments, said):
    done = cassbook("advise", "--run", recorded, *arguments)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert not done.stdout


def test_a_closed_loop_has_no_answer_and_names_the_section_to_add():
    done = cassbook("advise", "--run", "thesis-1-3.11.4", "--rate", 700, "--reads", 0.5)
    assert done.exit_code == 2
    assert "add open: {read_shares: [0.5], load_shares: [0.2, 0.4, 0.6, 0.8]} to its profile" in done.stderr
