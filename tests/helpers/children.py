"""What children of the tests do (`cassbook.lab.wan.child`); importable, as a child must find it."""

import os
import signal
import time

from cassbook.core.errors import LaboratoryError
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
