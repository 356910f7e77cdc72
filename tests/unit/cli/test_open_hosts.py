"""Open arrivals on a cluster that people depend on: absolute rates, rising, and capacity only where it is asked for."""

import socket

import pytest
import yaml

from cassbook.core.errors import InputError
from cassbook.lab.engine import existing_cluster as module
from cassbook.lab.run import measure, open_cells
from cassbook.lab.run.hosts import GUESSED_PER_S, careful, open_load, profile_for, written
from cassbook.lab.run.plan import plan
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import load_profile
from tests.helpers.command import cassbook
from tests.helpers.found_cluster import Fake

BASE = {
    "name": "mine", "title": "Mine", "seed": 3, "table": {"record_count": 10}, "load": {"steady_s": 1.0},
    "warm_up": {"cap_s": 5},
}  # fmt: skip
SHARES = {"load_shares": [0.8, 0.4], "read_shares": [0.5], "repeats": 1, "measured_s": 10}
RATES = {"rates_per_s": [2000, 500], "read_shares": [0.5], "repeats": 1, "measured_s": 10}


@pytest.fixture
def load(tmp_path):
    """Loads a profile with this section `open`; None for none."""

    def made(section, **parts):
        path = tmp_path / "mine.yaml"
        content = BASE | ({"open": section} if section else {"pure": {"threads": [10]}}) | parts
        path.write_text(yaml.safe_dump(content))
        return load_profile(str(path))

    return made


@pytest.fixture
def run(tmp_path, monkeypatch, load):
    """Calls `run --hosts` on a cluster that was found; gives the result, and the profile that would be measured."""
    measured = []
    monkeypatch.setattr(module, "ExistingCluster", lambda *a: Fake(a[0], a[1], a[2], a[3]))
    monkeypatch.setattr("cassbook.cli.run._show", lambda folders, form: None, raising=False)

    def noted(profile, folder, resume=False, **_):
        store = (RunStore.resume if resume else RunStore.create)(folder, profile)
        store.notes["existing_cluster"] = Fake().description()
        store.save_notes()
        store.close()
        measured.append(profile)

    monkeypatch.setattr(measure, "measure", noted)

    def call(section, *options, hosts=True, **parts):
        load(section, **parts)
        measured.clear()
        where = ["--hosts", "10.1.2.3"] if hosts else []
        result = cassbook("run", "--profile", tmp_path / "mine.yaml", "--out", tmp_path / "run", *where, *options)
        return result, measured

    return call


def test_rates_are_measured_rising_and_no_capacity_is_looked_for(load):
    (part,) = profile_for(load(RATES), Fake(), print).open
    assert (part.rising, part.find_capacity, part.rates_per_s) == (True, False, [2000, 500])
    rates = [cell.rate_per_s for cell in plan(profile_for(load(RATES), Fake(), print))[0]]
    assert rates == sorted(rates)
    assert max(rates) == 2000


def test_shares_need_the_option(load):
    with pytest.raises(InputError, match=r"open.load_shares \(0.8, 0.4\) .* give rates_per_s .*--find-capacity"):
        profile_for(load(SHARES), Fake(), print)
    (part,) = profile_for(load(SHARES), Fake(), print, find_capacity=True).open
    assert (part.rising, part.find_capacity, part.load_shares) == (True, True, [0.8, 0.4])


def test_the_option_needs_the_section_and_a_cluster(load, run):
    with pytest.raises(InputError, match="--find-capacity: the profile has no section `open`"):
        careful(load(None), find_capacity=True)
    assert careful(load(None), find_capacity=False) == load(None)
    result, measured = run(RATES, "--find-capacity", hosts=False)
    assert (result.exit_code, measured) == (2, [])
    assert "--find-capacity: needs --hosts, which is not given" in result.output


def test_a_person_reads_what_is_asked_of_the_cluster(load, run):
    result, (profile,) = run(RATES | {"bound_ms": 20}, "--yes")
    assert result.exit_code == 0, result.output
    said = (
        "open arrivals: at 500 to 2000 requests a second, in rising order, never above; a mix ends at 1% failed "
        "requests, or at a p99 above 200 ms"
    )
    assert said in result.output
    assert "--find-capacity" not in result.output
    assert profile.open[0].rising
    assert open_load(load(None)) == []
    assert open_load(careful(load(RATES | {"rates_per_s": [700]}), find_capacity=True)) == [
        "open arrivals: at 700 requests a second, in rising order; a mix ends at 1% failed requests",
        "warm-ups: closed loops of at most 5 s in each block, and of at most 25 s before each mix",
        "--find-capacity: each setting is loaded until it carries no more, before the rates and after",
    ]


def test_shares_are_refused_before_anything_is_written_or_measured_as_asked(run, tmp_path):
    for more in ((), ("--dry-run",)):
        result, measured = run(SHARES, "--yes", *more)
        assert (result.exit_code, measured) == (2, [])
        assert "open.load_shares (0.8, 0.4)" in result.output
        assert not (tmp_path / "run").exists()
    result, (profile,) = run(SHARES, "--yes", "--find-capacity")
    assert result.exit_code == 0, result.output
    assert profile.open[0].find_capacity
    assert "open arrivals: at 0.4, 0.8 of what it carries, in rising order; a mix" in result.output
    assert "--find-capacity: each setting is loaded until it carries no more" in result.output


def test_a_resumed_run_keeps_what_was_asked(run):
    first, _ = run(SHARES, "--yes", "--find-capacity")
    assert first.exit_code == 0, first.output
    again, measured = run(SHARES, "--yes", "--resume")
    assert again.exit_code == 0, again.output
    assert measured[0].open[0].find_capacity


def test_a_resumed_run_without_it_does_not_gain_it(run):
    first, _ = run(RATES, "--yes")
    assert first.exit_code == 0, first.output
    again, measured = run(RATES, "--yes", "--resume")
    assert again.exit_code == 0, again.output
    assert not measured[0].open[0].find_capacity
    other, measured = run(RATES, "--yes", "--resume", "--find-capacity")
    assert (other.exit_code, measured) == (2, [])
    assert "was begun with another profile (different: open)" in str(other.output) + str(other.exception)


def test_a_cluster_that_does_not_answer(tmp_path, load):
    load(SHARES)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = ["--hosts", f"127.0.0.1:{free.getsockname()[1]}", "--dry-run"]
        refused = cassbook("run", "--profile", tmp_path / "mine.yaml", *where)
        counted = cassbook("run", "--profile", tmp_path / "mine.yaml", *where, "--find-capacity")
    assert refused.exit_code == 2
    assert "open.load_shares (0.8, 0.4)" in refused.output
    assert counted.exit_code == 1
    assert "12 cells in 1 block" in counted.output


def test_what_is_written_covers_open_cells_and_the_search(load):
    def updates_mb(section, find_capacity=False):
        profile = careful(load(section), find_capacity)
        return written(profile, plan(profile)[0]).updates_mb

    slow, fast = (updates_mb(RATES | {"rates_per_s": [rate]}) for rate in (500, 1000))
    profile = careful(load(RATES), find_capacity=False)
    cells = plan(profile)[0]
    one_byte = 3 * 0.5 * (64 + 100 + 40) / 1e6  # of half the requests, on three replicas, in MB
    seconds = 2 * 2 + 10 + 2 + open_cells.TRIAL_S  # two segments with their lead-ins, and a trial
    warm_up_s = 5  # at the lowest of the rates
    assert fast - slow == pytest.approx(500 * (3 * seconds + warm_up_s) * one_byte)
    assert written(profile, cells).updates_mb > written(profile, cells[:3]).updates_mb > 0
    asked, found = updates_mb(RATES), updates_mb(RATES, find_capacity=True)
    settings, trials_s = 3, 4 * open_cells.TRIAL_S  # some trials of each setting, as fast as the cluster answers
    assert found - asked > settings * (trials_s * GUESSED_PER_S - 2 * 2000 * open_cells.TRIAL_S) * one_byte > 0
    reads = careful(load(RATES | {"read_shares": [1.0]}), find_capacity=True)
    assert written(reads, plan(reads)[0]).updates_mb == written(reads, plan(reads)[0][:1]).updates_mb  # warm-up alone
