"""Each command that README.md shows is executed by some test, and those on recorded data here."""

import gzip
from pathlib import Path

import pytest

from cassbook.records.run import RecordedRun
from tests.helpers import readme
from tests.helpers.command import cassbook
from tests.helpers.folder_of_logs import raw_text


def test_no_command_is_left_to_nobody():
    """A command that is new in README.md is executed, or has a reason that can be read."""
    every = readme.commands()
    assert len(every) > 12
    skipped = [command for command in every if command.startswith(tuple(readme.NOT_EXECUTED))]
    assert len(skipped) == len(readme.NOT_EXECUTED)
    assert sorted([*readme.on_a_run(), *readme.on_recorded(), *skipped]) == sorted(every)
    assert len(readme.on_a_run()) > 4
    for command in readme.on_a_run():
        words = readme.given(command, "a/run")
        assert any(word == "a/run" or word.endswith("=a/run") for word in words), "the run that was made is put in"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A folder with the raw logs of two YCSB clients that ran together, packed, under the names that the page uses."""
    folder, run = tmp_path_factory.mktemp("logs"), RecordedRun("quick-2.1.20")
    pure = run.cells[(run.cells["kind"] == "pure") & (run.cells["threads"] == 10)]
    columns = ["started_s", "operation", "latency_us", "outcome"]
    samples = run.samples(columns, pure["cell_id"].head(1).tolist())
    for client in (0, 1):
        with gzip.open(folder / f"raw-{client}.txt.gz", "wt") as file:
            file.write(raw_text(samples.iloc[client::2]))
    return folder


@pytest.mark.parametrize("command", readme.on_recorded())
def test_what_the_page_shows_on_recorded_data_works(command, logs, monkeypatch):
    monkeypatch.chdir(logs)
    program, *words = command.split()
    assert program == "cassbook"
    expanded = [name for word in words for name in (sorted(map(str, Path().glob(word))) if "*" in word else [word])]
    done = cassbook(*expanded, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert done.output.strip()
