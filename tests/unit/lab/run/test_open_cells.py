"""Cells under open arrivals: their names and order, and how long they and the search for capacity take."""

import math

import pytest
import yaml

from cassbook.lab.run import open_cells
from cassbook.lab.run.cell import groups, ladders
from cassbook.lab.run.plan import alternation, forecast_s, group_seconds, left_out, parts, plan, rates_apart
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import load_profile

BASE = {
    "name": "mine", "title": "Mine", "seed": 3, "table": {"record_count": 4000}, "load": {"steady_s": 1.0},
    "warm_up": {"cap_s": 10},
    "pure": {"threads": [10], "levels": ["ONE"]},
    "workloads": {"presets": ["A", "D"], "threads": [10], "settings": ["ONE/ONE"]},
    "cold": {"threads": 10, "levels": ["ONE"], "conditions": ["warm"], "steady_s": 1.0},
    "paced": {"threads": 10, "levels": ["ONE"], "rates_per_s": [100], "steady_s": 1.0, "pause": None},
}  # fmt: skip
OPEN = {
    "load_shares": [0.8, 0.4], "own_shares": [0.5], "settings": ["ONE/ONE", "QUORUM/QUORUM"],
    "read_shares": [0.5, 1.0], "workloads": ["A", "D"], "measured_s": 12, "segment_s": 5, "lead_in_s": 2, "repeats": 2,
}  # fmt: skip
#: Of two settings: closed loops next to a ladder, a trial, and a warm-up of rounds of half the cap.
CLOSED_S = 2 + 2 * open_cells.AGAIN_S + open_cells._AFTER_S
TRIAL_S = 2 + open_cells.TRIAL_S + open_cells._AFTER_S
WARM_UP_S = open_cells._ROUNDS * (5 + open_cells._AFTER_S)
RATES = {"load_shares": None, "own_shares": None, "rates_per_s": [2000, 500]}


@pytest.fixture
def made(tmp_path):
    """Loads a profile with changes to its section `open`; `alone` takes the other parts out."""

    def make(alone=False, **changes):
        section = {key: value for key, value in (OPEN | changes).items() if value is not None}
        content = {key: value for key, value in BASE.items() if not (alone and key in {"pure", "cold", "paced"})}
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content | {"open": section}))
        return load_profile(str(tmp_path / "mine.yaml"))

    return make


def opened(profile, block=1):
    return [cell for cell in plan(profile)[block - 1] if cell.kind == "open"]


def mixes(cells):
    """Mixes in order, each once for every time that it begins."""
    names = [(cell.workload, cell.read_share) for cell in cells]
    return [name for k, name in enumerate(names) if not k or names[k - 1] != name]


def test_cells_in_turn_and_alone(made):
    cells = {cell.cell_id: cell for cell in opened(made())}
    assert len(cells) == 4 * (2 + 1) * 2
    one = cells["b1-open-mix50-share0.4-QUORUM+QUORUM"]
    assert (one.cell_group, one.load_share, one.threads) == ("b1-open-mix50-share0.4", 0.4, 4096)
    assert (one.read_cl, one.write_cl, one.read_share, one.workload) == ("QUORUM", "QUORUM", 0.5, "")
    assert math.isnan(one.own_share)
    assert math.isnan(one.rate_per_s)
    assert one.arrivals == "poisson"
    alone = cells["b1-open-D-own0.5-ONE+ONE"]
    assert (alone.cell_group, alone.own_share, alone.workload, alone.read_share) == ("", 0.5, "D", 0.95)
    assert math.isnan(alone.load_share)


def test_cells_at_rates(made):
    cells = {cell.cell_id: cell for cell in opened(made(**RATES, arrivals="even", most_in_flight=100))}
    assert len(cells) == 4 * 2 * 2
    one = cells["b1-open-A-rate2000-ONE+ONE"]
    assert (one.rate_per_s, one.cell_group, one.arrivals, one.threads) == (2000, "b1-open-A-rate2000", "even", 100)
    assert math.isnan(one.load_share)


def test_they_stand_between_the_workloads_and_what_disturbs_the_block(made):
    kinds = [cell.kind for cell in plan(made())[0]]
    assert list(dict.fromkeys(kinds)) == ["pure", "workload", "open", "paced", "cold"]
    assert [cell.order for cell in plan(made())[0]] == list(range(len(kinds)))
    assert len(plan(made())) == 2
    assert {cell.kind for cell in plan(made())[1]} == {"open"} | ({"paced", "cold"} & set(kinds))


def test_ladders_and_groups_are_whole(made):
    for block in (1, 2):
        cells = opened(made(), block)
        assert len(mixes(cells)) == 4
        together = groups(cells)
        assert sorted(len(group) for group in together) == [1] * 8 + [2] * 8
        assert all(len({cell.load_share for cell in group}) == 1 for group in together if len(group) > 1)


def test_orders_are_drawn_by_seed_and_block(made):
    drawn = [[cell.cell_id.partition("-")[2] for cell in opened(made(), block)] for block in (1, 2)]
    assert sorted(drawn[0]) == sorted(drawn[1])
    assert drawn[0] != drawn[1]
    assert drawn[0] == [cell.cell_id.partition("-")[2] for cell in opened(made())]


@pytest.mark.parametrize(("changes", "key"), [({}, "load_share"), (RATES, "rate_per_s")])
def test_rising_rates_rise_in_each_ladder(made, changes, key):
    cells = opened(made(**changes, rising=True))
    for mix in mixes(cells):
        rates = [getattr(cell, key) for cell in cells if (cell.workload, cell.read_share) == mix and cell.cell_group]
        assert rates == sorted(rates)
    alone = [not cell.cell_group for cell in cells if cell.workload == "A"]
    assert alone == sorted(alone)


def test_one_setting_has_groups_and_nothing_alone(made):
    profile = made(settings=["ONE/ONE"])
    assert all(cell.cell_group for cell in opened(profile))
    assert left_out(profile) == [
        "open.own_shares: ONE/ONE is the only setting, and its own shares are load shares already"
    ]
    assert left_out(made()) == []


def test_they_do_not_alternate_in_slices(made):
    profile = made()
    assert all(alternation(profile, group) is None for group in groups(opened(profile)))
    assert rates_apart(profile) == [
        "open: settings are measured in turn at each rate, in segments of 5 s, and nothing is in flight between them"
    ]


def test_a_run_of_open_cells_is_resumed(made, tmp_path):
    RunStore.create(tmp_path / "run", made()).close()
    RunStore.resume(tmp_path / "run", made()).close()


def test_how_long_a_group_takes(made):
    profile = made()
    pair, single = (next(g for g in groups(opened(profile)) if len(g) == size) for size in (2, 1))
    assert group_seconds(profile, pair) == pytest.approx(2 * (12 + 3 * (2 + open_cells._BETWEEN_S)), abs=0.5)
    assert group_seconds(profile, single) == pytest.approx(12 + 3 * (2 + open_cells._BETWEEN_S), abs=0.5)
    untried = made(**RATES, find_capacity=False)
    group = groups(opened(untried))[0]
    assert group_seconds(untried, group) == pytest.approx(2 * (12 + 3 * (2 + open_cells._BETWEEN_S) + 22), abs=0.5)


def test_capacity_is_forecast_before_and_after_each_ladder(made):
    profile = made(alone=True)
    measured = groups(opened(profile))
    extra = open_cells.trial_seconds(profile, measured)
    search_s = 2 * open_cells._FIRST_TRIALS * TRIAL_S + CLOSED_S
    assert sum(extra) == pytest.approx(4 * (WARM_UP_S + search_s + CLOSED_S))
    assert extra.count(0.0) == len(measured) - 2 * 4
    first = [k for k, group in enumerate(measured) if not k or mixes([*measured[k - 1], *group])[1:]]
    assert [extra[k] for k in first] == pytest.approx([search_s + WARM_UP_S] * 4)
    later = open_cells.trial_seconds(profile, groups(opened(profile, block=2)))
    saved_s = 2 * (open_cells._FIRST_TRIALS - open_cells._TRIALS) * TRIAL_S  # it knows what the first block found
    assert sum(extra) - sum(later) == pytest.approx(4 * saved_s)
    without = made(alone=True, **RATES, find_capacity=False)
    assert sum(open_cells.trial_seconds(without, groups(opened(without)))) == 4 * WARM_UP_S


def test_a_ladder_with_one_group_has_both_searches(made):
    profile = made(alone=True, load_shares=[0.4], own_shares=[], read_shares=[0.5], workloads=["A", "D"])
    assert open_cells.trial_seconds(profile, groups(opened(profile))) == pytest.approx(
        [WARM_UP_S + 2 * open_cells._FIRST_TRIALS * TRIAL_S + 2 * CLOSED_S] * 3
    )


def test_parts_are_one_for_each_group_and_say_what_is_done(made):
    profile = made()
    (cells, _) = plan(profile)
    forecast = parts(profile, cells)
    assert len(forecast) == 1 + len(groups(cells))
    assert sum(part.seconds for part in forecast) == pytest.approx(forecast_s(profile, cells))
    kinds = [part.kind for part in forecast if part.kind.startswith("open")]
    assert sum("and trials" in kind for kind in kinds) == 8
    assert not any("its table" in kind for kind in kinds)  # the closed loops before them loaded it
    left = [cell for cell in cells if cell.kind == "open" and cell.workload == "D"][-1:]
    (_, last) = parts(profile, left)
    assert last.kind == "open  and its table and trials"
    assert last.seconds > 10 + 2 * 22  # one setting is left: a warm-up, and its capacity


def test_requests_of_a_cell(made):
    profile = made(**RATES)
    one = next(cell for cell in opened(profile) if cell.rate_per_s == 500)
    assert open_cells.requests(profile, one, 1000) == pytest.approx(500 * (12 + 3 * 2))
    share = opened(made())[0]
    at = share.own_share if math.isnan(share.load_share) else share.load_share
    assert open_cells.requests(made(), share, 1000) == pytest.approx(at * 1000 * (12 + 3 * 2))


def test_the_groups_of_a_mix_are_one_ladder(made):
    profile = made()
    of_mixes = [of for of in ladders(groups(plan(profile)[0])) if of[0][0].kind == "open"]
    assert len(of_mixes) == 4
    assert all(len({cell.read_share for group in of for cell in group}) == 1 for of in of_mixes)
