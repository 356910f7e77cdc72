"""From a profile to a run folder, and back: plan the cells, measure them, keep them, read them."""

from cassbook.run.measure import measure
from cassbook.run.recorded import RecordedRun

__all__ = ["RecordedRun", "measure"]
