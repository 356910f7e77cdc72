"""Profiles measured in turn, and groups that are measured again because the machine was not their own."""

import json
import re
import time
from contextlib import nullcontext
from types import SimpleNamespace

import pandas as pd
import pytest

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.progress import TimeLeft
from cassbook.core.schema import DISTURBED, SCHEMA_VERSION, Mark
from cassbook.lab.load.loop import Bound, Outcome
from cassbook.lab.load.recorder import Recorder, Window
from cassbook.lab.load.slices import AlternatingTurns, Slices
from cassbook.lab.run import block as blocks
from cassbook.lab.run import measure
from cassbook.lab.run.block import Block
from cassbook.lab.run.cell import Cell, groups
from cassbook.lab.run.plan import parts, plan
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import load_profile
from cassbook.records.run import RecordedRun
from tests.helpers.made_block import IdleCluster, made_block
from tests.helpers.stored_cells import NODES, finish

ENGINES = ("2.1.20", "5.0.9")
PROFILE = """
name: tiny
title: Two blocks
seed: 1
table: {record_count: 10}
load: {steady_s: 1.0}
pure: {threads: [10], levels: [ONE, QUORUM], repeats: 2}
"""


@pytest.fixture
def profiles(tmp_path):
    """A folder and a profile by engine."""
    path = tmp_path / "tiny.yaml"
    path.write_text(PROFILE)
    return {tmp_path / f"tiny-{engine}": load_profile(str(path), engine=engine) for engine in ENGINES}


@pytest.fixture
def measured(monkeypatch):
    """What is measured, as (engine, block), with nothing started; a third one fails where that is asked for."""

    def cells(run, number, left, log, progress, *_):
        if len(done) == done.fails_at:
            raise KeyboardInterrupt
        done.append((run.profile.engine, number))
        progress.part_done()
        for group in groups(left):
            finish(run.store, *(cell.cell_id for cell in group), block=number)
            progress.part_done(len(group))

    class Done(list):
        fails_at = None

    done = Done()
    monkeypatch.setattr(measure, "_measure_cells", cells)
    monkeypatch.setattr(measure, "_cluster", lambda *_: nullcontext())
    return done


def silent(_):
    """Log nothing."""


def test_blocks_of_two_versions_take_turns_and_the_folders_name_each_other(profiles, measured):
    folders = measure.measure_in_turn(profiles, log=silent)
    assert measured == [("2.1.20", 1), ("5.0.9", 1), ("2.1.20", 2), ("5.0.9", 2)]
    runs = [RecordedRun(folder) for folder in folders]
    assert [run.manifest["in_turn_with"] for run in runs] == [["tiny-5.0.9"], ["tiny-2.1.20"]]
    assert [run.manifest["engine"] for run in runs] == list(ENGINES)
    assert {tuple(sorted(run.cells["block"].unique())) for run in runs} == {(1, 2)}


def test_the_first_block_says_how_long_this_machine_takes(profiles, measured, monkeypatch):
    """A machine that takes three times as long as was forecast, by a clock that only the parts move on."""
    clock = [0.0]
    monkeypatch.setattr(measure, "TimeLeft", lambda forecast: TimeLeft(forecast, clock=lambda: clock[0]))
    quick = measure._measure_cells

    def slow(run, number, left, log, progress, *rest):
        within = parts(run.profile, left)
        done = progress.part_done
        monkeypatch.setattr(
            progress, "part_done", lambda n=0: (clock.__setitem__(0, clock[0] + 3 * within.pop(0).seconds), done(n))
        )
        quick(run, number, left, log, progress, *rest)
        monkeypatch.setattr(progress, "part_done", done)

    monkeypatch.setattr(measure, "_measure_cells", slow)
    said, (folder, profile) = [], next(iter(profiles.items()))
    measure.measure(profile, folder, log=said.append, then_s=120)
    (line,) = [line for line in said if "this machine needs" in line]
    block_s = 3 * sum(part.seconds for part in parts(profile, plan(profile)[0]))
    took, more, then, in_all = map(float, re.findall(r"([\d.]+) min", line))
    assert took == pytest.approx(block_s / 60, abs=0.06)
    assert more == pytest.approx(block_s / 60, abs=0.6)
    assert then == pytest.approx(6, abs=0.6)
    assert in_all == pytest.approx(2 * block_s / 60 + 6, abs=1)


def test_an_interruption_is_resumed_where_it_was(profiles, measured):
    measured.fails_at = 3
    with pytest.raises(KeyboardInterrupt):
        measure.measure_in_turn(profiles, log=silent)
    measured.fails_at = None
    said = []
    measure.measure_in_turn(profiles, resume=True, log=said.append)
    assert measured == [("2.1.20", 1), ("5.0.9", 1), ("2.1.20", 2), ("5.0.9", 2)]
    assert said[0] == "profile tiny: 8 cells in 2 blocks, 4 to measure"  # the other one is complete
    with pytest.raises(InputError, match="nothing to resume"):
        measure.measure_in_turn(profiles, resume=True, log=silent)


def test_a_folder_in_use_leaves_the_other_as_it_was(profiles, measured, tmp_path):
    first, second = profiles
    second.mkdir()
    (second / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and holds no run"):
        measure.measure_in_turn(profiles, log=silent)
    assert not first.exists()
    assert measured == []


def test_a_run_of_an_earlier_schema_is_not_continued(profiles, measured):
    folder = next(iter(profiles))
    RunStore.create(folder, profiles[folder]).close()
    path = folder / "manifest.json"
    notes = json.loads(path.read_text()) | {"schema": SCHEMA_VERSION - 1}
    path.write_text(json.dumps(notes))
    with pytest.raises(InputError, match="earlier cassbook"):
        measure.measure(profiles[folder], folder, resume=True, log=silent)


def test_a_folder_that_cannot_be_resumed_leaves_the_other_free(profiles, measured):
    measured.fails_at = 2
    with pytest.raises(KeyboardInterrupt):
        measure.measure_in_turn(profiles, log=silent)
    first, second = profiles
    (second / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=second.name):
        measure.measure_in_turn(profiles, resume=True, log=silent)
    RunStore.resume(first, profiles[first]).close()  # no lock is held


class Client:
    """Loads nothing, and puts down two samples of 1 ms in each slice, or of a cell that is alone."""

    slices, session = Slices(0.1, 0.4, (0, 1, 1, 0)), None

    def run(self, group, bound, path, during):
        slices = self.slices if len(group) > 1 else None
        begins = time.perf_counter()
        window = Window(begins, begins + (slices.whole_s if slices else 2.0), slices)
        recorder = Recorder(path, [cell.cell_id for cell in group], NODES, 0.0, window)
        turns = AlternatingTurns(range(len(group)), slices, begins) if slices else None
        for moment in (begins + 0.25 * step for step in range(8)):
            number = turns.at(moment)[0] if turns else -1
            recorder.add(moment, 0.001, 0, 0, 0, slice_=number)
        return Outcome(window, 0.01, 8), recorder.close()


@pytest.fixture
def store(profiles):
    folder, profile = next(iter(profiles.items()))
    made = RunStore.create(folder, profile)
    yield made
    made.close()


@pytest.fixture
def others():
    """What others take of the machine, attempt by attempt."""
    return []


@pytest.fixture
def block(profiles, store, others):
    return made_block(profiles[store.folder], store, Client(), silent, others)


PAIR = [Cell(f"b1-{level}", "pure", 10, level, level, 1.0, 1, 1, place, cell_group="b1-g")
        for place, level in enumerate(("ONE", "QUORUM"))]  # fmt: skip
ALONE = [Cell("b1-a", "pure", 10, "ONE", "ONE", 1.0, 1, 1, 0)]


@pytest.mark.parametrize("group", [PAIR, ALONE], ids=["group", "alone"])
def test_what_others_disturbed_is_measured_again_and_both_are_kept(block, store, others, group):
    others.extend([0.08, 0.01])
    block.measure(group)
    store.finish_block(1)
    store.complete()
    run = RecordedRun(store.folder)
    cells = run.cells.set_index("cell_id")
    aside = [f"{cell.cell_id}-disturbed2" for cell in group]
    assert cells.index.tolist() == [*aside, *(cell.cell_id for cell in group)]
    assert cells.loc[aside, "kind"].tolist() == [DISTURBED] * len(group)
    assert cells.loc[aside, "steal_share"].tolist() == [0.08] * len(group)
    assert all(Mark.MACHINE in marks for marks in cells.loc[aside, "marks"])
    kept = cells.loc[[cell.cell_id for cell in group], "marks"]
    assert all(Mark.AGAIN in marks and Mark.MACHINE not in marks for marks in kept)
    assert (cells["operations"] > 0).all()
    assert set(run.statistics["cell_id"]) == {cell.cell_id for cell in group}
    assert {tag.rpartition(".")[0] for tag in run.histograms} == set(cells.index)
    assert len(run.slices) == (8 if len(group) > 1 else 0)
    assert run.manifest["cluster_starts"][-1]["measured_again"] == 1
    assert set(cells["cluster_start"]) == {2}


def test_it_is_measured_again_once_and_only_so_often(block, store, others):
    others.extend([0.08] * 20)
    for number in range(4):
        block.measure([Cell(f"b1-{number}", "pure", 10, "ONE", "ONE", 1.0, 1, 1, number)])
    rows = {row["cell_id"]: row["marks"] for row in store._rows}
    assert [name for name in rows if "disturbed" in name] == ["b1-0-disturbed2", "b1-1-disturbed2"]
    assert all(Mark.MACHINE in marks for marks in rows.values())  # whoever comes last is kept, and marked


def test_it_is_measured_again_in_the_same_way(block, profiles, store, others, monkeypatch):
    seen, run = [], Client.run

    def noting(client, group, bound, *rest):
        seen.append(bound)
        return run(client, group, bound, *rest)

    monkeypatch.setattr(Client, "run", noting)
    others.append(0.08)
    block.measure(ALONE)
    assert seen == [Bound(profiles[store.folder].load.ramp_s, 1.0, None)] * 2


def test_on_a_cluster_that_ran_before_all_blocks_share_a_start_and_none_is_measured_again(profiles, store, others):
    """Its nodes count as others: what they take must not have every cell measured twice."""
    block = made_block(profiles[store.folder], store, Client(), silent, others, IdleCluster(started_here=False))
    others.append(0.08)
    block.measure(ALONE)
    store.finish_block(1)
    store.complete()
    run = RecordedRun(store.folder)
    assert run.cells["cell_id"].tolist() == ["b1-a"]
    assert run.cells["cluster_start"].tolist() == [1]
    assert run.manifest["cluster_starts"][-1]["start"] == 1


def test_a_block_that_cannot_begin_leaves_no_connection(profiles, store, monkeypatch):
    class Refusing(IdleCluster):
        addresses, labels, access, replication, read = [], [], None, None, ()
        release = SimpleNamespace(protocol=4)

        def connect(self):
            opened.append("session")
            return SimpleNamespace(cluster=SimpleNamespace(shutdown=lambda: opened.remove("session")))

        def hints(self, session):
            raise LaboratoryError("no node answers")

    class Connected(Client):
        def __init__(self, *_):
            opened.append("client")

        def close(self):
            opened.remove("client")

    opened = []
    monkeypatch.setattr(blocks, "create_table", lambda *_: None)
    monkeypatch.setattr(blocks, "Client", Connected)
    with pytest.raises(LaboratoryError, match="no node answers"):
        Block.begun(profiles[store.folder], store, 1, Refusing(), silent)
    assert opened == []
    assert len(store.notes["cluster_starts"]) == 1  # it counts: the next start must not repeat its draws


@pytest.mark.parametrize(
    ("existing", "clients", "said"),
    [
        (None, None, "something else uses 40 % of this machine's processors"),
        (
            object(),
            None,
            "of this machine's processors, the client's: latencies will show it; the cluster's own",
        ),
        (object(), object(), "whose machines are not looked at"),
    ],
)
def test_whose_processors_are_busy_is_said(existing, clients, said):
    lines = []
    measure._warn_if_busy(40.0, lines.append, existing, clients)
    assert said in lines[0]
    measure._warn_if_busy(5.0, lines.append, existing, clients)
    assert len(lines) == 1


def test_cells_whose_rate_was_not_sent_are_named_at_the_end_by_whose_limit_it_was():
    marks = {"slow": "rate", "late": "rate;client", "full": "slots", "fine": "errors", "tried": "rate"}
    cells = pd.DataFrame({"cell_id": list(marks), "marks": list(marks.values()), "kind": ["open"] * 4 + ["trial"]})
    of_client, of_cluster = measure.unsent(cells)
    assert of_client.endswith("2 cells, marked in the record: late, full")
    assert "this client" in of_client
    assert of_cluster.endswith("1 cell, marked in the record: slow")
    assert measure.unsent(cells.iloc[3:]) == []
