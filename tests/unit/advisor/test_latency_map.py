"""A map interpolates what was measured, and says nothing of what was not."""

import itertools
import json
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

from cassbook.advisor.advice import times_as_slow
from cassbook.advisor.latency_map import LatencyMap
from cassbook.cli.answers import advise
from cassbook.core.consistency import STRONG_SETTINGS, WIDER_SETTINGS, strong_settings
from cassbook.core.errors import InputError
from cassbook.core.paths import project_root
from cassbook.latency.mixing import mixed
from tests.helpers import made_runs
from tests.helpers.command import cassbook


@pytest.fixture
def known():
    return LatencyMap(made_runs.run(noise=0.0), "known")


def slower_percent(advice):
    """By how many percent the runner-up is slower than the best."""
    return 100 * (times_as_slow(advice.fastest, advice.runner_up).value - 1)


def test_measured_points_are_what_was_measured(known):
    at = known.latencies_us([500], [0.9])[:, :, 0, 0]
    for k, setting in enumerate(known.settings):
        demand = mixed(made_runs.READ_US[setting.read_cl], made_runs.WRITE_US[setting.write_cl], 0.9)
        assert at[k] == pytest.approx(500 * demand)


def test_between_points_it_interpolates_over_threads_and_share(known):
    advice = known.advise(400, 0.7)
    demand = mixed(made_runs.READ_US["ONE"], made_runs.WRITE_US["ALL"], 0.7)
    assert advice.fastest.setting.name == "1R-3W"
    assert advice.fastest.latency_us.value == pytest.approx(400 * demand)
    assert advice.mixed


def test_a_map_of_means_may_be_sent_to_another_process():
    known = LatencyMap.of_run("quick-2.1.20")
    sent = ForkingPickler.loads(ForkingPickler.dumps(known))
    best, as_sent = known.advise(100, 0.9).fastest, sent.advise(100, 0.9).fastest
    assert (as_sent.setting, as_sent.latency_us.value) == (best.setting, best.latency_us.value)
    assert sent.judged_by("p50").by == "p50"


def test_pure_workloads_alone_give_the_papers_equations():
    cells = made_runs.run(noise=0.0, excess={"1R-3W": 0.5})
    pure = cells[cells["kind"] == "pure"]
    advice = LatencyMap(pure, "pure").advise(250, 0.5)
    one = next(choice for choice in advice.choices if choice.setting.name == "1R-3W")
    assert one.latency_us.value == pytest.approx(250 * mixed(100.0, 160.0, 0.5))
    assert not advice.mixed
    assert len(advice.choices) == 3


def test_mixes_count_for_more_than_their_parts():
    cells = made_runs.run(noise=0.0, excess={"1R-3W": 0.5})
    one = LatencyMap(cells, "x").latencies_us([500], [0.5, 0.7])[0, 0, :, 0]
    assert one[0] == pytest.approx(1.5 * 500 * mixed(100.0, 160.0, 0.5))
    assert one[1] == pytest.approx(1.5 * 500 * mixed(100.0, 160.0, 0.7))


@pytest.mark.parametrize(
    ("threads", "share", "wrong"),
    [
        (5, 0.5, r"threads: 5 is outside what known measured, 10 to 1000"),
        (2000, 0.5, r"threads: 2000 is outside"),
        (100, 1.5, "reads: 1.5 is not between 0 and 1"),
        (100, -0.1, "reads: -0.1 is not between"),
        (float("nan"), 0.5, "threads: nan is outside"),
    ],
)
def test_outside_there_is_no_answer(known, threads, share, wrong):
    with pytest.raises(InputError, match=wrong):
        known.advise(threads, share)


def test_without_pure_cells_the_shares_end_where_mixes_do():
    cells = made_runs.run()
    latency_map = LatencyMap(cells[cells["kind"] == "mixed"], "mixes")
    with pytest.raises(InputError, match=r"reads: 0\.95 .*0\.1 to 0\.9"):
        latency_map.advise(100, 0.95)


def test_a_hole_between_measured_points_is_said():
    cells = made_runs.run()
    ragged = cells[(cells["threads"] <= 100) | (cells["read_share"] == 1.0)]
    with pytest.raises(InputError, match="500 threads and 50% reads"):
        LatencyMap(ragged, "ragged").advise(500, 0.5)


def test_intervals_and_the_runner_up_rest_on_blocks():
    advice = LatencyMap(made_runs.run(blocks=4, noise=0.02), "x").advise(300, 0.9)
    estimate = advice.fastest.latency_us
    assert estimate.n == 4
    assert estimate.low < estimate.value < estimate.high
    assert advice.runner_up.setting.name == "2R-2W"
    assert advice.distinguishable is True
    assert slower_percent(advice) == pytest.approx(64, abs=8)


def test_one_block_tells_nothing_of_the_order():
    advice = LatencyMap(made_runs.run(blocks=1), "x").advise(300, 0.9)
    assert np.isnan(advice.fastest.latency_us.low)
    assert advice.distinguishable is None


def test_how_much_faster_a_setting_is_has_an_interval_over_blocks():
    noisy = LatencyMap(made_runs.run(noise=0.05), "noisy")
    answer = json.loads(advise.point(noisy.advise(300, 0.9), "json"))
    assert 20 < answer["margin_low_percent"] < answer["margin_percent"] < answer["margin_high_percent"] < 150
    alone = LatencyMap(made_runs.run(blocks=1), "alone")
    assert " % faster (one cluster start" in advise.point(alone.advise(300, 0.9), "text")


def test_wider_settings_are_advised_where_they_were_measured():
    both = (*STRONG_SETTINGS, *WIDER_SETTINGS)
    assert LatencyMap(made_runs.run(settings=both), "x").settings == both
    assert LatencyMap(made_runs.run(), "x").settings == STRONG_SETTINGS


def test_a_run_without_a_strong_setting_is_refused():
    cells = made_runs.run()
    with pytest.raises(InputError, match="no strong setting has both"):
        LatencyMap(cells[(cells["read_share"] == 1.0)], "reads")


def test_the_domain_leaves_out_what_was_not_measured(known):
    grid = known.domain([10, 400, 1000, 5000], [0.0, 0.5, 1.0])
    assert sorted(grid["threads"].unique()) == [10, 400, 1000]
    assert grid.set_index(["read_share", "threads"]).loc[(0.0, 400), "best"] == "3R-1W"
    assert grid.set_index(["read_share", "threads"]).loc[(1.0, 400), "best"] == "1R-3W"


def test_a_point_in_words_and_as_json(known):
    text = advise.point(known.advise(300, 0.9), "text")
    assert "recommended  2R-2W  52.2" in text
    assert "reads at QUORUM, writes at QUORUM; reads and writes survive 1 dead replica" in text
    assert "fastest      1R-3W  31.80" in text
    assert "1R-3W is 39.1 [39.1, 39.1] % faster (significant, p < 0.001)" in text
    assert "replica down: --survive 0" in text
    answer = json.loads(advise.point(known.advise(300, 0.9), "json"))
    assert answer["setting"]["setting"] == "2R-2W"
    assert answer["survives"] == {"reads": 1, "writes": 1}
    assert answer["fastest"]["setting"] == "1R-3W"
    assert (answer["fastest"]["survives_reads"], answer["fastest"]["survives_writes"]) == (2, 0)
    assert answer["runner_up"]["setting"] == "2R-2W"
    assert answer["margin_low_percent"] == pytest.approx(answer["margin_high_percent"])
    assert answer["fastest"]["latency_us"] == pytest.approx(31800)


def test_by_speed_alone_the_fastest_is_recommended(known):
    text = advise.point(known.advise(300, 0.9, survive=0), "text")
    assert "recommended  1R-3W  31.80" in text
    assert "runner-up    2R-2W" in text
    assert "--survive" not in text


def test_settings_that_differ_in_what_they_survive_are_never_alike():
    alike = LatencyMap(made_runs.run(blocks=4, noise=0.3), "noisy")
    text = advise.point(alike.advise(300, 0.4, survive=0), "text")
    assert "not significant" in text
    assert "either will do" not in text
    assert "choose by what they survive" in text


def test_what_nothing_survives_is_an_answer(known):
    text = advise.point(known.advise(300, 0.9, survive=2), "text")
    assert "survives 2 dead replicas" in text
    assert "nearest is 2R-2W: --survive 1" in text
    found = json.loads(advise.point(known.advise(300, 0.9, survive=2), "json"))
    assert (found["setting"], found["survives"], found["nearest"]["setting"]) == (None, None, "2R-2W")
    assert "none of the measured settings survives 2 dead replicas" in advise.domain(known.advise_all(2), "text")
    table = advise.points(known.advise_all(2))
    assert {row["recommended"] for row in table} == {None}


def test_a_map_is_of_its_own_number_of_replicas():
    """Of four replicas, 2R-3W and 3R-2W survive one; of five, no level waits for four."""
    cells = made_runs.run(noise=0.0, settings=strong_settings(4), levels=made_runs.READ_US)
    four = LatencyMap(cells, "four", 4)
    assert [s.name for s in four.settings] == ["1R-4W", "2R-3W", "3R-2W", "4R-1W"]
    assert [s.name for s in four.surviving(1)] == ["2R-3W", "3R-2W"]
    assert four.advise(300, 0.9).recommended.setting.name == "2R-3W"
    assert four.advise(300, 0.1).recommended.setting.name == "3R-2W"
    text = advise.point(four.advise(300, 0.5), "text")
    assert "replication 4" in text
    assert "runner-up" in text
    assert "would be strong too" not in text
    five = LatencyMap(made_runs.run(noise=0.0, settings=strong_settings(5)), "five", 5)
    assert [s.name for s in five.settings] == ["1R-5W", "3R-3W", "5R-1W"]
    answer = advise.point(five.advise(300, 0.5, survive=2), "text")
    assert "recommended  3R-3W" in answer
    assert "2R-4W, 4R-2W would be strong too" in answer
    assert json.loads(advise.point(five.advise(300, 0.5), "json"))["without_levels"] == ["2R-4W", "4R-2W"]


def test_the_map_in_words_has_a_row_a_share(known):
    surviving, fastest = (part.splitlines() for part in advise.domain(known.advise_all(), "text").split("\n\n"))
    assert fastest[0].split()[1:] == [str(t) for t in made_runs.THREADS]
    assert fastest[2].startswith("0%")
    assert "3R-1W" in fastest[2]
    assert "1R-3W" in fastest[12]
    assert surviving[0] == "2R-2W at every point: 10 to 1000 threads, 0% to 100% reads"
    assert "fastest strong setting that survives 1 dead replica" in surviving[1]
    assert "\n\n" not in advise.domain(known.advise_all(0), "text")


def test_the_command_line_advises_from_a_recorded_run():
    done = cassbook("advise", "--run", "standard-2.1.20", "--threads", "300", "--reads", "0.9")
    assert done.exit_code == 0, done.output
    assert "recommended  2R-2W" in done.output
    assert "fastest      1R-3W" in done.output
    done = cassbook("advise", "--run", "standard-2.1.20", "--map", "--format", "csv")
    assert done.exit_code == 0
    assert len(done.output.splitlines()) == 1 + 12 * 11


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["--threads", "5000", "--reads", "0.5"], "outside what standard-2.1.20 measured, 10 to 1000"),
        (["--threads", "100"], "give both --threads and --reads, or --map alone"),
        (["--map", "--threads", "100", "--reads", "0.5"], "or --map alone"),
        ([], "or --map alone"),
        (["--threads", "100", "--reads", "0.5", "--replication", "5"], "was measured with replication 3, not 5"),
        (
            ["--map", "--replication", "5"],
            "`cassbook stale --run stale-five-2.1.20 --r 1 --w 3 --t 100`",
        ),
        (["--map", "--replication", "5"], '`cassbook deploy "{[C], ([R1..R5])}" --replication 5` says what each level'),
        (["--map", "--replication", "2"], "`cassbook predict --run calibration-5.0.9 --replication 2` predicts"),
        (["--map", "--replication", "4"], "With 4: `cassbook deploy"),
    ],
)
def test_the_command_line_says_what_is_wrong(options, wrong):
    done = cassbook("advise", "--run", "standard-2.1.20", *options)
    assert done.exit_code == 2
    assert wrong in done.output


def test_the_domain_says_at_each_point_what_advice_does():
    latency_map = LatencyMap(made_runs.run(blocks=4, noise=0.1), "noisy")
    for row in latency_map.domain([10, 55, 700], [0.1, 0.35, 0.9]).itertuples():
        advice = latency_map.advise(row.threads, row.read_share)
        assert (row.best, row.runner_up) == (advice.fastest.setting.name, advice.runner_up.setting.name)
        assert row.latency_us == pytest.approx(advice.fastest.latency_us.value)
        assert (row.margin_percent, row.p_value) == pytest.approx((slower_percent(advice), advice.p_value))
        assert row.distinguishable is advice.distinguishable


def test_the_readmes_example_is_what_the_command_says():
    lines = (project_root() / "README.md").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("    $ cassbook advise"))
    shown = itertools.takewhile(lambda line: line.startswith("    "), lines[start + 1 :])
    done = cassbook(*lines[start].split()[2:])
    assert done.output.splitlines() == [line.removeprefix("    ") for line in shown]


def test_a_single_replica_is_read_and_written_at_one():
    """With one replica all levels are the same, so cells at another level are taken where none at ONE were measured."""
    cells = made_runs.run(threads=(10,), shares=(0.5,))
    pure = cells[cells["kind"] == "pure"]
    for level in ("ONE", "ALL"):
        alone = pure[(pure["read_cl"] == level) & (pure["write_cl"] == level)]
        (setting,) = LatencyMap(alone, "one", replicas=1).settings
        assert (setting.read_cl, setting.write_cl) == ("ONE", "ONE")
        assert "reads at ONE, writes at ONE" in advise.point(LatencyMap(alone, "one", 1).advise(10, 0.5), "text")
