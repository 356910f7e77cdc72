"""How many of one unit make another."""

from __future__ import annotations

MS_PER_S = 1000
US_PER_MS = 1000
US_PER_S = 1_000_000
PERCENT = 100
MILLION = 1_000_000
