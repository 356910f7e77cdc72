"""Where the client and the replicas are, how far that makes them from one another, and what it costs."""

from typing import TYPE_CHECKING

from cassbook.core.extras import lazy

if TYPE_CHECKING:
    from cassbook.deployment.notation import parse

__all__ = ["parse"]
__getattr__ = lazy(__name__, {"parse": "notation"})
