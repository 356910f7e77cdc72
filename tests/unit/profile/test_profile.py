import json
import re
from dataclasses import replace

import pytest

from cassbook.core.errors import InputError
from cassbook.core.paths import resource
from cassbook.lab.run.cell import groups
from cassbook.lab.run.plan import alternation, forecast_s, left_out, plan
from cassbook.profile.profile import Profile, load_profile
from tests.helpers.command import cassbook
from tests.helpers.profiles import write_profile


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"pure__levels": ["ONE", "MOST"]}, "'MOST'"),
        ({"cluster__replication_factor": 4}, "replication_factor 4"),
        ({"pure__threads": [10, 0]}, "pure.threads.1"),
        ({"pure__threads": [-5]}, "-5"),
        ({"mixed__read_shares": [0.1, 1.2]}, "mixed.read_shares.1"),
        ({"mixed__read_shares": [-0.1]}, "-0.1"),
        ({"warmup": {"cap_s": 3}}, "warmup: unknown key"),
        ({"load__stady_s": 3}, "load.stady_s: unknown key"),
        ({"engine": "2.1.99"}, "2.1.99"),
        ({"pure__threads": []}, "pure.threads"),
        ({"pure__threads": [10, 50, 10]}, "10 given twice"),
        ({"pure__threads": [40_000]}, "40000"),
        ({"pure__threads": [True]}, "pure.threads.0"),
        ({"pure__levels": []}, "pure.levels"),
        ({"mixed__read_shares": [0.5, 0.5]}, "0.5 given twice"),
        ({"cluster__replication_factor": 1, "pure__levels": ["TWO"]}, "waits for more replicas"),
        ({"seed": -5}, "seed"),
        ({"name": "../elsewhere"}, "name"),
        ({"load__steady_s": float("inf")}, "load.steady_s"),
        ({"load__coordinator": "farthest"}, "farthest"),
        ({"load__coordinator": "node7"}, "node7"),
        ({"load__operations_per_thread": 5}, "either steady_s or operations_per_thread"),
        ({"mixed__settings": ["1R-1W"]}, "1R-1W"),
        ({"table__request_distribution": "latest"}, "zipfian"),
    ],
)
def test_what_makes_no_sense_is_refused_with_file_and_key(tmp_path, changes, named):
    path = write_profile(tmp_path, **changes)
    with pytest.raises(InputError) as caught:
        load_profile(path)
    assert named in str(caught.value)
    assert "mine.yaml" in str(caught.value)


def test_unknown_profile_names_the_known():
    with pytest.raises(InputError, match=r"paper, quick, .*standard"):
        load_profile("quik")


def test_not_a_mapping_not_yaml_not_text(tmp_path):
    for content in (b"- a\n- b\n", b"a: [1,\n", b"", b"\xff\xfe\x00"):
        path = tmp_path / "bad.yaml"
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"bad\.yaml"):
            load_profile(str(path))


def test_paper_is_the_papers_plan():
    blocks = plan(load_profile("paper"))
    assert len(blocks) == 1
    cells = blocks[0]
    assert len(cells) == 252
    assert sorted({c.threads for c in cells}) == [10, 50, *range(100, 1001, 100)]
    assert {round(c.read_share, 2) for c in cells if c.kind == "mixed"} == {0.1, 0.3, 0.5, 0.7, 0.9}
    assert load_profile("paper").load.operations_per_thread == 1000


def test_standard_keeps_all_cells_in_seven_blocks():
    standard, paper = load_profile("standard"), load_profile("paper")
    kinds = ("pure", "mixed")  # cold and paced cells come behind those of the paper
    strip = lambda cells: {(c.threads, c.read_cl, c.write_cl, c.read_share, c.kind) for c in cells if c.kind in kinds}  # noqa: E731
    blocks = plan(standard)
    assert len(blocks) == 7
    assert all(strip(block) == strip(plan(paper)[0]) for block in blocks)
    assert standard.table.record_count >= 100_000
    assert forecast_s(standard, blocks[0]) < 40 * 60


def test_quick_has_what_the_book_needs():
    quick = load_profile("quick")
    assert len(quick.pure.threads) >= 6  # `book.needs` asks for them
    assert quick.pure.repeats >= 3  # fewer blocks allow no interval
    assert len(quick.mixed.read_shares) >= 3
    assert quick.design == "interleaved"
    assert quick.table.record_count == 25_000


def test_order_is_random_but_recorded():
    quick = load_profile("quick")
    first, second, _ = plan(quick)
    assert plan(quick)[0] == first
    assert [c.cell_id[3:] for c in first] != [c.cell_id[3:] for c in second]
    assert sorted(c.cell_id[3:] for c in first) == sorted(c.cell_id[3:] for c in second)
    ids = [c.cell_id for block in (first, second) for c in block]
    assert len(ids) == len(set(ids))


def test_what_is_compared_alternates_and_the_groups_are_in_random_order(tmp_path):
    parts = {"pure__threads": [10, 100, 500], "pure__repeats": 2, "mixed": None}
    profile = load_profile(write_profile(tmp_path, **parts))
    blocks = plan(profile)
    first, second = (groups(block) for block in blocks)
    names = [[group[0].cell_group[3:] for group in made] for made in (first, second)]
    assert sorted(names[0]) == sorted(names[1]) == sorted(
        f"t{threads:04d}-{what}" for threads in (10, 100, 500) for what in ("read", "write")
    )  # fmt: skip
    assert names[0] != names[1]
    for group in first:
        start = group[0].cell_group
        assert [cell.cell_id for cell in group] == [f"{start}-{level}" for level in ("ONE", "QUORUM", "ALL")]
        assert alternation(profile, group).variants == 3
    assert len({alternation(profile, group).seed for group in (*first, *second)}) == 12
    assert [cell.order for cell in blocks[0]] == list(range(18))
    one_by_one = plan(load_profile(write_profile(tmp_path, design="sequential", **parts)))[0]
    assert {replace(cell, cell_group="", order=0) for cell in blocks[0]} == {replace(c, order=0) for c in one_by_one}


def test_slices_need_a_time(tmp_path):
    path = write_profile(tmp_path, design="interleaved", load={"operations_per_thread": 10})
    with pytest.raises(InputError, match=r"interleaved needs load\.steady_s"):
        load_profile(path)
    assert load_profile("paper").design == "sequential"  # it names none


def test_levels_that_only_reads_or_only_writes_have_make_one_cell_each(tmp_path):
    path = write_profile(
        tmp_path, pure__levels=["SERIAL", "ANY", "ONE"], pure__threads=[10], pure__repeats=1, mixed=None
    )
    cells = plan(load_profile(path))[0]
    assert sorted((c.read_cl, c.read_share) for c in cells) == [
        ("ANY", 0.0), ("ONE", 0.0), ("ONE", 1.0), ("SERIAL", 1.0),
    ]  # fmt: skip


def test_levels_that_are_left_out_are_named(tmp_path):
    path = write_profile(tmp_path, pure__levels=["EACH_QUORUM", "SERIAL", "ONE"], pure__threads=[10], mixed=None)
    assert left_out(load_profile(path)) == [
        "pure.levels: EACH_QUORUM is measured with writes only, no reads at it: releases before 3.0 refuse them",
        "pure.levels: SERIAL is measured with reads only, no writes at it: it is for lightweight transactions",
    ]
    done = cassbook("run", "--profile", path, "--dry-run")
    assert done.output.splitlines()[1:] == left_out(load_profile(path))
    newer = load_profile(path, engine="5.0.9")
    assert left_out(newer) == left_out(load_profile(path))[1:]
    reads = [cell.read_cl for cell in plan(newer)[0] if cell.kind == "pure" and cell.read_share == 1]
    assert sorted(reads) == ["EACH_QUORUM", "ONE", "SERIAL"]


@pytest.mark.parametrize(
    ("replicas", "names", "pairs"),
    [
        (4, None, [("ONE", "ALL"), ("TWO", "QUORUM"), ("QUORUM", "TWO"), ("ALL", "ONE")]),
        (5, None, [("ONE", "ALL"), ("QUORUM", "QUORUM"), ("ALL", "ONE")]),
        (5, ["3R-3W", "2R-5W", "ONE/ONE"], [("QUORUM", "QUORUM"), ("TWO", "ALL"), ("ONE", "ONE")]),
    ],
)
def test_settings_are_those_of_the_replication_factor(tmp_path, replicas, names, pairs):
    settings = {} if names is None else {"settings": names}
    mixed = {"threads": [10], "read_shares": [0.5], **settings}
    cluster = {"nodes": 5, "replication_factor": replicas}
    profile = load_profile(write_profile(tmp_path, cluster=cluster, mixed=mixed, pure=None))
    assert [(pair.read_cl, pair.write_cl) for pair in map(profile.setting, profile.mixed.settings)] == pairs
    cells = [cell for cell in plan(profile)[0] if cell.kind == "mixed"]
    assert {(cell.read_cl, cell.write_cl) for cell in cells} == set(pairs)
    assert type(profile).model_validate(profile.model_dump()) == profile


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("2R-2W", "mixed.settings: '2R-2W' is unknown with 5 replicas; use one of 1R-5W, 3R-3W, 5R-1W"),
        ("2R-4W", "mixed.settings: '2R-4W' has no levels that wait for so many of 5 replicas; use one of 1R-5W"),
    ],
)
def test_a_setting_of_another_replication_factor_is_refused(tmp_path, name, wrong):
    cluster = {"nodes": 5, "replication_factor": 5}
    with pytest.raises(InputError, match=re.escape(wrong)):
        load_profile(write_profile(tmp_path, cluster=cluster, mixed__settings=[name]))


def test_mixes_take_any_pair_of_levels(tmp_path):
    path = write_profile(
        tmp_path, mixed__settings=["1R-3W", "QUORUM/ONE"], mixed__threads=[10], mixed__read_shares=[0.5]
    )
    mixes = {c.cell_id[3:]: (c.read_cl, c.write_cl) for c in plan(load_profile(path))[0] if c.kind == "mixed"}
    assert mixes == {"t0010-mix50-1R-3W": ("ONE", "ALL"), "t0010-mix50-QUORUM+ONE": ("QUORUM", "ONE")}
    with pytest.raises(InputError, match="MOST"):
        load_profile(write_profile(tmp_path, mixed__settings=["MOST/ONE"]))


def test_shares_that_differ_little_make_cells_of_their_own(tmp_path):
    path = write_profile(tmp_path, mixed__read_shares=[0.101, 0.104], mixed__threads=[10], mixed__settings=["1R-3W"])
    ids = [c.cell_id for c in plan(load_profile(path))[0] if c.kind == "mixed"]
    assert len(set(ids)) == 2


@pytest.mark.parametrize("name", sorted(path.stem for path in resource("profiles").glob("*.yaml")))
def test_a_profile_is_the_same_when_it_is_read_back_from_its_dump(name):
    profile = load_profile(name)
    assert Profile.model_validate(profile.model_dump()) == profile
    assert Profile.model_validate(json.loads(profile.model_dump_json())) == profile
