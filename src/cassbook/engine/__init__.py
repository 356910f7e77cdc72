"""Find or fetch Java and Cassandra, and run a ccm cluster that leaves nothing behind."""

from cassbook.engine.cluster import CassandraCluster
from cassbook.engine.releases import DEFAULT_ENGINE, RELEASES, release

__all__ = ["DEFAULT_ENGINE", "RELEASES", "CassandraCluster", "release"]
