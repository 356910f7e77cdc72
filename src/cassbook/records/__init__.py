"""Readers of recorded runs and experiments, one per kind of record; nothing here starts anything."""

from typing import TYPE_CHECKING

from cassbook.core.extras import lazy

if TYPE_CHECKING:
    from cassbook.records.manifest import open_record

__all__ = ["open_record"]
__getattr__ = lazy(__name__, {"open_record": "manifest"})
