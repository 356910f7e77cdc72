"""How many lines of Python something takes: what it costs, without a clock."""

import sys


def lines_run(action):
    """Call `action` and count the lines of Python that run; what works on whole arrays takes as many for any length."""
    count, before = 0, sys.gettrace()

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count
