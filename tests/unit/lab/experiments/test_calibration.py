"""CPU time of compiling threads, read from a process folder, and when a warm-up ends."""

import pytest

from cassbook.lab.experiments import calibration
from cassbook.lab.experiments.calibration import Compilers, warm_up


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """Two processes as the kernel shows them: a compiling thread each, and another."""
    monkeypatch.setattr(calibration, "_PROCESSES", tmp_path)
    for pid in (10, 20):
        for thread, name in ((pid, "java"), (pid + 1, "C2 CompilerThre")):
            folder = tmp_path / str(pid) / "task" / str(thread)
            folder.mkdir(parents=True)
            (folder / "comm").write_text(f"{name}\n")
            fields = ["S", *["0"] * 10, "300", "100", *["0"] * 20]
            (folder / "stat").write_text(f"{thread} ({name}) {' '.join(fields)}\n")
    return tmp_path


def test_only_threads_that_compile_are_counted(processes, monkeypatch):
    monkeypatch.setattr(calibration, "_TICKS_PER_S", 100)
    assert Compilers([10, 20]).cpu_s() == pytest.approx(8.0)
    assert Compilers([10, 30]).cpu_s() == pytest.approx(4.0)


def test_what_a_thread_that_has_ended_took_stays_counted(processes, monkeypatch):
    monkeypatch.setattr(calibration, "_TICKS_PER_S", 100)
    watched = Compilers([10, 20])
    watched.cpu_s()
    (processes / "20" / "task" / "21" / "stat").unlink()
    assert watched.cpu_s() == pytest.approx(8.0)
    assert Compilers([10, 20]).cpu_s() == pytest.approx(4.0)


class Busy(Compilers):
    """Compilers that take so much CPU in each burst, and nothing in the pause."""

    def __init__(self, per_burst_s):
        super().__init__([])
        self.left, self.taken = list(per_burst_s), 0.0

    def burst(self):
        self.taken += self.left.pop(0)

    def cpu_s(self):
        return self.taken


def test_a_warm_up_ends_when_compilers_have_had_little_to_do_some_times(monkeypatch):
    monkeypatch.setattr(calibration, "_LOOK_S", 0.001)
    busy = Busy([1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    taken = warm_up(busy, busy.burst, 60.0)
    assert [part > 0 for part in taken] == [True, False, True, False, False, False]


def test_a_warm_up_ends_after_its_time_in_any_case(monkeypatch):
    monkeypatch.setattr(calibration, "_LOOK_S", 0.001)
    busy = Busy([1.0] * 100_000)
    assert 1 <= len(warm_up(busy, busy.burst, 0.02)) < 100
