"""Work that runs ahead of whoever takes it."""

import threading

from cassbook.ingest.pipeline import ahead


def test_results_come_in_order():
    assert list(ahead(lambda part: 2 * part, range(10))) == [2 * part for part in range(10)]


def test_work_that_is_given_up_is_not_waited_for():
    """Garbage may be collected in a thread that is just starting, where waiting for another blocks for ever."""
    held = threading.Event()
    results = ahead(lambda part: part or 0 if part < 1 else held.wait(10), range(5))
    assert next(results) == 0
    closing = threading.Thread(target=results.close)
    closing.start()
    closing.join(5)
    blocked = closing.is_alive()
    held.set()
    assert not blocked
