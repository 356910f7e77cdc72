"""The claims of the 2021 paper: verdicts that were found another way, its notation, and where its regions can lie."""

import numpy as np
import pandas as pd
import pytest

from cassbook import published
from cassbook.claims import registry
from cassbook.claims.g21 import source as g21_source
from cassbook.claims.g21.derived import crossing, peak_times
from cassbook.claims.g21.latency import other_averages
from cassbook.claims.g21.placements import Arrangement, admitted, balanced, deepest, in_cluster, placements, replicas
from cassbook.claims.g21.source import percent_of_one
from cassbook.claims.interval import as_printed, exactly, high, low, middle, overlap
from cassbook.claims.littles_law import deficit, in_flight, run_times
from cassbook.claims.statement import VERDICTS
from cassbook.core.errors import InputError

SLIP = "(b) is a slip for (c)"


@pytest.fixture(scope="module")
def findings():
    return {finding.id: finding for finding in registry.ledger(papers=["g21"])}


@pytest.fixture(scope="module")
def latency():
    """Tables 3 and 4: one row a thread count, columns (scenario, operation, level)."""
    rows = pd.concat([published.table("g21_table3"), published.table("g21_table4")])
    return rows.pivot_table(index="threads", columns=["scenario", "operation", "level"], values="latency_ms")


@pytest.fixture(scope="module")
def throughput():
    rows = published.table("g21_table2")
    return rows.set_index(["scenario", "operation", "level"]).sort_index()["throughput_per_s"]


def recomputed(finding):
    return (finding.recomputed_low + finding.recomputed_high) / 2


# The ledger as a whole


def test_the_ledger_is_complete(findings):
    assert sum(finding.kind == "text" for finding in findings.values()) >= 40
    assert sum("-little-" in name for name in findings) == 24 + 1
    assert all(name.startswith("g21-") and finding.paper == "g21" for name, finding in findings.items())
    assert {finding.verdict for finding in findings.values()} == set(VERDICTS)
    assert {finding.function.rpartition(".")[0] for finding in findings.values()} - {""} == {
        f"cassbook.claims.g21.{part}" for part in ("abstract", "text", "latency", "conclusions", "derived")
    }


def test_every_claim_says_what_recomputes_it_or_why_nothing_can(findings):
    for finding in findings.values():
        assert finding.quote
        assert finding.location
        if finding.verdict == "untestable":
            assert finding.note
            assert not finding.function
        else:
            assert finding.function.startswith("cassbook.claims.g21.")
            assert finding.recomputed


def test_not_reproduced_comes_with_a_note(findings):
    assert all(finding.note for finding in findings.values() if finding.verdict in ("not_reproduced", "other_reading"))


# Scenarios by the wrong letter


@pytest.mark.parametrize("name", ["g21-writes-faster", "g21-b-all", "g21-b-one", "g21-wrong-letter"])
def test_b_is_a_slip_for_c(findings, name):
    assert findings[name].verdict == "other_reading"
    assert findings[name].reading == SLIP


def test_writes_are_faster_with_c(findings, throughput):
    gain = (throughput.xs("WRITE", level="operation") / throughput.xs("READ", level="operation") - 1) * 100
    in_a = gain["a"].tolist()
    assert recomputed(findings["g21-writes-faster"]) == pytest.approx(np.mean([*in_a, gain["b", "ONE"]]), abs=0.01)
    assert round(np.mean([*in_a, gain["c", "ONE"]])) == 9
    assert gain["b", "ONE"] < 0


def test_47_and_53_times_are_c(findings, latency):
    means = latency.mean()
    ratios = {s: [means[s, o, "ALL"] / means[s, o, "ONE"] for o in ("READ", "WRITE")] for s in "bc"}
    assert [round(ratio) for ratio in ratios["c"]] == [47, 53]
    assert [round(ratio) for ratio in ratios["b"]] == [1, 1]
    assert findings["g21-b-all"].recomputed == "1.01, 1.01"


# Numbers of the text


def test_cost_in_one_region(findings, latency, throughput):
    lost = 100 * (1 - throughput["a", "READ", "ALL"] / throughput["a", "READ", "ONE"])
    writes = 100 * (latency["a", "WRITE", "ALL"].mean() / latency["a", "WRITE", "ONE"].mean() - 1)
    assert recomputed(findings["g21-abstract-cost"]) == pytest.approx(lost, abs=0.01)
    assert findings["g21-abstract-cost"].verdict == "other_reading"
    assert round(lost) != 22
    assert round(writes) == 22


def test_no_average_gives_both_36_and_22_percent(findings, latency):
    reads, writes = (latency["a"][operation] for operation in ("READ", "WRITE"))
    assert round(100 * (reads["ALL"].mean() / reads["ONE"].mean() - 1), 2) == 36.67
    assert findings["g21-a-all"].finding == "digits"  # both can be cut, the second only just
    assert "of 100 threads they are 35.97% and 22.23%" in findings["g21-a-all"].note
    expected = {
        "mean of the ratios": lambda x: 100 * ((x["ALL"] / x["ONE"]).mean() - 1),
        "ratio of the medians": lambda x: 100 * (x["ALL"].median() / x["ONE"].median() - 1),
        "median of the ratios": lambda x: 100 * ((x["ALL"] / x["ONE"]).median() - 1),
        "at 1000 threads": lambda x: 100 * (x["ALL"] / x["ONE"] - 1).loc[1000],
        "in percent of ALL": lambda x: 100 * (1 - x["ONE"].mean() / x["ALL"].mean()),
    }
    for name, average in expected.items():
        values = [round(average(reads)), round(average(writes))]
        assert values != [36, 22]
        assert middle(other_averages("READ")[name]) == pytest.approx(average(reads), abs=0.01)
        assert middle(other_averages("WRITE")[name]) == pytest.approx(average(writes), abs=0.01)


def test_d_all_is_560_percent_of_one(findings, latency):
    means = latency.mean()
    reads, writes = (100 * means["d", o, "ALL"] / means["d", o, "ONE"] for o in ("READ", "WRITE"))
    assert (round(reads), round(writes)) == (563, 607)
    assert {findings[name].verdict for name in ("g21-d-all", "g21-abstract-global")} == {"other_reading"}
    assert findings["g21-d-all"].reading == findings["g21-abstract-global"].reading == g21_source.OF_ONE
    assert "563% and 607%" in findings["g21-d-all"].note
    assert recomputed(findings["g21-abstract-global"]) == pytest.approx(writes - 100, abs=0.1)


@pytest.mark.parametrize("printed", ["570", "560", "600", "6000", "563", "568", "500"])
def test_zeros_at_the_end_are_no_digits_as_with_a_hedge(printed):
    percent = 100 * g21_source.times_one("d", "READ", "ALL")
    assert overlap(percent_of_one("READ", printed), as_printed(printed)) == overlap(
        percent, as_printed(printed, hedged=True)
    )


def test_saturation_is_the_mean_of_six_columns(findings, latency):
    rates = latency["a"].rdiv(1000 * latency.index.to_series(), axis=0)
    first, strictly = ((rates >= part * rates.max()).idxmax() for part in (0.95, 0.98))
    claim = findings["g21-saturation"]
    assert recomputed(claim) == pytest.approx(first.mean())
    assert strictly.mean() == 800
    assert (claim.verdict, claim.printed_low, claim.printed_high) == ("other_reading", 750, 850)
    assert "within 2 %" in claim.reading
    assert f"reads from {first['READ'].mean():.0f} threads" in claim.note
    assert f"writes from {first['WRITE'].mean():.0f}" in claim.note


def test_one_region_beats_c_by_13_percent(findings, throughput):
    gains = [throughput["a", o, "ONE"] / throughput["c", o, "ONE"] - 1 for o in ("READ", "WRITE")]
    assert findings["g21-a-over-c"].verdict == "reproduced"
    assert recomputed(findings["g21-a-over-c"]) == pytest.approx(100 * np.mean(gains), abs=0.01)


def test_stars_are_where_latency_is_flat(findings, latency):
    rises = (latency.loc[1000] / latency.loc[100]).sort_values()
    flat = {(scenario, level) for scenario, _, level in rises.index[:8]}
    assert flat == {("b", "ONE"), ("b", "QUORUM"), ("b", "ALL"), ("d", "ONE")}
    for name in ("g21-flat", "g21-unsaturated"):
        assert findings[name].verdict == "reproduced"
        assert set(findings[name].recomputed.split(" and ")) == {"(b: all consistency settings)", "(d: ONE)"}


def test_single_region_is_not_the_quickest_in_every_row(findings, latency):
    least = latency.T.groupby(["operation", "level"]).min().T
    quickest = sum(int((latency["a"][column] <= least[column]).sum()) for column in least.columns)
    assert findings["g21-conclusion-single-latency"].recomputed == f"{quickest} of 60"
    assert quickest < 60


def test_levels_are_in_order_everywhere(findings, latency):
    for scenario in "abcd":
        for operation, table in (("READ", 3), ("WRITE", 4)):
            rows = latency[scenario][operation]
            right = int(((rows["ONE"] <= rows["QUORUM"]) & (rows["QUORUM"] <= rows["ALL"])).sum())
            assert findings[f"g21-table{table}-order-{scenario}"].recomputed == f"{right} of 10"


# Little's law


def test_requests_in_flight_are_half_of_the_threads(findings, latency, throughput):
    for (scenario, operation, level), rate in throughput.items():
        cell = findings[f"g21-table2-little-{scenario}-{operation}-{level}".lower()]
        flight = rate * latency.loc[1000, (scenario, operation, level)] / 1000
        assert (cell.verdict, cell.relation, cell.printed) == ("not_reproduced", "near", "1000")
        assert recomputed(cell) == pytest.approx(flight, rel=1e-4)
        assert 380 < flight < 540
    assert findings["g21-table2-at-peak"].recomputed == "0 of 24"


def test_the_deficit_is_a_factor(findings, latency, throughput):
    assert (findings["g21-little-model"].verdict, findings["g21-little-model"].recomputed) == (
        "reproduced",
        "one factor",
    )
    flight = throughput * latency.loc[1000].reindex(throughput.index) / 1000
    assert deficit(*peak_times()).factor == pytest.approx(np.exp(np.log(1000 / flight).mean()))


#: Scatter of 5 percent that has no trend.
BUSY_S = np.geomspace(20, 1500, 24)
WOBBLE = np.exp(0.05 * np.random.default_rng(11).standard_normal(24))


def test_a_factor_is_told():
    extra = deficit(2.3 * BUSY_S * WOBBLE, BUSY_S)
    assert extra.verdict == "one factor"
    assert extra.factor == pytest.approx(2.3, rel=0.03)
    assert extra.factor_spread == pytest.approx(np.log(WOBBLE).std())
    assert extra.factor_spread < extra.additive_spread
    assert extra.margin < -2


@pytest.mark.parametrize("seconds", [400, 5, -15])
def test_an_added_time_is_told(seconds):
    exact = deficit(BUSY_S + seconds, BUSY_S)
    assert exact.verdict == "additive"
    assert exact.seconds == pytest.approx(seconds, abs=1e-3)
    extra = deficit((BUSY_S + seconds) * WOBBLE**0.2, BUSY_S)
    assert extra.verdict == "additive"
    assert extra.seconds == pytest.approx(seconds, rel=0.25)
    assert extra.margin > 2


def test_the_added_time_is_that_of_least_squares():
    whole = (BUSY_S + 60) * WOBBLE**3
    tried = np.linspace(-19, 400, 100_001)
    squares = (np.log(whole[:, None] / (BUSY_S[:, None] + tried)) ** 2).sum(axis=0)
    extra = deficit(whole, BUSY_S)
    assert extra.seconds == pytest.approx(tried[squares.argmin()], abs=0.01)
    assert extra.additive_spread == pytest.approx(np.sqrt(squares.min() / whole.size))


def test_the_margin_is_that_of_aicc():
    extra = deficit((BUSY_S + 60) * WOBBLE, BUSY_S)
    # both have as many constants, so that only the likelihood is left of the difference
    assert extra.margin == pytest.approx(2 * 24 * np.log(extra.factor_spread / extra.additive_spread))


def test_noise_decides_nothing():
    same = np.full(24, 100.0)
    for busy in (same, 100 * WOBBLE[::-1] ** 0.2):
        assert deficit(2 * same * WOBBLE, busy).verdict == "undecided"
    assert deficit(same, same).verdict == "undecided"


def test_the_unit_of_time_does_not_matter():
    whole = 2.3 * BUSY_S * WOBBLE
    s, ms = deficit(whole, BUSY_S), deficit(1000 * whole, 1000 * BUSY_S)
    assert ms.margin == pytest.approx(s.margin)
    assert ms.seconds == pytest.approx(1000 * s.seconds, rel=1e-4)


@pytest.mark.parametrize(
    ("whole", "busy"),
    [([1, 2, 3], [1, 2, 3]), ([1, 2, 3, 4], [1, 2, 3]), ([1, 2, 3, 0], [1, 2, 3, 4]), ([1, 2, 3, np.nan], [1] * 4)],
)
def test_a_deficit_needs_four_runs_of_positive_times(whole, busy):
    with pytest.raises(InputError, match="busy_s"):
        deficit(whole, busy)


def test_a_closed_loop_has_no_deficit():
    threads, latency_s = np.array([10, 100]), np.array([0.002, 0.01])
    whole, busy = run_times(threads, threads / latency_s, latency_s)
    assert whole == pytest.approx(busy)
    assert busy == pytest.approx([2, 10])
    assert in_flight(threads / latency_s, latency_s) == pytest.approx(threads)
    assert middle(in_flight(as_printed("500"), exactly("0.25"))) == 125


def test_where_threads_over_latency_meets_table_2(latency, throughput):
    rate = 1000 * latency.index / latency["b", "READ", "ONE"]
    expected = np.interp(throughput["b", "READ", "ONE"], rate, latency.index)
    assert crossing(("b", "READ", "ONE")) == pytest.approx(expected)
    assert crossing(("c", "READ", "QUORUM")) is None


# The notation


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        ("{[C], ([R1], [R2], [R3])}", True),
        ("{[C], ([R1]}, {R2}, {R3})", True),  # a cluster over Regions: round brackets cross curly ones
        ("{[C], ([R1]), {R2}, {R3})", False),
        ("{C}, ({R1}, {R2}, {R3}", False),
        ("}C{", False),
        ("", True),
    ],
)
def test_brackets_balance_each_kind_by_itself(notation, expected):
    assert balanced(notation) is expected


def test_notation_parts():
    text = "{{[C], ([R1])}, {R2}, {R2}}"
    assert deepest(text, "{") == 2
    assert deepest(text, "[") == 1
    assert replicas(text) == ["R1", "R2", "R2"]
    assert in_cluster(text) == ["R1"]
    assert in_cluster("{[C], ([R1]}, {R2})") == ["R1", "R2"]


def test_notation_claims_count_the_printed_ones(findings):
    printed = published.table("g21_scenarios")["notation"]
    closed = sum(all(text.count(a) == text.count(b) for a, b in ("()", "{}", "[]")) for text in printed)
    once = int((printed.str.count("R[0-9]") == 3).sum())
    assert findings["g21-notation-brackets"].recomputed == f"{closed} of {len(printed)}"
    assert findings["g21-replicas"].recomputed == f"{once} of {len(printed)}"
    assert findings["g21-replicas"].reading == "a symbol that is printed twice is one replica"


# Placements


def line_of_regions(**positions):
    """Distances of regions that lie on a line, within each 1 ms."""
    pairs = ((a, b) for a in positions for b in positions)
    return {(a, b): exactly(abs(positions[a] - positions[b]) or 1) for a, b in pairs}


LINE = line_of_regions(west=0, mid=10, east=30, far=100)


def test_number_of_placements():
    names = ["west", "mid", "east", "far"]
    assert [len(placements(scenario, names)) for scenario in "bcd"] == [4 * 3, 4 * 3, 4]
    assert all(p.client not in p.replicas for s in "bd" for p in placements(s, names))
    assert all(p.replicas[0] == p.client for p in placements("c", names))
    assert all(len(set(p.replicas)) == 3 for s in "cd" for p in placements(s, names))


def test_bounds_go_by_the_nearest_coordinator():
    spread = Arrangement("west", ("far", "mid", "east"))
    assert [middle(spread.bound(level, LINE)) for level in ("ONE", "QUORUM", "ALL")] == [10, 10 + 20, 10 + 90]
    assert spread.hops("ALL", LINE) == [("west", "mid"), ("mid", "far")]
    near = Arrangement("west", ("west", "east", "mid"))
    assert [middle(near.bound(level, LINE)) for level in ("ONE", "QUORUM", "ALL")] == [0, 10, 30]
    away = Arrangement("west", ("east",) * 3)
    assert [middle(away.bound(level, LINE)) for level in ("ONE", "QUORUM", "ALL")] == [30, 30, 30]


def test_admitted_placements_of_known_distances():
    names = list(LINE and {a for a, _ in LINE})
    away = admitted(placements("b", names), {"ONE": as_printed("20")}, LINE)
    assert {(p.client, p.replicas[0]) for p in away} == {
        ("west", "mid"), ("mid", "west"), ("mid", "east"), ("east", "mid"),
    }  # fmt: skip
    spread = placements("d", names)
    levels = {"ONE": as_printed("70"), "QUORUM": as_printed("90"), "ALL": as_printed("100")}
    # west: 10, 30, 100; mid: 10, 40, 110; east: 20, 30, 110; far: 70, 90, 100
    assert {p.client for p in admitted(spread, levels, LINE)} == {"west", "far"}
    assert {p.client for p in admitted(spread, levels | {"QUORUM": as_printed("89")}, LINE)} == {"west"}
    assert not admitted(spread, {"ONE": as_printed("9")}, LINE)


def test_rounding_does_not_rule_a_placement_out():
    away = [Arrangement("west", ("mid",) * 3)]
    assert admitted(away, {"ONE": as_printed("9.5")}, LINE) == []
    assert admitted(away, {"ONE": as_printed("10")}, LINE) == away


def test_table_1_is_of_round_trips(findings, latency):
    assert findings["g21-table1-round-trip"].recomputed == "round trip"
    apart = published.table("g21_table1").query("from_region != to_region")["latency_ms"]
    least = latency["b"].min().min()
    assert apart.min() < least < 2 * apart.min()  # (b) has room for the shortest way once, not twice


def test_distances_next_to_b_and_d(findings, latency):
    apart = published.table("g21_table1").query("from_region != to_region")["latency_ms"]
    least = latency["b", "READ", "ONE"].min()
    nearest = apart.iloc[(apart - least).abs().argmin()]
    claim = findings["g21-table1-distance"]
    assert (claim.verdict, claim.recomputed) == ("not_reproduced", "0 of 8")
    assert f"(b: ONE) {least:.2f} ms ({nearest:.2f})" in claim.note
    added = latency["d", "READ", "QUORUM"].min() - latency["d", "READ", "ONE"].min()
    assert f"(d: QUORUM) adds {added:.2f} ms" in claim.note


def test_latencies_are_as_printed():
    cell = g21_source.latencies()["d", "READ", "QUORUM"][100]
    assert low(cell) == pytest.approx(237.815)
    assert high(cell) == pytest.approx(237.825)
