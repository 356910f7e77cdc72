"""What the parts of a profile are made of."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


def _distinct(values: list[Any]) -> list[Any]:
    """Refuse a value given twice: its cells would be measured, and counted, twice."""
    twice = sorted({v for v in values if values.count(v) > 1})
    if twice:
        raise ValueError(f"{', '.join(map(str, twice))} given twice")
    return values


_MOST_RUNGS = 50


def _rungs(value: Any) -> Any:
    """Turn a ladder {from, to, steps} into its rates: equal factors apart, of three digits."""
    if not isinstance(value, dict):
        return value
    example = "such as {from: 500, to: 8000, steps: 7}"
    if set(value) != {"from", "to", "steps"}:
        raise ValueError(f"a ladder of rates has from, to and steps, {example}")
    low, high, steps = (value[key] for key in ("from", "to", "steps"))
    if isinstance(steps, bool) or not isinstance(steps, int) or not 2 <= steps <= _MOST_RUNGS:  # noqa: PLR2004
        raise ValueError(f"steps: a ladder has 2 to {_MOST_RUNGS}, {example}")
    if not all(isinstance(rate, int | float) for rate in (low, high)) or not 0 < low < high:
        raise ValueError(f"a ladder goes from a rate above 0 to a higher one, {example}")
    return [float(f"{low * (high / low) ** (step / (steps - 1)):.3g}") for step in range(steps)]


Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[int, Field(gt=0, strict=True)]
#: Far below what the driver's connections to one node can have in flight (32768).
Threads = Annotated[int, Field(gt=0, le=10_000, strict=True)]
PositiveSeconds = Annotated[float, Field(gt=0, le=86_400)]
Distinct = AfterValidator(_distinct)
#: More requests a second than one client sends.
MOST_PER_S = 1e6
#: Requests a second, as a list or as a ladder {from, to, steps}.
Rates = Annotated[
    list[Annotated[float, Field(gt=0, le=MOST_PER_S)]], Field(min_length=1), Distinct, BeforeValidator(_rungs)
]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
ThreadCounts = Annotated[list[Threads], Field(min_length=1), Distinct]
Levels = Annotated[list[str], Field(min_length=1), Distinct]
#: Pairs of levels, by the papers' names or as 'QUORUM/ONE'; which names there are depends on the replication factor.
Settings = Annotated[list[str], Field(min_length=1), Distinct]


class Section(BaseModel):
    """A part of a profile: a key that is not known is an error, not a shrug, and so is a number that is not finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
