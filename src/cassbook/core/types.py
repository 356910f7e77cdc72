"""Types that many signatures share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Where a line for whoever waits goes.
Log = Callable[[str], None]
