"""WARS: the four message delays of quorum replication, in ms one way (Bailis et al., VLDB 2012, section 4).

A write is sent to N replicas (W), each acknowledges (A). A read is sent (R), each answers (S). A delay is a
`Mixture` of simple distributions, measured samples, or any function that draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from cassbook.core.errors import InputError
from cassbook.core.types import Floats

#: Draws so many times: (rng, shape) to ms.
Sampler = Callable[[np.random.Generator, tuple[int, ...]], Floats]

EXPONENTIAL, PARETO, UNIFORM, EMPIRICAL = range(4)


@dataclass(frozen=True, slots=True)
class Part:
    """One distribution of a mixture; made by `exponential`, `pareto`, `uniform`, `constant` or `empirical`."""

    kind: int
    first: float = 0.0  # mean; or least value
    second: float = 0.0  # of a least value: 1 / alpha; or width
    samples: Floats | None = None  # measured, drawn with equal chance

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Part):
            return NotImplemented
        alike = (self.kind, self.first, self.second) == (other.kind, other.first, other.second)
        return alike and np.array_equal(_none(self.samples), _none(other.samples))

    def __hash__(self) -> int:
        return hash((self.kind, self.first, self.second))


def _none(samples: Floats | None) -> Floats:
    return np.empty(0) if samples is None else samples


@dataclass(frozen=True, slots=True)
class Mixture:
    """Distributions with weights, and a time that all take longer.

    Attributes
    ----------
    parts : tuple of (float, Part)
        Weights of any scale.
    offset_ms : float
    """

    parts: tuple[tuple[float, Part], ...]
    offset_ms: float = 0.0

    def later(self, ms: float) -> Mixture:
        """Return it with a longer offset."""
        return replace(self, offset_ms=self.offset_ms + ms)


Delay = Mixture | Sampler


def exponential(rate_per_ms: float) -> Mixture:
    """Exponential of mean 1 / rate ms.

    Raises
    ------
    InputError
        Unless the rate is positive.
    """
    if not rate_per_ms > 0:
        raise InputError(f"rate: {rate_per_ms!r} must be positive")
    return Mixture(((1.0, Part(EXPONENTIAL, 1 / rate_per_ms)),))


def pareto(least_ms: float, alpha: float) -> Mixture:
    """Pareto of least value xm and exponent alpha.

    Raises
    ------
    InputError
        Unless both are positive.
    """
    if not (least_ms > 0 and alpha > 0):
        raise InputError(f"pareto: xm {least_ms!r} and alpha {alpha!r} must be positive")
    return Mixture(((1.0, Part(PARETO, least_ms, 1 / alpha)),))


def uniform(low_ms: float, high_ms: float) -> Mixture:
    """Uniform between two bounds.

    Raises
    ------
    InputError
        Unless 0 <= low <= high.
    """
    if not 0 <= low_ms <= high_ms:
        raise InputError(f"uniform: {low_ms!r} to {high_ms!r} is no interval of times")
    return Mixture(((1.0, Part(UNIFORM, low_ms, high_ms - low_ms)),))


def constant(ms: float) -> Mixture:
    """Always the same time."""
    return uniform(ms, ms)


def empirical(samples_ms: ArrayLike) -> Mixture:
    """Draw from what was measured.

    Raises
    ------
    InputError
        Without samples, or for one that is negative or not finite.
    """
    samples = np.ascontiguousarray(samples_ms, dtype=float).ravel()
    if samples.size == 0:
        raise InputError("empirical: there are no samples")
    if not (np.isfinite(samples).all() and (samples >= 0).all()):
        raise InputError("empirical: samples must be finite and not negative, in ms")
    return Mixture(((1.0, Part(EMPIRICAL, 0.0, 0.0, samples)),))


def mixture(*parts: tuple[float, Mixture]) -> Mixture:
    """Weigh distributions.

    Raises
    ------
    InputError
        Unless weights are positive.
    """
    if not parts or not all(weight > 0 for weight, _ in parts):
        raise InputError(f"mixture: weights {[weight for weight, _ in parts]} must be positive")
    if any(part.offset_ms for _, part in parts):
        raise InputError("mixture: parts with an offset; give it to the whole")
    return Mixture(tuple((weight * share, part) for weight, mixed in parts for share, part in mixed.parts))


@dataclass(frozen=True, slots=True)
class Wars:
    """The four delays.

    Attributes
    ----------
    w, a, r, s : Mixture or Sampler
    far_ms : float
        All replicas but one are so much farther, on each delay. Which one is near is drawn for the write, and again for
        the read, whose client is somewhere else.
    offsets_ms : tuple of float
        How much farther each replica is, on each delay; empty for not at all.
    """

    w: Delay
    a: Delay
    r: Delay
    s: Delay
    far_ms: float = 0.0
    offsets_ms: tuple[float, ...] = field(default=())

    @property
    def delays(self) -> tuple[Delay, Delay, Delay, Delay]:
        """W, A, R and S."""
        return self.w, self.a, self.r, self.s

    @property
    def parametric(self) -> bool:
        """Whether all delays are mixtures, which the compiled trials can draw."""
        return all(isinstance(delay, Mixture) for delay in self.delays)


_SSD = mixture((0.9122, pareto(0.235, 10)), (0.0878, exponential(1.66)))
_DISK_W = mixture((0.38, pareto(1.05, 1.51)), (0.62, exponential(0.183)))
_YMMR_W = mixture((0.939, pareto(3, 3.35)), (0.061, exponential(0.0028)))
_YMMR = mixture((0.982, pareto(1.5, 3.8)), (0.018, exponential(0.0217)))
#: Bailis et al., Table 3 and section 5.5: fits to production latencies, and the same with data centres 75 ms apart.
PRODUCTION: Mapping[str, Wars] = {
    "LNKD-SSD": Wars(_SSD, _SSD, _SSD, _SSD),
    "LNKD-DISK": Wars(_DISK_W, _SSD, _SSD, _SSD),
    "YMMR": Wars(_YMMR_W, _YMMR, _YMMR, _YMMR),
    "WAN": Wars(_DISK_W, _SSD, _SSD, _SSD, far_ms=75.0),
}


def wars_of(what: Wars | str | Sequence[Delay]) -> Wars:
    """Return the four delays by the name of a production fit, from four of them, or `Wars` unchanged.

    Raises
    ------
    InputError
        For an unknown name or another number of delays.
    """
    if isinstance(what, Wars):
        return what
    if isinstance(what, str):
        if what not in PRODUCTION:
            raise InputError(f"wars: {what!r} is unknown; use one of {', '.join(PRODUCTION)}, or four distributions")
        return PRODUCTION[what]
    delays = tuple(what)
    if len(delays) != 4:  # noqa: PLR2004
        raise InputError(f"wars: four distributions are needed, W, A, R and S; got {len(delays)}")
    return Wars(*delays)
