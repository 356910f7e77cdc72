"""A signal ends the benchmarks with the exit code of a shell."""

import signal

import pytest
from click.testing import CliRunner

from cassbook.bench import __main__ as benchmarks
from cassbook.core import signals


@pytest.fixture(autouse=True)
def as_it_was():
    before = {number: signal.getsignal(number) for number in signals.HEEDED}
    for number in before:
        signal.signal(number, signal.default_int_handler)  # one that is ignored is not heeded
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", signals.HEEDED)
def test_benchmarks_end_with_the_exit_code_of_a_shell(number, monkeypatch):
    begun = []
    monkeypatch.setitem(benchmarks._COMPARISONS, "library", lambda: signal.raise_signal(number))
    monkeypatch.setitem(benchmarks._COMPARISONS, "logs", lambda: begun.append("logs"))
    done = CliRunner().invoke(benchmarks.main, ["library", "logs"])
    assert (done.exit_code, done.stdout) == (128 + number, "--- library\n")
    assert done.stderr.startswith("cassbook.bench: interrupted; ")
    assert done.stderr.count("\n") == 1
    assert not begun
