"""A service that leaves its consistency levels to the adviser, and needs nothing else: orders_service.py HOST MAP.json.

Eight threads read and write; each second a line says the setting in force, what became of requests, and live replicas.
"""

import logging
import random
import sys
import threading
import time
from collections import Counter

from cassandra import DriverException, Unavailable
from cassandra.cluster import Cluster, NoHostAvailable
from cassbook_advisor import Adviser, CannotServe, Latencies, OutcomeUnknown, Terms

ORDERS, THREADS = 1_000, 8
CREATE = "CREATE TABLE IF NOT EXISTS shop.orders (id int PRIMARY KEY, total double)"
REPLICATED = "{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}"


def serve(adviser: Adviser, read: object, write: object, counts: Counter[str], over: threading.Event) -> None:
    """Read four orders of five and write the fifth, until it is over."""
    while not over.is_set():
        order, reads = random.randrange(ORDERS), random.random() < 0.8
        try:
            adviser.execute(read, (order,)) if reads else adviser.execute(write, (order, random.random()))
            counts["answered"] += 1
        except OutcomeUnknown:
            counts["unknown"] += 1  # a write that may have taken effect: read before it is sent again
        except CannotServe:
            counts["refused"] += 1  # not sent, for too few replicas are alive
            time.sleep(0.05)
        except (DriverException, Unavailable, NoHostAvailable):
            counts["failed"] += 1


def main(host: str, map_file: str, seconds: float) -> None:
    """Serve for some seconds."""
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    session = Cluster([host]).connect()
    session.execute(f"CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {REPLICATED}")
    session.execute(CREATE)
    read = session.prepare("SELECT total FROM shop.orders WHERE id = ?")
    write = session.prepare("INSERT INTO shop.orders (id, total) VALUES (?, ?)")
    counts, over = Counter(), threading.Event()
    with Adviser(session, "shop", ["orders"], Latencies.of_file(map_file), terms=Terms(survive=1)) as adviser:
        threads = [threading.Thread(target=serve, args=(adviser, read, write, counts, over)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for _ in range(int(seconds)):
            time.sleep(1)
            status = adviser.status()
            print(status.setting, dict(counts), f"{status.alive} alive", *status.cannot_serve, flush=True)
        over.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 60.0)
