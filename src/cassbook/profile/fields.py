"""What the parts of a profile are made of."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _distinct(values: list[Any]) -> list[Any]:
    """Refuse a value given twice: its cells would be measured, and counted, twice."""
    twice = sorted({v for v in values if values.count(v) > 1})
    if twice:
        raise ValueError(f"{', '.join(map(str, twice))} given twice")
    return values


Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[int, Field(gt=0, strict=True)]
#: Far below what the driver's connections to one node can have in flight (32768).
Threads = Annotated[int, Field(gt=0, le=10_000, strict=True)]
PositiveSeconds = Annotated[float, Field(gt=0, le=86_400)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Distinct = AfterValidator(_distinct)
ThreadCounts = Annotated[list[Threads], Field(min_length=1), Distinct]
Levels = Annotated[list[str], Field(min_length=1), Distinct]
#: Pairs of levels, by the papers' names or as 'QUORUM/ONE'; which names there are depends on the replication factor.
Settings = Annotated[list[str], Field(min_length=1), Distinct]


class Section(BaseModel):
    """A part of a profile: a key that is not known is an error, not a shrug."""

    model_config = ConfigDict(extra="forbid", frozen=True)
