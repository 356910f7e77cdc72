"""The part of a profile that puts hosts apart: deployments, each on a cluster of its own, and the distances between."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import Field, model_validator

from cassbook.deployment.distances import Distances, Placement, from_table, placed, printed
from cassbook.deployment.notation import parse
from cassbook.profile.fields import Name, Section


class DeploymentSection(Section):
    """Where the hosts are: the 2021 paper's notation, and the names of its regions, the client's first."""

    notation: str
    regions: list[str] | None = None


class DistanceSection(Section):
    """Deployments that each block measures, each behind a relay.

    Without `distances` they are those of the 2021 paper's Table 1, times `scale`; a row holds what a line of a table of
    one's own would (see `deployment.distances`). `means` is what delays: our relay, or the kernel's netem.
    """

    deployments: Annotated[dict[Name, DeploymentSection], Field(min_length=1)]
    distances: list[dict[str, Any]] | None = None
    scale: Annotated[float, Field(gt=0, le=100)] = 1.0
    means: Literal["relay", "netem"] = "relay"

    @model_validator(mode="after")
    def _hosts_have_places(self) -> Self:
        self.placements()
        return self

    def table(self) -> Distances:
        """The distances, scaled."""
        rows = self.distances
        table = printed() if rows is None else from_table(pd.DataFrame(rows, dtype=object), "distances")
        return table if self.scale == 1 else table.scaled(self.scale)

    def placements(self) -> dict[str, Placement]:
        """Each deployment with its regions."""
        table = self.table()
        return {
            name: placed(parse(section.notation), section.regions, table) for name, section in self.deployments.items()
        }
