"""What `cassbook advise` prints is a function of the advice alone: no map, no run and no record is needed."""

import json

import pandas as pd
import pytest

from cassbook.advisor.advice import Advice, AdviceMap, Choice
from cassbook.cli.answers import advise
from cassbook.core.consistency import STRONG_SETTINGS
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import Proportion
from cassbook.records.fault_costs import Unanswered

BY_NAME = {setting.name: setting for setting in STRONG_SETTINGS}


def choice(name, *by_block_us, marks=()):
    setting, mean = BY_NAME[name], sum(by_block_us) / len(by_block_us)
    estimate = Estimate(mean, mean - 100, mean + 100, len(by_block_us))
    return Choice(setting, estimate, "blocks", setting.survives(3), by_block_us, frozenset(marks))


@pytest.fixture
def advice():
    fastest = choice("1R-3W", 990.0, 1000.0, 1010.0, marks=["little"])
    failing = Unanswered("faults-made", 3, 2, {(2, 2): {"reads": Proportion.grouped([0, 0], [100, 100])}})
    return Advice(
        name="made", threads=8, read_share=0.5, choices=(fastest, choice("2R-2W", 1990.0, 2000.0, 2020.0)), mixed=False,
        cluster_starts=3, other_workloads=("orders",), failing=failing,
    )  # fmt: skip


def test_the_facts_follow_from_the_choices(advice):
    assert (advice.fastest.setting.name, advice.recommended.setting.name) == ("1R-3W", "2R-2W")
    assert (advice.distinguishable, advice.marks) == (True, {"little": ["1R-3W"]})
    bound = advice.within(1.5)
    assert [one.setting.name for one in bound.survive_less] == ["1R-3W"]
    assert (bound.kept, bound.nearest) == ((), advice.recommended)


def test_text_says_them_line_by_line(advice):
    head, recommended, fastest, faster, bound, parts, mark, dead, others = advise.point(
        advice, "text", 1.5
    ).splitlines()
    assert head == "made, 8 threads, 50% reads, 3 cluster starts, replication 3"
    assert recommended.split()[:2] == ["recommended", "2R-2W"]
    assert fastest.split()[:2] == ["fastest", "1R-3W"]
    assert faster.strip().startswith("1R-3W is 50.1 [")
    assert bound.startswith("  mean latency within 1.5 ms: none ")
    assert "; nearest is 2R-2W with 2.00 ms; 1R-3W keeps it" in bound
    assert bound.endswith(": --survive 0")
    assert "no mix was measured there" in parts
    assert mark.startswith("  marked little (1R-3W): ")
    assert "faults-made: 2 kills" in dead
    assert others.endswith("--workload orders")


def test_json_names_each_thing_once(advice):
    found = json.loads(advise.point(advice, "json", 1.5))
    rows = {key: value["setting"] for key, value in found.items() if isinstance(value, dict) and "setting" in value}
    assert rows == {"setting": "2R-2W", "fastest": "1R-3W", "runner_up": "2R-2W"}
    assert [row["setting"] for row in found["settings"]] == ["1R-3W", "2R-2W"]
    assert found["bound"]["kept_but_survives_less"] == ["1R-3W"]
    assert advise.point(advice, "csv").splitlines()[1].startswith("1R-3W,ONE,ALL,1000.0,900.0,1100.0,3,2,0,little")


def test_a_map_of_advice_is_drawn_from_its_tables():
    columns = [
        "read_share",
        "threads",
        "best",
        "latency_us",
        "runner_up",
        "margin_percent",
        "p_value",
        "distinguishable",
        "marks",
    ]
    fastest = [[0.0, 8.0, "3R-1W", 900.0, "2R-2W", 9.0, 0.2, False, ""],
               [1.0, 8.0, "1R-3W", 900.0, "2R-2W", 9.0, 0.0, True, "little"]]  # fmt: skip
    recommended = [[share, 8.0, "2R-2W", 990.0, "", None, None, None, ""] for share in (0.0, 1.0)]
    drawn = AdviceMap(
        name="made", threads=(8.0,), read_shares=(0.0, 1.0), survives={s.name: s.survives(3) for s in STRONG_SETTINGS},
        fastest=pd.DataFrame(fastest, columns=columns), recommended=pd.DataFrame(recommended, columns=columns),
        unknown=pd.DataFrame(columns=["read_share", "threads", "setting", "operations"]),
    )  # fmt: skip
    surviving, by_speed = advise.domain(drawn, "text").split("\n\n")
    assert surviving.startswith("2R-2W at every point: 8 to 8 threads, 0% to 100% reads")
    assert [line.split() for line in by_speed.splitlines()[2:4]] == [["0%", "3R-1W", "~"], ["100%", "1R-3W*"]]
    rows = advise.points(drawn)
    assert [(row["recommended"], row["best"], row["best_marks"]) for row in rows] == [
        ("2R-2W", "3R-1W", ""), ("2R-2W", "1R-3W", "little")
    ]  # fmt: skip
