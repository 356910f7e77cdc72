"""What the experiments at a distance ask, and the ratios that answer it, as chapters and the ledger quote them."""

from __future__ import annotations

from cassbook.core.estimate import Estimate
from cassbook.records.experiment import Results

#: In the order of the catalogue, by the name that their records have.
DISTANCE_QUESTIONS = {
    "coordinators": (
        "Is it one coordinator for all requests that makes scenario c slower than a, and what else does it bound?"
    ),
    "uplinks": "Do slower uplinks than downlinks make writes slower than reads?",
    "asynchronous": "How many requests must a far client have in flight to get what a near one gets?",
    "proxy": "What does a proxy near the cluster spare a far client whose pages need several rows?",
    "two-centres": "What do the levels cost that know of data centres, with three replicas in each of two?",
    "speculation": "What does a speculative retry spare reads when the replica they wait for hangs now and then?",
    "timeouts": "Which time-out gives up soon, but not too soon, when nodes hang and ways become longer?",
}


def writes_by_reads(results: Results) -> dict[str, Estimate]:
    """Return the latency of writes by that of reads, by condition of the experiment on uplinks."""
    return {
        str(name): results.ratio(
            "latency_ms", {"condition": name, "operation": "UPDATE"}, {"condition": name, "operation": "READ"}
        )
        for name in dict.fromkeys(results.rows["condition"])
    }


def three_coordinators(results: Results, operation: str) -> Estimate:
    """Return the throughput of an operation by three coordinators in turn over that by one, at ONE in (a)."""
    one = {"setup": "a", "condition": "one at ONE", "operation": operation}
    return results.ratio("throughput_per_s", {"condition": "three at ONE", "operation": operation}, one)


def without_proxy(results: Results) -> Estimate:
    """Return the latency of a page of the most rows directly over that by the proxy."""
    most = int(results.rows["rows_a_page"].max())
    return results.ratio("latency_ms", *({"way": way, "rows_a_page": most} for way in ("direct", "proxy")))


def more_in_flight(results: Results) -> tuple[Estimate, Estimate]:
    """Return the throughput of reads in (b) with 2000 in flight over that with 100, and over the most of (a)."""
    reads = results.rows[results.rows["operation"] == "READ"]
    near = reads[reads["setup"] == "a"].groupby("condition")["throughput_per_s"].mean()
    far = {"setup": "b", "condition": "2000", "operation": "READ"}
    under = (far | {"condition": "100"}, {"setup": "a", "condition": str(near.idxmax()), "operation": "READ"})
    more, reached = (results.ratio("throughput_per_s", far, base) for base in under)
    return more, reached
