"""What the queueing paper's rates and demands say of each other: servers, sizes, and the precision of its tables."""

from __future__ import annotations

from collections.abc import Callable

from cassbook import published
from cassbook.claims.d16.evaluation import largest_error
from cassbook.claims.d16.source import (
    CLIENT_CPUS,
    JOBS,
    MS_PER_S,
    NODE_CPUS,
    NODES,
    RATE_TEXT,
    REDUCTIONS_TEXT,
    all_errors,
    bottleneck,
    component_demand,
    cpu_demand_per_request,
    cpu_demands,
    data_per_node_gb,
    packet_pair,
    rate_per_s,
    ring_shares,
    station,
    stations,
)
from cassbook.claims.interval import (
    Interval,
    as_printed,
    exactly,
    high,
    largest,
    low,
    middle,
    percent_below,
    possibly_at_most,
)
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count, figure, in_words
from cassbook.core.consistency import LEVELS

_SERVERS = (
    "What a station can serve must be above what was measured; the number of servers of its queue is not printed."
)


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


# Classes


@claim(
    "d16-forensic-classes",
    "section 4",
    "The number of classes is related to the number of nodes present in the system ... a read-remote-ID class for "
    "each node is created",
    "six",
    kind="forensic",
)
def classes_with_nodes() -> Answer:
    """Classes of the model if each of the four nodes has a read-remote-ID class of its own."""
    rows = list(published.as_text("d16_table1")["class"])
    of_nodes = sum("ID" in row for row in rows)
    running = len(rows) - of_nodes + of_nodes * NODES
    return Answer(
        in_words(running),
        {"read-remote-ID counted once": in_words(len(rows))},
        f"With N nodes the model has {len(rows) - of_nodes} + N classes; Table 1 lists kinds of classes.",
    )


@claim(
    "d16-forensic-parsing-class",
    "section 4.3",
    "the request changes class, becoming a read-remote-C1 request, and it continues execution into the CPU",
    "read-remote-C1",
    kind="forensic",
)
def parsing_class() -> Answer:
    """Classes with a demand in Table 2 that ever visit a CPU, if a remote request is parsed as read-remote-C1."""
    with_demand = {name for name, _ in cpu_demands()}
    elsewhere = {"read-local", "read-local-end", "read-remote-ID", "read-remote-end"}
    as_worded = len(with_demand & (elsewhere | {"read-remote-ID"}))
    as_tabled = len(with_demand & (elsewhere | {"read-remote"}))
    change = cpu_demands()["read-remote-ID", "ONE"] - cpu_demands()["read-remote", "ONE"]
    longer = float(ring_shares(NODES, REPLICATION_FACTOR)[1]) * change
    return Answer(
        Count(as_worded, len(with_demand)),
        {"parsed with the demand of read-remote, then the class changes": Count(as_tabled, len(with_demand))},
        "As worded, the row read-remote of Table 2 would have no use, and a read at ONE would take "
        f"{middle(longer):.3f} ms more CPU time.",
    )


# Table 2


@claim(
    "d16-forensic-precision",
    "Table 2",
    "CPU demands (in milliseconds) for different classes",
    "ALL: 0.5, 0.6, 0.6, 0.5, 1",
    kind="forensic",
)
def precision_of_all() -> Answer:
    """Demands at ALL that are printed with as many decimals as the same class at QUORUM."""
    rows = published.as_text("d16_table2")
    texts = dict(zip(zip(rows["class"], rows["level"], strict=True), rows["cpu_demand_ms"], strict=True))
    classes = [name for (name, level), text in texts.items() if level == "ALL" and text]
    equal = sum(_decimals(texts[name, "ALL"]) >= _decimals(texts[name, "QUORUM"]) for name in classes)
    demand = {level: cpu_demand_per_request(level) for level in LEVELS}
    spread = {level: (high(ms) - low(ms)) / (high(ms) + low(ms)) * 100 for level, ms in demand.items()}
    return Answer(
        Count(equal, len(classes)),
        note=f"From the print the CPU time of a read is known within {spread['QUORUM']:.2f}% at QUORUM and within "
        f"{spread['ALL']:.0f}% at ALL. The authors will have used more digits; whoever repeats their simulation "
        "cannot.",
    )


# How many servers


def _capacity(demand_ms: Interval) -> Callable[[int], Interval]:
    return lambda servers: servers * MS_PER_S / demand_ms


def _fewest(capacity: Callable[[int], Interval]) -> int:
    """Fewest servers that can serve the printed rate."""
    servers = 1
    while not possibly_at_most(rate_per_s(), capacity(servers)):
        servers += 1
    return servers


@claim(
    "d16-forensic-client-cpus",
    "sections 4.4 and 5.1",
    "two queues that represents the CPU and the network running the workload generator machine",
    RATE_TEXT,
    relation="above",
    kind="forensic",
)
def client_cpu_as_one_server() -> Answer:
    """Rate of the workload generator if its CPU queue has one server, and with one server for each of its 4 CPUs."""
    capacity = _capacity(component_demand("YCSB CPU"))
    return Answer(
        capacity(1),
        {f"{CLIENT_CPUS} servers, one for each CPU": capacity(CLIENT_CPUS)},
        f"{_SERVERS} At least {_fewest(capacity)} are needed.",
    )


@claim(
    "d16-forensic-node-cpus",
    "sections 4 and 5.1",
    "The node is characterized by three queueing stations representing: network (c1_net), CPU (c1_cpu) and disk",
    RATE_TEXT,
    relation="above",
    kind="forensic",
)
def node_cpus_as_one_server() -> Answer:
    """Rate of four nodes at ONE if each CPU queue has one server, and with one server for each of its 2 CPUs."""
    capacity = _capacity(cpu_demand_per_request("ONE"))
    return Answer(
        capacity(NODES),
        {f"{NODE_CPUS} servers at each node, one for each CPU": capacity(NODES * NODE_CPUS)},
        f"{_SERVERS} The four nodes need at least {_fewest(capacity)} between them.",
    )


@claim(
    "d16-forensic-client-network",
    "sections 4.4 and 5.1",
    "The new requests generated by the CPU are sent directly to the start class-switch through the network queue",
    RATE_TEXT,
    kind="forensic",
)
def client_network_one_queue() -> Answer:
    """Rate of the client's network with one queue for both directions, and with one for each."""
    each_way = MS_PER_S / component_demand("Network Data")
    return Answer(
        MS_PER_S / packet_pair(),
        {"a queue for each direction": each_way},
        f"A queue for each direction could carry {figure(each_way, 0)}, so that the rate alone does not rule it out; "
        "one queue for both gives the printed rate within its rounding.",
    )


@claim(
    "d16-forensic-45-jobs",
    "section 5.1",
    "Using ONE as CL with 45 jobs in the system, or 45 simultaneous client requests",
    f"{JOBS} jobs",
    relation="below",
    kind="forensic",
)
def jobs_in_service() -> Answer:
    """Jobs in service on average at the printed rate (the utilisation law, summed over all stations)."""
    per_read = sum((s.demand_ms for s in stations("ONE")), exactly(0))
    response = exactly(JOBS) / rate_per_s() * MS_PER_S
    enough = bottleneck("ONE").capacity_per_s * per_read / MS_PER_S
    return Answer(
        rate_per_s() * per_read / MS_PER_S,
        note=f"By Little's law a cycle of {JOBS} jobs takes {figure(response)} ms, of which {figure(per_read, 2)} ms "
        f"are service and the rest is waiting. If none waited, {middle(enough):.0f} jobs would fill the bottleneck; "
        f"{JOBS} can well come close.",
    )


# Losses at QUORUM and ALL


def forced_reduction(level: str) -> Interval:
    """Percent of the printed rate at ONE that is lost at a level at least, because the nodes' CPUs are full."""
    return percent_below(station(level, "the nodes' CPUs").capacity_per_s, rate_per_s())


@claim("d16-forensic-quorum", "section 5.1", REDUCTIONS_TEXT, "more than 40%", relation="below", kind="forensic")
def reduction_at_quorum() -> Answer:
    """Loss at QUORUM that full CPUs force; the loss that was measured must exceed it."""
    cpus = station("QUORUM", "the nodes' CPUs")
    left = rate_per_s() * (1 - exactly(40) / 100)
    return Answer(
        forced_reduction("QUORUM"),
        note=f"No contradiction: at 40% loss the nodes' CPUs would be {figure(cpus.busy_percent(left), 0)}% busy. The "
        "rest of the loss can come from waiting for the slower of two answers.",
    )


@claim("d16-forensic-all", "section 5.1", REDUCTIONS_TEXT, "up to 60%", relation="below", kind="forensic")
def reduction_at_all() -> Answer:
    """Loss at ALL that full CPUs force; the loss that was measured must exceed it."""
    left = station("ALL", "the nodes' CPUs").capacity_per_s
    return Answer(forced_reduction("ALL"), note=f"No contradiction: full CPUs serve {figure(left, 0)} reads/s at ALL.")


# Sizes


@claim(
    "d16-forensic-disk-space",
    "section 5.1",
    "a 20 GBs, where Cassandra commits logs and saved cache files are stored, the second of 100 GBs to store only "
    "database data",
    "100 GBs",
    relation="below",
    kind="forensic",
)
def data_fits_disk() -> Interval:
    """Data of one node in GB."""
    return data_per_node_gb()


@claim(
    "d16-forensic-memory",
    "section 5.1",
    "The machines used as nodes have 2 CPUs and 4 GBs of memory",
    "4 GBs",
    relation="above",
    kind="forensic",
)
def data_exceeds_memory() -> Answer:
    """Data of one node in GB."""
    bandwidth = 1 / component_demand("Disk")  # a KB/ms is an MB/s
    return Answer(
        data_per_node_gb(),
        note=f"More than memory holds, so that reads need the disk. Its demand is the transfer of 1 KB at "
        f"{figure(bandwidth)} MB/s; no time to find the record is in it.",
    )


# Errors


@claim(
    "d16-forensic-scylla",
    "section 6",
    "able to predict with an error below the 10% ... we also demonstrate the applicability of our model to another "
    "NoSQL database",
    "10%",
    relation="below",
    kind="forensic",
)
def largest_error_with_scylla() -> Answer:
    """Largest of Tables 4 and 5 and of the errors printed for ScyllaDB."""
    scylla = [as_printed("8"), as_printed("12.9")]
    return Answer(
        largest([*all_errors(), *scylla]),
        {"of Cassandra alone, which the sentence speaks of": largest_error()},
        "No bound is claimed for ScyllaDB.",
    )
