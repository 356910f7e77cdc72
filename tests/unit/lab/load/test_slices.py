"""Levels that alternate under one load: order, lengths, and which slice a request belongs to."""

import itertools

import numpy as np
import pytest

from cassbook.bench import stub
from cassbook.bench.own_error import StubNodes
from cassbook.core import schema
from cassbook.core.balanced_order import balanced_order
from cassbook.lab.load import slices, wire
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.recorder import Recorder, Window
from cassbook.lab.load.slices import AlternatingTurns, Alternation, Pilot, Slices, Turns, outside
from cassbook.lab.load.ycsb import READ, Request

KEY = wire.value(b"user1")


@pytest.mark.parametrize("variants", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("rounds", [4, 9, 24])
def test_each_round_has_all_and_each_follows_each_about_equally_often(variants, rounds):
    order = balanced_order(variants, rounds, [28, variants])
    assert len(order) == variants * rounds
    for begin in range(0, len(order), variants):
        assert sorted(order[begin : begin + variants]) == list(range(variants))
    follows = np.zeros((variants, variants), dtype=int)
    for before, after in itertools.pairwise(order):
        follows[before, after] += 1
    if variants > 1:
        assert not follows.diagonal().any()
        others = follows[~np.eye(variants, dtype=bool)]
        assert others.max() - others.min() <= (1 if variants < 7 else 3)


def test_the_order_is_the_seeds():
    assert balanced_order(3, 8, [1]) == balanced_order(3, 8, [1])
    assert len({balanced_order(3, 8, [seed]) for seed in range(20)}) > 15


@pytest.mark.parametrize(
    ("p95_s", "guard_s", "counted_s", "rounds"),
    [
        (0.002, 0.1, 0.4375, 8),  # few in flight: the least lengths
        (0.06, 0.1, 0.4375, 8),
        (0.2, 0.3, 0.875, 4),
        (0.5, 0.75, 2.0, 2),  # a thousand in flight: at least two rounds, however long
    ],
)
def test_lengths_follow_the_latency_of_the_slowest(p95_s, guard_s, counted_s, rounds):
    wanted = Alternation(3, 3.5, (1,))
    made = wanted.slices(p95_s)
    assert made.guard_s == pytest.approx(guard_s)
    assert made.counted_s == pytest.approx(counted_s)
    assert len(made.order) == 3 * rounds
    assert made.measured_s(1) == pytest.approx(counted_s * rounds)
    assert made.measured_s(1) >= 3.5
    assert wanted.forecast_s(p95_s) == pytest.approx(made.whole_s)


def test_whose_turn_it_is():
    made = Slices(0.1, 0.4, (1, 0, 2))
    turns = AlternatingTurns("abc", made, 10.0)
    assert turns.at(9.9) == (outside(1), "b")
    assert [turns.at(10.0 + place) for place in (0.0, 0.49, 0.51, 1.0, 1.49)] == [
        (0, "b"), (0, "b"), (1, "a"), (2, "c"), (2, "c"),
    ]  # fmt: skip
    assert turns.at(11.5) == (outside(2), "c")
    assert Turns("x", 2).at(0.0) == (outside(2), "x")


def test_a_trial_takes_the_answers_of_what_it_tries():
    handed_on = []
    pilot = Pilot(outside(1), lambda *row: handed_on.append(row))
    for latency_s in (0.1, 0.2, 0.3):
        pilot(0.0, latency_s, READ, 0, 0, float("nan"), outside(1))
    pilot(0.0, 9.0, READ, 0, 0, float("nan"), outside(0))  # sent before, answered during it
    assert len(handed_on) == 4
    assert pilot.p95_s(1.0) == pytest.approx(0.29)
    assert not pilot.enough(3, slices.LEAST_PILOT_S / 2)
    assert pilot.enough(3, slices.LEAST_PILOT_S)
    assert not pilot.enough(4, 1.0)
    assert pilot.enough(4, slices.MOST_PILOT_S)
    assert Pilot(-1, print).p95_s(2.5) == 2.5


@pytest.fixture
def short(monkeypatch):
    """Slices of 60 ms, of which 10 are the guard."""
    monkeypatch.setattr(slices, "LEAST_GUARD_S", 0.01)
    monkeypatch.setattr(slices, "LEAST_COUNTED_S", 0.05)
    monkeypatch.setattr(slices, "LEAST_PILOT_S", 0.03)


@pytest.fixture(scope="module")
def server():
    with stub.stub(1) as (port, _):
        nodes = StubNodes(port)
        yield nodes
        nodes.close()


def test_the_load_goes_on_and_only_the_variant_changes(server, short, tmp_path):
    """One variant's requests are answered, the other's refused: the outcome tells what was sent."""
    window, rows = Window(), []
    recorder = Recorder(tmp_path / "group.parquet", ["answered", "refused"], ["node1"], 0.0, window)

    def record(*row):
        rows.append(row)
        recorder.add(*row)

    variants = [[[wire.execute_prefix(statement, "ONE", 1)]] for statement in (stub.READS, stub.FAILS)]
    common = (
        server,
        10,
        itertools.repeat(READ),
        [itertools.repeat(Request(0, 0, KEY, KEY))],
        variants[0],
        record,
        12.0,
    )
    loop = ClosedLoop(*common)
    loop.variants = variants
    outcome = loop.run(Bound(0.05, alternation=Alternation(2, 0.4, (28,))), window)
    made, samples = window.slices, recorder.close().to_pandas()
    assert outcome.operations == len(rows) == len(samples)
    assert window.steady_to - window.steady_from == pytest.approx(made.whole_s)
    expected = {0: "ok", 1: "unavailable"}
    for *_, result, _, _, number in rows:
        variant = made.order[number] if number >= 0 else -1 - number
        assert schema.OUTCOMES[result] == expected[variant]
    assert (
        samples["cell_id"].astype(str).map({"answered": "ok", "refused": "unavailable"}) == samples["outcome"]
    ).all()
    check_phases(samples, window)
    begun = np.sort([row[0] for row in rows])
    assert np.diff(begun).max() < 1.0  # never broken off


def check_phases(samples, window):
    made = window.slices
    inside = samples[samples["slice"].notna()]
    place = inside["slice"].astype(int)
    after_s = inside["started_s"] - window.steady_from - place * made.length_s
    assert set(place) == set(range(len(made.order)))
    assert after_s.between(-1e-5, made.length_s + 0.05).all()  # a burst leaves some moments after it was prepared
    assert (inside["phase"].astype(str) == np.where(after_s < made.guard_s - 1e-6, "guard", "steady")).mean() > 0.999
    assert set(samples.loc[samples["slice"].isna(), "phase"].astype(str)) <= {"warmup", "drain", "guard"}
