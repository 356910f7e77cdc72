"""What children of the tests do (`cassbook.lab.wan.child`); importable, as a child must find it."""

import os
import signal
import time

from cassbook.core.errors import LaboratoryError
from cassbook.lab.load.loop import Outcome
from cassbook.lab.load.recorder import Recorder, Window
from cassbook.lab.wan.child import GoneError
from cassbook.lab.wan.precise import Loop


class OddError(LaboratoryError):
    """An error of the laboratory of a class of its own."""


def reply(number):
    if number == 13:
        raise OddError("thirteen")
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number * 2


def doubling(owner, first):
    owner.tell(first)
    owner.answer(reply)


def looping(owner, first):
    owner.tell(first)
    owner.serve(Loop(), reply)


def refusing(owner, what):
    raise OSError(what)


def silent(owner):
    time.sleep(60)


def stubborn(owner):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    owner.tell(os.getsid(0))
    try:
        owner.hear()
    except GoneError:
        time.sleep(60)


def made_client(owner, profile, place, seed, epoch, process, processes):
    """A client process without a cluster: its clock is ahead by `profile["skew_s"]`, an operation takes 1 ms."""
    skew_s = profile["skew_s"][process - 1]

    def clock():
        return time.perf_counter() + skew_s

    owner.tell(None)
    while True:
        order = owner.hear()
        window, done = Window(), 0
        recorder = Recorder(order.path, [order.group[0].cell_id], ["node1"], order.epoch, window)
        until = clock() + order.bound.ramp_s
        owner_said = None
        while clock() < until:
            done += _operation(recorder, clock)
        for _ in ("steady", "over"):
            owner.tell(clock())
            while not owner.waits():
                done += _operation(recorder, clock)
            owner_said = owner.hear()
            if window.steady_to > owner_said:
                window.steady_from, window.steady_to = owner_said, owner_said + order.bound.steady_s
                while clock() < window.steady_to:
                    done += _operation(recorder, clock)
        recorder.close()
        owner.tell(Outcome(window, 0.25, done, 10.0 * process))


def _operation(recorder, clock):
    started = clock()
    time.sleep(0.001)
    recorder.add(started, clock() - started, 0, 0, 0)
    return 1
