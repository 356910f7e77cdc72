"""What the experiments at a distance ask, in the order of the catalogue, by the name that their records have."""

from __future__ import annotations

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
