"""Compilation by numba where it is installed (`cassbook[predict]`); elsewhere the same functions run as Python.

As Python they are tens of times slower: enough for the claims, which analyse three small networks, and not for what
predicts or simulates. That calls `need_numba` first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

njit: Callable[..., Any] | None
try:
    import numba

    njit = numba.njit
except ModuleNotFoundError:
    njit = None


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Return the decorator that compiles a function, with numba's options; without numba it changes nothing."""
    return njit(**options) if njit else lambda function: function


def records(rows: np.ndarray) -> np.ndarray:
    """Return a structured array whose rows have their fields as attributes, in compiled code and in Python."""
    return rows if njit else rows.view(np.recarray)


def need_numba() -> None:
    """Refuse to continue without numba.

    Raises ModuleNotFoundError if it is not installed.
    """
    if njit is None:
        raise ModuleNotFoundError("numba is not installed: pip install 'cassbook[predict]'", name="numba")
