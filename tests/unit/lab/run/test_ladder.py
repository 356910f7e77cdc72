"""Ladders under open arrivals: what settings carry, and that those in turn show what each shows alone."""

import dataclasses
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cassbook.advisor.live import segments_of
from cassbook.core.schema import TRIAL, Mark
from cassbook.lab.load.slices import Slices
from cassbook.lab.run import ladder as ladders_module
from cassbook.lab.run.cell import Cell, groups, ladders
from cassbook.lab.run.ladder import DRIFT, Carried, Enough, Known, Ladder, Measured
from cassbook.lab.run.open_cells import MOST_TRIALS, section_of
from cassbook.lab.run.plan import plan
from cassbook.lab.run.store import RunStore
from cassbook.latency.backlog import Backlog
from cassbook.profile.open import OpenSection
from cassbook.profile.profile import load_profile
from cassbook.records.run import RecordedRun
from tests.helpers.command import cassbook
from tests.helpers.made_block import IdleCluster, made_block
from tests.helpers.stub_client import stub_client
from tests.helpers.stub_service import stub_service

CARRIED = {"ONE": 450.0, "QUORUM": 300.0}
PROFILE = """
name: open
title: Two settings of known capacity
seed: 7
keep_samples: all
table: {record_count: 10}
load: {steady_s: 1.0}
warm_up: {cap_s: 1.0}
workloads:
  own:
    - name: rows
      operations: [{kind: READ, share: 1, statement: "SELECT a FROM b WHERE c = ?"}]
      values: {c: {distribution: uniform, count: 10}}
open:
  settings: [ONE/ONE, QUORUM/QUORUM]
  workloads: [rows]
  repeats: 1
  capacity_threads: 8
"""
_ATTEMPTS = 8
#: What a machine that is not idle may add to a response, in ms, at the median.
SLACK_MS = 4.0


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Measures the ladder of a section against the service, in short segments and trials; gives run and log."""
    monkeypatch.setattr(ladders_module, "AGAIN_S", 0.8)
    monkeypatch.setattr(ladders_module, "TRIAL_S", 2.0)

    def measure(section, name="run", kept="all", **short):
        (tmp_path / "open.yaml").write_text(PROFILE.replace("samples: all", f"samples: {kept}") + section)
        profile = load_profile(str(tmp_path / "open.yaml"))
        short = {"segment_s": 1.5, "measured_s": 3.0, "lead_in_s": 0.5} | short
        profile = profile.model_copy(update={"open": [part.model_copy(update=short) for part in profile.open]})
        store, said, done = RunStore.create(tmp_path / name, profile), [], []
        with stub_service(makes_up=False, **CARRIED) as port:
            loading = stub_client(profile, port, store.epoch)
            block = made_block(profile, store, loading, said.append)
            for of_mix in ladders(groups(plan(profile)[0])):
                block.measure_open(of_mix, done.append)
            loading._nodes.close()
        assert [cell.cell_id for group in done for cell in group] == [cell.cell_id for cell in plan(profile)[0]]
        store.finish_block(1)
        store.complete()
        store.close()
        return RecordedRun(store.folder), said

    return measure


def waits_s(samples, service_s):
    """Response times that a queue with one server gives the requests of a segment (Lindley), nothing being before."""
    due = np.sort(samples["intended_s"].to_numpy())
    free, out = 0.0, []
    for at in due:
        free = max(free, at) + service_s
        out.append(free - at)
    return np.array(out)


def beyond_ms(run):
    """Median over a cell's counted requests of the response beyond what its own segment's arrivals explain, in ms."""
    found = {}
    samples, order = run.samples(), run.slices
    for cell in run.cells[run.cells["kind"] == "open"].itertuples():
        own = samples[samples["cell_id"].astype(str) == cell.cell_id]
        parts = []
        for number in order.loc[order["cell_id"] == cell.cell_id, "slice"]:
            of = own[own["slice"] == number].sort_values("intended_s")
            response = of["latency_us"] / 1e6 + of["started_s"] - of["intended_s"]
            counted = (of["phase"].astype(str) == "steady").to_numpy()
            parts.append((response.to_numpy() - waits_s(of, 1 / CARRIED[cell.read_cl]))[counted])
        found[cell.cell_id] = float(np.median(np.concatenate(parts)) * 1e3)
    return found


def check_nothing_is_in_flight_between(run):
    """Check that each segment's first request was due when all of the cells measured before it had been answered."""
    samples = run.samples()
    samples = samples[samples["cell_id"].astype(str).isin(run.cells.loc[run.cells["kind"] == "open", "cell_id"])]
    answered_s = samples["started_s"] + samples["latency_us"] / 1e6
    own = run.slices[run.slices["cell_id"].isin(samples["cell_id"].astype(str))]
    assert len(own) > len(CARRIED)
    for begun_s in own["from_s"]:
        before = samples["intended_s"] < begun_s
        assert (answered_s[before] < begun_s).all()


def counts(run):
    """What was due of each open cell, and what became of it."""
    open_cells = run.statistics[run.statistics["kind"] == "open"]
    return open_cells["n_due"], open_cells[["n_ok", "n_errors", "n_in_flight", "n_unsent"]].sum(axis=1)


@pytest.mark.paced
def test_settings_in_turn_show_what_each_shows_alone(measured):
    """At nine tenths of what QUORUM carries it has a backlog nearly always; none of it meets the requests at ONE."""
    for attempt in range(1, _ATTEMPTS + 1):
        run, said = measured("  load_shares: [0.9]\n  own_shares: [0.9]\n", f"run-{attempt}")
        cells = run.cells.set_index("cell_id")
        carried = cells[cells["kind"] == "open"].groupby("read_cl")["carried_per_s"].first()
        beyond = beyond_ms(run)
        faults = [
            f"{level}: {carried[level]:.0f}" for level in CARRIED if not 0.8 <= carried[level] / CARRIED[level] <= 1.1
        ]
        faults += [f"{cell_id}: {extra:.2f} ms" for cell_id, extra in beyond.items() if not abs(extra) < SLACK_MS]
        print(attempt, faults, said, sep="\n")
        if not faults:
            break
    assert not faults
    check_nothing_is_in_flight_between(run)
    due, accounted = counts(run)
    assert (due == accounted).all()
    assert (due > 0).all()
    in_turn = cells[cells["load_share"] == 0.9]
    assert set(in_turn["slices"]) == {2}
    assert in_turn["rate_per_s"].nunique() == in_turn["n_due"].nunique() == 1  # the same draw for both
    assert in_turn["rate_per_s"].iloc[0] == pytest.approx(0.9 * carried["QUORUM"], abs=0.1)
    assert in_turn["own_share"].to_dict() == pytest.approx(
        {cell_id: row.rate_per_s / carried[row.read_cl] for cell_id, row in in_turn.iterrows()}, abs=1e-3
    )
    assert cells.loc[cells["kind"] == "open", "carried_after_per_s"].notna().all()
    assert run.statistics.set_index("cell_id").loc[in_turn.index, "response_p99_us"].notna().all()
    assert run.slices["response_p50_us"].notna().sum() == 2 * len(cells[cells["kind"] == "open"])
    shown = cassbook("show", run.folder)
    assert shown.exit_code == 0, shown.output
    assert "Open arrivals" in shown.stdout


@pytest.mark.paced
def test_a_setting_that_does_not_carry_a_rate_is_not_in_the_round(measured):
    run, said = measured("  rates_per_s: [200, 360]\n  arrivals: even\n")
    cells = run.cells.set_index("cell_id")
    absent = cells.loc["b1-open-rows-rate360-QUORUM+QUORUM"]
    assert absent["marks"] == Mark.NOT_CARRIED
    assert (absent["n_due"], absent["measured_s"]) == (0, 0)
    assert 240 <= absent["carried_per_s"] < 330
    assert (cells[cells["kind"] == "open"].drop(absent.name)["n_due"] >= 590).all()
    assert any("QUORUM/QUORUM does not carry 360 requests a second" in line for line in said)
    row = run.statistics.set_index("cell_id").loc[absent.name]
    assert (row["n_ok"], row["n_errors"]) == (0, 0)
    assert np.isnan(row["response_p99_us"])
    shown = cassbook("show", run.folder)
    assert shown.exit_code == 0, shown.output
    assert Mark.NOT_CARRIED in shown.stdout or "not carried" in shown.stdout


@pytest.mark.paced
def test_rates_that_bound_all_are_never_exceeded_and_end_where_responses_take_too_long(measured):
    careful = "  rising: true\n  find_capacity: false\n  bound_ms: 40\n  arrivals: even\n"
    run, said = measured("  rates_per_s: [100, 200, 600, 900]\n" + careful)
    cells = run.cells.set_index("cell_id")
    assert cells["rate_per_s"].notna().all()  # no closed loop, in no warm-up and no trial
    asked = cells[cells["kind"] == TRIAL]
    assert asked["rate_per_s"].max() == 600  # 900 was not asked for once 600 had shown what comes
    stopped = cells[cells["marks"].str.contains(Mark.STOPPED)]
    left = ["rate600-QUORUM+QUORUM", "rate900-ONE+ONE", "rate900-QUORUM+QUORUM"]
    assert sorted(cell_id.split("-", 3)[3] for cell_id in stopped.index) == left
    assert cells.loc["b1-open-rows-rate600-ONE+ONE", "marks"] == Mark.NOT_CARRIED  # a trial of 2 s has shown that
    assert any("stopped, for p99 is" in line and "ten times the bound of 40 ms" in line for line in said)
    assert cells["carried_per_s"].isna().all()


@pytest.mark.paced
def test_turns_end_once_each_setting_is_told_from_the_bound(measured):
    """Answers take about as long as the service says: far from 5 s at once, and 24 rounds were allowed."""
    known = "  rising: true\n  find_capacity: false\n  bound_ms: 5000\n  until_known: p95\n"
    run, said = measured("  rates_per_s: [100]\n" + known, measured_s=36.0)
    cells = run.cells[run.cells["kind"] == "open"].set_index("cell_id")
    assert set(cells["slices"]) == {12}
    assert cells["measured_s"].tolist() == [pytest.approx(18.0)] * 2
    assert sum("still open: no setting" in line for line in said) == 1
    assert run.slices[run.slices["cell_id"].isin(cells.index)]["round"].max() == 11


@pytest.mark.paced
def test_all_turns_are_taken_where_only_what_breaks_down_is_left_out_and_histograms_say_what_samples_do(measured):
    whole = "  rates_per_s: [100]\n  rising: true\n  find_capacity: false\n  bound_ms: 5000\n  until_known: broken\n"
    runs = [measured(whole, kept, kept, measured_s=6.0)[0] for kept in ("all", "segments")]
    for run in runs:
        cells = run.cells[run.cells["kind"] == "open"]
        assert set(cells["slices"]) == {4}
        assert set(run.cells.loc[run.cells["kind"] == TRIAL, "condition"]) == {"warm_up"}
    samples, kept = runs
    assert not samples.segments
    for cell in kept.cells[kept.cells["kind"] == "open"].itertuples():
        assert not kept.has_samples(cell.cell_id)
        counted = segments_of(kept, cell.cell_id)
        assert (counted.count, counted.failed) == (4, 0)
        assert counted.requests == int(kept.statistics.set_index("cell_id").loc[cell.cell_id, "n_ok"])
        assert counted.estimate("p50").value == pytest.approx(run_p50_ms(kept, cell.cell_id), rel=0.02)
    one = samples.cells.loc[samples.cells["kind"] == "open", "cell_id"].iloc[0]
    assert segments_of(samples, one).estimate("p50").value == pytest.approx(run_p50_ms(samples, one), rel=0.02)


def run_p50_ms(run, cell_id):
    return float(run.statistics.set_index("cell_id").loc[cell_id, "response_p50_us"]) / 1e3


@pytest.mark.paced
def test_failures_end_a_ladder_on_a_cluster_that_people_depend_on(measured, monkeypatch):
    monkeypatch.setattr("cassbook.bench.stub.READS", b"\x03" * 16)  # the stub's statement that is refused
    section = "  rates_per_s: [50, 100]\n  rising: true\n  find_capacity: false\n"
    run, said = measured(section)
    assert set(run.cells.loc[run.cells["kind"] == "open", "marks"]) == {Mark.STOPPED}
    assert any("100.0% of the requests failed" in line for line in said)


class MadeBench:
    """A block without a cluster: it keeps what a ladder has to say."""

    warm_up_s, start, seed = 1.0, 1, (1, 2)

    def __init__(self, profile):
        self.section, self.amended, self.said = partial(section_of, profile), {}, []

    def run(self, group, load, marks):
        return None

    def drained(self, group):
        return []

    def behind_s(self):
        return 0.0

    def absent(self, cell, mark):
        raise AssertionError(f"{cell.cell_id} is not measured: {mark}")

    def amend(self, columns):
        self.amended = columns

    def switched(self, cell):
        return nullcontext()

    def before(self, cell):
        return Known()

    def log(self, line):
        self.said.append(line)


@pytest.mark.parametrize(("after", "drifts"), [(290.0, False), (300.0 * (1 + 2 * DRIFT), True), (np.nan, True)])
def test_what_changed_meanwhile_is_marked_on_all_that_rests_on_it(tmp_path, monkeypatch, after, drifts):
    (tmp_path / "open.yaml").write_text(PROFILE + "  load_shares: [0.5]\n")
    profile = load_profile(str(tmp_path / "open.yaml"))
    found = {"ONE": 450.0, "QUORUM": 300.0}
    monkeypatch.setattr(Ladder, "_find", lambda self, pair, start: Carried(found[pair[0]]))
    closed = iter([found, found, found, found | {"QUORUM": after}])  # a warm-up of two rounds, and next to the ladder
    monkeypatch.setattr(Ladder, "_closed", lambda self, *_, **__: {(k, k): v for k, v in next(closed).items()})
    bench = MadeBench(profile)
    Ladder(groups(plan(profile)[0]), bench).measure(lambda group: None)
    marks = {cell_id: columns["marks"] for cell_id, columns in bench.amended.items()}
    assert len(marks) == 6
    assert set(map(tuple, marks.values())) == ({(Mark.DRIFT,)} if drifts else {()})  # the weakest makes every rate
    carried = pd.Series({cell_id: columns["carried_after_per_s"] for cell_id, columns in bench.amended.items()})
    assert carried[carried.index.str.endswith("ONE+ONE")].tolist() == [450.0] * 3


@pytest.fixture
def ladder(tmp_path):
    (tmp_path / "open.yaml").write_text(PROFILE + "  load_shares: [0.5]\n")
    profile = load_profile(str(tmp_path / "open.yaml"))
    return Ladder(groups(plan(profile)[0]), MadeBench(profile))


def test_the_warm_up_goes_on_until_no_setting_gets_faster(ladder, monkeypatch):
    quorum = iter([100.0, 150.0, 250.0, 300.0, 310.0, 999.0])
    monkeypatch.setattr(
        Ladder, "_closed", lambda self, *_, **__: {("ONE", "ONE"): 450.0, ("QUORUM", "QUORUM"): next(quorum)}
    )
    assert ladder._settled() == {("ONE", "ONE"): 450.0, ("QUORUM", "QUORUM"): 310.0}
    assert ladder._bench.said == ["block 1, rows: warm-up over after 5 rounds"]


@pytest.mark.parametrize("guess", [250.0, 600.0, 900.0, 1000.0, 1050.0, 2000.0, 5000.0])
def test_what_a_setting_carries_is_known_to_an_eighth_wherever_the_search_begins(ladder, monkeypatch, guess):
    """A service that answers 1000 a second, whatever is asked of it, and carries a little less."""
    asked = []

    def trial(self, pair, rate_per_s):
        asked.append(rate_per_s)
        growth = Backlog(0.1 if rate_per_s > 980 else 0.0, 0.001, min(rate_per_s, 1000.0))
        return ladders_module.Trial(rate_per_s, growth, 0.0, 0.1)

    monkeypatch.setattr(Ladder, "_trial", trial)
    found = ladder._find(("ONE", "ONE"), 1.2 * guess)
    assert 980 / ladders_module._KNOWN <= found.per_s <= 980
    assert found.per_s < found.failing_per_s <= ladders_module._KNOWN * found.per_s
    assert len(asked) <= MOST_TRIALS


@pytest.mark.parametrize("guess", [300.0, 600.0, 1000.0, 2000.0])
def test_a_rate_that_replicas_do_not_keep_up_with_is_not_carried(ladder, monkeypatch, guess):
    """Clients are answered up to 1000 a second; the replicas that they do not wait for keep up with 500."""

    def trial(self, pair, rate_per_s):
        growth = Backlog(0.1 if rate_per_s > 980 else 0.0, 0.001, min(rate_per_s, 1000.0))
        return ladders_module.Trial(rate_per_s, growth, 0.0, 0.1, behind=rate_per_s > 500)

    monkeypatch.setattr(Ladder, "_trial", trial)
    found = ladder._find(("ONE", "ONE"), guess)
    assert 500 / ladders_module._KNOWN <= found.per_s <= 500


@pytest.mark.parametrize(
    ("read_share", "write_cl", "behind_s", "behind"),
    [(0.5, "ONE", 0.6, True), (0.5, "ONE", 0.4, False), (0.0, "QUORUM", np.inf, True), (0.0, "ALL", 9.0, False),
     (1.0, "ONE", 9.0, False)],
)  # fmt: skip
def test_replicas_that_are_behind_after_a_trial_mark_it(ladder, monkeypatch, read_share, write_cl, behind_s, behind):
    monkeypatch.setattr(ladder._bench, "behind_s", lambda: behind_s)
    cell = Cell("b1-trial", TRIAL, 64, "ONE", write_cl, read_share, 1, 1, 0)
    watched = ladder._watched(cell, lambda runner, path: Measured([], None, marks=[Mark.SLOTS]))
    assert list(watched(None, None).marks) == [Mark.SLOTS, *([Mark.BEHIND] if behind else [])]


def test_a_moments_stall_is_no_end_of_what_a_setting_carries(ladder, monkeypatch):
    """The first trial at each rate meets a stall: the backlog grows, and every request finds a slot."""
    asked = []

    def trial(self, pair, rate_per_s):
        asked.append(rate_per_s)
        stalled = asked.count(rate_per_s) == 1 and rate_per_s < 980
        growth = Backlog(0.1 if stalled or rate_per_s > 980 else 0.0, 0.001, min(rate_per_s, 1000.0))
        return ladders_module.Trial(rate_per_s, growth, 0.0, 0.1, full=rate_per_s > 1100)

    monkeypatch.setattr(Ladder, "_trial", trial)
    found = ladder._find(("ONE", "ONE"), 600.0)
    assert 980 / ladders_module._KNOWN <= found.per_s <= 980
    assert max(map(asked.count, asked)) == 2
    assert all(asked.count(rate) == 1 for rate in asked if rate > 1100)


def test_a_search_goes_up_faster_and_faster_below_a_rate_at_which_all_broke_down(ladder, monkeypatch):
    """At a rate that is far too high half of what is carried is answered; what that says is soon left behind."""

    def trial(self, pair, rate_per_s):
        grows = rate_per_s > 980
        return ladders_module.Trial(rate_per_s, Backlog(0.1 * grows, 0.001, 520.0 if grows else rate_per_s), 0.0, 0.1)

    monkeypatch.setattr(Ladder, "_trial", trial)
    found = ladder._find(("ONE", "ONE"), 1200.0)
    assert found.failing_per_s <= ladders_module._KNOWN * found.per_s


def test_closed_loops_count_for_all_of_their_time():
    """Two settings in turn, the second of which gets faster from its first slice to its last."""
    rows = [(0, 10), (1, 2), (2, 10), (3, 6)]  # slices, and operations in each
    slices = [number for number, count in rows for _ in range(count)]
    samples = pa.table({"phase": ["steady"] * 28, "outcome": ["ok"] * 28, "slice": slices})
    turns = Slices(0.1, 2.0, (0, 1, 0, 1))
    assert ladders_module._done_per_s(Measured([], samples, turns), 8.0) == [5.0, 2.0]
    assert ladders_module._done_per_s(Measured([], samples), 7.0) == [4.0]


def test_a_replica_that_is_away_is_not_behind(tmp_path):
    class Barred(IdleCluster):
        def barrier(self, session):
            return answers.pop(0)

    (tmp_path / "open.yaml").write_text(PROFILE + "  load_shares: [0.5]\n")
    profile = load_profile(str(tmp_path / "open.yaml"))
    store = RunStore.create(tmp_path / "run", profile)
    block = made_block(profile, store, SimpleNamespace(session=None), print, cluster=Barred())
    answers = [["timed out"], []]
    assert block._behind_s() == np.inf
    answers = [["node3 is away"], ["node3 is away"]]
    assert np.isnan(block._behind_s())
    answers = [[], []]
    assert abs(block._behind_s()) < 1.0
    store.close()


def test_a_search_begins_at_what_the_block_before_carried(ladder, monkeypatch):
    known = {("ONE", "ONE"): 400.0}
    monkeypatch.setattr(ladder._bench, "before", lambda cell: Known(carried_per_s=known), raising=False)
    begun = {}
    monkeypatch.setattr(Ladder, "_find", lambda self, pair, start: begun.setdefault(pair, start) and Carried(1.0))
    monkeypatch.setattr(Ladder, "_closed", lambda self, *_, **__: {pair: 100.0 for pair in self._settings})
    ladder._measure_all({pair: 100.0 for pair in ladder._settings}, lambda group: None)
    assert begun == {("ONE", "ONE"): pytest.approx(424.0), ("QUORUM", "QUORUM"): 150.0}


def test_what_the_block_before_carried_is_of_the_same_mix():
    rows = [
        (1, "open", 1.0, "", "ONE", 300.0), (2, "open", 1.0, "", "ONE", 350.0), (3, "open", 1.0, "", "ONE", 999.0),
        (2, "open", 0.0, "", "ONE", 50.0), (2, "open", 1.0, "quota", "ONE", 70.0), (2, "trial", 1.0, "", "ONE", 80.0),
    ]  # fmt: skip
    names = ["block", "kind", "read_share", "condition", "read_cl", "carried_per_s"]
    alike = {"workload": "", "write_cl": "ONE", "cell_group": "", "load_share": np.nan, "rate_per_s": 1.0}
    recorded = pd.DataFrame(rows, columns=names).assign(**alike, deployment="")
    like = Cell("b3-x", "open", 64, "ONE", "ONE", 1.0, 3, 3, 0)
    assert Known.before(recorded, like).carried_per_s == {("ONE", "ONE"): 350.0}
    assert Known.before(recorded, dataclasses.replace(like, block=1)).carried_per_s == {}
    assert Known.before(recorded, dataclasses.replace(like, condition="quota")).carried_per_s == {("ONE", "ONE"): 70.0}


def test_a_rate_that_is_measured_again_forgets_what_it_had_settled():
    part = OpenSection(workloads=["rows"], rates_per_s=[100.0], bound_ms=20.0, until_known="p99", find_capacity=False)
    enough = Enough(part, 2, 24)
    enough.settled |= {0, 1}
    enough.broken.add(1)
    enough.begin()
    assert not enough.settled
    assert not enough.broken


@pytest.mark.parametrize(("until", "looked"), [("p99", True), ("broken", False), (None, False)])
def test_nothing_is_judged_where_only_what_breaks_down_is_left_out(until, looked):
    part = OpenSection(workloads=["rows"], rates_per_s=[100.0], bound_ms=1e6, until_known=until, find_capacity=False)
    enough, made = Enough(part, 1, 12), np.random.default_rng(1).exponential(5.0, (12, 500))
    segments = [segment_of(own_ms) for own_ms in made]
    assert enough.look(12, segments) == looked
    assert enough.settled == ({0} if looked else set())
    assert not enough.broken


def test_what_is_out_whatever_it_shows_takes_few_turns():
    part = OpenSection(workloads=["rows"], rates_per_s=[100.0], bound_ms=20.0, until_known="p99", find_capacity=False)
    enough = Enough(part, 1, 24, frozenset({0}))
    segments = [segment_of(own_ms) for own_ms in np.random.default_rng(1).exponential(5.0, (3, 500))]
    assert not enough.look(2, segments[:2])
    assert enough.look(3, segments)
    assert enough.settled == {0}


def segment_of(response_ms):
    """A segment of variant 0 with such response times."""
    count = len(response_ms)
    samples = pa.table({
        "phase": ["steady"] * count, "outcome": ["ok"] * count, "latency_us": response_ms * 1e3,
        "started_s": np.zeros(count), "intended_s": np.zeros(count),
    })  # fmt: skip
    return SimpleNamespace(variant=0, samples=samples, outcome=SimpleNamespace(due=None))
