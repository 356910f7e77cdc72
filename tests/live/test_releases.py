"""What a release itself says: of the words that it reserves, and of the examples of its cassandra-stress, converted."""

import re

import pytest
import yaml
from cassandra import InvalidRequest
from cassandra.metadata import cql_keywords
from cassandra.protocol import SyntaxException

from cassbook.core.paths import resource
from cassbook.core.releases import RELEASES
from cassbook.core.schema import read_cells
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.profile.syntax import reserved
from tests.helpers.command import cassbook

pytestmark = pytest.mark.live
KINDS = {"example": {"READ", "INSERT"}, "insanity-example": {"READ", "INSERT"}, "counter-example": {"READ", "UPDATE"}}


#: For 5.0.9 only what a server needs is fetched.
WITH_EXAMPLES = ("2.1.20", "2.2.4", "3.11.4")


@pytest.fixture(scope="module")
def cluster(request):
    with CassandraCluster(request.param, Spec(heap_mb=512), name="test") as running:
        yield running


@pytest.mark.parametrize("cluster", list(RELEASES), indirect=True)
def test_reserved_words_are_those_that_the_server_refuses_as_names(cluster):
    session = cluster.connect()
    session.execute("CREATE KEYSPACE words WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE words.t (k int PRIMARY KEY, c int)")
    refused, tried = set(), sorted(cql_keywords.union(*map(reserved, RELEASES)))
    for word in tried:
        try:
            session.execute(f"UPDATE words.t SET {word} = 1 WHERE k = 1")
        except SyntaxException:
            refused.add(word)
        except InvalidRequest:  # a name like any other, and no column has it
            pass
    session.cluster.shutdown()
    assert refused == reserved(cluster.release.version)
    assert len(tried) > 1.3 * len(refused)


def converted(cluster, name, folder):
    """Convert the release's own example, and make it small."""
    example = (cluster.folder / "home" / "lib").resolve().parent / "tools" / f"cqlstress-{name}.yaml"
    path = folder / f"{name}.yaml"
    done = cassbook("run", "--profile", example, "--convert", path)
    assert done.exit_code == 0, done.output
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    (own,) = content["workloads"]["own"]
    assert {operation["kind"] for operation in own["operations"]} == KINDS[name]
    for key in own["values"].values():  # 2,000 rows in place of 100,000
        if key.get("count") == own["load"]["rows"]:
            key["count"] = 2000
    own["load"]["rows"] = 2000
    content["workloads"] |= {"threads": [8], "settings": ["QUORUM/QUORUM"]}
    content |= {"load": {"steady_s": 1.0}, "warm_up": {"cap_s": 4.0}}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("cluster", WITH_EXAMPLES, indirect=True)
def test_examples_are_converted_and_measured(cluster, tmp_path):
    hosts = ("--hosts", cluster.addresses[0])
    for name in KINDS:
        profile = converted(cluster, name, tmp_path)
        dry = cassbook("run", "--profile", profile, *hosts, "--dry-run")
        assert dry.exit_code == 0, dry.output
        assert "the cluster takes all statements of own workloads" in dry.stderr
        done = cassbook("run", "--profile", profile, *hosts, "--yes", "--output", tmp_path / name)
        assert done.exit_code == 0, done.output
        cells = read_cells(tmp_path / name / "cells.csv")
        outcomes = set(re.findall(r"(\w+):", " ".join(cells["errors"])))
        assert {outcome for outcome in outcomes if not outcome.endswith("timeout")} == set()  # none is refused
        assert (cells["operations"] > 0).all()


@pytest.mark.parametrize("cluster", ["2.1.20", "5.0.9"], indirect=True)
def test_services_that_decisions_are_replayed_on_are_taken_by_their_release(cluster, tmp_path):
    """In one place: how far their replicas are apart is nothing that a statement says."""
    version, tried = cluster.release.version, 0
    for service in sorted(resource("profiles").glob("service-*.yaml")):
        content = yaml.safe_load(service.read_text(encoding="utf-8"))
        if content.pop("engine") != version:
            continue
        content.pop("distance", None)
        content |= {"cluster": {"nodes": 3, "replication_factor": 3}}
        path = tmp_path / service.name
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        dry = cassbook("run", "--profile", path, "--hosts", cluster.addresses[0], "--dry-run")
        assert dry.exit_code == 0, f"{service.name}: {dry.output}"
        assert "the cluster takes all statements of own workloads" in dry.stderr
        tried += 1
    assert tried == 6
