"""A signal ends a command wherever it lands, and a second one does not break off the clean-up."""

import dis
import itertools
import json
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from cassbook.core import signals
from cassbook.core.signals import Cleared, Interrupted, Terminated, heeded, held_back, let_through
from tests.helpers.data import ROOT


def send(number=signal.SIGINT):
    signal.raise_signal(number)  # to this thread: one to the process may reach another first, and be noticed later


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
    """Also where the tests themselves are to ignore SIGINT, as a job in the background is."""
    own = {number: signal.SIG_DFL for number in signals.HEEDED} | {signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in own.items()}
    yield
    left = {number: signal.signal(number, handler) for number, handler in before.items()}
    assert left == own
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
    assert seen["dropped"] >= 25  # every second one was sent at a moment at which an exception is lost
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


class Made(Cleared):
    """Something that is made in two steps, of which a signal may break off the first."""

    there = 0

    def begin(self):
        with let_through():
            self.there = 0
        self.there = 1

    def end(self, error):
        assert self.there
        self.there = 0


def looks_for_signals(code):
    """Return the offsets of the instructions before which Python does: the first, and those after a call."""
    listed = list(dis.get_instructions(code))
    return {then.offset for now, then in itertools.pairwise(listed) if now.opname.startswith(("RESUME", "CALL"))}


def test_what_is_made_is_cleared_away_wherever_a_signal_arrives():
    """One at each place in turn, of making it and of entering the block."""
    ours = (Made.begin, Cleared.__enter__, heeded.__wrapped__, held_back.__wrapped__, let_through.__wrapped__)
    places = {function.__code__: looks_for_signals(function.__code__) for function in ours}

    def enter(moment):
        left, thing, made = itertools.count(), Made(), 0

        def trace(frame, event, _):
            frame.f_trace_opcodes = True
            if event == "opcode" and frame.f_lasti in places.get(frame.f_code, ()) and next(left) == moment:
                send()
            return trace

        try:
            with heeded():
                sys.settrace(trace)
                with thing:
                    sys.settrace(None)
                    made = thing.there
        except Interrupted:
            assert not thing.there, moment
            return 0
        finally:
            sys.settrace(None)
        return made

    ends = [enter(moment) for moment in range(40)]
    assert 10 < ends.index(1) < 40  # from then on nothing is left to interrupt
    assert set(ends[ends.index(1) :]) == {1}


def test_a_signal_while_python_finishes_leaves_the_exit_code():
    program = """
import atexit, os, signal, sys, time
from cassbook.core.signals import Terminated, heeded
atexit.register(os.kill, os.getpid(), signal.SIGINT)
try:
    with heeded(last=True):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
except Terminated as ended:
    sys.exit(ended.code)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")


@pytest.mark.parametrize("nested", [False, True], ids=["one block", "a block within a block"])
def test_a_late_alarm_finds_no_handler_gone(nested):
    """The timer that raises a lost exception again fires while handlers are given back: nobody may die of it."""
    block = "with heeded():\n        with heeded():" if nested else "with heeded():"
    program = f"""
import signal, time
from cassbook.core import signals
from cassbook.core.signals import Interrupted, heeded

restore = signal.signal


def slowly(number, handler):
    former = restore(number, handler)
    if handler is not signals._on_signal:
        time.sleep(2 * signals.AGAIN_S[1])
    return former


signal.signal(signal.SIGINT, signal.default_int_handler)
signals.signal.signal = slowly
try:
    {block}
            signal.raise_signal(signal.SIGINT)
except Interrupted:
    time.sleep(2 * signals.AGAIN_S[1])
    print("alive")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


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
