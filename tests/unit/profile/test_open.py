"""The section `open`: what it takes, what it fills in, and what it refuses before anything starts."""

import re
from itertools import chain

import pytest
import yaml

from cassbook.core.errors import InputError
from cassbook.core.paths import project_root, resource
from cassbook.core.schema import Mark
from cassbook.lab.run.cell import groups, ladders
from cassbook.lab.run.decision_profile import candidates
from cassbook.lab.run.open_cells import PARTS, section_of
from cassbook.lab.run.plan import forecast_s, plan
from cassbook.profile.open import OpenSection
from cassbook.profile.profile import Profile, load_profile

BASE = {
    "name": "mine", "title": "Mine", "seed": 3, "engine": "5.0.9", "table": {"record_count": 10},
    "load": {"steady_s": 1.0},
}  # fmt: skip
OWN = {
    "name": "svc",
    "operations": [{"kind": "READ", "share": 1, "statement": "SELECT a FROM b WHERE c = ?"}],
    "values": {"c": {"distribution": "uniform", "count": 10}},
}


@pytest.fixture
def written(tmp_path):
    """Loads a profile with a section `open` and other changes; keys of None are taken out."""

    def load(changes=None, **parts):
        section = {"load_shares": [0.4, 0.8], "read_shares": [0.5]} | (changes or {})
        section = {key: value for key, value in section.items() if value is not None}
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(BASE | {"open": section} | parts))
        return load_profile(str(tmp_path / "mine.yaml"))

    return load


@pytest.fixture
def several(tmp_path):
    """Loads a profile whose `open` is a list of sections."""

    def load(*sections, **parts):
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(BASE | {"open": list(sections)} | parts))
        return load_profile(str(tmp_path / "mine.yaml"))

    return load


def test_defaults(written):
    (part,) = written().open
    assert (part.arrivals, part.own_shares, part.repeats) == ("poisson", [0.5, 0.8], 5)
    assert part.settings == ["1R-3W", "2R-2W", "3R-1W"]
    assert (part.measured_s, part.segment_s, part.lead_in_s) == (60, 5, 2)
    assert (part.capacity_threads, part.most_in_flight) == (64, 4096)
    assert (part.bound_ms, part.rising, part.find_capacity) == (None, False, True)
    assert written({"own_shares": []}).open[0].own_shares == []
    rates = {"load_shares": None, "rates_per_s": {"from": 500, "to": 2000, "steps": 3}}
    (part,) = written(rates).open
    assert (part.rates_per_s, part.own_shares) == ([500, 1000, 2000], [])


@pytest.mark.parametrize("rates", [{}, {"load_shares": None, "rates_per_s": [100]}, {"own_shares": []}])
def test_what_a_manifest_keeps_is_the_same_profile(written, rates):
    profile = written(rates)
    assert Profile.model_validate(profile.model_dump(mode="json")) == profile
    before = {key: value for key, value in load_profile("quick").model_dump(mode="json").items() if key != "open"}
    assert Profile.model_validate(before) == load_profile("quick")


def test_settings_are_those_of_the_replication_factor(written):
    profile = written(cluster={"nodes": 5, "replication_factor": 5})
    assert profile.open[0].settings == ["1R-5W", "3R-3W", "5R-1W"]


def test_blocks_are_its_repeats(written):
    assert written({"repeats": 2}).blocks == 2
    assert written({"repeats": 2}, pure={"threads": [10], "repeats": 3}).blocks == 3
    counts = [len([cell for cell in block if cell.kind == "open"]) for block in plan(written({"repeats": 2}))]
    assert counts == [12, 12]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"load_shares": [0.4, 1.2]},
            "open.load_shares.1: is no share of what a setting carries; give more than 0",
        ),
        ({"load_shares": [0]}, "open.load_shares.0: is no share"),
        ({"load_shares": [float("nan")]}, "open.load_shares.0: Input should be a finite number"),
        ({"own_shares": [-0.5]}, "open.own_shares.0: is no share of what a setting carries; give more than 0 and at"),
        ({"load_shares": []}, "open.load_shares: has no share; give one or more"),
        ({"load_shares": None, "rates_per_s": []}, "open.rates_per_s: List should have at least 1 item"),
        ({"load_shares": None}, "open: has no rates; give load_shares (of what the weakest setting carries) or"),
        ({"rates_per_s": [100]}, "open: has both load_shares and rates_per_s; give one"),
        ({"load_shares": [0.4, 0.4]}, "open.load_shares: 0.4 given twice"),
        ({"settings": ["ONE/ONE", "ONE/ONE"]}, "open.settings: ONE/ONE given twice"),
        ({"workloads": ["A", "A"]}, "open.workloads: A given twice"),
        ({"read_shares": [1.0, 1.0]}, "open.read_shares: 1.0 given twice"),
        ({"read_shares": [1.5]}, "open.read_shares.0"),
        ({"read_shares": None}, "open: nothing to measure; give read_shares, such as [1.0, 0.5], or names under"),
        ({"segment_s": 4}, "open.segment_s: is too short for a segment; give 5 s or more (got 4"),
        ({"measured_s": 4}, "open: measured_s 4 is less than a segment of segment_s 5; give measured_s: 5 or more"),
        ({"lead_in_s": 0}, "open.lead_in_s"),
        ({"most_in_flight": 10_001}, "open.most_in_flight"),
        ({"bound_ms": 0}, "open.bound_ms"),
        ({"briefly": ["1R-3W"]}, "open: briefly: goes with until_known, by which turns may end; give that too"),
        ({"briefly": ["X"], "until_known": "p99", "bound_ms": 5}, "open: briefly: X: none of settings; take it out"),
        ({"probe_traces": 1}, "open: probe_traces: are of a probe; give probe_after_ms too"),
        ({"probe_after_ms": float("inf")}, "open.probe_after_ms: Input should be a finite number"),
        ({"bound_ms": float("inf")}, "open.bound_ms: Input should be a finite number"),
        (
            {
                "load_shares": None,
                "rates_per_s": [100],
                "find_capacity": False,
                "read_shares": None,
                "workloads": ["A"],
                "probe_after_ms": 5000,
            },
            "open: probe_after_ms: 5000: a row is read in the segment in which it was written, under its load; give",
        ),
        ({"arrivals": "bursts"}, "open.arrivals"),
        ({"shares": [0.5]}, "open.shares: unknown key"),
        ({"find_capacity": False}, "open: load_shares need what is carried; leave find_capacity: false out, or give"),
        (
            {"load_shares": None, "rates_per_s": [100], "own_shares": [0.5]},
            "open: own_shares (0.5) go with load_shares; leave them out with rates_per_s",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_key_value_and_remedy(written, changes, said):
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        written(changes)
    assert "mine.yaml: open" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ANY/ONE", "open.settings: ANY/ONE: 'ANY' is not a read consistency level; use one of"),
        ("ONE/SERIAL", "open.settings: ONE/SERIAL: 'SERIAL' is not a write consistency level; use one of"),
        (
            "SERIAL/ONE",
            "SERIAL/ONE: no reads at SERIAL: it is for lightweight transactions; take it out",
        ),
        ("EACH_QUORUM/ONE", "open.settings: EACH_QUORUM/ONE: 'EACH_QUORUM' is not a read consistency level"),
        ("4R-1W", "open.settings: '4R-1W' is unknown; use one of"),
        ("2R-2W", "open.settings: QUORUM/QUORUM and 2R-2W are the same pair of levels; keep one of them"),
    ],
)
def test_a_setting_that_cannot_be_served_is_refused(written, name, said):
    with pytest.raises(InputError, match=re.escape(said)):
        written({"settings": ["QUORUM/QUORUM", name]}, engine="2.1.20")


def test_a_level_of_more_replicas_than_there_are_is_refused(written):
    cluster = {"nodes": 2, "replication_factor": 2}
    with pytest.raises(InputError, match=r"ONE/THREE: no writes at THREE: it waits for more replicas than replication"):
        written({"settings": ["ONE/ONE", "ONE/THREE"]}, cluster=cluster)
    assert written({"settings": ["ONE/ANY"]}, cluster=cluster).open[0].settings == ["ONE/ANY"]


def test_workloads_are_those_of_the_profile(written):
    section = {"read_shares": None, "workloads": ["svc", "A"]}
    with pytest.raises(InputError, match=r"open\.workloads: no workload 'svc' under .*; there are none"):
        written(section)
    with pytest.raises(InputError, match=r"open\.workloads: no workload 'svc' under .*; there are A, B"):
        written(section, workloads={"threads": [10], "presets": ["A", "B"]})
    (part,) = written(section, workloads={"threads": [10], "presets": ["A"], "own": [OWN]}).open
    assert part.workloads == ["svc", "A"]
    named = OWN | {"name": "mix50"}
    with pytest.raises(InputError, match=r"open\.workloads: 'mix50' is what cells of read_shares are called; rename"):
        written({"workloads": ["mix50"]}, workloads={"own": [named]})


def test_threads_may_be_left_out_where_all_workloads_are_open(written):
    for threads in ({}, {"threads": []}):
        profile = written({"read_shares": None, "workloads": ["svc"], "repeats": 1}, workloads={"own": [OWN]} | threads)
        (cells,) = plan(profile)
        assert {(cell.kind, cell.workload) for cell in cells} == {("open", "svc")}
        assert profile.blocks == 1


def test_blocks_without_cells_are_not_made(written):
    profile = written({"workloads": ["svc"], "repeats": 2}, workloads={"own": [OWN], "repeats": 4})
    assert len(plan(profile)) == 2


@pytest.mark.parametrize(
    ("section", "workloads", "said"),
    [
        ({}, {}, "workloads.threads: is missing"),
        ({}, {"threads": []}, "workloads.threads: List should have at least 1 item, not 0 (got [])"),
        ({"workloads": ["svc"]}, {"presets": ["A"]}, "workloads: A: measured in no loop; give workloads.threads, or"),
        ({"workloads": ["svc"]}, {"rates_per_s": [100]}, "workloads.rates_per_s: needs workloads.threads"),
    ],
)
def test_threads_are_needed_elsewhere(written, section, workloads, said):
    with pytest.raises(InputError, match=re.escape(said)):
        written(section, workloads={"own": [OWN]} | workloads)


def test_it_goes_with_distance_unless_a_node_is_struck_and_not_with_faults(written):
    deployments = {"a": {"notation": "{[C], ([R1], [R2], [R3])}", "regions": ["ap_south_1"]}}
    profile = written(distance={"deployments": deployments})
    assert {cell.deployment for cell in plan(profile)[0]} == {"a"}
    own = written({"workloads": ["svc"]}, workloads={"own": [OWN]}, distance={"deployments": deployments})
    assert {cell.workload for cell in plan(own)[0]} == {"", "svc"}
    loops = {"own": [OWN], "threads": [10]}
    closed = written({"workloads": ["svc"]}, workloads=loops, distance={"deployments": deployments})
    assert {(cell.kind, cell.deployment) for cell in plan(closed)[0]} == {("open", "a"), ("workload", "a")}
    with pytest.raises(InputError, match="open: trouble: kill: not with distance; leave it out"):
        written({"trouble": "kill"}, distance={"deployments": deployments})
    events = [{"at_s": 5, "do": "kill", "nodes": [1]}]
    faults = {"settings": ["1R-3W"], "rate_per_s": 10, "events": events}
    with pytest.raises(InputError, match="leave pure, mixed, workloads, open, cold and paced out"):
        written(faults=faults)


WELL = {"read_shares": [0.5], "load_shares": [0.4], "settings": ["ONE/ONE", "ALL/ALL"], "own_shares": [], "repeats": 3}
STRUCK = WELL | {"trouble": "kill"}


def test_sections_of_a_mix_are_one_ladder(several):
    profile = several(WELL, WELL | {"load_shares": [0.8], "settings": ["ONE/ONE"]}, WELL | {"read_shares": [1.0]})
    assert [len(of) for of in ladders(groups(plan(profile)[0]))] in ([2, 1], [1, 2])
    sizes = {cell.cell_group: sum(other.cell_group == cell.cell_group for other in plan(profile)[0])
             for cell in plan(profile)[0]}  # fmt: skip
    assert sorted(sizes.values()) == [1, 2, 2]


def test_repeats_by_version(several):
    by_version = WELL | {"repeats": {"2.1.20": 2, "5.0.9": 4}}
    only = {"read_shares": [1.0], "repeats": {"2.1.20": 2}}
    assert several(by_version, WELL | only).blocks == 4
    assert len(several(by_version, WELL | only).open) == 1
    older = several(by_version, WELL | only, engine="2.1.20")
    assert (older.blocks, len(older.open)) == (2, 2)


def test_trouble_comes_last_and_one_strike_is_a_group(several):
    dead = WELL | {"trouble": "dead_node"}
    profile = several(dead, STRUCK, WELL, WELL | {"trouble": "pause", "settings": ["ONE/ONE"]})
    cells = plan(profile)[0]
    conditions = list(dict.fromkeys(cell.condition.partition("_")[0] for cell in cells))
    assert conditions == ["", "pause", "kill", "dead"]
    strikes = [group for group in groups(cells) if group[0].condition.startswith(("pause", "kill"))]
    assert [[cell.condition.partition("_")[2] for cell in group] for group in strikes] == [list(PARTS)] * 3
    assert all(len({(cell.read_cl, cell.write_cl) for cell in group}) == 1 for group in strikes)
    assert [section_of(profile, cell).trouble for cell in cells] == [
        {"": "", "dead": "dead_node"}.get(name, name) for cell in cells for name in [cell.condition.partition("_")[0]]
    ]


def test_nodes_with_other_processors_have_a_ladder_of_their_own(several):
    profile = several(WELL, WELL | {"processors": "own", "own_shares": [0.5]})
    of = {ladder[0][0].condition: ladder for ladder in ladders(groups(plan(profile)[0]))}
    assert set(of) == {"", "own_processor"}
    assert len(of["own_processor"]) == 3
    ids = [cell.cell_id for cell in plan(profile)[0]]
    assert len(set(ids)) == len(ids) == 2 + 4
    assert all(section_of(profile, group[0]).processors == "own" for group in of["own_processor"])


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ([WELL, WELL], "open: mix50 at 0.4 is in sections 1 and 2; name it in one"),
        ([WELL, WELL | {"load_shares": [0.8], "capacity_threads": 8}], "of different capacity_threads; give one"),
        ([STRUCK], "open: trouble: kill has the rate that mix50 at 0.4 has without it in that block; give a section"),
        ([WELL, STRUCK | {"repeats": 4}], "give a section with mix50 at 0.4 (repeats: 3), or take it out"),
        ([WELL, STRUCK | {"own_shares": [0.5]}], "open.1: own_shares: not with trouble: kill"),
        ([WELL, STRUCK | {"processors": "own"}], "open.1: trouble: kill: not with processors: own; give one"),
        ([WELL, WELL | {"processors": "own", "rising": True}], "open.1: own_processor: not with rising"),
        ([WELL, WELL | {"trouble": "fire"}], "open.1.trouble"),
        ([WELL, {"load_shares": [0.8], "read_shares": [0.5], "segment_s": 1}], "open.1.segment_s: is too short"),
        ([WELL, 5], "open.1"),
    ],
)  # fmt: skip
def test_sections_that_do_not_fit_each_other(several, sections, said):
    with pytest.raises(InputError, match=re.escape(said)):
        several(*sections)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"cluster": {"nodes": 1, "replication_factor": 1}}, "strikes the last node, and there is one"),
        ({"load": {"steady_s": 1.0, "client_processes": 2}}, "kill: needs one client; give load.client_processes: 1"),
    ],
)
def test_what_a_strike_needs(several, parts, said):
    one = {"settings": ["ONE/ONE"]}
    with pytest.raises(InputError, match=said):
        several(WELL | one, STRUCK | one, **parts)


def test_a_dead_node_stays_dead(several):
    cold = {"threads": 10, "levels": ["ONE"], "conditions": ["warm"], "steady_s": 1.0}
    with pytest.raises(InputError, match="dead_node: not with cold or paced, which come after it"):
        several(WELL, WELL | {"trouble": "dead_node"}, cold=cold)


@pytest.mark.parametrize("name", ["load", "load-two-centres", "load-own-processor", "load-quota"])
@pytest.mark.parametrize("engine", ["2.1.20", "5.0.9"])
def test_the_profiles_of_the_records_load(name, engine):
    profile = load_profile(name, engine=engine)
    cells = [cell for block in plan(profile) for cell in block]
    assert len({cell.cell_id for cell in cells}) == len(cells)
    assert all(section_of(profile, cell) in profile.open for cell in cells)


def test_the_records_of_the_load_take_twelve_machine_hours_at_most():
    profiles = [load_profile("load", engine=engine) for engine in ("5.0.9", "2.1.20")]
    hours = sum(forecast_s(profile, chain(*plan(profile))) for profile in profiles) / 3600
    assert f"{hours:.1f} h for both versions" in (project_root() / "data" / "PLAN.md").read_text()
    assert hours < 12


def test_without_any_part_the_message_names_it(written, tmp_path):
    (tmp_path / "none.yaml").write_text(yaml.safe_dump(BASE))
    with pytest.raises(InputError, match="nothing to measure: give pure, mixed, workloads or open"):
        load_profile(str(tmp_path / "none.yaml"))


def test_the_shipped_profile():
    profile = load_profile("load-quick")
    assert profile.blocks == 1
    (part,) = profile.open
    assert (part.load_shares, len(part.settings), part.read_shares) == ([0.4, 0.8], 3, [0.5])
    assert len(plan(profile)[0]) == 9


def test_the_pages_name_every_key_and_mark():
    page = (project_root() / "book" / "workloads.md").read_text()
    table = page[page.index("### Response time at shares of capacity") :]
    rows = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert rows == set(OpenSection.model_fields)
    assert "profiles/load-quick.yaml" in table
    methods = (project_root() / "book" / "methods.md").read_text()
    assert [mark for mark in Mark if f"* `{mark}`: " not in methods] == []


def test_the_pages_example_loads(written):
    page = (project_root() / "book" / "workloads.md").read_text()
    example = (
        page[page.index("### Response time at shares of capacity") :].split("```")[1].removeprefix("{code-block} yaml")
    )
    content = yaml.safe_load(example)
    assert content["workloads"]["own"] == [{"name": "orders"}]
    assert plan(written(content["open"], workloads={"own": [OWN | {"name": "orders"}]}))


SERVICES = sorted(path.stem for path in resource("profiles").glob("service-*.yaml"))


def test_the_services_take_eight_machine_hours_at_most_and_the_plan_names_each():
    plan_text = (project_root() / "data" / "PLAN.md").read_text()
    profiles = [load_profile(name) for name in SERVICES]
    hours = sum(forecast_s(profile, chain(*plan(profile))) for profile in profiles) / 3600
    assert f"{hours:.1f} h by `--dry-run` for all twelve" in plan_text
    assert hours < 8
    assert {name.removeprefix("service-") for name in SERVICES} <= set(re.findall(r"\w+", plan_text))
    assert [profile.engine for profile in profiles].count("5.0.9") == len(SERVICES) / 2 == 6


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_measured_to_the_end_at_its_rate(name):
    profile = load_profile(name)
    cells = [cell for block in plan(profile) for cell in block]
    assert len({cell.cell_id for cell in cells}) == len(cells)
    assert profile.keep_samples == "segments"
    rate, beyond, *probed = profile.open
    assert beyond.rates_per_s[0] == 1.25 * rate.rates_per_s[0]
    assert {one.levels for one in candidates(profile.replicas)} == {profile.setting(at).levels for at in rate.settings}
    for part in probed:
        assert part.rates_per_s[0] + part.probing_per_s == pytest.approx(rate.rates_per_s[0], abs=0.1)
    assert bool(probed) == (name != "service-votes")
