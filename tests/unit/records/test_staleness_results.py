"""What a staleness record says of distances."""

from types import SimpleNamespace

import pytest

from cassbook.records import staleness_results


def run(*starts):
    manifest = {"cluster_starts": [{"setup": setup, "distances": rows} for setup, rows in starts]}
    return SimpleNamespace(results=SimpleNamespace(manifest=manifest))


def echo(first, second, ms):
    return {"from": first, "to": second, "median_ms": ms}


def test_the_nearest_round_trip_is_each_nodes_own_and_neither_the_clients_nor_anothers():
    far = [echo("C", "R1", 0.4), echo("R1", "R2", 100.0), echo("R1", "R3", 220.0), echo("R2", "R3", 130.0)]
    later = [echo("R1", "R2", 106.0), echo("R1", "R3", 220.0), echo("R2", "R3", 136.0)]
    made = run(("far", far), ("near", [echo("R1", "R2", 1.0)]), ("far", later))
    assert staleness_results.nearest_round_trip_ms(made, "far") == pytest.approx(
        (100 + 100 + 130 + 106 + 106 + 136) / 6
    )
