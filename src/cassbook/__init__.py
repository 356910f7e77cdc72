"""cassbook: the laboratory behind *The Price of Consistency*."""

from typing import TYPE_CHECKING

from cassbook.core.extras import lazy

if TYPE_CHECKING:
    from cassbook.core.estimate import Estimate

__all__ = ["Estimate", "__version__"]
__version__ = "0.1.0"
__getattr__ = lazy(__name__, {"Estimate": "core.estimate"})
