"""cassbook: the laboratory behind *The Price of Consistency*."""

from cassbook.estimate import Estimate

__all__ = ["Estimate", "__version__"]
__version__ = "0.1.0"
