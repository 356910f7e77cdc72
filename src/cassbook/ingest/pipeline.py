"""Work on a stream of parts a little ahead of whoever takes the results, in order, with bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

P = TypeVar("P")
R = TypeVar("R")

_WORKERS = 2
#: Parts that are in work or wait to be taken.
_AHEAD = 3


def ahead(function: Callable[[P], R], parts: Iterable[P]) -> Iterator[R]:
    """Yield `function(part)` for each part in order, computed by threads while the one before is used."""
    pool = ThreadPoolExecutor(_WORKERS)
    waiting: deque[Future[R]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(function, part))
            if len(waiting) >= _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Not waited for: one that is given up is finalised wherever garbage is collected, also in a thread that is just
        # starting, where to join another one would block for ever.
        pool.shutdown(wait=False, cancel_futures=True)
