import pytest

from cassbook.lab.run import warmup
from cassbook.lab.run.warmup import WarmUp, settled
from cassbook.profile.profile import WarmUpSection


@pytest.mark.parametrize(
    ("throughput", "expected"),
    [
        ([100, 200, 300, 400], False),  # too short to compare two times three windows
        ([100, 200, 300, 400, 500, 600], False),  # still rising
        ([500, 500, 500, 510, 505, 500], True),
        ([600, 600, 600, 400, 400, 400], True),  # falling is not warming up
        ([100, 100, 100, 106, 106, 106], False),
        ([100, 100, 100, 104, 104, 104], True),
    ],
)
def test_settled_means_no_longer_rising(throughput, expected):
    assert settled(throughput, windows=3, tolerance=0.05) is expected


def drive(monkeypatch, rule, rates):
    """Run a WarmUp against a clock that jumps a window a call; number of windows and its reason."""
    now = [0.0]
    monkeypatch.setattr(warmup.time, "perf_counter", lambda: now[0])
    warm, done = WarmUp(rule), 0
    now[0] += 100.0  # preparing takes a while; the clock begins with the first question
    assert warm(0) is False
    for rate in rates:
        now[0] += 1.0
        done += rate
        if warm(done):
            break
    return warm


def test_ends_when_throughput_settles(monkeypatch):
    warm = drive(monkeypatch, WarmUpSection(windows=2, cap_s=100), [100, 300, 500, 700, 700, 700, 700, 700])
    assert warm.reason == "settled"
    assert warm.throughput == [100, 300, 500, 700, 700, 700, 700]


def test_ends_at_the_cap_if_it_never_settles(monkeypatch):
    warm = drive(monkeypatch, WarmUpSection(windows=2, cap_s=5), [100 * 2**i for i in range(20)])
    assert warm.reason == "cap"
    assert len(warm.throughput) == 5
