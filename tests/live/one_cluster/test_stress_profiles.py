"""The example profiles that come with cassandra-stress, converted and measured on a cluster."""

import re

import pytest
import yaml

from cassbook.core.schema import read_cells
from tests.helpers.command import cassbook

pytestmark = pytest.mark.live
KINDS = {"example": {"READ", "INSERT"}, "insanity-example": {"READ", "INSERT"}, "counter-example": {"READ", "UPDATE"}}


@pytest.mark.parametrize("name", list(KINDS))
def test_an_example_is_converted_and_measured(cluster, name, tmp_path):
    example = (cluster.folder / "home" / "lib").resolve().parent / "tools" / f"cqlstress-{name}.yaml"
    converted = tmp_path / "converted.yaml"
    done = cassbook("run", "--profile", example, "--convert", converted)
    assert done.exit_code == 0, done.output
    content = yaml.safe_load(converted.read_text(encoding="utf-8"))
    (own,) = content["workloads"]["own"]
    assert {operation["kind"] for operation in own["operations"]} == KINDS[name]
    for key in own["values"].values():  # 2,000 rows in place of 100,000
        if key.get("count") == own["load"]["rows"]:
            key["count"] = 2000
    own["load"]["rows"] = 2000
    content["workloads"] |= {"threads": [8], "settings": ["QUORUM/QUORUM"]}
    content |= {"load": {"steady_s": 1.0}, "warm_up": {"cap_s": 4.0}}
    converted.write_text(yaml.safe_dump(content), encoding="utf-8")
    hosts = ("--hosts", cluster.addresses[0])
    dry = cassbook("run", "--profile", converted, *hosts, "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "the cluster takes all statements of own workloads" in dry.stderr
    done = cassbook("run", "--profile", converted, *hosts, "--yes", "--output", tmp_path / "mine")
    assert done.exit_code == 0, done.output
    cells = read_cells(tmp_path / "mine" / "cells.csv")
    outcomes = set(re.findall(r"(\w+):", " ".join(cells["errors"])))
    assert {name for name in outcomes if not name.endswith("timeout")} == set()  # nothing is refused; a host may stall
    assert (cells["operations"] > 0).all()
