"""Message sequences: the typical requests are chosen, and what a read sees follows from when replicas had the write."""

import numpy as np
import pytest

from cassbook.book.chapters import sequences
from cassbook.staleness.from_traces import Traced
from cassbook.staleness.message_delays import MessageDelays

FAR = np.inf


def delays(coordinators, there, back, latency_more=2.0):
    there, back = np.array(there, float), np.array(back, float)
    duration = np.where(np.isfinite(back), back, 0).max(axis=1) + 0.5
    return MessageDelays(
        np.array(coordinators), there, back, np.zeros_like(there), duration, duration + latency_more
    )  # fmt: skip


class Run:
    """Three nodes, 10 ms from each other one way; node 0 writes, node 1 reads."""

    def traced(self, setup, threads, r, w):
        assert (setup, threads, w) == ("far", 0, 1)
        factors = np.array([[0.9], [1.0], [5.0]])  # the median is the second
        writes = delays([0, 0, 0], factors * [1.0, 11.0, 12.0], factors * [1.1, 21.0, 23.0])
        asked = [[FAR, 1.0, FAR], [FAR, 1.0, FAR]] if r == 1 else [[11.0, 1.0, FAR], [11.0, 1.0, FAR]]
        answered = [[FAR, 1.2, FAR], [FAR, 1.2, FAR]] if r == 1 else [[21.0, 1.2, FAR], [21.0, 1.2, FAR]]
        return Traced(writes, delays([1, 1], asked, answered), r, 1)


@pytest.fixture
def weak():
    return sequences.typical(Run(), "far", 1, 1, 0, 1)


@pytest.fixture
def strong():
    return sequences.typical(Run(), "far", 2, 2, 0, 1)


def test_a_read_of_one_replica_looks_before_the_write_is_there(weak):
    assert weak.committed_ms == pytest.approx(1.1)
    assert weak.known_ms == pytest.approx(2.1)  # half of what the client waited beyond the coordinator
    assert weak.asked_ms == pytest.approx(3.1)
    assert weak.used == (1,)
    assert not weak.sees


def test_a_read_of_two_replicas_has_one_in_common_with_the_write(strong):
    assert strong.committed_ms == pytest.approx(21.0)
    assert set(strong.used) == {0, 1}
    assert strong.sees


def test_prose_quotes_when_the_client_knew_and_what_nobody_waited_for(weak, strong):
    quoted = sequences.values(weak, strong)
    assert quoted["weak_known_ms"] == pytest.approx(2.1)
    assert quoted["strong_known_ms"] > 21.0
    assert quoted["late_ms"] == pytest.approx(2.0)


def test_the_pair_that_misses_most_is_chosen():
    assert sequences.stalest_pair(Run().traced("far", 0, 1, 1)) == (0, 1)


def test_titles_say_what_the_read_sees(weak, strong):
    figure = sequences.side_by_side({"1R-1W": weak, "2R-2W": strong}, ["a", "b", "c"])
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["1R-1W: the read misses the write", "2R-2W: the read sees the write"]
