"""What the queueing paper prints: its system, its demands as intervals, and the rates its stations can serve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from cassbook import published
from cassbook.claims.interval import Interval, as_printed, exactly, middle, numbers_in
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR
from cassbook.core.consistency import replicas_waited_for
from cassbook.core.units import MS_PER_S

#: Section 5.1: 'a Cassandra cluster composed of four nodes with a replication factor of 3'.
NODES = 4
#: Section 5.1: nodes 'have 2 CPUs and 4 GBs of memory', the workload generator '4 CPUs'.
NODE_CPUS = 2
CLIENT_CPUS = 4
#: Section 5.1: 'with 45 jobs in the system ... able to serve around 6800 requests per second'.
JOBS = 45
RATE_TEXT = "around 6800 requests per second"
#: Section 5.1, the two reductions in one sentence.
REDUCTIONS_TEXT = (
    "Compared to ONE, the throughput of the system is reduced more than 40% and up to 60% when QUORUM and ALL CL are "
    "used"
)
#: Section 5.1: 'The keyspace is filled with 15 million of records'.
MILLION_RECORDS = "15"
THROUGHPUT, RESPONSE = "d16_table4", "d16_table5"
BYTES_PER_KB = 1000


def rate_per_s() -> Interval:
    """Requests per second at ONE with 45 jobs, as printed."""
    return numbers_in(RATE_TEXT)[0]


@cache
def cpu_demands() -> dict[tuple[str, str], Interval]:
    """Table 2: (class, level) to a CPU demand in ms; the 0 of read-local-end is 'set to zero', not rounded."""
    rows = published.as_text("d16_table2").to_dict("records")
    return {
        (row["class"], row["level"]): exactly(0) if row["cpu_demand_ms"] == "0" else as_printed(row["cpu_demand_ms"])
        for row in rows
        if row["cpu_demand_ms"]
    }


@cache
def component_demand(component: str) -> Interval:
    """Table 3: demand of a component in ms."""
    rows = published.as_text("d16_table3")
    return as_printed(dict(zip(rows["component"], rows["demand_ms"], strict=True))[component])


@cache
def errors(table: str) -> dict[str, Interval]:
    """Table 4 (throughput) or 5 (response time): level to average relative error in percent."""
    rows = published.as_text(table)
    return dict(zip(rows["level"], map(as_printed, rows["average_error_percent"]), strict=True))


def ring_shares(nodes: int, replication: int) -> tuple[Fraction, Fraction]:
    """Share of the keys that a node stores, and share of requests whose coordinator does not store the key.

    Counted on a ring of equal ranges, each stored by its node and the next ones, with coordinators chosen evenly.
    """
    stored = [{(first + k) % nodes for k in range(replication)} for first in range(nodes)]
    held = sum(0 in replicas for replicas in stored)
    elsewhere = sum(node not in replicas for node in range(nodes) for replicas in stored)
    return Fraction(held, nodes), Fraction(elsewhere, nodes * nodes)


def data_gb() -> Interval:
    """Records of 1 KB in GB, each counted once: a million KB is a GB."""
    return as_printed(MILLION_RECORDS)


def data_per_node_gb() -> Interval:
    """Data of one node in GB, RF/N of all records."""
    held, _ = ring_shares(NODES, REPLICATION_FACTOR)
    return data_gb() * float(held)


def remote_requests(level: str, asked: int | None = None) -> float:
    """Mean number of requests that a coordinator sends to other nodes; one of those asked may be itself."""
    local, _ = ring_shares(NODES, REPLICATION_FACTOR)
    return (replicas_waited_for(level, REPLICATION_FACTOR) if asked is None else asked) - float(local)


def cpu_demand_per_request(level: str, asked: int | None = None) -> Interval:
    """CPU time of all nodes together for one read, in ms; `asked` replicas, by default as many as the level waits for.

    A local request parses, asks the other replicas and ends; a remote one asks one more (sections 4.1 to 4.3).
    """
    demand = cpu_demands()
    local, remote = map(float, ring_shares(NODES, REPLICATION_FACTOR))
    at_coordinator = local * (demand["read-local", level] + demand["read-local-end", level]) + remote * (
        demand["read-remote", level] + demand["read-remote-end", level]
    )
    return at_coordinator + remote_requests(level, asked) * demand["read-remote-ID", level]


@dataclass(frozen=True, slots=True)
class Station:
    """A kind of station of the model."""

    name: str
    demand_ms: Interval  # service that one read asks of all stations of the kind together
    servers: int  # of all of them together

    @property
    def capacity_per_s(self) -> Interval:
        """Reads per second when every server is busy: the bottleneck law's bound."""
        return self.servers * MS_PER_S / self.demand_ms

    def busy_percent(self, rate: Interval) -> Interval:
        """Utilisation at `rate` reads per second: the utilisation law."""
        return rate * self.demand_ms / (MS_PER_S * self.servers) * 100


def packet_pair() -> Interval:
    """Network time of one query and its response, in ms."""
    return component_demand("Network Request") + component_demand("Network Data")


def stations(level: str) -> tuple[Station, ...]:
    """All stations at a level, each CPU one server, each network one queue for both directions (section 4.4, Figure 3).

    A request between nodes passes the network queue of either with its query and with its response.
    """
    answers = replicas_waited_for(level, REPLICATION_FACTOR)
    return (
        Station("the client's network", packet_pair(), 1),
        Station("the client's CPUs", component_demand("YCSB CPU"), CLIENT_CPUS),
        Station("the nodes' networks", (1 + 2 * remote_requests(level)) * packet_pair(), NODES),
        Station("the nodes' CPUs", cpu_demand_per_request(level), NODES * NODE_CPUS),
        Station("the nodes' disks", answers * component_demand("Disk"), NODES),
    )


def station(level: str, name: str) -> Station:
    """Station of a level by its name."""
    return next(s for s in stations(level) if s.name == name)


def bottleneck(level: str) -> Station:
    """The station that is full first."""
    return min(stations(level), key=lambda s: middle(s.capacity_per_s))


def all_errors() -> list[Interval]:
    """The six averages of Tables 4 and 5, in percent."""
    return [*errors(THROUGHPUT).values(), *errors(RESPONSE).values()]
