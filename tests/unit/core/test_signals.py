"""A signal ends a command wherever it lands, and a second one does not break off the clean-up."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from cassbook.core import signals
from cassbook.core.signals import Interrupted, Terminated, heeded, held_back
from cassbook.lab.engine.signals import Cleared
from tests.helpers.data import ROOT


def send(number=signal.SIGINT):
    os.kill(os.getpid(), number)


def wait_for_it():
    """Stand still for as long as a signal may take; the test has failed if nothing comes."""
    time.sleep(5)
    pytest.fail("no signal came")


def heeding(what):
    """Do something that a signal arrives in, and then stand still."""
    with heeded():
        what()
        wait_for_it()


@pytest.fixture(autouse=True)
def as_it_was():
    before = {number: signal.getsignal(number) for number in signals.HEEDED}
    yield
    assert {number: signal.getsignal(number) for number in before} == before
    assert not signals.noted()


def test_fifty_signals_at_drawn_moments_each_end_a_run_in_time():
    own = [sys.executable, "-m", "tests.helpers.fifty_signals", "50", "27"]
    done = subprocess.run(own, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert len(seen["ends"]) == 50
    for end in seen["ends"]:
        assert end["code"] == 128 + end["number"]
        assert end["s"] < 2
        assert end["steps"] == 10
    assert {end["number"] for end in seen["ends"]} == set(signals.HEEDED)
    assert seen["dropped"] > 10  # most moments were those at which an exception is lost
    assert "Exception ignored" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("number", "raised"),
    [(signal.SIGINT, Interrupted), (signal.SIGTERM, Terminated), (signal.SIGHUP, Terminated)],
)
def test_each_raises_its_own(number, raised):
    with pytest.raises(raised) as caught:
        heeding(lambda: send(number))
    assert getattr(caught.value, "code", 130) == 128 + number


def test_one_that_is_lost_comes_again():
    class Swallows:
        def __del__(self):
            send()
            time.sleep(0.01)

    with pytest.raises(Interrupted):
        heeding(Swallows)


def test_one_that_somebody_swallows_comes_again():
    def swallow():
        with suppress(BaseException):  # as some libraries do
            send()
            wait_for_it()

    with pytest.raises(Interrupted):
        heeding(swallow)


def test_one_that_is_lost_at_the_last_moment_is_raised_at_the_end(monkeypatch):
    monkeypatch.setattr(signals, "AGAIN_S", (60.0, 60.0))

    def lose():
        with heeded(), suppress(Interrupted):
            send()
            wait_for_it()

    with pytest.raises(Interrupted):
        lose()


def test_clean_up_is_left_alone_also_in_a_generator_and_behind_another_exception():
    done = []

    class Cluster(Cleared):
        def begin(self):
            pass

        def end(self, error):
            for number in (signal.SIGINT, signal.SIGTERM):
                send(number)
                try:
                    raise ValueError(number)
                except ValueError:
                    time.sleep(0.01)
                done.append(number)
            time.sleep(2 * signals.AGAIN_S[1])
            done.append("end")

    def use():
        with Cluster():
            try:
                send()
                wait_for_it()
            finally:
                time.sleep(2 * signals.AGAIN_S[1])
                done.append("finally")

    with pytest.raises(Interrupted):
        heeding(use)
    assert done == ["finally", signal.SIGINT, signal.SIGTERM, "end"]


def test_the_first_during_an_ordinary_clean_up_waits_for_its_end():
    done = []

    def clean_up():
        with held_back():
            send()
            time.sleep(2 * signals.AGAIN_S[1])
            done.append("cleaned up")

    with pytest.raises(Interrupted):
        heeding(clean_up)
    assert done == ["cleaned up"]


def test_a_timer_of_somebodys_is_given_back():
    came = []
    former = signal.signal(signal.SIGALRM, lambda *_: came.append(True))
    others = signal.setitimer(signal.ITIMER_REAL, 600)
    try:
        with pytest.raises(Interrupted):
            heeding(send)
        assert signal.getitimer(signal.ITIMER_REAL)[0] == pytest.approx(600, abs=30)
        send(signal.SIGALRM)
        time.sleep(0.01)
        assert came
    finally:
        signal.setitimer(signal.ITIMER_REAL, *others)
        signal.signal(signal.SIGALRM, former)


def test_what_is_ignored_stays_so():
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heeded():
            send(signal.SIGHUP)
            time.sleep(0.01)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, former)
