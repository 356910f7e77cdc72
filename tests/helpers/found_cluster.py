"""A cluster that `--hosts` found, without one being there."""

from cassbook.lab.engine.connect import Access
from cassbook.lab.engine.existing_cluster import ExistingCluster, FoundRelease, Hosts

USER, SECRET = "name-of-the-user", "s3cret-of-the-test"


class Fake(ExistingCluster):
    """A cluster of three nodes that was found, without one being there."""

    def __init__(self, asked=None, replication_factor=3, run="0123456789ab", log=print, comment=None, version="4.1.7"):
        self.asked = asked or Hosts(("10.1.2.3",), access=Access(USER, SECRET))
        self.replication_factor, self.run, self.log = replication_factor, run, log
        self.keyspace, self.read = self.asked.keyspace, self.asked.read
        self.name, self.data_centre = "Orders", "dc-north"
        self.addresses, self.silent, self.others = ["10.1.2.3", "10.1.2.4", "10.1.2.5"], [], ["shop", "users"]
        self.release, self.fingerprint, self._nodes_in_all = FoundRelease(version, 4), "ab12", 6
        self._comment, self._counts_hints = comment, version.startswith("2")
