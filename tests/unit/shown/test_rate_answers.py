"""Advice by rate in words, and as JSON and CSV."""

import json

import numpy as np
import pytest

from cassbook.latency.open_choices import Mix
from cassbook.latency.open_loads import OpenLoads
from cassbook.shown import rate_answers
from tests.helpers.open_curves import curves, not_carried


def advice(bound_ms=None, survive=1, of_capacity=None, rate_per_s=None, **how):
    load = {"of_capacity": of_capacity, "rate_per_s": rate_per_s}
    load = load if any(load.values()) else {"of_capacity": 0.4}
    return OpenLoads(curves(**how), "mine", 3, "p99").advise(Mix(0.5), bound_ms=bound_ms, survive=survive, **load)


def said(one, weak=False):
    """What is said, without line breaks."""
    text = rate_answers.point(one, "text", weak)
    assert max(map(len, text.splitlines())) <= 120
    return " ".join(text.split())


def test_text_begins_with_the_load_and_the_recommended_setting():
    head, _, recommended, *_ = rate_answers.point(advice(bound_ms=4.0), "text").splitlines()
    assert head.startswith("mine, 50% reads, 0.4 of what the weakest setting carries (720 to 880 a second), by p99 of")
    assert recommended.split()[:2] == ["recommended", "2R-2W"]
    assert recommended.endswith("1.81 [1.81, 1.81] ms  keeps 4 ms with its whole interval")
    text = said(advice(bound_ms=4.0))
    assert "3 cluster starts, replication 3, poisson arrivals recommended 2R-2W" in text
    assert "within 4 ms: 1353 [1054, 1736] a second, 0.68 [0.68, 0.68] of what the weakest setting carries" in text
    assert "; headroom 1.70 [1.70, 1.70] times the load the load is 0.32 [0.32, 0.32] of what it carries itself" in text
    assert "reads at QUORUM, writes at QUORUM; reads and writes survive 1 dead replica" in text


def test_a_rate_says_its_share_in_the_blocks():
    text = said(advice(rate_per_s=1000.0))
    assert "1000 a second (0.45 to 0.56 of what the weakest setting carries)" in text
    assert "keeps" not in text


def test_weak_settings_are_counted_and_with_an_option_named_as_what_they_are():
    assert "1 weak setting was measured: --weak" in said(advice())
    assert "ONE/ONE" not in said(advice())
    assert "weak ONE/ONE 0.89 [0.89, 0.89] ms" in said(advice(), weak=True)
    assert "may return stale reads; reads at ONE, writes at ONE" in said(advice(), weak=True)
    assert [row["setting"] for row in rate_answers.as_dict(advice())["settings"]] == ["2R-2W", "1R-3W"]
    weak = rate_answers.as_dict(advice(), weak=True)["settings"][-1]
    assert (weak["setting"], weak["strong"]) == ("ONE/ONE", False)


@pytest.mark.parametrize(
    ("bound_ms", "what", "nothing"),
    [
        (3.1, "2R-2W 2.54 [1.75, 3.70] ms not known at 95 % to keep 3.1 ms: more blocks would tell",
         "none that survives 1 dead replica for reads and writes both keeps 3.1 ms with its whole interval; 2R-2W may, "
         "more blocks would tell"),
        (2.0, "not known at 95 % to keep 2 ms: more blocks would tell; over it in 3 of 3 cluster starts",
         "none that survives 1 dead replica for reads and writes both is known at 95 % to keep 2 ms; nearest is "
         "2R-2W with 2.54 ms"),
        (1.0, "2R-2W 2.54 [1.75, 3.70] ms breaks 1 ms",
         "none that survives 1 dead replica for reads and writes both keeps 1 ms; nearest is 2R-2W with 2.54 ms"),
    ],
)  # fmt: skip
def test_weaker_claims_are_worded_as_such(bound_ms, what, nothing):
    text = said(advice(rate_per_s=1000.0, bound_ms=bound_ms))
    assert f"nothing is recommended: {nothing}" in text
    assert what in text
    assert "recommended 2R-2W" not in text


def test_without_three_blocks_there_is_no_interval():
    text = said(advice(bound_ms=4.0, scales=(1.0, 1.1)))
    assert "recommended 2R-2W 1.81 ms keeps 4 ms (no interval: 2 cluster starts)" in text
    assert "2 cluster starts: what another would give is not known" in text
    assert "1R-3W 2.53 ms breaks 2 ms (no interval: 1 cluster start)" in said(advice(bound_ms=2.0, scales=(1.0,)))


def test_a_faster_setting_that_survives_less_is_named_with_its_significance():
    carried = {"QUORUM/QUORUM": 2500.0, "ONE/ALL": 2700.0}
    text = said(advice(carried=carried, changes=lambda row: {"response_p99_us": row["response_p99_us"] * (1 +
                       row["block"] / 100) if row["read_cl"] == "ONE" else row["response_p99_us"]}))  # fmt: skip
    assert "fastest 1R-3W" in text
    assert "1R-3W is 10.0 [7.8, 12.2] % faster (significant, p = 0.003), but stops writing with one replica" in text
    assert "none" not in text.split("recommended 2R-2W")[0]
    one = said(advice(carried=carried, scales=(1.0,)))
    assert "one cluster start cannot show whether they differ" in one
    assert "no strong setting that was measured survives 2 dead replicas" in said(advice(survive=2))


def test_a_setting_that_does_not_carry_the_load_says_so():
    changes = not_carried("QUORUM/QUORUM", 1000.0)
    text = said(advice(of_capacity=0.8, bound_ms=9.0, changes=changes))
    assert "2R-2W does not carry it (carried 1000 [1000, 1000] a second)" in text
    assert (
        "nothing is recommended: no strong setting that survives 1 dead replica for reads and writes both carries the"
        in text
    )
    assert "2R-2W does not carry 1300 a second (carried 1000 [1000, 1000] a second)" in said(advice(rate_per_s=1300.0,
                                                                                       changes=changes))  # fmt: skip
    some = said(advice(of_capacity=0.8, changes=lambda row: changes(row) if row["block"] == 1 else {}))
    assert "2R-2W does not carry it in 1 of 3 cluster starts (carried" in some


def test_a_curve_that_ends_by_the_client_or_was_not_measured_says_so():
    text = said(advice(bound_ms=5.0, changes=lambda row: {"marks": "client"} if row["load_share"] == 0.8 else {}))
    assert "at least 1196 a second, 0.60 of what the weakest setting carries; the client carries no more; headroom at "\
           "least 1.50 times the load" in text  # fmt: skip
    assert "its curve ends by the client, which could do no more" in text
    assert "1R-3W not known: it has 440 to 1440 a second in every cluster start" in said(advice(rate_per_s=1900.0))
    few = said(advice(changes=lambda row: {"n_ok": 10, "n_due": 10.0} if row["load_share"] == 0.4 else {}))
    assert "not known: p99 needs 1,000 operations per cell, and there are fewer" in few


def test_marks_of_what_is_shown_are_explained():
    marked = advice(changes=lambda row: {"marks": "drift"} if row["read_cl"] == "QUORUM" else {})
    assert "marked drift (2R-2W): what its setting carries changed by more than 10 %" in said(marked)
    assert list(rate_answers.as_dict(marked)["marks"]) == ["drift"]


def test_json_has_the_same_figures_and_csv_a_row_for_each_setting():
    found = json.loads(rate_answers.point(advice(bound_ms=4.0), "json", weak=True))
    assert {name: found[name] for name in ("run", "workload", "read_share", "of_capacity", "rate_per_s", "by",
            "bound_ms", "survive", "replication", "blocks", "survives", "perhaps", "weak_measured")} == {
        "run": "mine", "workload": "", "read_share": 0.5, "of_capacity": 0.4, "rate_per_s": None, "by": "p99",
        "bound_ms": 4.0, "survive": 1, "replication": 3, "blocks": 3,
        "survives": {"reads": 1, "writes": 1}, "perhaps": None, "weak_measured": 1,
    }  # fmt: skip
    assert found["setting"] == found["fastest"] == found["settings"][0]
    assert found["runner_up"] is None  # 1R-3W survives no dead replica in its writes
    assert json.loads(rate_answers.point(advice(survive=0), "json"))["runner_up"]["setting"] == "1R-3W"
    assert found["rates_by_block"] == [800.0, 880.0, 720.0]
    row = found["settings"][0]
    assert (row["setting"], row["verdict"], row["capacity_verdict"]) == ("2R-2W", "keeps", "found")
    assert row["headroom"] == pytest.approx(0.4 ** (1 / 1.5) * 2500 / 2000 / 0.4, rel=1e-3)
    assert row["own_share"] == 0.32
    assert len(row["response_by_block_us"]) == 3
    head, *rows = rate_answers.point(advice(bound_ms=4.0), "csv").splitlines()
    assert head.startswith("setting,read_cl,write_cl,strong,response_us,response_low_us,response_high_us,verdict")
    assert [row.split(",")[0] for row in rows] == ["2R-2W", "1R-3W"]


def test_json_is_strict_where_nothing_is_known():
    changes = not_carried("QUORUM/QUORUM", 100.0)

    def refuse(name):
        raise ValueError(name)

    text = rate_answers.point(advice(bound_ms=4.0, changes=changes), "json")
    found = json.loads(text, parse_constant=refuse)
    row = next(row for row in found["settings"] if row["setting"] == "2R-2W")
    assert (row["response_us"], row["verdict"], row["lacking"]) == (None, "does not carry", "not carried")


def test_a_map_has_settings_down_and_loads_across():
    loads = OpenLoads(curves(), "mine", 3, "p99")
    points = [loads.advise(Mix(0.5), of_capacity=share, bound_ms=4.0) for share in loads.shares(Mix(0.5))]
    head, quorum, one_all, *rest = rate_answers.load_map(points, "text").splitlines()
    assert head.split() == ["0.2", "0.4", "0.6", "0.8"]
    assert quorum.split()[0] == "2R-2W"
    assert quorum.endswith("5.12 [5.12, 5.12] !")
    assert quorum.count("*") == 3
    assert one_all.split()[0] == "1R-3W"
    text = " ".join(" ".join(rest).split())
    assert "over shares of what the weakest setting carries (across)" in text
    assert "1 weak setting was measured: --weak" in text
    assert "thread" not in text
    rows = rate_answers.load_rows(points, weak=True)
    assert len(rows) == 4 * 3
    assert [row["of_capacity"] for row in rows if row["recommended"]] == [0.2, 0.4, 0.6]
    assert rate_answers.load_map(points, "csv").count("\n") == 4 * 2
    assert not np.isnan(rows[0]["response_us"])
