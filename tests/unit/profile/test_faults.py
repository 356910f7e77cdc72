"""Schedules of faults in profiles: what they order, and what is refused."""

import re

import numpy as np
import pytest
import yaml

from cassbook.core.errors import InputError
from cassbook.core.paths import project_root, resource
from cassbook.lab.engine.spec import Breakable
from cassbook.lab.experiments.experiment import Setup
from cassbook.lab.experiments.faults.experiment import EVERY, FaultExperiment
from cassbook.lab.run.plan import plan
from cassbook.profile.fault_schedule import KINDS
from cassbook.profile.faults import FaultsSection, RandomFaults
from cassbook.profile.profile import load_profile

BASE = """
name: mine
title: Mine
seed: 1
cluster: {nodes: 3, replication_factor: 3}
table: {record_count: 10}
load: {steady_s: 60}
faults:
  settings: [ONE/ONE, 2R-2W]
  rate_per_s: 100
"""


@pytest.fixture
def written(tmp_path):
    def write(part, base=BASE):
        path = tmp_path / "mine.yaml"
        path.write_text(base + part)
        return load_profile(str(path))

    return write


def orders(profile, seed=1):
    return profile.faults.orders(profile.load.steady_s, profile.cluster.nodes, np.random.default_rng(seed))


def test_a_fault_is_ordered_and_undone_at_its_times(written):
    made = orders(written("  events: [{at_s: 5, do: kill, nodes: [2], for_s: 10}]"))
    assert [(order.at_s, order.fault.kind, order.begins, order.fault.nodes) for order in made] == [
        (5, "kill", True, (2,)), (15, "kill", False, (2,)),
    ]  # fmt: skip


def test_a_node_that_flaps_fails_several_times_with_a_number_each(written):
    made = orders(written("  events: [{at_s: 5, do: pause, nodes: [2], for_s: 1, times: 3, every_s: 4}]"))
    assert [order.at_s for order in made] == [5, 6, 9, 10, 13, 14]
    assert [order.number for order in made] == [1, 1, 2, 2, 3, 3]


def test_links_are_cut_off_from_all_others_unless_some_are_named(written):
    (cut,) = orders(written("  events: [{at_s: 5, do: cut, nodes: [2]}]"))
    assert cut.fault.to == (1, 3, "client")
    (cut,) = orders(written("  events: [{at_s: 5, do: cut, nodes: [2], to: [3], way: in}]"))
    assert (cut.fault.to, cut.fault.way) == ((3,), "in")


def test_several_faults_come_in_the_order_of_time(written):
    made = orders(
        written("  events:\n    - {at_s: 20, do: kill, nodes: [3]}\n    - {at_s: 5, do: pause, nodes: [2], for_s: 30}")
    )
    assert [(order.at_s, order.number) for order in made] == [(5, 2), (20, 1), (35, 2)]


def test_random_faults_are_the_same_for_the_same_seed_and_never_too_many_at_once():
    part = RandomFaults(do=["kill", "pause"], nodes=[1, 2, 3], up_s=10, down_s=5, at_once=1)
    made = part.schedule(1000.0, np.random.default_rng(3)).orders(3)
    assert made == part.schedule(1000.0, np.random.default_rng(3)).orders(3)
    assert made != part.schedule(1000.0, np.random.default_rng(4)).orders(3)
    assert {order.fault.kind for order in made} == {"kill", "pause"}
    down = 0
    for order in made:
        down += 1 if order.begins else -1
        assert 0 <= down <= 1
    assert down == 0


def test_random_times_are_exponential_about_their_means():
    part = RandomFaults(do=["pause"], nodes=[1], up_s=10, down_s=5)
    made = part.schedule(50_000.0, np.random.default_rng(3)).orders(3)
    begins, ends = ([order.at_s for order in made if order.begins is which] for which in (True, False))
    assert np.mean(np.subtract(ends, begins)) == pytest.approx(5, rel=0.1)
    assert np.mean(np.subtract(begins[1:], ends[:-1])) == pytest.approx(10, rel=0.1)


GROUPS = """
  events:
    - {at_s: 1, do: kill, nodes: [1], for_s: 2}
    - at_s: 5
      sequence:
        - {random: {do: [pause], nodes: [2, 3], up_s: 1, down_s: 1}, for_s: 8}
        - {at_s: 1, do: kill, nodes: [2], for_s: 5}
        - together: [{do: cut, nodes: [2], for_s: 3}, {at_s: 1, do: stop, nodes: [2], for_s: 1}]
          times: 2
          every_s: 4
        - {do: repair, nodes: [2]}
"""


def test_groups_follow_each_other_strike_together_come_again_and_are_drawn(written):
    made = orders(written(GROUPS))
    fixed = [(order.at_s, order.number, order.fault.kind) for order in made if order.begins and not order.fault.drawn]
    assert fixed == [
        (1, 1, "kill"), (14, 2, "kill"), (19, 3, "cut"), (20, 4, "stop"), (23, 5, "cut"), (24, 6, "stop"),
        (26, 7, "repair"),
    ]  # fmt: skip
    drawn = [order for order in made if order.fault.drawn]
    assert {order.number for order in drawn} == set(range(8, 8 + len(drawn) // 2)), "behind those that are fixed"
    assert drawn
    assert all(5 < order.at_s < 13 for order in drawn)
    assert made == orders(written(GROUPS))
    assert [order for order in orders(written(GROUPS), seed=2) if order.fault.drawn] != drawn


def test_a_group_is_written_as_it_is_read(written):
    profile = written(GROUPS)
    assert type(profile.faults).model_validate(profile.faults.model_dump(mode="json")) == profile.faults


def test_what_may_be_drawn_is_checked_as_if_it_always_struck(written):
    beside = "{at_s: 3, do: kill, nodes: [1], for_s: 1}"
    drawn = "{random: {do: [%s], nodes: [1, 2], up_s: 99, down_s: 1}, for_s: 9}"
    with pytest.raises(InputError, match="strikes node 1, which pause holds since 0 s"):
        written(f"  events: [{beside}, {drawn % 'cut, pause'}]")
    assert orders(written(f"  events: [{beside}, {drawn % 'cut'}]"))


EVENT = "  events: [{%s}]"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("", "give either events or random"),
        (EVENT % "at_s: 5, do: kill, nodes: [4]", "node 4: there are nodes 1 to 3"),
        (EVENT % "at_s: 60, do: kill, nodes: [1]", "kill at 60 s is behind the end, load.steady_s 60"),
        (EVENT % "at_s: 5, do: explode, nodes: [1]", "events.0.do"),
        (EVENT % "at_s: 5, do: restart, nodes: [1], for_s: 3", "restart lasts until it is done; leave for_s out"),
        (EVENT % "at_s: 5, do: kill, nodes: [1], times: 2", "times and every_s go together"),
        (EVENT % "at_s: 5, do: pause, nodes: [1], for_s: 5, times: 2, every_s: 4", "a for_s shorter than every_s"),
        (EVENT % "at_s: 5, do: kill, nodes: [1], to: [2]", "to and way are of links"),
        (EVENT % "at_s: 5, do: slow, nodes: [1]", "delay_ms goes with slow"),
        (EVENT % "at_s: 5, do: clock, nodes: [1]", "by_ms goes with clock, and is not 0"),
        (EVENT % "at_s: 5, do: kill, nodes: [1], by_ms: 500", "by_ms goes with clock"),
        (
            EVENT % "at_s: 5, do: replace, nodes: [1], for_s: 9}, {at_s: 7, do: pause, nodes: [1]",
            "pause at 7 s strikes node 1, which replace holds since 5 s",
        ),
        (EVENT % "at_s: 5, do: cut, nodes: [1], to: [1]", "node 1 is in nodes and in to"),
        (
            EVENT % "at_s: 5, do: kill, nodes: [1], for_s: 9}, {at_s: 7, do: pause, nodes: [1]",
            "pause at 7 s strikes node 1, which kill holds since 5 s",
        ),
        (EVENT % "at_s: 5, do: add, nodes: [5]", r"add: the nodes that join are numbered from 4 on, got \[5\]"),
        (EVENT % "at_s: 5, do: decommission, nodes: [2]", "decommission: node 2 was not added"),
        ("  random: {do: [kill], nodes: [9], up_s: 5, down_s: 5}", "node 9: there are nodes 1 to 3"),
        ("  random: {do: [clock], nodes: [1], up_s: 5, down_s: 5}", "faults.random.do: clock cannot be drawn"),
        (EVENT % "sequence: [{do: kill, nodes: [1]}, {do: kil, nodes: [1]}]", "events.0.sequence.1.do: use one of"),
        (EVENT % "sequence: [{do: kill, nodes: [1]}, {do: kill, nodes: [1]}]", "events.0: sequence: nothing can"),
        (EVENT % "together: [{do: kill, nods: [1]}]", "events.0.together.0.nods: unknown key"),
        (EVENT % "together: [{sequence: []}]", "events.0.together.0.sequence: "),
        (EVENT % "together: [7]", r"events.0.together.0: a fault is a mapping of keys, .* \(got 7\)"),
        (EVENT % "together: [{do: kill, nodes: [1]}], random: {}", "events.0.random.do: is missing"),
        (
            EVENT % "together: [{do: kill, nodes: [1]}], sequence: [{do: kill, nodes: [1]}]",
            "events.0: give one of sequence, together, random, not sequence and together",
        ),
        (EVENT % "together: [{do: kill, nodes: [1]}], for_s: 3", "events.0: for_s goes with random"),
        (EVENT % "together: [{do: kill, nodes: [1], for_s: 3}], times: 2", "events.0: times and every_s go together"),
        (
            EVENT % "together: [{do: kill, nodes: [1], for_s: 3}], times: 2, every_s: 3",
            "events.0: a fault that comes again needs a for_s shorter than every_s",
        ),
        (
            EVENT % "random: {do: [kill], nodes: [1], up_s: 5, down_s: 5}, for_s: 61",
            "kill at 61 s is behind the end, load.steady_s 60",
        ),
        (EVENT % "do: kill, nodes: [1]", "events.0.at_s: is missing"),
    ],
)  # fmt: skip
def test_a_schedule_that_cannot_be_is_refused(written, part, said):
    with pytest.raises(InputError, match=said):
        written(part)


def test_a_node_may_join_and_leave(written):
    profile = written("  events:\n    - {at_s: 5, do: add, nodes: [4]}\n    - {at_s: 40, do: decommission, nodes: [4]}")
    assert profile.faults.struck("add") == (4,)
    assert [order.fault.kind for order in orders(profile)] == ["add", "decommission"]
    (setup,) = FaultExperiment({"mine": profile}).setups.values()
    assert (setup.spec.nodes, setup.spec.spare) == (3, 1)


@pytest.mark.parametrize(
    ("faults", "apart"),
    [
        ("random: {do: [kill, pause], nodes: [1, 2], up_s: 5, down_s: 5}", False),
        ("random: {do: [kill, cut], nodes: [1, 2], up_s: 5, down_s: 5}", True),
        ("events: [{random: {do: [kill, cut], nodes: [1, 2], up_s: 5, down_s: 5}, for_s: 20}]", True),
        ("events: [{sequence: [{do: kill, nodes: [1], for_s: 2}, {do: cut, nodes: [2], for_s: 2}]}]", True),
        ("events: [{at_s: 5, do: kill, nodes: [1], for_s: 2}]", False),
    ],
)
def test_nodes_whose_links_may_fail_have_a_relay_also_where_faults_are_drawn(written, faults, apart):
    (setup,) = FaultExperiment({"mine": written(f"  {faults}")}).setups.values()
    assert isinstance(setup, Setup) == apart


def test_a_node_that_was_away_may_be_repaired(written):
    profile = written(
        "  events:\n    - {at_s: 5, do: kill, nodes: [2], for_s: 9}\n    - {at_s: 40, do: repair, nodes: [2]}"
    )
    assert [(order.fault.kind, order.begins) for order in orders(profile)] == [
        ("kill", True), ("kill", False), ("repair", True),
    ]  # fmt: skip


def test_clocks_and_disks_that_fail_are_told_to_the_cluster_beforehand(written):
    faults = "{at_s: 5, do: clock, nodes: [2], by_ms: -300}, {at_s: 9, do: fill, nodes: [3], for_s: 3}"
    profile = written(f"  events: [{faults}]")
    assert [(order.fault.kind, order.fault.by_ms) for order in orders(profile)] == [
        ("clock", -300),
        ("fill", 0),
        ("fill", 0),
    ]
    (setup,) = FaultExperiment({"mine": profile}).setups.values()
    assert setup.spec.breakable == Breakable((2,), (3,))
    with pytest.raises(InputError, match="clocks set and disks filled only where no link fails"):
        _ = FaultExperiment({"mine": written(f"  events: [{faults}, {{at_s: 8, do: cut, nodes: [1]}}]")}).setups


def test_faults_go_with_no_other_part_and_need_a_length(written):
    event = EVENT % "at_s: 5, do: kill, nodes: [1]"
    with pytest.raises(InputError, match="pure, mixed, workloads, open, cold and paced"):
        written(f"{event}\npure: {{threads: [10]}}")
    with pytest.raises(InputError, match=r"faults: need load\.steady_s"):
        written(event, BASE.replace("steady_s: 60", "operations_per_thread: 5"))


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ("  rate_per_s: 100\n  threads: 2\n", "give either rate_per_s or threads"),
        ("", "give either rate_per_s or threads"),
        ("  threads: 30\n  keys: 20\n", r"threads: 30 would write 20 rows \(keys\)"),
        ("  threads: 0\n", "threads"),
    ],
)
def test_a_load_is_paced_or_closed_and_each_row_has_one_writer(written, load, said):
    with pytest.raises(InputError, match=said):
        written(EVENT % "at_s: 5, do: kill, nodes: [1]", BASE.replace("  rate_per_s: 100\n", load))


def test_settings_are_those_of_the_replication_factor(written):
    with pytest.raises(InputError, match=r"faults\.settings: '4R-2W' is unknown"):
        written(EVENT % "at_s: 5, do: kill, nodes: [1]", BASE.replace("2R-2W", "4R-2W"))


def test_they_are_no_plan_of_cells(written):
    with pytest.raises(InputError, match="cassbook experiment faults --profile"):
        plan(written(EVENT % "at_s: 5, do: kill, nodes: [1]"))


@pytest.mark.parametrize("path", sorted(resource("profiles").glob("faults-*.yaml")), ids=lambda path: path.stem)
def test_those_that_come_with_cassbook_are_named_as_their_files(path):
    assert load_profile(path.stem).name == path.stem
    assert yaml.safe_load(path.read_text())["faults"]


PAGE = (project_root() / "book" / "faults.md").read_text(encoding="utf-8")


def example(language, place=0):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[place]


def test_the_pages_example_is_a_profile(written):
    made = orders(written("", example("yaml")))
    assert [(order.fault.kind, order.at_s) for order in made if order.begins] == [
        ("kill", 10), ("pause", 40), ("pause", 44), ("pause", 48), ("pause", 52),
    ]  # fmt: skip


def test_the_pages_groups_are_what_its_python_says(written):
    profile = written(example("yaml", 1), BASE.replace("steady_s: 60", "steady_s: 240"))
    said = {}
    exec(example("python"), said)  # noqa: S102 - the page is ours
    known = [
        [order for order in made if not order.fault.drawn] for made in (orders(profile), said["schedule"].orders(3))
    ]
    assert known[0] == known[1]
    assert [order.at_s for order in known[0] if order.begins] == [10, 23, 60, 63, 75, 78, 90, 93]
    assert said["schedule"].end_s == 220
    taken = FaultsSection(settings=["ONE/ONE"], rate_per_s=100, events=said["schedule"])
    assert len(taken.events) == len(said["schedule"].faults)


def test_the_page_names_every_kind_and_every_schedule_that_is_recorded_together():
    assert set(re.findall(r"^\| `(\w+)` \| [^|]+\|$", PAGE, re.MULTILINE)) >= set(KINDS)
    rows = re.findall(r"^\| (`faults-.*?) \|", PAGE, re.MULTILINE)
    names = [re.findall(r"`(.*?)`", row) for row in rows]
    assert sorted(name for row in names[:-1] for name in row) == sorted(EVERY)
    assert names[-1] == ["faults-tables-2.1", "faults-tables-5.0"]
