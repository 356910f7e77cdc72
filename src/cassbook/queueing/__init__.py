"""A cluster as a queueing network, after the 2016 paper: simulated, computed, calibrated, and asked what if."""

from typing import TYPE_CHECKING

from cassbook.core.extras import lazy

if TYPE_CHECKING:
    from cassbook.queueing.simulation import simulate

__all__ = ["simulate"]
__getattr__ = lazy(__name__, {"simulate": "simulation"})
