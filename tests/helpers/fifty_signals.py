"""Run `cassbook run` in this process again and again, each time ended by a signal at a drawn moment, and print how.

What is measured is a stub server; most of the main thread's time passes inside callbacks of weak references, where
Python drops what a handler raises. Every second signal waits until it is in one.
"""

import json
import os
import signal
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import numpy as np

from cassbook.bench import stub
from cassbook.bench.own_error import StubNodes, stub_loop
from cassbook.cli.main import main
from cassbook.core import signals
from cassbook.core.signals import Cleared
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.recorder import Window
from cassbook.lab.run import measure
from tests.helpers.waiting import wait_until

LATEST_S = 0.15
CLEAN_UP_STEPS = 10
GIVE_UP_S = 3.0

#: Whether a signal waits for a callback, and whether the main thread is in one; no locks, which it may leave held.
moment = SimpleNamespace(aimed=False, inside=False)


class Thing:
    """Something that can be referred to weakly."""


def dwell(_):
    """Be what a weak reference calls back, for some instructions."""
    until = time.perf_counter() + 0.03
    while time.perf_counter() < until or moment.aimed:
        moment.inside = True


def pass_time_in_callbacks(_):
    """Be asked by the loop whether it is done: it never is."""
    thing = Thing()
    reference = weakref.ref(thing, dwell)
    del thing
    assert reference() is None
    return False


class Cluster(Cleared):
    """What is cleared away when the command ends, by several steps that a second signal must not break off."""

    steps = 0

    def begin(self):
        self.half_done, self.disturbed = threading.Event(), threading.Event()

    def end(self, error):
        for step in range(CLEAN_UP_STEPS):
            if step == CLEAN_UP_STEPS // 2:
                self.half_done.set()
                self.disturbed.wait(GIVE_UP_S)
            time.sleep(0.002)
            self.steps += 1


def once(port, draw, aim):
    """End one run by a signal, aimed at a callback or not, and by another that arrives during the clean-up."""
    cluster, sent = Cluster(), []
    number = int(draw.choice(signals.HEEDED))
    moment_s = float(draw.uniform(0.0, LATEST_S))

    def signals_of_a_user():
        time.sleep(moment_s)
        if aim:
            moment.inside, moment.aimed = False, True
            wait_until(lambda: moment.inside, within_s=GIVE_UP_S, every_s=0.001)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), number)
        moment.aimed = False
        cluster.half_done.wait(GIVE_UP_S)
        os.kill(os.getpid(), signal.SIGINT)
        cluster.disturbed.set()

    for heeded in signals.HEEDED:
        signal.signal(heeded, signal.default_int_handler)  # a command that was ended leaves them ignored
    user = threading.Thread(target=signals_of_a_user)

    def load(*_, **__):
        nodes = StubNodes(port)
        with cluster:
            try:
                loop = stub_loop(nodes, 4, stub.READS, lambda *_: None)
                user.start()
                loop.run(Bound(until=pass_time_in_callbacks), Window())
            finally:
                nodes.close()

    measure.measure = load
    try:
        main(["run", "--profile", "quick", "--output", "nowhere"], standalone_mode=False)
    except SystemExit as ended:
        return {"number": number, "code": ended.code, "s": time.perf_counter() - sent[0], "steps": cluster.steps}
    finally:
        user.join()  # so that none is sent to the next
    return {"number": number, "code": 0}


def count(hook):
    """Count what Python drops, and hand it on."""

    def counting(lost):
        counting.dropped += isinstance(lost.exc_value, signals.Interrupted | signals.Terminated)
        hook(lost)

    counting.dropped = 0
    return counting


if __name__ == "__main__":
    signals._without_ours = dropped = count(signals._without_ours)
    rng = np.random.default_rng(int(sys.argv[2]))
    with stub.stub(1) as (stub_port, _):
        ends = [once(stub_port, rng, bool(turn % 2)) for turn in range(int(sys.argv[1]))]
    print(json.dumps({"ends": ends, "dropped": dropped.dropped}))
