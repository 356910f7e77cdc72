"""Where the client and the replicas are, how far that makes them from one another, and what it costs."""

from cassbook.deployment.distances import Distances, Placement, placed, printed, read
from cassbook.deployment.notation import CLIENT, Deployment, Host, parse

__all__ = ["CLIENT", "Deployment", "Distances", "Host", "Placement", "parse", "placed", "printed", "read"]
