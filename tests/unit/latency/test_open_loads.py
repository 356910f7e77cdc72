"""Response times by rate and by share of capacity, of curves that are known."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import InputError, LackingError
from cassbook.latency.capacity import AT_LEAST, CLIENT, FOUND, NOT_CARRIED, capacities
from cassbook.latency.open_choices import (
    BREAKS,
    CARRIES_LESS,
    KEEPS,
    NOT_KNOWN,
    OUTSIDE,
    TOO_FEW,
    Mix,
    alike,
    times_as_slow,
)
from cassbook.latency.open_loads import OpenLoads
from tests.helpers import open_runs
from tests.helpers.open_curves import CARRIED, SCALES, curves, not_carried, p99_us
from tests.helpers.rate_ladder import ladder

HALF = Mix(0.5)


def loads(stats=None, by="p99", **how):
    return OpenLoads(curves(**how) if stats is None else stats, "mine", 3, by)


def by_name(advice):
    return {choice.setting.name: choice for choice in (*advice.choices, *advice.weak)}


@pytest.mark.parametrize("share", [0.2, 0.3, 0.5, 0.8])
def test_a_share_of_capacity_has_the_response_time_of_the_curve_in_each_block(share):
    found = by_name(loads().advise(HALF, of_capacity=share, bound_ms=6.0))
    for name, setting in (("1R-3W", "ONE/ALL"), ("2R-2W", "QUORUM/QUORUM"), ("ONE/ONE", "ONE/ONE")):
        choice = found[name]
        asked = [share * CARRIED["ONE/ALL"] * scale for scale in SCALES]
        assert choice.by_block_us == pytest.approx([p99_us(setting, *at) for at in zip(asked, SCALES, strict=True)])
        assert [block.rate_per_s for block in choice.blocks] == pytest.approx(asked)
        assert [block.load_share for block in choice.blocks] == pytest.approx([share] * 3)
        assert choice.own_share.value == pytest.approx(share * CARRIED["ONE/ALL"] / CARRIED[setting])
        assert (choice.response_us.n, np.isnan(choice.response_us.low)) == (3, False)


def test_the_bound_is_broken_where_the_curve_crosses_it_and_capacity_says_the_same():
    stats = curves()
    advice = loads(stats).advise(HALF, of_capacity=0.4, bound_ms=4.0)
    crossing = 0.4 ** (1 / 1.5)  # of what a setting carries itself, in every block
    said = {(one.read_cl, one.write_cl): one for one in capacities(stats, 4.0)}
    for choice in by_name(advice).values():
        setting = f"{choice.setting.read_cl}/{choice.setting.write_cl}"
        assert choice.capacity == said[choice.setting.read_cl, choice.setting.write_cl]
        assert choice.capacity.verdict == FOUND
        assert choice.capacity.by_block == pytest.approx([crossing * CARRIED[setting] * scale for scale in SCALES])
        ratio = CARRIED[setting] / CARRIED["ONE/ALL"]
        assert choice.capacity.share_by_block == pytest.approx([crossing * ratio] * 3)  # beyond 1 for ONE/ONE
        assert choice.headroom.value == pytest.approx(crossing * ratio / 0.4)
        assert choice.headroom.high == pytest.approx(choice.headroom.low)
    assert by_name(advice)["ONE/ONE"].capacity.share.value > 1  # known from the cell that was measured alone


def test_a_rate_is_interpolated_in_each_block_and_says_its_share_there():
    advice = loads().advise(HALF, rate_per_s=1000.0)
    assert advice.load_shares == pytest.approx([1000 / (2000 * scale) for scale in SCALES])
    (quorum,) = (one for one in advice.choices if one.setting.name == "2R-2W")
    assert quorum.by_block_us == pytest.approx([p99_us("QUORUM/QUORUM", 1000, scale) for scale in SCALES])
    assert quorum.own_shares == pytest.approx([1000 / (2500 * scale) for scale in SCALES])
    assert quorum.response_us.value == pytest.approx(np.exp(np.log(quorum.by_block_us).mean()))
    assert quorum.verdict == ""
    assert advice.arrivals == "poisson"


def test_cells_that_were_measured_alone_extend_a_curve_for_rates_and_not_for_shares():
    found = by_name(loads().advise(HALF, rate_per_s=1900.0))
    assert found["ONE/ONE"].known
    assert found["1R-3W"].lacking == (OUTSIDE,)
    assert found["1R-3W"].measured_per_s == pytest.approx((440.0, 1440.0))
    with pytest.raises(InputError, match=r"of capacity: 0.9 is outside what mine measured, 0.2 to 0.8 of"):
        loads().advise(HALF, of_capacity=0.9)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "give --rate or --of-capacity, and not both"),
        ({"of_capacity": 0.4, "rate_per_s": 1000.0}, "give --rate or --of-capacity, and not both"),
        ({"of_capacity": 0.1}, "0.1 is outside what mine measured, 0.2 to 0.8"),
        ({"rate_per_s": 430.0}, "430 a second is outside what every block of mine measured, 440 to 2880 a second"),
        ({"rate_per_s": 3000.0}, "3000 a second is outside .* 440 to 2880 a second; .* a share with --of-capacity"),
        ({"rate_per_s": 1000.0, "bound_ms": 0.0}, "bound: 0 ms is not above 0"),
    ],
)
def test_a_load_that_some_block_lacks_is_refused_with_the_range_of_all(asked, said):
    with pytest.raises(InputError, match=said):
        loads().advise(HALF, **asked)


def test_absolute_rates_have_no_shares_and_the_weakest_is_known_from_what_was_carried():
    stats = curves(shares=(), own=(), rates=(500.0, 1000.0, 1500.0))
    found = loads(stats)
    assert (found.shares(HALF), found.rates_per_s(HALF)) == ((), (500.0, 1000.0, 1500.0))
    with pytest.raises(InputError, match=r"was measured at rates, 500 to 1500 a second, and not at shares .*--rate"):
        found.advise(HALF, of_capacity=0.4)
    advice = found.advise(HALF, rate_per_s=700.0)
    assert advice.load_shares == pytest.approx([700 / (2000 * scale) for scale in SCALES])
    unknown = loads(stats.assign(carried_per_s=np.nan, own_share=np.nan)).advise(HALF, rate_per_s=700.0)
    assert np.isnan(unknown.load_shares).all()
    assert np.isnan(unknown.choices[0].own_share.value)
    with pytest.raises(InputError, match=r"1600 a second is outside .*measure at that rate$"):
        found.advise(HALF, rate_per_s=1600.0)


def test_a_run_in_a_closed_loop_is_refused_with_the_section_to_add():
    with pytest.raises(InputError, match=r"closed loop alone.*add open: \{read_shares: .* to its profile"):
        loads(curves().assign(rate_per_s=np.nan))


def test_mixes_are_found_by_share_of_reads_or_name():
    import pandas as pd  # noqa: PLC0415

    stats = pd.concat([curves(), curves(workload="orders", read_share=0.8)], ignore_index=True)
    found = loads(stats)
    assert found.mixes == (HALF, Mix(0.8, "orders"))
    assert (found.mix(0.5), found.mix(workload="orders")) == found.mixes
    assert found.advise(found.mix(workload="orders"), of_capacity=0.4).mix.name == "workload orders"
    for asked in ({"read_share": 0.8}, {"workload": "order"}, {}):
        with pytest.raises(InputError, match=r"--reads 0.5, --workload orders"):
            found.mix(**asked)


def test_verdicts_go_by_the_whole_interval():
    """At 1,000 a second blocks differ; p99 of QUORUM/QUORUM is 2.2 to 3.0 ms, its interval 1.7 to 3.7."""
    quorum = by_name(loads().advise(HALF, rate_per_s=1000.0))["2R-2W"].response_us
    for bound_us, verdict in ((1.05 * quorum.high, KEEPS), (1.05 * quorum.value, NOT_KNOWN), (0.95 * quorum.value,
                              NOT_KNOWN), (0.95 * quorum.low, BREAKS)):  # fmt: skip
        advice = loads().advise(HALF, rate_per_s=1000.0, bound_ms=bound_us / 1e3)
        choice = by_name(advice)["2R-2W"]
        assert choice.verdict == verdict
        assert (advice.recommended is choice) is (verdict == KEEPS)
        assert (advice.perhaps is choice) is (verdict == NOT_KNOWN and choice.within)


def test_the_recommended_setting_is_strong_survives_and_is_the_fastest_of_those():
    advice = loads().advise(HALF, of_capacity=0.4)
    assert [choice.setting.name for choice in advice.choices] == ["2R-2W", "1R-3W"]
    assert [choice.setting.name for choice in advice.weak] == ["ONE/ONE"]  # faster, and not strong
    assert advice.recommended.setting.name == advice.fastest.setting.name == "2R-2W"
    faster = curves(carried={"QUORUM/QUORUM": 2500.0, "ONE/ALL": 4000.0})
    at_all = {0: "1R-3W", 1: "2R-2W"}
    for survive, name in at_all.items():
        advice = loads(faster).advise(HALF, of_capacity=0.4, bound_ms=50.0, survive=survive)
        assert advice.recommended.setting.name == name
        assert advice.fastest.setting.name == "1R-3W"
    assert loads(faster).advise(HALF, of_capacity=0.4, survive=2).recommended is None


def test_two_settings_are_compared_in_each_block():
    advice = loads(
        changes=lambda row: (
            {"response_p99_us": row["response_p99_us"] * (1 + 0.01 * row["block"])}
            if row["read_cl"] == "QUORUM"
            else {}
        )
    ).advise(HALF, rate_per_s=1000.0)
    first, second = advice.choices
    ratio = times_as_slow(first, second)
    assert ratio.low < ratio.value < ratio.high < (2500 / 2000) ** 1.5 * 1.03
    assert ratio.value == pytest.approx((2500 / 2000) ** 1.5 / (1.01 * 1.02) ** (1 / 3))
    assert alike(first, second) < 0.01


def test_fewer_than_three_blocks_have_no_interval_and_the_figure_decides():
    advice = loads(scales=(1.0, 1.1)).advise(HALF, of_capacity=0.4, bound_ms=3.0)
    choice = by_name(advice)["2R-2W"]
    assert (choice.verdict, choice.response_us.n, np.isnan(choice.response_us.low)) == (KEEPS, 2, True)
    assert advice.recommended is choice
    one = loads(scales=(1.0,)).advise(HALF, of_capacity=0.4)
    assert np.isnan(alike(*one.choices))


def test_a_setting_that_does_not_carry_the_load_says_what_it_carries():
    stats = curves(changes=not_carried("QUORUM/QUORUM", 1300.0))
    choice = by_name(loads(stats).advise(HALF, of_capacity=0.8, bound_ms=20.0))["2R-2W"]
    assert (choice.verdict, choice.not_carried, choice.lacking) == (CARRIES_LESS, 3, (NOT_CARRIED,))
    assert choice.capacity.verdict == FOUND  # the last rate that it carried
    assert choice.capacity.per_s.value == pytest.approx(np.prod([1200, 880, 1080]) ** (1 / 3), rel=0.02)
    between = by_name(loads(stats).advise(HALF, rate_per_s=1350.0))["2R-2W"]
    assert [block.lacking for block in between.blocks] == [NOT_CARRIED] * 3
    below = by_name(loads(stats).advise(HALF, rate_per_s=1250.0))["2R-2W"]  # above what was measured in two blocks
    assert (below.verdict, set(below.lacking)) == (NOT_KNOWN, {OUTSIDE, ""} - {""})
    some = curves(changes=lambda row: not_carried("QUORUM/QUORUM", 1500.0)(row) if row["block"] == 1 else {})
    choice = by_name(loads(some).advise(HALF, of_capacity=0.8, bound_ms=20.0))["2R-2W"]
    assert (choice.verdict, choice.not_carried, choice.known) == (NOT_KNOWN, 1, False)


def test_a_bound_that_every_rate_keeps_is_known_from_below_and_so_is_the_headroom():
    choice = by_name(loads().advise(HALF, of_capacity=0.4, bound_ms=50.0))["1R-3W"]
    assert choice.capacity.verdict == AT_LEAST
    assert (choice.headroom.value, np.isnan(choice.headroom.low)) == (pytest.approx(2.0), True)


def test_a_curve_that_ends_by_the_client_breaks_no_bound_there():
    def by_client(row):
        return {"marks": "client"} if row["load_share"] == 0.8 or row["own_share"] == 0.8 else {}

    stats = curves(changes=by_client)
    # p99 of ONE/ALL is 4.6 ms at 0.6 and 7.2 ms at 0.8, where the client is a part of it
    choice = by_name(loads(stats).advise(HALF, of_capacity=0.4, bound_ms=5.0))["1R-3W"]
    assert (choice.ended_by, choice.capacity.verdict) == (CLIENT, AT_LEAST)
    assert choice.capacity.top_by_block == pytest.approx([1200 * scale for scale in SCALES])
    assert choice.headroom.value == pytest.approx(0.6 / 0.4)
    top = by_name(loads(stats).advise(HALF, of_capacity=0.8, bound_ms=5.0))["1R-3W"]
    assert (top.verdict, top.marks) == (NOT_KNOWN, {"client"})
    # within a bound of 8 ms it stays in spite of the client, which only adds to it
    kept = by_name(loads(stats).advise(HALF, of_capacity=0.8, bound_ms=8.0))["1R-3W"]
    assert (kept.verdict, kept.ended_by) == (KEEPS, CLIENT)
    broken = by_name(loads(stats).advise(HALF, of_capacity=0.4, bound_ms=3.0))["1R-3W"]
    assert (broken.capacity.verdict, broken.ended_by) == (FOUND, "")


def test_a_trial_that_the_client_limited_shows_nothing_of_the_setting():
    def absent(row):
        changed = not_carried("ONE/ALL", 1300.0)(row)
        return changed | {"marks": "not_carried;client"} if changed.get("marks") else changed

    choice = by_name(loads(changes=absent).advise(HALF, of_capacity=0.8, bound_ms=20.0))["1R-3W"]
    assert (choice.verdict, choice.lacking, choice.not_carried) == (NOT_KNOWN, (CLIENT,), 0)
    assert (choice.capacity.verdict, choice.ended_by) == (AT_LEAST, CLIENT)


def test_the_highest_rate_that_was_tried_is_not_what_a_setting_carries():
    """Without a search a cell has the highest rate that was tried before it."""
    rates = (500.0, 1000.0, 1500.0)
    tried = curves(shares=(), own=(), rates=rates,
                   changes=lambda row: {"carried_per_s": row["rate_per_s"] - 500 or np.nan})  # fmt: skip
    advice = loads(tried).advise(HALF, rate_per_s=1000.0)
    assert np.isnan(advice.load_shares).all()
    assert np.isnan(advice.choices[0].own_share.value)


def test_a_client_that_limits_every_rate_leaves_no_capacity():
    stats = curves(changes=lambda row: {"marks": "client"})
    choice = by_name(loads(stats).advise(HALF, of_capacity=0.4, bound_ms=0.1))["1R-3W"]
    assert (choice.capacity.missed_by, choice.ended_by, choice.verdict) == (CLIENT, CLIENT, NOT_KNOWN)


def test_requests_that_were_due_and_never_answered_count_as_beyond_the_bound():
    stats = curves(changes=lambda row: {"n_due": 20_000 * (1.05 if row["load_share"] == 0.8 else 1.0)})
    for bound_ms in (50.0, None):
        choice = by_name(loads(stats).advise(HALF, of_capacity=0.8, bound_ms=bound_ms))["1R-3W"]
        assert (choice.known, choice.verdict, choice.lacking) == (False, BREAKS, ("failed",))
    assert by_name(loads(stats).advise(HALF, of_capacity=0.6, bound_ms=50.0))["1R-3W"].verdict == KEEPS


def test_a_rung_with_too_few_operations_is_left_out_in_all_blocks():
    few = curves(changes=lambda row: {"n_ok": 500, "n_due": 500.0}
                 if (row["load_share"], row["block"]) == (0.4, 1) else {})  # fmt: skip
    choice = by_name(loads(few).advise(HALF, of_capacity=0.4, bound_ms=9.0))["2R-2W"]
    assert (choice.verdict, choice.lacking) == (NOT_KNOWN, (TOO_FEW,))
    assert choice.capacity.left_out_per_s == pytest.approx((800.0,))
    assert loads(few, "mean").advise(HALF, of_capacity=0.4).recommended is not None
    with pytest.raises(InputError, match=r"p99 needs 1,000 operations per cell"):
        loads(curves(changes=lambda row: {"n_ok": 10, "n_due": 10.0})).advise(HALF, of_capacity=0.4)


def test_cells_at_fixed_rates_are_answered_as_before_the_arrivals_were_open():
    stats = ladder()
    mix = loads(stats).mix(workload="orders")
    (choice,) = loads(stats).advise(mix, rate_per_s=1500.0, bound_ms=10.0).choices
    assert choice.by_block_us == pytest.approx([15e3 * scale for scale in (1.0, 1.1, 0.9)])
    assert choice.verdict == BREAKS
    assert choice.capacity == capacities(stats, 10.0)[0]


def test_cells_of_a_ladder_that_was_stopped_were_never_begun():
    stats = curves(changes=lambda row: {"marks": "stopped", "response_p99_us": np.nan, "n_ok": 0, "n_due": 0.0}
                   if row["load_share"] == 0.8 else {})  # fmt: skip
    with pytest.raises(InputError, match=r"0.8 is outside what mine measured, 0.2 to 0.6"):
        loads(stats).advise(HALF, of_capacity=0.8)


def test_a_run_of_samples_has_the_crossing_of_its_curve():
    stats = open_runs.statistics(open_runs.open_cells())
    advice = loads(stats, "mean").advise(HALF, of_capacity=0.4, bound_ms=2.0)
    quorum = by_name(advice)["2R-2W"]
    expected = [open_runs.mean_us("QUORUM/QUORUM", 0.4 * 2000 * scale, scale) for scale in open_runs.SCALES]
    assert quorum.by_block_us == pytest.approx(expected, rel=0.01)
    carried = open_runs.CARRIED["QUORUM/QUORUM"] * (1 - open_runs.ALONE_US["QUORUM/QUORUM"] / 2000)
    assert quorum.capacity.per_s.value == pytest.approx(
        carried * np.prod(open_runs.SCALES) ** (1 / 3), rel=0.03
    )  # the curve bends between two rates


def test_a_ladder_that_ended_before_its_first_rate_says_so_and_not_that_none_was_asked_for():
    stopped = curves(shares=(), own=(), rates=(100.0,), changes=lambda row: {"marks": "stopped"})
    with pytest.raises(LackingError, match="mine: was stopped at its lowest rate"):
        OpenLoads(stopped, "mine", 3, "p99")


def test_a_mix_between_two_lies_on_a_line_between_their_logarithms():
    stats = pd.concat([curves(read_share=0.5), curves(read_share=0.9, carried={**CARRIED, "ONE/ALL": 3000.0})])
    loads = OpenLoads(stats.assign(cell_id=range(len(stats))), "mine", 3, "p99")
    with pytest.raises(InputError, match=r"reads: 0\.7 was not measured at rates"):
        loads.mix(0.7)
    mix = loads.mix(0.7, between=True)
    assert (mix.between, mix.name) == ((0.5, 0.9), "70% reads (between 50% and 90%)")
    assert loads.mix(0.5, between=True) == Mix(0.5)
    with pytest.raises(InputError, match="was not measured"):
        loads.mix(0.95, between=True)
    assert loads.shares(mix) == loads.shares(Mix(0.5))
    found, below, above = (loads.advise(one, of_capacity=0.4) for one in (mix, Mix(0.5), Mix(0.9)))
    for choice in found.choices:
        sides = [next(one for one in advice.choices if one.setting == choice.setting) for advice in (below, above)]
        assert choice.response_us.value == pytest.approx(np.sqrt(np.prod([one.response_us.value for one in sides])))
        assert choice.capacity is None
    assert found.rates_per_s == pytest.approx(np.sqrt(np.multiply(below.rates_per_s, above.rates_per_s)))
    low, high = loads.range_per_s(mix)
    assert loads.advise(mix, rate_per_s=(low + high) / 2).choices
