"""Something that goes on in a thread of its own while a block of code runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cassbook.core.errors import LaboratoryError


@contextmanager
def meanwhile(what: Callable[[threading.Event], None], failed: str) -> Iterator[None]:
    """Run `what` while the block runs.

    `what`: given an event that is set when the block is over; should return soon after that. `failed`: what has failed,
    if it raises.

    Raises LaboratoryError at the block's end, if `what` raised: what was done in the block was done under other
    circumstances.
    """
    over, errors = threading.Event(), []

    def run() -> None:
        try:
            what(over)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="meanwhile", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if errors:
        raise LaboratoryError(f"{failed}: {errors[0]}") from errors[0]
